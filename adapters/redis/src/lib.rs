#![doc = include_str!("../README.md")]

mod address;
mod converse;
mod failure;
mod link;
mod nodes;
mod redlock;
mod self_check;
mod store;
mod watchers;

pub use redlock::Redlock;
pub use store::RedisStore;

use tenure_store::ConnectError;

/// The same as [`Redlock::connect`].
///
/// # Errors
///
/// As there.
pub async fn redlock(
    urls: impl IntoIterator<Item = impl AsRef<str>>,
) -> Result<Redlock, ConnectError> {
    Redlock::connect(urls).await
}
