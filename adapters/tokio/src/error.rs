use std::{error::Error, fmt, io};

use tenure_core::{ConfigError, LossReason};
use tenure_store::{EmptyName, StoreError, Unmet};

use crate::Contended;

/// Why a [`Lock`](crate::Lock) cannot be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockError {
    /// The name is empty.
    Name(EmptyName),
    /// The term, the grace and the store's clock do not fit together.
    Config(ConfigError),
    /// The store does not give what was required.
    Unmet(Unmet),
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(f),
            Self::Config(error) => error.fmt(f),
            Self::Unmet(error) => error.fmt(f),
        }
    }
}

impl Error for LockError {}

/// Why a lease was not given. In every case it is not held, and nothing is left behind: what the
/// store may have granted all the same is being released in the background.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcquireError {
    /// Somebody else has it, for as long as we were willing to wait.
    Busy(Contended),
    /// The store did not answer, or would not.
    Failed(StoreError),
    /// The store granted it, but so late that too little of the term was left.
    TooLate,
    /// The session that the acquire went through ended before the grant.
    SessionLost,
    /// This host's clock went back, so nothing can be timed by it.
    ClockWentBack,
    /// This host gave no random numbers for the attempt's nonce.
    Entropy(io::Error),
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy(contended) => write!(f, "{contended}: wait longer, or try again later"),
            Self::Failed(error) => write!(f, "the store gave no lease: {error}"),
            Self::TooLate => f.write_str(
                "the lease was granted too late to be of use: try again, or ask for a longer term",
            ),
            Self::SessionLost => {
                f.write_str("the session with the store ended before the grant: try again")
            }
            Self::ClockWentBack => f.write_str(
                "this host's clock went back, so no lease can be timed by it: try again, \
                 and mend the clock if it happens twice",
            ),
            Self::Entropy(error) => write!(f, "this host gave no random numbers: {error}"),
        }
    }
}

impl Error for AcquireError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(error) => error.source(),
            Self::Busy(_)
            | Self::TooLate
            | Self::SessionLost
            | Self::ClockWentBack
            | Self::Entropy(_) => None,
        }
    }
}

/// The lease was lost, and the protected work dropped. See [`Guard::run`](crate::Guard::run).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// Why.
    pub reason: LossReason,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lease was lost and the work stopped: ")?;
        f.write_str(match self.reason {
            LossReason::Expired => "the deadline passed without a renewal",
            LossReason::Gone => "the store does not know the lease any more",
            LossReason::SessionLost => "the session with the store ended",
            LossReason::SessionUnknown => "the session with the store may have ended",
            LossReason::ClockWentBack => "this host's clock went back",
            _ => "for a reason that this version has no words for",
        })
    }
}

impl Error for Lost {}
