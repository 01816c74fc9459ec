use core::time::Duration;

use crate::{Instant, Nonce, OpId, Token};

/// What happened, or what the application wants. Given to a machine's `handle`, which never refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(clippy::exhaustive_enums, reason = "a new input must break drivers at compile time")]
pub enum Input {
    /// The application wants the lease. On a closed machine this starts a new generation; on a live
    /// one it is answered `Denied { InUse }` and changes nothing.
    Acquire {
        /// 128 bits that no other call on any host was ever given (an assumption of T1, S12). The
        /// nonces and the jitter of this generation are made from it.
        entropy: [u8; 16],
        /// How long to go on asking while somebody else holds it.
        wait: Wait,
    },
    /// The application gives the lease up, or stops waiting for it.
    Release,
    /// The same as [`Release`](Self::Release): what was begun is undone, what was granted is released.
    Cancel,
    /// The store answered the request `op`.
    Reply {
        /// The request.
        op: OpId,
        /// The store's answer.
        reply: Reply,
        /// When the exchange behind this answer was sent, if that was before `op` was polled (a
        /// keep-alive shared by many leases). Only ever moves a deadline earlier.
        as_of: Option<Instant>,
    },
    /// The request `op` brought no answer.
    Failed {
        /// The request.
        op: OpId,
        /// Whether the store may have executed it.
        failure: Failure,
    },
    /// A wake-up: it may be worth asking now. Never grants anything (S27), and may be lost,
    /// repeated or late.
    Hint,
    /// The session that `nonce` lived in has ended (a closed connection, an expired session).
    SessionLost {
        /// The attempt whose session ended; of any other attempt, nothing changes.
        nonce: Nonce,
    },
    /// Only time has passed.
    Tick,
}

/// How long an [`Input::Acquire`] goes on while somebody else holds the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Wait {
    /// One answer: granted, or denied.
    Once,
    /// Until this instant, then denied.
    Until(Instant),
    /// Until granted, or cancelled.
    Forever,
}

/// A store's answer, as its dialect read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Reply {
    /// The store gave the lease to `nonce`; answers `Acquire`, `Enqueue` and `Claim`. Asked again
    /// with the same nonce it answers the same, without lengthening the term.
    Granted {
        /// The attempt that has it.
        nonce: Nonce,
        /// The grant's fencing token, durable before it is handed out (S15).
        token: Token,
        /// What the store promises to keep it for.
        promise: Promise,
    },
    /// Somebody else has the lease, and this request left nothing behind; answers `Acquire`.
    Busy {
        /// How much of the holder's term is left, where the store tells.
        retry_after: Option<Duration>,
        /// The holder's token, where the store tells: a later grant must exceed it.
        holder: Option<Token>,
    },
    /// The attempt has a place in the store's queue; answers `Enqueue`.
    Enqueued {
        /// The attempt that has it.
        nonce: Nonce,
        /// How long the place is kept without a renewal.
        term: Duration,
    },
    /// The attempt is in the queue, but not first; answers `Claim`.
    NotYet,
    /// The lease, or the place, is kept for another `term`; answers `Renew`.
    Renewed {
        /// The term that the store granted, counted from when this request was sent.
        term: Duration,
    },
    /// The store knows no lease and no place of this nonce; answers `Renew`, `Claim` and `Release`.
    Gone,
    /// The lease, or the place, is free; answers `Release`. Answers `Disconnect`: the connection is closed.
    Released,
    /// Hints will come; answers `Watch`.
    Watching,
}

/// How long a grant is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Promise {
    /// At least this long from when the request was sent, on the store's clock.
    Term(Duration),
    /// As long as the session lives; the store may give it to another the moment it ends. No term.
    Session,
    /// As long as the place in the queue, from its last acknowledged renewal (or the `Enqueue`).
    /// Only in answer to `Claim`: elsewhere it names no term, and is taken for no answer.
    Place,
}

/// Why a request brought no answer, by the question that a lock must ask: may the store have
/// executed it?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Failure {
    /// No: it never left this host.
    NotSent,
    /// Perhaps: it left, and no answer came. A state, not an error (S10, S11).
    Unknown,
    /// No: the store said that it did not.
    Refused {
        /// Asking again cannot help (a wrong password, a value of another kind under the key).
        permanent: bool,
        /// When asking again may help, where the store tells.
        retry_after: Option<Duration>,
    },
}
