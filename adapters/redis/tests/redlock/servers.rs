//! Some servers, and what is on them.

use std::time::Duration;

use tenure::{Lock, LockBuilder};
use tenure_redis::{Redlock, redlock};

use crate::{proxy::Proxy, server::Server};

/// Longer than any test may take: what is gone by its end was released.
pub(crate) const TERM: Duration = Duration::from_secs(120);

pub(crate) struct Servers(Vec<Server>);

impl Servers {
    pub(crate) fn start(count: usize) -> Self {
        Self((0..count).map(|_| Server::start(&[])).collect())
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.0.iter().map(Server::url).collect()
    }

    pub(crate) async fn store(&self) -> Redlock {
        redlock(self.urls()).await.unwrap()
    }

    /// A client of its own.
    pub(crate) async fn lock(&self) -> Lock {
        lock(self.store().await).build().unwrap()
    }

    /// A proxy before each.
    pub(crate) async fn proxies(&self) -> Vec<Proxy> {
        let mut proxies = Vec::new();
        for server in &self.0 {
            proxies.push(Proxy::before(server.port()).await);
        }
        proxies
    }

    /// On how many of them the lock is.
    pub(crate) async fn locked(&self) -> usize {
        let mut locked = 0;
        for server in &self.0 {
            locked += server.raw::<usize>(&["EXISTS", "nightly"]).await;
        }
        locked
    }

    /// Waits until there is no key on any of them but what makes it a node.
    pub(crate) async fn nothing_is_left(&self) {
        for server in &self.0 {
            eventually("released", async || {
                let keys: Vec<String> = server.raw(&["KEYS", "*"]).await;
                keys.iter().all(|key| key == "__tenure:1:quorum")
            })
            .await;
        }
    }
}

impl std::ops::Deref for Servers {
    type Target = [Server];

    fn deref(&self) -> &[Server] {
        &self.0
    }
}

impl std::ops::DerefMut for Servers {
    fn deref_mut(&mut self) -> &mut [Server] {
        &mut self.0
    }
}

pub(crate) fn lock(store: Redlock) -> LockBuilder {
    Lock::builder(store, "nightly").term(TERM).attempt_timeout(Duration::from_secs(2))
}

pub(crate) async fn eventually(what: &str, mut check: impl AsyncFnMut() -> bool) {
    for _ in 0..600 {
        if check().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never: {what}");
}

/// Where a node keeps the lock's counter.
pub(crate) fn slot() -> String {
    tenure_dialects::redis::slot(b"nightly").to_string()
}
