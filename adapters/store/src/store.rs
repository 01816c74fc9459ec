use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use tenure_core::{Assurance, Instant, Reply, RequestKind, Token, Waiting};

use crate::{Guarantees, LockName, Nodes, Notices, StoreError};

/// A lock store, as a driver uses it.
///
/// An implementation keeps what it must remember between two requests by the request's nonce, never
/// by the future: a driver may drop a future at any await, and the machine then takes the outcome
/// for unknown. It does not retry what the machine would retry.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// How this store is to be talked to.
    fn profile(&self) -> Profile;

    /// What a lease here is worth.
    fn guarantees(&self) -> &Guarantees;

    /// Executes one request: one exchange where the store allows it. Nothing is sent before the
    /// future is first polled.
    fn execute<'a>(&'a self, call: Call<'a>) -> Executing<'a>;

    /// Looks, without taking part: for a person, never for a decision (S27).
    fn inspect<'a>(&'a self, lock: &'a LockName) -> Inspecting<'a>;

    /// The nodes, if this store is several servers that keep a lock by majority. A driver then asks
    /// them one by one, as a [`Quorum`](tenure_core::Quorum) wants it, and never calls
    /// [`execute`](Self::execute).
    fn nodes(&self) -> Option<&dyn Nodes> {
        None
    }
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn profile(&self) -> Profile {
        (**self).profile()
    }

    fn guarantees(&self) -> &Guarantees {
        (**self).guarantees()
    }

    fn execute<'a>(&'a self, call: Call<'a>) -> Executing<'a> {
        (**self).execute(call)
    }

    fn inspect<'a>(&'a self, lock: &'a LockName) -> Inspecting<'a> {
        (**self).inspect(lock)
    }

    fn nodes(&self) -> Option<&dyn Nodes> {
        (**self).nodes()
    }
}

/// A request under way.
pub type Executing<'a> = Pin<Box<dyn Future<Output = Result<Answer, StoreError>> + Send + 'a>>;

/// A look under way.
pub type Inspecting<'a> = Pin<Box<dyn Future<Output = Result<Inspection, StoreError>> + Send + 'a>>;

/// What a look at a lock showed. Out of date when it arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inspection {
    /// Nobody has it.
    Free,
    /// Somebody has it.
    Held {
        /// The holder's token; `None` if the holder is not of Tenure (a plain `SET NX PX` client).
        token: Option<Token>,
        /// What is left of its term, where there is one.
        remaining: Option<Duration>,
        /// What the store can say about the holder (a process, a host), for a person.
        holder: Option<String>,
    },
}

/// One request of a machine.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "drivers build it")]
pub struct Call<'a> {
    /// The lock.
    pub lock: &'a LockName,
    /// What to ask.
    pub request: RequestKind,
    /// How long the machine will wait for the answer; `None`: as long as it takes.
    pub time_left: Option<Duration>,
    /// Where to leave hints (after `Watch`) and the end of a session.
    pub notices: &'a Notices,
}

/// A store's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// What the store said.
    pub reply: Reply,
    /// When the exchange behind it was sent, if before this request was handed over.
    pub as_of: Option<Instant>,
}

impl Answer {
    /// The answer to an exchange that was sent at `as_of` on behalf of many requests.
    #[must_use]
    pub const fn shared(reply: Reply, as_of: Instant) -> Self {
        Self { reply, as_of: Some(as_of) }
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { reply, as_of: None }
    }
}

/// What a machine must be told about a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// How one waits there.
    pub waiting: Waiting,
    /// What a grant rests on.
    pub assurance: Assurance,
    /// The store's clock tick.
    pub quantum: Duration,
}

impl Profile {
    /// A profile.
    #[must_use]
    pub const fn new(waiting: Waiting, assurance: Assurance, quantum: Duration) -> Self {
        Self { waiting, assurance, quantum }
    }
}
