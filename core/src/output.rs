use core::time::Duration;

use crate::{Failure, Instant, Nonce, OpId, Token};

/// What a machine has to say. `poll` is called until it returns [`Wait`](Self::Wait).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(clippy::exhaustive_enums, reason = "a new output must break drivers at compile time")]
#[must_use = "an output that is dropped is an event not told, or a request never sent"]
pub enum Output {
    /// Tell the application.
    Event {
        /// The generation that it belongs to: an `Acquire` starts a new one.
        generation: u32,
        /// What to tell.
        event: Event,
    },
    /// Send this to the store. It counts as sent at the instant of the last `handle`.
    Request {
        /// Hand it back with the answer.
        op: OpId,
        /// What to ask.
        kind: RequestKind,
        /// From here on the machine takes silence for [`Failure::Unknown`], told or not.
        respond_by: Instant,
    },
    /// Nothing more to say. Call `handle` when something happens, and at this instant at the latest
    /// (`None`: no limit). It is always later than the last `handle`.
    Wait(Option<Instant>),
}

/// What the application must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Event {
    /// The lease is held.
    Acquired {
        /// The fencing token to pass to every resource.
        token: Token,
        /// What the holding rests on.
        basis: Basis,
    },
    /// A renewal failed; it is being tried again. Followed by `Recovered`, `Stopping` or an end.
    AtRisk,
    /// A renewal succeeded after `AtRisk`.
    Recovered {
        /// What the holding now rests on.
        basis: Basis,
    },
    /// Final: renewals have stopped. Stop the protected work before `until`.
    Stopping {
        /// The deadline.
        until: Instant,
    },
    /// The lease is not held any more. Once a generation, before anything else that is queued.
    Lost {
        /// Why.
        reason: LossReason,
    },
    /// The release that the application asked for is over.
    Released {
        /// The store acknowledged it. Otherwise the lease lapses by itself.
        confirmed: bool,
    },
    /// The lease was not given.
    Denied {
        /// Why.
        reason: DenyReason,
    },
    /// A grant's token is not above the highest that this machine has seen for the lock: the store
    /// lost its memory. A fence that was raised will refuse the new holder.
    TokenWentBack {
        /// The highest token seen. It stays.
        seen: Token,
        /// The token granted.
        got: Token,
    },
    /// Nothing is owed to the store any more. The last event of a generation.
    Closed,
}

/// What a holding rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Basis {
    /// The store's term: nobody else is given the lease before `until`, while the drift bound holds.
    Term {
        /// The deadline, by D1 to D4.
        until: Instant,
    },
    /// A session, which promises no term: it may have ended already, unknown to us.
    Session {
        /// When the last request that the session answered was sent.
        last_ok: Instant,
    },
}

/// Why a lease was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LossReason {
    /// The deadline passed without a renewal.
    Expired,
    /// The store does not know the lease any more: it expired there, was broken, or its data are gone.
    Gone,
    /// The session that held the lease has ended.
    SessionLost,
    /// A request on the session brought no answer; what the session is worth cannot be known (S10).
    SessionUnknown,
    /// The host's clock went back, so no deadline can be trusted (S23).
    ClockWentBack,
}

/// Why a lease was not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum DenyReason {
    /// This machine's last generation is not closed yet. Ends nothing.
    InUse,
    /// Somebody else has it, for as long as we were willing to wait.
    Busy,
    /// The store did not answer, or would not.
    Failed(Failure),
    /// The store granted it, but too little of the term was left to use.
    TooLate,
    /// The application stopped waiting.
    Cancelled,
    /// The session was lost before the grant.
    SessionLost,
    /// The host's clock went back.
    ClockWentBack,
}

/// What to ask of the store. The store's dialect turns it into bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RequestKind {
    /// Take the lease, if it is free or already `nonce`'s. Answered `Granted` or `Busy`.
    Acquire {
        /// The attempt.
        nonce: Nonce,
        /// The term wanted.
        term: Duration,
        /// The store may hold its answer back until `respond_by` while somebody else has the lease.
        block: bool,
    },
    /// Take a place in the queue. Answered `Enqueued`, or `Granted` where the queue was empty.
    Enqueue {
        /// The attempt.
        nonce: Nonce,
        /// The term wanted for the place, and for the lease after it.
        term: Duration,
    },
    /// Take the lease, if the place is the first. Answered `Granted`, `NotYet` or `Gone`.
    Claim {
        /// The attempt.
        nonce: Nonce,
    },
    /// Keep the lease, or the place. Never creates one. Answered `Renewed` or `Gone`.
    Renew {
        /// The attempt.
        nonce: Nonce,
        /// The term wanted, from now.
        term: Duration,
    },
    /// Undo whatever `nonce` left in the store: lease, place or a part of either. Never touches
    /// anybody else's (S8). Answered `Released` or `Gone`.
    Release {
        /// The attempt.
        nonce: Nonce,
    },
    /// Close the connection that `nonce` used, and never use it again. Answered `Released`.
    Disconnect {
        /// The attempt.
        nonce: Nonce,
    },
    /// Start to give [`Hint`](crate::Input::Hint)s for this lock. Answered `Watching`.
    Watch {
        /// The attempt.
        nonce: Nonce,
    },
    /// Hints are not wanted any more. Not answered.
    Unwatch {
        /// The attempt.
        nonce: Nonce,
    },
}

impl RequestKind {
    /// The attempt that the request is about.
    #[must_use]
    pub const fn nonce(&self) -> Nonce {
        match *self {
            Self::Acquire { nonce, .. }
            | Self::Enqueue { nonce, .. }
            | Self::Claim { nonce }
            | Self::Renew { nonce, .. }
            | Self::Release { nonce }
            | Self::Disconnect { nonce }
            | Self::Watch { nonce }
            | Self::Unwatch { nonce } => nonce,
        }
    }
}
