//! Any inputs in any order: the machine never panics, never spins, never waits into the past, and
//! keeps S5, S6, S21 and its order of events. Runs are numbered; a failure names its run.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic, and is its own documentation"
)]

use core::{panic::AssertUnwindSafe, time::Duration};
use std::panic::catch_unwind;

use tenure_core::{
    Assurance, DenyReason, Event, Failure, Input, Instant, Lease, LeaseConfig, Nonce, OpId, Output,
    Promise, Reply, RequestKind, Token, Wait, Waiting,
};

const RUNS: u64 = 4_000;
const STEPS: u64 = 150;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }

    fn span(&mut self) -> Duration {
        let extremes = [0, 1, 999, 1_000_000, u64::MAX];
        match self.below(8) {
            0 => Duration::MAX,
            1 => Duration::from_micros(self.pick(&extremes)),
            _ => Duration::from_millis(self.below(20_000)),
        }
    }
}

struct World {
    random: Random,
    lease: Lease,
    now: Instant,
    requests: Vec<(OpId, RequestKind)>,
    nonces: Vec<Nonce>,
    generation: u32,
    told: Told,
}

/// What the application was told in this generation.
#[derive(Debug, Default)]
struct Told {
    acquired: bool,
    stopping: bool,
    ended: bool,
    closed: bool,
}

impl World {
    fn new(run: u64) -> Self {
        let mut random = Random(run);
        let (waiting, assurance) = random.pick(&[
            (Waiting::Poll, Assurance::Term),
            (Waiting::PollAndWatch, Assurance::Term),
            (Waiting::Queue, Assurance::Term),
            (Waiting::Poll, Assurance::Session),
            (Waiting::Queue, Assurance::Session),
            (Waiting::Block, Assurance::Session),
        ]);
        let term = Duration::from_millis(2_000 + random.below(20_000));
        let config = LeaseConfig::builder()
            .term(term)
            .waiting(waiting)
            .assurance(assurance)
            .build()
            .unwrap();
        let told = Told { closed: true, ..Told::default() };
        Self {
            lease: Lease::new(config, 1),
            random,
            now: Instant::ZERO,
            requests: Vec::new(),
            nonces: vec![Nonce::from_bytes([9; 16])],
            generation: 0,
            told,
        }
    }

    fn step(&mut self) {
        let micros = self.now.as_micros();
        let next = match self.random.below(100) {
            0 => micros.saturating_sub(self.random.below(10_000_000)),
            1 => micros.saturating_add(self.random.below(1_000_000_000)),
            2..40 => micros,
            _ => micros.saturating_add(self.random.below(2_000_000)),
        };
        self.now = Instant::from_micros(next);
        let input = self.input();
        self.lease.handle(self.now, input);
        if self.random.below(10) > 0 {
            self.drain();
        }
    }

    fn input(&mut self) -> Input {
        match self.random.below(20) {
            0 | 1 => {
                let entropy = self.random.next().to_le_bytes();
                let mut both = [7; 16];
                both[..8].copy_from_slice(&entropy);
                let limit = self.now.as_micros().saturating_add(self.random.below(30_000_000));
                let until = Wait::Until(Instant::from_micros(limit));
                let wait = self.random.pick(&[Wait::Once, until, Wait::Forever]);
                Input::Acquire { entropy: both, wait }
            }
            2 if self.random.below(4) == 0 => Input::Release,
            3 if self.random.below(4) == 0 => Input::Cancel,
            4 => Input::Hint,
            5 if self.random.below(4) == 0 => {
                Input::SessionLost { nonce: self.random.pick(&self.nonces.clone()) }
            }
            6..9 => {
                let retry_after = Some(self.random.span()).filter(|_| self.random.below(2) == 0);
                let permanent = self.random.below(8) == 0;
                let failure = self.random.pick(&[
                    Failure::NotSent,
                    Failure::Unknown,
                    Failure::Refused { permanent, retry_after },
                ]);
                Input::Failed { op: self.op(), failure }
            }
            9..18 => {
                let (op, fitting) = self.fitting_reply();
                let reply = if self.random.below(6) == 0 { self.any_reply() } else { fitting };
                let as_of = Instant::from_micros(self.random.below(self.now.as_micros() + 1));
                Input::Reply { op, reply, as_of: Some(as_of).filter(|_| self.random.below(9) == 0) }
            }
            _ => Input::Tick,
        }
    }

    fn op(&mut self) -> OpId {
        if self.requests.is_empty() || self.random.below(10) == 0 {
            let sequence = u32::try_from(self.random.below(50)).unwrap();
            return OpId { instance: 1, generation: 1, sequence };
        }
        self.random.pick(&self.requests.clone()).0
    }

    fn fitting_reply(&mut self) -> (OpId, Reply) {
        let Some(&(op, kind)) = self.requests.last() else { return (self.op(), Reply::Gone) };
        let nonce = kind.nonce();
        let term = Duration::from_millis(self.random.below(25_000));
        let token = Token::new(1 + self.random.below(1_000)).unwrap();
        let reply = match kind {
            RequestKind::Acquire { .. } | RequestKind::Enqueue { .. } => self.random.pick(&[
                Reply::Granted { nonce, token, promise: Promise::Term(term) },
                Reply::Granted { nonce, token, promise: Promise::Session },
                Reply::Enqueued { nonce, term },
                Reply::Busy { retry_after: None, holder: Some(token) },
            ]),
            RequestKind::Claim { .. } => self.random.pick(&[
                Reply::Granted { nonce, token, promise: Promise::Place },
                Reply::NotYet,
                Reply::Gone,
            ]),
            RequestKind::Renew { .. } => {
                self.random.pick(&[Reply::Renewed { term }, Reply::Renewed { term }, Reply::Gone])
            }
            RequestKind::Watch { .. } => Reply::Watching,
            RequestKind::Release { .. }
            | RequestKind::Disconnect { .. }
            | RequestKind::Unwatch { .. }
            | _ => self.random.pick(&[Reply::Released, Reply::Gone]),
        };
        (op, reply)
    }

    fn any_reply(&mut self) -> Reply {
        let nonce = self.random.pick(&self.nonces.clone());
        let token = Token::new(1 + self.random.below(1_000)).unwrap();
        let term = self.random.span();
        self.random.pick(&[
            Reply::Granted { nonce, token, promise: Promise::Term(term) },
            Reply::Granted { nonce, token, promise: Promise::Place },
            Reply::Granted { nonce, token, promise: Promise::Session },
            Reply::Busy { retry_after: Some(term), holder: None },
            Reply::Enqueued { nonce, term },
            Reply::NotYet,
            Reply::Renewed { term },
            Reply::Gone,
            Reply::Released,
            Reply::Watching,
        ])
    }

    fn drain(&mut self) {
        for polled in 0..40 {
            match self.lease.poll() {
                Output::Event { generation, event } => self.hear(generation, event),
                Output::Request { op, kind, respond_by } => {
                    assert!(respond_by > self.now, "{kind:?} answered by {respond_by:?}");
                    self.requests.push((op, kind));
                    self.nonces.push(kind.nonce());
                }
                Output::Wait(wait) => {
                    assert!(wait.is_none_or(|wait| wait > self.now), "{wait:?}");
                    return;
                }
            }
            assert!(polled < 39, "poll never waits");
        }
    }

    fn hear(&mut self, generation: u32, event: Event) {
        if event == (Event::Denied { reason: DenyReason::InUse }) {
            return;
        }
        if generation != self.generation {
            assert!(self.told.closed, "a new generation before the last one closed");
            self.generation = generation;
            self.told = Told::default();
        }
        let told = &mut self.told;
        assert!(!told.closed, "{event:?} after Closed");
        let held = self.lease.held(self.now).is_some();
        match event {
            Event::Acquired { .. } => {
                assert!(!told.acquired && !told.ended, "{event:?} {told:?}");
                told.acquired = true;
            }
            Event::AtRisk | Event::Recovered { .. } => {
                assert!(told.acquired && !told.stopping && !told.ended, "{event:?} {told:?}");
            }
            Event::Stopping { until } => {
                assert!(told.acquired && !told.stopping && !told.ended, "{event:?} {told:?}");
                assert!(until > self.now && held);
                told.stopping = true;
            }
            Event::Lost { .. } => {
                assert!(!told.ended && !held, "{event:?} {told:?}");
                told.ended = true;
            }
            Event::Released { .. } | Event::Denied { .. } => {
                assert!(!told.ended && !held, "{event:?} {told:?}");
                told.ended = true;
            }
            Event::TokenWentBack { seen, got } => assert!(got <= seen),
            Event::Closed => {
                assert!(told.ended && !held, "{told:?}");
                told.closed = true;
            }
            _ => panic!("unheard of: {event:?}"),
        }
    }
}

#[test]
fn any_inputs_keep_the_contract() {
    for run in 0..RUNS {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut world = World::new(run);
            (0..STEPS).for_each(|_| world.step());
        }));
        assert!(outcome.is_ok(), "run {run}");
    }
}
