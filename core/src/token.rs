use core::{error, fmt, num::NonZeroU64};

/// A fencing token: rises with every grant of the same lock (S13), the same for the whole grant (S14).
///
/// Between 1 and [`i64::MAX`], so that SQL and every signed runtime can hold it. Tokens of different
/// locks, or of a store that lost its data, are not comparable (S20).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "u64", into = "u64"))]
pub struct Token(NonZeroU64);

impl Token {
    /// The lowest token.
    pub const MIN: Self = Self(NonZeroU64::MIN);

    /// The highest token, [`i64::MAX`].
    pub const MAX: Self = Self(NonZeroU64::new(i64::MAX as u64).unwrap());

    /// The token `value`, or `None` if it is 0 or above [`i64::MAX`].
    #[must_use]
    pub const fn new(value: u64) -> Option<Self> {
        match NonZeroU64::new(value) {
            Some(value) if value.get() <= Self::MAX.0.get() => Some(Self(value)),
            Some(_) | None => None,
        }
    }

    pub(crate) const fn next(self) -> Option<Self> {
        Self::new(self.0.get().saturating_add(1))
    }

    /// The token as a number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Token> for u64 {
    fn from(token: Token) -> Self {
        token.get()
    }
}

impl TryFrom<u64> for Token {
    type Error = TokenOutOfRange;

    fn try_from(value: u64) -> Result<Self, TokenOutOfRange> {
        Self::new(value).ok_or(TokenOutOfRange { value })
    }
}

/// A number that is no fencing token: 0, or above [`i64::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenOutOfRange {
    /// The number offered.
    pub value: u64,
}

impl fmt::Display for TokenOutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is no fencing token: it must be between 1 and {}", self.value, Token::MAX)
    }
}

impl error::Error for TokenOutOfRange {}
