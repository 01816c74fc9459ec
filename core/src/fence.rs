use core::{error, fmt};

use crate::Token;

/// The check at the resource: no older holder's write after a newer holder was installed (T2).
///
/// It holds without any assumption about time. Keep it where the data are, and change it in the same
/// transaction as the data (S17): a fence that forgets its highest token fences nothing.
///
/// A new holder calls [`install`](Self::install) before it first *reads*, and
/// [`admit`](Self::admit) with every write. Without `install`, token 33 is still welcome until 34
/// first shows up (S18). Whoever may call `install` can lock everybody else out: let holders of the
/// lease do so, and nobody else.
///
/// ```
/// use tenure_core::{Fence, Token};
///
/// let (older, newer) = (Token::new(33).unwrap(), Token::new(34).unwrap());
/// let mut fence = Fence::new();
/// fence.admit(older)?;
/// fence.install(newer)?;
/// assert_eq!(fence.admit(older).unwrap_err().to_string(), "stale token 33: 34 is installed");
/// fence.admit(newer)?;
/// # Ok::<(), tenure_core::StaleToken>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fence {
    highest: Option<Token>,
    last_write: Option<u64>,
}

impl Fence {
    /// A fence that has seen no token.
    #[must_use]
    pub const fn new() -> Self {
        Self { highest: None, last_write: None }
    }

    /// A fence that has seen `highest`, as read back from where the resource keeps it.
    #[must_use]
    pub const fn restored(highest: Token) -> Self {
        Self { highest: Some(highest), last_write: None }
    }

    /// The highest token seen: what to store beside the data.
    #[must_use]
    pub const fn highest(&self) -> Option<Token> {
        self.highest
    }

    /// Raises the bar to `token`, so that no lower one is admitted from now on. The same token may be
    /// installed again.
    ///
    /// # Errors
    ///
    /// [`StaleToken`] if a higher one was seen: the caller does not hold the lease any more.
    pub fn install(&mut self, token: Token) -> Result<(), StaleToken> {
        self.raise(token)
    }

    /// Accepts a write under `token`. One holder writes many times with the same token.
    ///
    /// # Errors
    ///
    /// [`StaleToken`] if a higher one was seen: do not apply the write.
    pub fn admit(&mut self, token: Token) -> Result<(), StaleToken> {
        self.raise(token)
    }

    /// Accepts write number `write` of the holder of `token`; numbers must rise within one token, so
    /// that the holder's own duplicates and reordered writes are refused as well (S19).
    ///
    /// # Errors
    ///
    /// [`WriteRefused`]: do not apply the write.
    pub fn admit_in_order(&mut self, token: Token, write: u64) -> Result<(), WriteRefused> {
        self.raise(token)?;
        match self.last_write {
            Some(last) if write <= last => {
                Err(WriteRefused::OutOfOrder(OutOfOrder { offered: write, last }))
            }
            Some(_) | None => {
                self.last_write = Some(write);
                Ok(())
            }
        }
    }

    fn raise(&mut self, offered: Token) -> Result<(), StaleToken> {
        match self.highest {
            Some(highest) if offered < highest => return Err(StaleToken { offered, highest }),
            Some(highest) if offered == highest => {}
            Some(_) | None => *self = Self::restored(offered),
        }
        Ok(())
    }
}

/// A token below the highest that the fence has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct StaleToken {
    /// The token offered.
    pub offered: Token,
    /// The highest token seen.
    pub highest: Token,
}

impl fmt::Display for StaleToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stale token {}: {} is installed", self.offered, self.highest)
    }
}

impl error::Error for StaleToken {}

/// A write number that is not above the holder's last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct OutOfOrder {
    /// The number offered.
    pub offered: u64,
    /// The last number admitted under this token.
    pub last: u64,
}

impl fmt::Display for OutOfOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write {} after write {} of the same holder", self.offered, self.last)
    }
}

impl error::Error for OutOfOrder {}

/// Why [`Fence::admit_in_order`] refused a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum WriteRefused {
    /// A newer holder was seen.
    Stale(StaleToken),
    /// The holder itself has written this, or something later, already.
    OutOfOrder(OutOfOrder),
}

impl fmt::Display for WriteRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale(stale) => stale.fmt(f),
            Self::OutOfOrder(order) => order.fmt(f),
        }
    }
}

impl error::Error for WriteRefused {}

impl From<StaleToken> for WriteRefused {
    fn from(stale: StaleToken) -> Self {
        Self::Stale(stale)
    }
}
