use core::time::Duration;

use crate::{Event, Failure, Instant, Nonce, OpId, Token, Wait};

/// What happened to a [`Quorum`](crate::Quorum), or what the application wants. The same as
/// [`Input`](crate::Input), but for the answers, which come from one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(clippy::exhaustive_enums, reason = "a new input must break drivers at compile time")]
pub enum QuorumInput {
    /// The application wants the lease.
    Acquire {
        /// As in [`Input::Acquire`](crate::Input::Acquire).
        entropy: [u8; 16],
        /// How long to go on asking while somebody else holds it.
        wait: Wait,
    },
    /// The application gives the lease up, or stops waiting for it.
    Release,
    /// The same as [`Release`](Self::Release).
    Cancel,
    /// A node answered the request `op`.
    Reply {
        /// The request.
        op: OpId,
        /// The node's answer.
        reply: NodeReply,
    },
    /// The request `op` brought no answer: no vote.
    Failed {
        /// The request.
        op: OpId,
        /// Whether the node may have executed it.
        failure: Failure,
    },
    /// A wake-up from any node.
    Hint,
    /// Only time has passed.
    Tick,
}

/// What a [`Quorum`](crate::Quorum) has to say. The same as [`Output`](crate::Output), but a request
/// goes to one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(clippy::exhaustive_enums, reason = "a new output must break drivers at compile time")]
#[must_use = "an output that is dropped is an event not told, or a request never sent"]
pub enum QuorumOutput {
    /// Tell the application.
    Event {
        /// The generation that it belongs to.
        generation: u32,
        /// What to tell.
        event: Event,
    },
    /// Send this to the node.
    Request {
        /// Which node, from 0.
        node: u8,
        /// Hand it back with the answer.
        op: OpId,
        /// What to ask.
        kind: NodeRequest,
        /// From here on the machine takes silence for [`Failure::Unknown`].
        respond_by: Instant,
    },
    /// Nothing more to say; see [`Output::Wait`](crate::Output::Wait).
    Wait(Option<Instant>),
}

/// What to ask of one node. A node keeps, for each lock, an owner with a term, and a counter: the
/// highest token that it has seen, which never goes back and outlives every owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum NodeRequest {
    /// Make `nonce` the owner, if there is none or it is already (then without lengthening the term);
    /// and if `guess` is above the counter, raise the counter to it. Answered `Locked` or `Busy`.
    Lock {
        /// The attempt.
        nonce: Nonce,
        /// The term wanted.
        term: Duration,
        /// The token that the lease will have if a majority accepts it in this one round.
        guess: Token,
    },
    /// If `nonce` is the owner and `token` is *above* the counter, raise the counter to it. Answered
    /// `Raised`, `Higher` or `Gone`.
    Raise {
        /// The attempt.
        nonce: Nonce,
        /// The token that the lease will have if a majority accepts it.
        token: Token,
    },
    /// Keep the owner for another term, if it is `nonce`. Never makes it one. Answered `Renewed` or `Gone`.
    Renew {
        /// The attempt.
        nonce: Nonce,
        /// The term wanted, from now.
        term: Duration,
    },
    /// Make the lock free, if `nonce` is its owner. Answered `Released` or `Gone`.
    Release {
        /// The attempt.
        nonce: Nonce,
    },
}

/// A node's answer. A node that has lost its data does not answer, but refuses
/// ([`Failure::Refused`]): it must not vote before it was seeded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum NodeReply {
    /// `nonce` is the owner; answers `Lock`.
    Locked {
        /// The attempt.
        nonce: Nonce,
        /// The term granted.
        term: Duration,
        /// The guess was above the counter, which is now the guess.
        accepted: bool,
        /// The counter as it is now; `None`: no token was ever seen.
        counter: Option<Token>,
    },
    /// Somebody else is the owner; answers `Lock`.
    Busy {
        /// How much of the owner's term is left, where the node tells.
        retry_after: Option<Duration>,
        /// The counter.
        counter: Option<Token>,
    },
    /// The counter is the token; answers `Raise`.
    Raised,
    /// The counter is not below the token that was offered; answers `Raise`.
    Higher {
        /// The counter.
        counter: Token,
    },
    /// Kept for another `term`; answers `Renew`.
    Renewed {
        /// The term granted.
        term: Duration,
    },
    /// `nonce` is not the owner; answers `Raise`, `Renew` and `Release`.
    Gone,
    /// The lock is free; answers `Release`.
    Released,
}
