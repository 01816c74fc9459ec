//! What is found, and made, at the connect.

use tenure::{Failover, Fencing, Requirements, Store as _, Tenancy};
use tenure_redis::{Redlock, redlock};
use tenure_store::ConnectError;

use crate::{
    server::{Server, free_port},
    servers::{Servers, lock},
};

#[tokio::test]
async fn clients_that_all_come_first_form_one_quorum() {
    let servers = Servers::start(5);
    let mut reversed = servers.urls();
    reversed.reverse();
    let (a, b, c) =
        tokio::join!(redlock(servers.urls()), redlock(reversed), redlock(servers.urls()));
    let [a, b, c] = [a, b, c].map(|store| lock(store.unwrap()).build().unwrap());
    let guard = a.acquire().await.unwrap();
    assert!(b.try_acquire().await.is_err() && c.try_acquire().await.is_err());
    guard.release().await;
    servers.nothing_is_left().await;
    assert_eq!(c.acquire().await.unwrap().token().get(), 2);
}

#[tokio::test]
async fn a_minority_may_be_down_and_is_used_when_it_is_back() {
    let servers = Servers::start(3);
    servers.store().await;
    let mut urls = servers.urls();
    let down = Server::start(&[]);
    // A server of nobody's quorum stands in for the third.
    urls[2] = down.url();
    drop(down);
    let store = redlock(&urls).await.unwrap();
    assert_eq!(store.guarantees().failover, Failover::MayLose);
    let findings = &store.guarantees().findings;
    assert!(findings.iter().any(|finding| finding.text.contains("could not be checked")));
    let guard = lock(store).build().unwrap().acquire().await.unwrap();
    guard.release().await;

    urls[1] = urls[2].clone();
    let unreachable = redlock(&urls).await;
    assert!(matches!(unreachable, Err(ConnectError::Unreachable(_))), "{unreachable:?}");
}

#[tokio::test]
async fn a_server_that_was_down_at_the_connect_votes_when_it_is_back() {
    let servers = Servers::start(3);
    servers.store().await;
    servers[0].freeze();
    let store = redlock(servers.urls()).await.unwrap();
    servers[0].thaw();
    let ours = lock(store).build().unwrap();
    let guard = ours.acquire().await.unwrap();
    crate::servers::eventually("all three vote", async || servers.locked().await == 3).await;
    guard.release().await;
    servers.nothing_is_left().await;
}

#[tokio::test]
async fn a_quorum_is_not_formed_without_one_of_its_servers() {
    let servers = Servers::start(2);
    let mut urls = servers.urls();
    urls.push(format!("redis://127.0.0.1:{}", free_port()));
    let unreachable = redlock(&urls).await;
    assert!(matches!(unreachable, Err(ConnectError::Unreachable(_))), "{unreachable:?}");
}

#[tokio::test]
async fn addresses_that_make_no_quorum_are_refused() {
    let servers = Servers::start(3);
    let invalid = async |urls: &[String]| match redlock(urls).await {
        Err(ConnectError::Invalid(text)) => text,
        other => panic!("{other:?}"),
    };
    let urls = servers.urls();
    assert!(invalid(&[]).await.contains("1 to 9"));
    assert!(invalid(&["http://x".into()]).await.contains("redis://host"));
    let twice = [urls[0].clone(), urls[1].clone(), urls[0].clone()];
    assert!(invalid(&twice).await.contains("same server"));
    servers.store().await;
    assert!(invalid(&twice).await.contains("same server"));
    assert!(invalid(&urls[..1]).await.contains("name all of them"));
}

#[tokio::test]
async fn a_server_that_is_no_store_for_locks_is_named() {
    let evicting = Server::start(&["--maxmemory-policy", "allkeys-lru"]);
    let replica = Server::start(&[]);
    let good = Servers::start(2);
    let port = good[0].port().to_string();
    replica.raw::<()>(&["REPLICAOF", "127.0.0.1", &port]).await;
    for bad in [&evicting, &replica] {
        let mut urls = good.urls();
        urls.push(bad.url());
        let Err(ConnectError::Unsafe(text)) = redlock(&urls).await else { panic!("accepted") };
        assert!(text.contains(&bad.port().to_string()), "{text}");
    }
}

#[tokio::test]
async fn tokens_are_durable_if_every_server_syncs_always() {
    let durable = ["--appendonly", "yes", "--appendfsync", "always"];
    let servers = [Server::start(&durable), Server::start(&durable), Server::start(&[])];
    let of = async |servers: &[&Server]| -> Redlock {
        redlock(servers.iter().map(|server| server.url())).await.unwrap()
    };
    let two = of(&[&servers[0], &servers[1]]).await;
    assert_eq!(two.guarantees().fencing, Fencing::Durable);
    assert_eq!(two.guarantees().tenancy, Tenancy::Term);
    assert_eq!(two.guarantees().failover, Failover::Impossible);
    assert_eq!(two.guarantees().findings, []);

    let least = of(&[&servers[2]]).await;
    assert_eq!(least.guarantees().fencing, Fencing::LostWithData);
    let [finding] = least.guarantees().findings.as_slice() else { panic!("{least:?}") };
    assert!(finding.text.contains(&servers[2].port().to_string()), "{finding}");
    let required = Requirements::from(Fencing::Durable);
    assert!(lock(least).require(required).build().is_err());
}
