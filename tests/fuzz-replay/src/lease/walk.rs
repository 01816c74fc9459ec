use tenure_core::{
    Input, Instant, Lease, LeaseConfig, Nonce, OpId, Output, Promise, Reply, RequestKind,
};

use super::{calm, judge::Judge};
use crate::source::Source;

const INSTANCE: u32 = 1;

/// More outputs than a machine can have between two waits.
const MANY: usize = 40;

/// One `handle` and the polls that followed it.
pub type Step = (Instant, Input, Vec<Output>);

/// Drives a lease by `bytes`, judges it, and hands every step to `seen`. Returns how it was
/// configured, and its instance.
///
/// # Panics
///
/// When the machine breaks its contract.
pub fn walk(bytes: &[u8], mut seen: impl FnMut(Step)) -> (LeaseConfig, u32) {
    let mut source = Source::new(bytes);
    let (config, deductions) = source.config();
    let mut now = source.origin();
    let mut lease = Lease::new(config, INSTANCE);
    let mut judge = Judge::new(config, deductions);
    let mut asked =
        Asked { requests: Vec::new(), nonces: vec![Nonce::from_bytes([9; 16])], inputs: 0 };
    while !source.is_empty() {
        now = source.instant(now, judge.alarm());
        let input = asked.input(&mut source, now);
        judge.handle(&mut lease, now, input);
        // A driver that stops early finds the rest later.
        let polls = if source.one_in(10) { usize::from(source.below(3)) } else { MANY };
        let mut outputs = Vec::new();
        while outputs.len() < polls {
            let output = lease.poll();
            outputs.push(output);
            judge.said(&lease, &output);
            match output {
                Output::Request { op, kind, .. } => {
                    asked.requests.push((op, kind));
                    // No store grants what it was never asked for.
                    if !matches!(kind, RequestKind::Watch { .. }) {
                        asked.nonces.push(kind.nonce());
                    }
                }
                Output::Event { .. } => {}
                Output::Wait(_) => break,
            }
            assert!(outputs.len() < MANY, "poll never waits");
        }
        seen((now, input, outputs));
    }
    calm::closes_and_grants_again(lease, judge, now);
    (config, INSTANCE)
}

/// What the machine asked for, and how much it was told.
struct Asked {
    requests: Vec<(OpId, RequestKind)>,
    nonces: Vec<Nonce>,
    inputs: u64,
}

impl Asked {
    fn input(&mut self, source: &mut Source<'_>, now: Instant) -> Input {
        self.inputs += 1;
        match source.below(32) {
            0..4 => Input::Acquire {
                entropy: source.fresh_entropy(self.inputs),
                wait: source.wait(now),
            },
            4 => Input::Release,
            5 => Input::Cancel,
            6 => Input::Hint,
            7 => Input::SessionLost { nonce: source.pick(&self.nonces) },
            8..12 => Input::Failed { op: self.op(source), failure: source.failure() },
            12..26 => {
                let (op, reply) = if source.one_in(6) {
                    (self.op(source), self.any_reply(source))
                } else {
                    self.fitting_reply(source)
                };
                let as_of = source.one_in(9).then(|| {
                    let ago = u64::from(source.any::<u32>());
                    Instant::from_micros(now.as_micros().saturating_sub(ago))
                });
                Input::Reply { op, reply, as_of }
            }
            _ => Input::Tick,
        }
    }

    /// A recent request's, an old one's, or nobody's.
    fn op(&self, source: &mut Source<'_>) -> OpId {
        let recent = self.requests.len().saturating_sub(4);
        match source.below(8) {
            0 => OpId { instance: source.any(), generation: 1, sequence: 1 },
            1 => OpId { instance: INSTANCE, generation: source.any(), sequence: source.any() },
            2 if !self.requests.is_empty() => source.pick(&self.requests).0,
            _ if !self.requests.is_empty() => source.pick(&self.requests[recent..]).0,
            _ => OpId { instance: INSTANCE, generation: 1, sequence: 1 },
        }
    }

    fn fitting_reply(&self, source: &mut Source<'_>) -> (OpId, Reply) {
        let recent = self.requests.len().saturating_sub(3);
        let recent = &self.requests[recent..];
        if recent.is_empty() {
            return (self.op(source), Reply::Gone);
        }
        let (op, kind) = source.pick(recent);
        let nonce = kind.nonce();
        let reply = match (kind, source.below(8)) {
            (RequestKind::Acquire { .. } | RequestKind::Enqueue { .. }, 0) => {
                Reply::Busy { retry_after: source.maybe_span(), holder: Some(source.token()) }
            }
            (RequestKind::Acquire { .. }, 1) | (RequestKind::Enqueue { .. }, 1..4) => {
                Reply::Enqueued { nonce, term: source.span() }
            }
            (RequestKind::Acquire { .. }, 2 | 3) | (RequestKind::Enqueue { .. }, 4) => {
                Reply::Granted { nonce, token: source.token(), promise: Promise::Session }
            }
            (RequestKind::Acquire { term, .. } | RequestKind::Enqueue { term, .. }, 4..7) => {
                Reply::Granted { nonce, token: source.token(), promise: Promise::Term(term) }
            }
            (RequestKind::Acquire { .. } | RequestKind::Enqueue { .. }, _) => {
                let promise = Promise::Term(source.span());
                Reply::Granted { nonce, token: source.token(), promise }
            }
            (RequestKind::Claim { .. }, 0..3) => Reply::NotYet,
            (RequestKind::Claim { .. }, 3) => Reply::Gone,
            (RequestKind::Claim { .. }, _) => {
                Reply::Granted { nonce, token: source.token(), promise: Promise::Place }
            }
            (RequestKind::Renew { .. }, 0) => Reply::Gone,
            (RequestKind::Renew { .. }, 1) => Reply::Renewed { term: source.span() },
            (RequestKind::Renew { term, .. }, _) => Reply::Renewed { term },
            (RequestKind::Watch { .. }, _) => Reply::Watching,
            (_, 0) => Reply::Gone,
            _ => Reply::Released,
        };
        (op, reply)
    }

    fn any_reply(&self, source: &mut Source<'_>) -> Reply {
        let nonce = source.pick(&self.nonces);
        let token = source.token();
        let term = source.span();
        let promise = source.pick(&[Promise::Term(term), Promise::Place, Promise::Session]);
        source.pick(&[
            Reply::Granted { nonce, token, promise },
            Reply::Busy { retry_after: Some(term), holder: None },
            Reply::Enqueued { nonce, term },
            Reply::NotYet,
            Reply::Renewed { term },
            Reply::Gone,
            Reply::Released,
            Reply::Watching,
        ])
    }
}
