//! A cluster of two nodes: counters in the slot of their lock, and redirections.

use std::{collections::BTreeSet, time::Duration};

use tenure_core::Reply;
use tenure_dialects::redis::{Layout, slot};
use tenure_redis::RedisStore;
use tenure_store::{Call, Failover, Store as _};

use crate::{
    asking::*,
    server::{Server, free_port},
};

async fn two_nodes() -> [Server; 2] {
    let buses = [(); 2].map(|()| free_port().to_string());
    let nodes = buses.each_ref().map(|bus| {
        let args = ["--cluster-enabled", "yes", "--cluster-port", bus];
        Server::start(&[&args[..], &["--cluster-node-timeout", "500"]].concat())
    });
    for (node, [first, last]) in nodes.iter().zip([["0", "8191"], ["8192", "16383"]]) {
        node.raw::<()>(&["CLUSTER", "ADDSLOTSRANGE", first, last]).await;
    }
    // Two nodes that both start at epoch 0 would take their time to agree.
    nodes[0].raw::<()>(&["CLUSTER", "SET-CONFIG-EPOCH", "1"]).await;
    nodes[1].raw::<()>(&["CLUSTER", "SET-CONFIG-EPOCH", "2"]).await;
    let port = nodes[1].port().to_string();
    nodes[0].raw::<()>(&["CLUSTER", "MEET", "127.0.0.1", &port, &buses[1]]).await;
    for node in &nodes {
        // Gossip has no event to wait for.
        while !node.raw::<String>(&["CLUSTER", "INFO"]).await.contains("cluster_state:ok") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    nodes
}

#[tokio::test]
async fn locks_of_all_nodes_are_had_through_one() {
    let nodes = two_nodes().await;
    let store = nodes[0].store().await;
    assert_eq!(store.guarantees().failover, Failover::MayLose);

    let locks = ["a", "b", "c", "{x}y", "{}", "a{b", "}{c}", "{{d}}", "e"].map(name);
    let mut keys = [BTreeSet::new(), BTreeSet::new()];
    for lock in &locks {
        for request in [acquire(1), acquire(2), renew(1), release(1)] {
            ask(&store, lock, request).await.unwrap();
        }
        let slot = slot(lock.as_bytes());
        let counter = Layout::Cluster.counter(lock.as_bytes());
        let counter = String::from_utf8(counter.as_bytes().to_vec()).unwrap();
        keys[usize::from(slot >= 8192)].insert(counter);
    }
    for (node, keys) in nodes.iter().zip(keys) {
        assert!(!keys.is_empty(), "the names must be of both nodes");
        let found = node.raw::<BTreeSet<String>>(&["KEYS", "*"]).await;
        assert_eq!(found, keys);
    }
}

#[tokio::test]
async fn a_release_at_one_node_wakes_who_watches_at_another() {
    let nodes = two_nodes().await;
    let (waiter, holder) = (nodes[0].store().await, nodes[1].store().await);
    let (notices, mut hints) = hints();
    for (byte, lock) in [(1, name("a")), (2, name("b")), (3, name("{}")), (4, name("c"))] {
        let call =
            Call { lock: &lock, request: watch(9), time_left: Some(TERM), notices: &notices };
        waiter.execute(call).await.unwrap();
        ask(&holder, &lock, acquire(byte)).await.unwrap();
        assert_eq!(ask(&holder, &lock, release(byte)).await.unwrap(), Reply::Released);
        hinted(&mut hints).await;
        ask(&waiter, &lock, unwatch(9)).await.unwrap();
    }
}

#[tokio::test]
async fn a_cluster_has_one_database() {
    let [node, _other] = two_nodes().await;
    let error = RedisStore::connect(&format!("{}/1", node.url())).await.unwrap_err();
    assert!(error.to_string().contains("leave the number out"), "{error}");
}

#[tokio::test]
async fn a_node_that_is_down_is_asked_for_at_the_first_one() {
    let [node, mut other] = two_nodes().await;
    let store = node.store().await;
    let lock = ["a", "b", "c"].map(name).into_iter().find(|lock| slot(lock.as_bytes()) >= 8192);
    let lock = lock.unwrap();
    ask(&store, &lock, acquire(1)).await.unwrap();
    other.kill();
    let told = async {
        // First that the node is not there; then the other node notices, and says so.
        while failure(&store, &lock, renew(1)).await != REFUSED_FOR_NOW {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), told).await.unwrap();
}
