//! Servers that lost their data.

use std::time::Duration;

use tenure::AcquireError;
use tenure_redis::redlock;
use tenure_store::ConnectError;

use crate::servers::{Servers, lock, slot};

const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_server_that_lost_its_data_does_not_vote_until_it_is_readmitted() {
    let servers = Servers::start(5);
    let (store, emptied) = (servers.store().await, &servers[1]);
    let (ours, other) = (lock(store.clone()).build().unwrap(), servers.lock().await);
    let mut last = ours.acquire().await.unwrap().token();
    servers.nothing_is_left().await;

    emptied.raw::<()>(&["FLUSHALL"]).await;
    for client in [&ours, &other, &servers.lock().await] {
        let guard = client.acquire().await.unwrap();
        assert!(guard.token() > last);
        last = guard.token();
        assert!(!emptied.raw::<bool>(&["EXISTS", "nightly"]).await, "it voted");
        guard.release().await;
        servers.nothing_is_left().await;
    }

    store.readmit(&emptied.url(), SHORT).await.unwrap();
    let floor: u64 = emptied.raw(&["HGET", "__tenure:1:quorum", "floor"]).await;
    assert!(floor > last.get());
    for client in [&ours, &other, &servers.lock().await] {
        let guard = client.acquire().await.unwrap();
        assert!(guard.token() > last);
        last = guard.token();
        crate::servers::eventually("it votes", async || {
            emptied.raw::<bool>(&["EXISTS", "nightly"]).await
        })
        .await;
        guard.release().await;
        servers.nothing_is_left().await;
    }
}

/// Of three servers, the first two know the token. Without the mark, the emptied one and the one that
/// was away would be a majority that has never heard of it.
#[tokio::test]
async fn a_majority_that_forgot_grants_nothing() {
    let servers = Servers::start(3);
    let (ours, stranger) = (servers.lock().await, servers.lock().await);
    let last = ours.acquire().await.unwrap().token();
    servers.nothing_is_left().await;
    servers[2].raw::<()>(&["HDEL", "__tenure:1:quorum", &slot()]).await;

    servers[1].raw::<()>(&["FLUSHALL"]).await;
    servers[0].freeze();
    let refused = stranger.try_acquire().await;
    assert!(matches!(refused, Err(AcquireError::Failed(_))), "{refused:?}");
    servers[0].thaw();
    assert!(stranger.acquire().await.unwrap().token() > last);
}

#[tokio::test]
async fn who_restores_a_backup_readmits_the_server() {
    let servers = Servers::start(3);
    let store = servers.store().await;
    let ours = lock(store.clone()).build().unwrap();
    for _ in 0..5 {
        ours.acquire().await.unwrap().release().await;
        servers.nothing_is_left().await;
    }
    servers[0].raw::<()>(&["HSET", "__tenure:1:quorum", &slot(), "2"]).await;
    store.readmit(&servers[0].url(), SHORT).await.unwrap();
    assert_eq!(servers[0].raw::<u64>(&["HGET", "__tenure:1:quorum", "floor"]).await, 6);
    let stranger = servers.lock().await;
    assert!(stranger.acquire().await.unwrap().token().get() >= 6);
}

#[tokio::test]
async fn nobody_is_readmitted_on_the_word_of_a_minority() {
    let servers = Servers::start(3);
    let store = servers.store().await;
    servers[0].raw::<()>(&["FLUSHALL"]).await;
    servers[1].raw::<()>(&["FLUSHALL"]).await;
    let refused = store.readmit(&servers[0].url(), SHORT).await;
    assert!(matches!(refused, Err(ConnectError::Unsafe(_))), "{refused:?}");
    let refused = redlock(servers.urls()).await;
    assert!(matches!(refused, Err(ConnectError::Unsafe(_))), "{refused:?}");
    let refused = store.readmit("redis://127.0.0.1:1", SHORT).await;
    assert!(matches!(refused, Err(ConnectError::Invalid(_))), "{refused:?}");
}
