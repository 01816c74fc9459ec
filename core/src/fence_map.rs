use core::{error, fmt, hash::Hash};

use heapless::index_map::FnvIndexMap;

use crate::{Fence, StaleToken, Token};

/// Many [`Fence`]s in a fixed table of `N` places (a power of two), one for each key.
///
/// A full table refuses a new key and never evicts an old one: an evicted fence would admit a stale
/// holder. Forget a key with [`remove`](Self::remove) only when no older holder of it can write any
/// more.
#[derive(Debug)]
pub struct FenceMap<K: Eq + Hash, const N: usize> {
    fences: FnvIndexMap<K, Fence, N>,
}

impl<K: Eq + Hash, const N: usize> FenceMap<K, N> {
    /// An empty table.
    #[must_use]
    pub const fn new() -> Self {
        Self { fences: FnvIndexMap::new() }
    }

    /// How many keys the table holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fences.len()
    }

    /// Whether the table holds no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fences.is_empty()
    }

    /// The highest token seen for `key`.
    #[must_use]
    pub fn highest(&self, key: &K) -> Option<Token> {
        self.fences.get(key)?.highest()
    }

    /// Puts back the fence of `key`, as read from where the resource keeps it. A higher token that
    /// was already seen stays.
    ///
    /// # Errors
    ///
    /// [`FenceMapError::Full`] if the key is new and there is no place.
    pub fn restore(&mut self, key: K, highest: Token) -> Result<(), FenceMapError> {
        match self.install(key, highest) {
            Ok(()) | Err(FenceMapError::Stale(_)) => Ok(()),
            Err(FenceMapError::Full) => Err(FenceMapError::Full),
        }
    }

    /// [`Fence::install`] for `key`.
    ///
    /// # Errors
    ///
    /// [`FenceMapError`]; nothing was changed.
    pub fn install(&mut self, key: K, token: Token) -> Result<(), FenceMapError> {
        Ok(self.fence(key)?.install(token)?)
    }

    /// [`Fence::admit`] for `key`.
    ///
    /// # Errors
    ///
    /// [`FenceMapError`]; do not apply the write.
    pub fn admit(&mut self, key: K, token: Token) -> Result<(), FenceMapError> {
        Ok(self.fence(key)?.admit(token)?)
    }

    /// Forgets `key`, and with it the protection against its older holders.
    pub fn remove(&mut self, key: &K) -> Option<Fence> {
        self.fences.swap_remove(key)
    }

    fn fence(&mut self, key: K) -> Result<&mut Fence, FenceMapError> {
        use heapless::index_map::Entry;
        match self.fences.entry(key) {
            Entry::Occupied(place) => Ok(place.into_mut()),
            Entry::Vacant(place) => place.insert(Fence::new()).map_err(|_| FenceMapError::Full),
        }
    }
}

impl<K: Eq + Hash, const N: usize> Default for FenceMap<K, N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a [`FenceMap`] refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FenceMapError {
    /// A newer holder was seen.
    Stale(StaleToken),
    /// The key is new and every place is taken.
    Full,
}

impl fmt::Display for FenceMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale(stale) => stale.fmt(f),
            Self::Full => f.write_str("every place of the fence table is taken: make it larger"),
        }
    }
}

impl error::Error for FenceMapError {}

impl From<StaleToken> for FenceMapError {
    fn from(stale: StaleToken) -> Self {
        Self::Stale(stale)
    }
}
