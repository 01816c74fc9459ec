use tenure_core::{
    Basis, Failure, Held, Input, Instant, Lease, LeaseConfig, Nonce, OpId, Output, Promise, Reply,
    RequestKind,
};

use crate::{
    order::Order,
    source::{Deductions, at_the_end_of_time},
};

/// The books kept on one lease: what it was told, what it asked, what it may claim.
pub(super) struct Judge {
    config: LeaseConfig,
    deductions: Deductions,
    now: Instant,
    alarm: Option<Instant>,
    order: Order,
    sequence: u32,
    in_flight: Vec<Sent>,
    /// Every term-establishing request that a store may have executed, and every clean-up.
    executed: Vec<Sent>,
    /// The nonce of the last request that was not a clean-up.
    live: Option<Nonce>,
    /// S3: the latest instant, in nanoseconds, up to which an answer justifies to hold `live`.
    justified: Option<u128>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    op: OpId,
    kind: RequestKind,
    at: Instant,
    respond_by: Instant,
}

/// Requests of which at most one is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Establishes,
    Claims,
    Watches,
    Undoes,
    Unanswered,
}

impl Judge {
    pub(super) fn new(config: LeaseConfig, deductions: Deductions) -> Self {
        Self {
            config,
            deductions,
            now: Instant::ZERO,
            alarm: None,
            order: Order::default(),
            sequence: 0,
            in_flight: Vec::new(),
            executed: Vec::new(),
            live: None,
            justified: None,
        }
    }

    pub(super) const fn alarm(&self) -> Option<Instant> {
        self.alarm
    }

    pub(super) const fn order(&self) -> &Order {
        &self.order
    }

    /// Hands the input on, and judges what it did to what is claimed.
    pub(super) fn handle(&mut self, lease: &mut Lease, now: Instant, input: Input) {
        let went_back = now < self.now;
        let before = lease.held(now);
        let highest = lease.highest_token();
        if went_back {
            self.in_flight.clear();
            // What lapses, lapses a term after this at the latest.
            self.executed.iter_mut().for_each(|sent| sent.at = sent.at.min(now));
        }
        self.in_flight.retain(|sent| sent.respond_by > now);
        let answered = self.answered(&input);
        self.note(&input, answered);

        lease.handle(now, input);
        self.now = now;

        let after = lease.held(now);
        assert!(lease.highest_token() >= highest, "S13: the highest token went back");
        assert!(!went_back || after.is_none(), "S23: held though the clock went back");
        // On a session, silence is a loss.
        let on_session = |held: Held| matches!(held.basis, Basis::Session { .. });
        let mut may_end = before.is_some_and(on_session);
        let mut may_change = false;
        match input {
            Input::Release | Input::Cancel => {
                assert!(after.is_none(), "S5: held though it was given back");
                self.order.give_back();
                may_end = true;
            }
            Input::SessionLost { nonce } => may_end |= Some(nonce) == self.live,
            Input::Reply { .. } => may_change = answered.is_some(),
            Input::Acquire { .. } | Input::Failed { .. } | Input::Hint | Input::Tick => {}
        }
        let unchanged = before == after || (may_end && after.is_none());
        assert!(may_change || unchanged, "{input:?} turned {before:?} into {after:?}");
        self.claims(after);
    }

    /// What the machine said, right after it said it.
    pub(super) fn said(&mut self, lease: &Lease, output: &Output) {
        let held = lease.held(self.now);
        match *output {
            Output::Event { generation, event } => {
                self.order.hear(generation, event, self.now, held);
            }
            Output::Request { op, kind, respond_by } => self.asked(op, kind, respond_by, held),
            Output::Wait(alarm) => {
                assert!(alarm.is_none_or(|alarm| alarm > self.now), "waits into the past");
                self.alarm = alarm;
                self.order.settled(held);
            }
        }
        self.claims(held);
    }

    fn claims(&self, held: Option<Held>) {
        self.order.claims(held);
        let Some(Held { basis, .. }) = held else { return };
        let (Basis::Term { until: rests_on } | Basis::Session { last_ok: rests_on }) = basis else {
            panic!("an unknown basis: {basis:?}")
        };
        let justified = self.justified.unwrap_or(0);
        assert!(
            nanos(rests_on) <= justified,
            "S3: {basis:?} where the answers justify {justified} ns"
        );
        if let Basis::Term { until } = basis {
            assert!(until > self.now, "S21: held after its deadline");
            let stopped = self.order.stopping().filter(|_| self.order.holds());
            assert!(stopped.is_none_or(|said| said == until), "S4: moved after Stopping");
        }
    }

    fn answered(&mut self, input: &Input) -> Option<Sent> {
        let (Input::Reply { op, .. } | Input::Failed { op, .. }) = *input else { return None };
        let same = |sent: &Sent| (sent.op.instance, sent.op.sequence) == (op.instance, op.sequence);
        let at = self.in_flight.iter().position(same)?;
        Some(self.in_flight.swap_remove(at))
    }

    fn note(&mut self, input: &Input, answered: Option<Sent>) {
        match (*input, answered) {
            (Input::Reply { reply, as_of, .. }, Some(sent)) => {
                let at = as_of.map_or(sent.at, |as_of| as_of.min(sent.at));
                self.note_reply(sent, reply, at);
            }
            (Input::Failed { failure, .. }, Some(sent)) if failure != Failure::Unknown => {
                // A debt lapses all the same: nobody renews what it is about.
                let undoes = |sent: &Sent| Class::of(sent.kind) == Class::Undoes;
                self.executed.retain(|other| other.op != sent.op || undoes(other));
            }
            (Input::SessionLost { nonce }, _) => {
                // Whoever watched for the attempt watches anew.
                let live = self.live == Some(nonce);
                let watched = |sent: &Sent| live && Class::of(sent.kind) == Class::Watches;
                self.in_flight.retain(|sent| sent.kind.nonce() != nonce && !watched(sent));
            }
            (Input::Release | Input::Cancel, _) => {
                // The application's own release pre-empts a hung one.
                self.in_flight.retain(|sent| Class::of(sent.kind) != Class::Undoes);
            }
            _ => {}
        }
    }

    fn note_reply(&mut self, sent: Sent, reply: Reply, at: Instant) {
        let asked = sent.kind.nonce();
        if self.live != Some(asked) {
            return;
        }
        let up_to = match reply {
            Reply::Granted { nonce, promise, .. } if nonce == asked => {
                // D2: the store may have executed the first copy.
                let copies = self.executed.iter().filter(|copy| {
                    Class::of(copy.kind) == Class::Establishes && copy.kind.nonce() == nonce
                });
                let first = copies.map(|copy| copy.at).fold(at, Instant::min);
                match promise {
                    // Names no term; whoever answers so grants the one that was asked for.
                    Promise::Place if !matches!(sent.kind, RequestKind::Claim { .. }) => {
                        nanos(first) + self.deductions.usable(self.config.term())
                    }
                    Promise::Term(term) => nanos(first) + self.deductions.usable(term),
                    Promise::Session => nanos(at),
                    _ => return,
                }
            }
            Reply::Enqueued { nonce, term } if nonce == asked => {
                nanos(at) + self.deductions.usable(term)
            }
            Reply::Renewed { term } => nanos(at) + self.deductions.usable(term),
            _ => return,
        };
        self.justified = self.justified.max(Some(up_to));
    }

    fn asked(&mut self, op: OpId, kind: RequestKind, respond_by: Instant, held: Option<Held>) {
        assert!(op.sequence > self.sequence, "{op} after {}", self.sequence);
        self.sequence = op.sequence;
        let nonce = kind.nonce();
        let class = Class::of(kind);
        let live = held.is_some() && self.live == Some(nonce);
        let now = self.now;
        assert!(
            respond_by > now || class == Class::Unanswered || at_the_end_of_time(now),
            "{kind:?} is to be answered by {respond_by:?}, at {now:?}"
        );
        match class {
            Class::Undoes => assert!(!live, "S29: {kind:?} while that is held"),
            Class::Establishes | Class::Claims | Class::Watches => {
                if self.live != Some(nonce) && class != Class::Watches {
                    self.live = Some(nonce);
                    self.justified = None;
                }
                let begun = self.order.is_closed() || !self.order.is_over();
                assert!(begun, "S5: {kind:?} after the end");
            }
            Class::Unanswered => {}
        }
        if let RequestKind::Renew { term, .. } = kind {
            assert!(
                self.order.stopping().is_none() || !self.order.holds(),
                "S5: {kind:?} too late"
            );
            if live {
                // D4: the store may take it for the new term, though a longer one was granted.
                let most = nanos(now) + self.deductions.usable(term);
                self.justified = self.justified.map(|justified| justified.min(most));
            }
        }
        let second = self.in_flight.iter().find(|sent| {
            let same = class == Class::Undoes || sent.kind.nonce() == nonce;
            Class::of(sent.kind) == class && same && !self.lapsed(sent)
        });
        assert!(class == Class::Unanswered || second.is_none(), "{kind:?} beside {second:?}");
        if let RequestKind::Unwatch { .. } = kind {
            self.in_flight.retain(|sent| Class::of(sent.kind) != Class::Watches);
        }
        let sent = Sent { op, kind, at: now, respond_by };
        self.in_flight.push(sent);
        if matches!(class, Class::Establishes | Class::Undoes) {
            self.executed.push(sent);
        }
    }

    /// A clean-up that time has done meanwhile, and whose request is of no use any more.
    fn lapsed(&self, sent: &Sent) -> bool {
        if Class::of(sent.kind) != Class::Undoes {
            return false;
        }
        let nonce = sent.kind.nonce();
        let mut tries = self
            .executed
            .iter()
            .filter(|other| Class::of(other.kind) == Class::Undoes && other.kind.nonce() == nonce);
        let first = tries.next().map_or(sent.at, |first| first.at);
        let term = self.config.term();
        let lapse = term + self.config.drift().of(term) + self.deductions.quantum;
        self.now.saturating_since(first) >= lapse
    }
}

impl Class {
    const fn of(kind: RequestKind) -> Self {
        match kind {
            RequestKind::Acquire { .. }
            | RequestKind::Enqueue { .. }
            | RequestKind::Renew { .. } => Self::Establishes,
            RequestKind::Claim { .. } => Self::Claims,
            RequestKind::Watch { .. } => Self::Watches,
            RequestKind::Release { .. } | RequestKind::Disconnect { .. } => Self::Undoes,
            _ => Self::Unanswered,
        }
    }
}

fn nanos(instant: Instant) -> u128 {
    u128::from(instant.as_micros()) * 1_000
}
