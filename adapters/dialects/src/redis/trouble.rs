use core::{error, fmt};

use tenure_core::Failure;

use super::{ErrorReply, RESERVED};

/// Why a conversation ended without a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// The lock's name begins with [`RESERVED`].
    ReservedName,
    /// The term is under 1 ms, and Redis would delete the key at once.
    TermTooShort,
    /// A request that Redis has no answer to: it has no queue and no sessions.
    Unsupported,
    /// The server answered with an error.
    Answered(ErrorReply),
    /// The server answered with what no script of ours returns.
    Garbled,
}

impl Trouble {
    /// May the server have executed the request?
    #[must_use]
    pub const fn failure(self) -> Failure {
        match self {
            Self::ReservedName | Self::TermTooShort | Self::Unsupported => {
                Failure::Refused { permanent: true, retry_after: None }
            }
            Self::Answered(error) => error.failure(),
            Self::Garbled => Failure::Unknown,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReservedName => write!(
                f,
                "names that begin with \"{RESERVED}\" are kept for the token counters: \
                 give the lock another name"
            ),
            Self::TermTooShort => f.write_str("Redis counts in milliseconds: ask for at least 1ms"),
            Self::Unsupported => f.write_str("Redis has no queue and no sessions: poll and watch"),
            Self::Answered(error) => error.fmt(f),
            Self::Garbled => f.write_str(
                "the server's answer is none of a Tenure script: \
                 is a proxy, or something else than Redis, in between?",
            ),
        }
    }
}

impl error::Error for Trouble {}
