use std::{error::Error, fmt};

use tenure_core::Failure;

/// Why a request brought no answer: the class that the machine needs, and the words that a person
/// needs. Never contains a secret.
#[derive(Debug)]
pub struct StoreError {
    failure: Failure,
    source: Box<dyn Error + Send + Sync>,
}

impl StoreError {
    /// An error of this class.
    pub fn new(failure: Failure, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { failure, source: source.into() }
    }

    /// It never left this host.
    pub fn not_sent(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Failure::NotSent, source)
    }

    /// It may have been executed.
    pub fn unknown(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Failure::Unknown, source)
    }

    /// The store did not execute it, and never will.
    pub fn refused(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Failure::Refused { permanent: true, retry_after: None }, source)
    }

    /// The store did not execute it; it may later.
    pub fn refused_for_now(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Failure::Refused { permanent: false, retry_after: None }, source)
    }

    /// Whether the store may have executed the request.
    #[must_use]
    pub const fn failure(&self) -> Failure {
        self.failure
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.source()
    }
}

/// Why a store cannot be used at all.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address, path or option makes no sense; the text says what to write.
    Invalid(String),
    /// It cannot be reached, or will not let us in.
    Unreachable(StoreError),
    /// It is set up so that a lease there would promise what it cannot keep; the text says what to
    /// change.
    Unsafe(String),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(text) | Self::Unsafe(text) => f.write_str(text),
            Self::Unreachable(error) => write!(f, "cannot reach the store: {error}"),
        }
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unreachable(error) => error.source(),
            Self::Invalid(_) | Self::Unsafe(_) => None,
        }
    }
}
