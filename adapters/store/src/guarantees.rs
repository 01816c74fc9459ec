use std::{error::Error, fmt};

/// What a lease in this store is worth, as the self-check at connect found it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Guarantees {
    /// What the fencing token survives.
    pub fencing: Fencing,
    /// What a holding rests on.
    pub tenancy: Tenancy,
    /// What a failover does to leases.
    pub failover: Failover,
    /// In which order waiters are served.
    pub fairness: Fairness,
    /// What the self-check saw that a person should know.
    pub findings: Vec<Finding>,
}

impl Guarantees {
    /// Guarantees without findings.
    #[must_use]
    pub const fn new(
        fencing: Fencing,
        tenancy: Tenancy,
        failover: Failover,
        fairness: Fairness,
    ) -> Self {
        Self { fencing, tenancy, failover, fairness, findings: Vec::new() }
    }

    /// Whether they meet what the caller requires.
    ///
    /// # Errors
    ///
    /// [`Unmet`], which names the first requirement that is not met.
    pub fn meet(&self, required: &Requirements) -> Result<(), Unmet> {
        fn check<T: PartialOrd + fmt::Display>(
            what: &'static str,
            given: &T,
            required: Option<&T>,
        ) -> Result<(), Unmet> {
            match required {
                Some(required) if given < required => {
                    Err(Unmet { what, required: required.to_string(), given: given.to_string() })
                }
                Some(_) | None => Ok(()),
            }
        }
        check("fencing", &self.fencing, required.fencing.as_ref())?;
        check("tenancy", &self.tenancy, required.tenancy.as_ref())?;
        check("failover", &self.failover, required.failover.as_ref())?;
        check("fairness", &self.fairness, required.fairness.as_ref())
    }
}

impl fmt::Display for Guarantees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "fencing:  {}", self.fencing)?;
        writeln!(f, "tenancy:  {}", self.tenancy)?;
        writeln!(f, "failover: {}", self.failover)?;
        write!(f, "fairness: {}", self.fairness)?;
        self.findings.iter().try_for_each(|finding| write!(f, "\n- {finding}"))
    }
}

/// The least that a caller accepts. Empty accepts everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Requirements {
    /// The least fencing.
    pub fencing: Option<Fencing>,
    /// The least tenancy.
    pub tenancy: Option<Tenancy>,
    /// The least that a failover may do.
    pub failover: Option<Failover>,
    /// The least fairness.
    pub fairness: Option<Fairness>,
}

impl Requirements {
    /// Both of them. Where both name a guarantee, `other` counts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            fencing: other.fencing.or(self.fencing),
            tenancy: other.tenancy.or(self.tenancy),
            failover: other.failover.or(self.failover),
            fairness: other.fairness.or(self.fairness),
        }
    }
}

impl From<Fencing> for Requirements {
    fn from(least: Fencing) -> Self {
        Self { fencing: Some(least), ..Self::default() }
    }
}

impl From<Tenancy> for Requirements {
    fn from(least: Tenancy) -> Self {
        Self { tenancy: Some(least), ..Self::default() }
    }
}

impl From<Failover> for Requirements {
    fn from(least: Failover) -> Self {
        Self { failover: Some(least), ..Self::default() }
    }
}

impl From<Fairness> for Requirements {
    fn from(least: Fairness) -> Self {
        Self { fairness: Some(least), ..Self::default() }
    }
}

/// What the fencing token survives. Ordered: later is stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fencing {
    /// There is no token that rises.
    None,
    /// It rises until the store loses its data (a flush, a restart without persistence).
    LostWithData,
    /// It rises as long as the store's disk is intact.
    Durable,
}

impl fmt::Display for Fencing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::LostWithData => "tokens rise until the store loses its data",
            Self::Durable => "tokens rise durably",
        })
    }
}

/// What a holding rests on. Ordered: later is stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Tenancy {
    /// A session, whose end the holder learns later than the store.
    Session,
    /// A term that the store keeps to; the holder stops before it ends.
    Term,
}

impl fmt::Display for Tenancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Session => "a session, no term",
            Self::Term => "a bounded term",
        })
    }
}

/// What a failover does to leases. Ordered: later is stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Failover {
    /// It may lose a lease that is held, and give it to another.
    MayLose,
    /// There is none: one server, or this machine alone.
    Impossible,
    /// It keeps every lease that was granted.
    Keeps,
}

impl fmt::Display for Failover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MayLose => "may lose a lease that is held",
            Self::Impossible => "there is none (one server)",
            Self::Keeps => "keeps every lease",
        })
    }
}

/// In which order waiters are served. Ordered: later is stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fairness {
    /// In no order.
    None,
    /// First come, first served.
    Fifo,
}

impl fmt::Display for Fairness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Fifo => "first come, first served",
        })
    }
}

/// Something that the self-check saw, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// One sentence that names the setting, what it means for a lease, and the remedy.
    pub text: String,
}

impl Finding {
    /// A finding.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A requirement that a store does not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unmet {
    /// Which guarantee.
    pub what: &'static str,
    /// What the caller requires.
    pub required: String,
    /// What the store gives.
    pub given: String,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "this store does not give the {} required: required \"{}\", given \"{}\"; \
             require less or use another store",
            self.what, self.required, self.given
        )
    }
}

impl Error for Unmet {}
