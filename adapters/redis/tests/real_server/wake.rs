//! Wake-ups: hints, one subscription a client.

use std::time::Duration;

use tenure_core::Reply;
use tenure_redis::RedisStore;
use tenure_store::{Call, LockName, Notices, Store as _};

use crate::{asking::*, proxy::Proxy, server::Server};

async fn watching(store: &RedisStore, lock: &LockName, byte: u8, notices: &Notices) {
    let call = Call { lock, request: watch(byte), time_left: Some(TERM), notices };
    assert_eq!(store.execute(call).await.unwrap().reply, Reply::Watching);
}

#[tokio::test]
async fn a_release_wakes_who_watches_the_lock_and_nobody_else() {
    let server = Server::start(&[]);
    let (holder, waiter) = (server.store().await, server.store().await);
    let (lock, other) = (name(b"night\xff\0ly"), name("other"));
    let (notices, mut hints_of_lock) = hints();
    let (notices_of_other, mut hints_of_other) = hints();
    watching(&waiter, &lock, 2, &notices).await;
    watching(&waiter, &other, 3, &notices_of_other).await;
    assert_eq!(server.raw::<(String, u64)>(&["PUBSUB", "NUMSUB", "__tenure:1:free"]).await.1, 1);

    ask(&holder, &lock, acquire(1)).await.unwrap();
    ask(&holder, &lock, release(1)).await.unwrap();
    hinted(&mut hints_of_lock).await;
    assert!(hints_of_other.try_recv().is_err());

    // What others publish is looked up and forgotten.
    for junk in ["", "junk", "other"] {
        server.raw::<()>(&["PUBLISH", "__tenure:1:free", junk]).await;
    }
    hinted(&mut hints_of_other).await;
    assert!(hints_of_lock.try_recv().is_err());

    ask(&waiter, &lock, unwatch(2)).await.unwrap();
    ask(&holder, &lock, acquire(1)).await.unwrap();
    ask(&holder, &lock, release(1)).await.unwrap();
    server.raw::<()>(&["PUBLISH", "__tenure:1:free", "other"]).await;
    hinted(&mut hints_of_other).await;
    assert!(hints_of_lock.try_recv().is_err());
}

#[tokio::test]
async fn a_release_that_freed_nothing_wakes_nobody() {
    let server = Server::start(&[]);
    let (store, lock, other) = (server.store().await, name("nightly"), name("other"));
    let (notices, mut hints) = hints();
    watching(&store, &lock, 2, &notices).await;
    watching(&store, &other, 3, &notices).await;
    assert_eq!(ask(&store, &lock, release(1)).await.unwrap(), Reply::Gone);
    server.raw::<()>(&["PUBLISH", "__tenure:1:free", "other"]).await;
    hinted(&mut hints).await;
    assert!(hints.try_recv().is_err());
}

#[tokio::test]
async fn the_subscription_survives_the_connection_and_missed_wake_ups_are_made_up_for() {
    let mut server = Server::start(&[]);
    let proxy = Proxy::before(server.port()).await;
    let (store, lock) = (RedisStore::connect(&proxy.url()).await.unwrap(), name("nightly"));
    let (notices, mut hints) = hints();
    watching(&store, &lock, 2, &notices).await;
    server.kill();
    server.restart();
    // The next poll of the waiter finds out, at the latest the one after.
    while ask(&store, &lock, acquire(1)).await.is_err() {}
    hinted(&mut hints).await;
    ask(&store, &lock, release(1)).await.unwrap();
    hinted(&mut hints).await;
    assert_eq!(proxy.connections(), 2);
}

#[tokio::test]
async fn a_watch_that_failed_or_was_dropped_is_forgotten() {
    let mut server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));
    let (notices, mut hints) = hints();
    let call = Call { lock: &lock, request: watch(2), time_left: None, notices: &notices };
    tokio::select! {
        biased;
        _ = store.execute(call) => panic!("answered at the first poll"),
        () = std::future::ready(()) => {}
    }
    server.kill();
    while store.execute(call).await.is_ok() {}
    drop(notices);
    let end = tokio::time::timeout(Duration::from_secs(20), hints.recv()).await;
    assert_eq!(end, Ok(None), "nobody may hold the notices any more");
}
