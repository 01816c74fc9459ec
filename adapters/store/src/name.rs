use std::{error::Error, fmt, sync::Arc};

/// The name of a lock: any bytes, at least one. What a store makes of it (a key, a file) is the
/// store's affair.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockName(Arc<[u8]>);

impl LockName {
    /// The lock named `name`.
    ///
    /// # Errors
    ///
    /// [`EmptyName`].
    pub fn new(name: impl AsRef<[u8]>) -> Result<Self, EmptyName> {
        let name = name.as_ref();
        if name.is_empty() { Err(EmptyName) } else { Ok(Self(name.into())) }
    }

    /// The name's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.escape_ascii().fmt(f)
    }
}

impl fmt::Debug for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LockName(\"{self}\")")
    }
}

/// A lock must have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmptyName;

impl fmt::Display for EmptyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a lock needs a name of at least one byte")
    }
}

impl Error for EmptyName {}
