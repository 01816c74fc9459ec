use std::{error, fmt};

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// Its number in docs/invariants.md, or what else went wrong.
    pub invariant: &'static str,
    /// How.
    pub why: String,
}

impl Violation {
    pub(crate) const fn new(invariant: &'static str, why: String) -> Self {
        Self { invariant, why }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not hold: {}", self.invariant, self.why)
    }
}

impl error::Error for Violation {}

/// Fails with what `why` says, unless it holds.
pub(crate) fn ensure(
    holds: bool,
    invariant: &'static str,
    why: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation::new(invariant, why())) }
}
