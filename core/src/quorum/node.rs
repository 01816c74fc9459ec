use core::time::Duration;

use crate::{
    Failure, Instant, Nonce, Token,
    lease::{debts::Debts, slot::Slot},
};

/// One node, as the quorum sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    /// The request of the round that is under way.
    pub(super) ask: Slot,
    pub(super) vote: Vote,
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
    pub(super) const NEW: Self =
        Self { ask: Slot::Idle, vote: Vote::Open, release: Slot::Idle, debts: Debts::NONE };

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
