//! What a lease of a quorum does while all is well.

use std::{sync::Arc, time::Duration};

use tenure::{AcquireError, Status, Store as _};
use tenure_redis::redlock;
use tokio::sync::Mutex;

use crate::servers::{Servers, lock, slot};

#[tokio::test]
async fn a_lease_is_taken_kept_and_freed_and_leaves_nothing_behind() {
    let servers = Servers::start(5);
    let term = Duration::from_secs(6);
    let lock = lock(servers.store().await)
        .term(term)
        .attempt_timeout(Duration::from_secs(1))
        .build()
        .unwrap();
    let guard = lock.acquire().await.unwrap();
    assert_eq!(guard.token().get(), 1);
    assert!(guard.remaining().unwrap() <= term);
    let mut status = guard.status();
    let Status::Held { basis: first } = *status.borrow_and_update() else { panic!("not held") };
    status.changed().await.unwrap();
    let Status::Held { basis: second } = *status.borrow_and_update() else { panic!("not renewed") };
    assert_ne!(first, second);
    assert_eq!(servers.locked().await, 5);

    let inspected = lock.store().inspect(lock.name()).await.unwrap();
    assert!(matches!(inspected, tenure::Inspection::Held { .. }), "{inspected:?}");
    assert!(guard.release().await.confirmed);
    servers.nothing_is_left().await;
    assert_eq!(lock.store().inspect(lock.name()).await.unwrap(), tenure::Inspection::Free);
    for server in servers.iter() {
        assert_eq!(server.raw::<i64>(&["TTL", "__tenure:1:quorum"]).await, -1);
    }
}

#[tokio::test]
async fn two_clients_exclude_each_other_and_tokens_rise_across_them() {
    let servers = Servers::start(5);
    let (ours, theirs) = (servers.lock().await, servers.lock().await);
    let mut last = 0;
    for (first, second) in [(&ours, &theirs), (&theirs, &ours), (&ours, &theirs)] {
        let guard = first.try_acquire().await.unwrap();
        assert!(guard.token().get() > last && guard.token_went_back().is_none());
        last = guard.token().get();
        let Err(AcquireError::Busy(contended)) = second.try_acquire().await else {
            panic!("two holders");
        };
        assert!(contended.remaining.is_some());
        assert!(guard.held().is_some());
        guard.release().await;
        servers.nothing_is_left().await;
    }
}

#[tokio::test]
async fn an_acquire_that_knows_the_counter_is_one_round_and_else_two() {
    for (counter, known, rounds) in [(0, 0, 1), (41, 41, 1), (41, 0, 2)] {
        let servers = Servers::start(5);
        let proxies = servers.proxies().await;
        let store = redlock(proxies.iter().map(|proxy| proxy.url())).await.unwrap();
        let ours = lock(store).build().unwrap();
        if counter > 0 {
            for server in servers.iter() {
                server
                    .raw::<()>(&["HSET", "__tenure:1:quorum", &slot(), &counter.to_string()])
                    .await;
            }
        }
        if let Some(token) = tenure::Token::new(known) {
            ours.remember(token);
        }
        let before: Vec<_> = proxies.iter().map(|proxy| proxy.round_trips()).collect();
        let guard = ours.acquire().await.unwrap();
        assert_eq!(guard.token().get(), counter + 1);
        let spoke = proxies.iter().zip(before).map(|(proxy, before)| proxy.round_trips() - before);
        assert_eq!(spoke.max(), Some(rounds));
    }
}

#[tokio::test]
async fn clients_that_split_the_votes_go_on_one_after_the_other() {
    let servers = Servers::start(5);
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let (lock, tokens) = (servers.lock().await, Arc::clone(&tokens));
        clients.spawn(async move {
            for _ in 0..3 {
                let guard = lock.acquire().await.unwrap();
                tokens.try_lock().expect("two holders").push(guard.token());
                guard.release().await;
            }
        });
    }
    let all = tokio::time::timeout(Duration::from_secs(100), clients.join_all()).await;
    all.expect("nobody gets on");
    let tokens = tokens.lock().await;
    assert_eq!(tokens.len(), 9);
    assert!(tokens.is_sorted_by(|earlier, later| earlier < later), "{tokens:?}");
    servers.nothing_is_left().await;
}

#[tokio::test]
async fn locks_of_different_names_do_not_meet() {
    let servers = Servers::start(3);
    let store = servers.store().await;
    let (first, second) =
        (tenure::Lock::new(store.clone(), "a").unwrap(), tenure::Lock::new(store, "b").unwrap());
    let (a, b) = (first.acquire().await.unwrap(), second.acquire().await.unwrap());
    assert!(a.held().is_some() && b.held().is_some());
}

#[tokio::test]
async fn a_plain_redlock_client_excludes_and_is_excluded() {
    let servers = Servers::start(5);
    let ours = servers.lock().await;
    let plain = async |server: &crate::server::Server| {
        server.raw::<Option<String>>(&["SET", "nightly", "plain", "NX", "PX", "60000"]).await
    };
    for server in &servers[..3] {
        assert!(plain(server).await.is_some());
    }
    assert!(matches!(ours.try_acquire().await, Err(AcquireError::Busy(_))));
    assert_eq!(servers.locked().await, 3, "what was locked beside it is given back");
    for server in &servers[..3] {
        server.raw::<()>(&["DEL", "nightly"]).await;
    }

    let guard = ours.acquire().await.unwrap();
    let mut taken = 0;
    for server in servers.iter() {
        taken += usize::from(plain(server).await.is_some());
    }
    assert!(taken < 3, "{taken}");
    assert!(guard.release().await.confirmed);
    for server in servers.iter() {
        let value: Option<String> = server.raw(&["GET", "nightly"]).await;
        assert!(value.is_none_or(|value| value == "plain"), "not ours to delete");
    }
}
