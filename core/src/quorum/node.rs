use core::time::Duration;

use crate::{
    Failure, Instant, Nonce, Token,
    lease::{
        debts::{Debts, Undo},
        slot::Slot,
    },
};

/// One node, as the quorum sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    /// The request of the round that is under way.
    pub(super) ask: Slot,
    pub(super) vote: Vote,
    /// The live nonce may be the owner here.
    pub(super) may_have: bool,
    /// The same, before the last `Lock` was sent.
    had: bool,
    /// A `Lock` of the live nonce was not answered: it may yet be executed.
    doubt: bool,
    /// Releases have a slot of their own, as in [`Lease`](crate::Lease): they wait for no round.
    pub(super) release: Slot,
    pub(super) debts: Debts,
}

/// A node's part in the round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Vote {
    /// Not asked, or not answered yet.
    Open,
    /// `Locked`; what it says of the counter has been noted.
    Locked { term: Duration, accepted: bool },
    /// `Raised`.
    Raised,
    /// `Renewed`.
    Renewed { term: Duration },
    /// `Busy`, with what is left of the other's term.
    Busy { retry_after: Option<Duration> },
    /// `Higher`.
    Higher,
    /// `Gone`.
    Gone,
    /// No vote.
    None(Failure),
}

impl Node {
    pub(super) const NEW: Self = Self {
        ask: Slot::Idle,
        vote: Vote::Open,
        may_have: false,
        had: false,
        doubt: false,
        release: Slot::Idle,
        debts: Debts::NONE,
    };

    /// A `Lock` is sent.
    pub(super) const fn tries(&mut self) {
        self.had = self.may_have;
        self.may_have = true;
    }

    /// That `Lock` did nothing. An earlier one may have.
    pub(super) const fn did_nothing(&mut self) {
        self.may_have = self.had || self.doubt;
    }

    /// The node said that the live nonce is not the owner.
    pub(super) const fn has_not(&mut self) {
        self.may_have = self.doubt;
    }

    /// What was asked may be executed, answered or not.
    pub(super) const fn doubts(&mut self) {
        self.doubt = true;
    }

    /// The answer is of no use any more.
    pub(super) const fn stop_asking(&mut self) {
        if self.ask.is_flying() {
            self.doubts();
        }
        self.ask = Slot::Idle;
    }

    /// Releases `nonce` here.
    pub(super) fn owe(&mut self, nonce: Nonce) {
        self.debts.owe(nonce, Undo::Release, self.release.is_flying());
    }

    /// The live nonce is another one from here on.
    pub(super) const fn forget(&mut self) {
        self.may_have = false;
        self.had = false;
        self.doubt = false;
    }

    pub(super) const fn awaited(&self) -> bool {
        matches!(self.vote, Vote::Open) && !matches!(self.ask, Slot::Idle)
    }

    pub(super) fn settled(&self) -> bool {
        self.debts.is_empty()
    }

    pub(super) fn alarm(&self, now: Instant) -> Instant {
        self.ask.alarm().min(self.release.alarm()).min(self.debts.alarm(now))
    }
}

/// What a round asks of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Goal {
    /// Phase one: the lock, and the counters.
    Lock {
        guess: Token,
    },
    /// Phase two: a token above every counter that phase one saw, on nodes that gave the lock. The
    /// term is the least that they granted.
    Raise {
        token: Token,
        least: Duration,
    },
    Renew,
}

/// One request of the lease inside, put to every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Round {
    pub(super) parent: crate::OpId,
    pub(super) nonce: Nonce,
    pub(super) term: Duration,
    /// The parent's `respond_by`.
    pub(super) until: Instant,
    pub(super) goal: Goal,
}
