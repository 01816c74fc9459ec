//! Servers that stand still, are slow, or are down.

use std::time::Duration;

use tenure::AcquireError;
use tenure_redis::redlock;

use crate::{
    server::Server,
    servers::{Servers, eventually, lock},
};

#[tokio::test]
async fn one_server_that_stands_still_costs_nothing_and_is_unlocked_later() {
    let servers = Servers::start(5);
    let ours = servers.lock().await;
    servers[4].freeze();
    let guard = ours.try_acquire().await.unwrap();
    assert!(guard.held().is_some());
    assert!(guard.release().await.confirmed);
    servers[4].thaw();
    servers.nothing_is_left().await;
}

#[tokio::test]
async fn a_slow_server_is_not_waited_for() {
    let servers = Servers::start(5);
    let proxies = servers.proxies().await;
    let store = redlock(proxies.iter().map(|proxy| proxy.url())).await.unwrap();
    let ours = lock(store).build().unwrap();
    for _ in 0..3 {
        proxies[0].hold(true);
        let guard = ours.try_acquire().await.unwrap();
        assert!(guard.held().is_some());
        assert!(guard.release().await.confirmed);
        proxies[0].hold(false);
        servers.nothing_is_left().await;
    }
}

#[tokio::test]
async fn without_a_majority_nothing_is_granted_and_nothing_stays_locked() {
    let servers = Servers::start(5);
    let ours = servers.lock().await;
    servers[..3].iter().for_each(|server| server.freeze());
    let refused = ours.try_acquire().await;
    assert!(matches!(refused, Err(AcquireError::Failed(_))), "{refused:?}");
    servers[..3].iter().for_each(|server| server.thaw());
    servers.nothing_is_left().await;
    assert!(ours.acquire().await.is_ok());
}

#[tokio::test]
async fn two_servers_may_die_while_a_lease_is_held() {
    let mut servers = Servers::start(5);
    let ours = lock(servers.store().await)
        .term(Duration::from_secs(6))
        .attempt_timeout(Duration::from_secs(1))
        .build()
        .unwrap();
    let guard = ours.acquire().await.unwrap();
    servers[..2].iter_mut().for_each(Server::kill);
    let mut status = guard.status();
    status.mark_unchanged();
    status.changed().await.unwrap();
    assert!(matches!(*status.borrow(), tenure::Status::Held { .. }), "{status:?}");
    assert!(guard.release().await.confirmed);
}

#[tokio::test]
async fn an_acquire_that_is_dropped_leaves_nothing_behind() {
    let servers = Servers::start(5);
    let ours = servers.lock().await;
    servers[..3].iter().for_each(|server| server.freeze());
    {
        let mut acquiring = std::pin::pin!(ours.acquire());
        tokio::select! {
            result = &mut acquiring => panic!("{result:?}"),
            () = eventually("locked somewhere", async || {
                servers[4].raw::<bool>(&["EXISTS", "nightly"]).await
            }) => {}
        }
    }
    servers[..3].iter().for_each(|server| server.thaw());
    servers.nothing_is_left().await;
    assert!(ours.try_acquire().await.is_ok());
}
