use crate::{Basis, Input, Instant, LeaseConfig, Output, Token};

/// One lease. STUB: signatures only.
#[derive(Clone, Debug)]
pub struct Lease {
    config: LeaseConfig,
}

/// What [`Lease::held`] answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Held {
    /// The fencing token to pass to every resource.
    pub token: Token,
    /// What the holding rests on.
    pub basis: Basis,
}

impl Lease {
    /// A closed machine. `instance` tells this machine's answers from another's.
    #[must_use]
    pub const fn new(config: LeaseConfig, instance: u32) -> Self {
        let _ = instance;
        Self { config }
    }
    /// Tells the machine of a token that was seen for this lock elsewhere.
    pub fn remember(&mut self, _token: Token) {}
    /// The highest token seen for this lock.
    #[must_use]
    pub const fn highest_token(&self) -> Option<Token> {
        None
    }
    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &LeaseConfig {
        &self.config
    }
    /// Input.
    pub fn handle(&mut self, _now: Instant, _input: Input) {}
    /// Output.
    pub fn poll(&mut self) -> Output {
        Output::Wait(None)
    }
    /// Whether it is held at `now`.
    #[must_use]
    pub fn held(&self, _now: Instant) -> Option<Held> {
        None
    }
}
