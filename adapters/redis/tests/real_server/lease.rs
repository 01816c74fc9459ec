//! What a lease does.

use std::time::Duration;

use tenure_core::{Promise, Reply, RequestKind, Token};
use tenure_store::{Inspection, Store as _};

use crate::{asking::*, server::Server};

#[tokio::test]
async fn a_lease_is_taken_kept_and_freed_and_leaves_nothing_behind() {
    let server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));

    assert_eq!(ask(&store, &lock, acquire(1)).await.unwrap(), granted(1, 1));
    let Reply::Busy { retry_after: Some(left), holder } =
        ask(&store, &lock, acquire(2)).await.unwrap()
    else {
        panic!("not busy");
    };
    assert!(left <= TERM && left > TERM / 2, "{left:?}");
    assert_eq!(holder, Token::new(1));
    assert_eq!(ask(&store, &lock, renew(1)).await.unwrap(), Reply::Renewed { term: TERM });
    assert_eq!(ask(&store, &lock, release(1)).await.unwrap(), Reply::Released);
    assert_eq!(ask(&store, &lock, acquire(2)).await.unwrap(), granted(2, 2));
    assert_eq!(ask(&store, &lock, release(2)).await.unwrap(), Reply::Released);

    assert_eq!(server.raw::<Vec<String>>(&["KEYS", "*"]).await, ["__tenure:1:token"]);
    assert_eq!(server.raw::<i64>(&["TTL", "__tenure:1:token"]).await, -1);
}

#[tokio::test]
async fn asked_again_the_same_attempt_gets_the_same_grant_and_no_longer_term() {
    let server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));
    let asked = |term| RequestKind::Acquire { nonce: nonce(1), term, block: false };
    let grant =
        |term| Reply::Granted { nonce: nonce(1), token: Token::MIN, promise: Promise::Term(term) };
    assert_eq!(ask(&store, &lock, asked(TERM)).await.unwrap(), grant(TERM));
    assert_eq!(ask(&store, &lock, asked(TERM * 100)).await.unwrap(), grant(TERM * 100));
    let left: u64 = server.raw(&["PTTL", "nightly"]).await;
    assert!(Duration::from_millis(left) <= TERM, "{left}");
    assert_eq!(server.raw::<String>(&["GET", "__tenure:1:token"]).await, "1");
}

#[tokio::test]
async fn only_the_holder_keeps_and_frees() {
    let server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));
    ask(&store, &lock, acquire(1)).await.unwrap();
    let held: String = server.raw(&["GET", "nightly"]).await;

    assert_eq!(ask(&store, &lock, renew(2)).await.unwrap(), Reply::Gone);
    assert_eq!(ask(&store, &lock, release(2)).await.unwrap(), Reply::Gone);
    assert_eq!(server.raw::<String>(&["GET", "nightly"]).await, held);

    assert_eq!(ask(&store, &lock, release(1)).await.unwrap(), Reply::Released);
    assert_eq!(ask(&store, &lock, release(1)).await.unwrap(), Reply::Gone);
    assert_eq!(ask(&store, &lock, renew(1)).await.unwrap(), Reply::Gone);
    assert!(!server.raw::<bool>(&["EXISTS", "nightly"]).await, "a renewal must not create");
}

#[tokio::test]
async fn a_term_ends_by_itself() {
    let server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));
    let short =
        RequestKind::Acquire { nonce: nonce(1), term: Duration::from_millis(1), block: false };
    ask(&store, &lock, short).await.unwrap();
    let token = loop {
        if let Reply::Granted { token, .. } = ask(&store, &lock, acquire(2)).await.unwrap() {
            break token;
        }
    };
    assert_eq!(Some(token), Token::new(2));
    assert_eq!(ask(&store, &lock, renew(1)).await.unwrap(), Reply::Gone);
}

#[tokio::test]
async fn a_plain_set_nx_client_excludes_and_is_excluded() {
    let server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));
    let set = ["SET", "nightly", "somebody", "NX", "PX", "30000"];

    assert!(server.raw::<bool>(&set).await);
    let Reply::Busy { retry_after: Some(left), holder: None } =
        ask(&store, &lock, acquire(1)).await.unwrap()
    else {
        panic!("not busy");
    };
    assert!(left <= TERM, "{left:?}");
    assert_eq!(ask(&store, &lock, release(1)).await.unwrap(), Reply::Gone);
    assert_eq!(ask(&store, &lock, renew(1)).await.unwrap(), Reply::Gone);
    assert_eq!(server.raw::<String>(&["GET", "nightly"]).await, "somebody");

    server.raw::<()>(&["DEL", "nightly"]).await;
    assert_eq!(ask(&store, &lock, acquire(1)).await.unwrap(), granted(1, 1));
    assert!(!server.raw::<bool>(&set).await);
}

#[tokio::test]
async fn a_foreign_value_is_never_taken_for_ours() {
    let server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));
    let hex = "0".repeat(32);
    for value in [
        String::new(),
        hex.clone(),
        format!("{hex}:"),
        format!("{hex}:0"),
        format!("{hex}:07"),
        format!("{hex}:7 "),
        format!("{hex}:7\n"),
        format!("0{hex}:7"),
        format!("{}:7", &hex[1..]),
        format!("{}:7", "A".repeat(32)),
        format!("{hex}:9223372036854775808"),
        format!("{hex}:{}", "9".repeat(400)),
        "x".repeat(100_000),
    ] {
        server.raw::<()>(&["SET", "nightly", &value]).await;
        let reply = ask(&store, &lock, acquire(1)).await.unwrap();
        assert_eq!(reply, Reply::Busy { retry_after: None, holder: None }, "{value}");
        let seen = store.inspect(&lock).await.unwrap();
        assert_eq!(seen, Inspection::Held { token: None, remaining: None, holder: None });
    }
}

#[tokio::test]
async fn scripts_that_were_flushed_cost_nothing_but_a_round_trip() {
    let server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));
    ask(&store, &lock, acquire(1)).await.unwrap();
    for request in [acquire(1), renew(1), release(1)] {
        server.raw::<()>(&["SCRIPT", "FLUSH"]).await;
        ask(&store, &lock, request).await.unwrap();
    }
    server.raw::<()>(&["SCRIPT", "FLUSH"]).await;
    assert_eq!(store.inspect(&lock).await.unwrap(), Inspection::Free);
}

#[tokio::test]
async fn after_flushall_the_lease_is_gone_and_the_token_lower() {
    let server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));
    for round in 1..=3 {
        assert_eq!(ask(&store, &lock, acquire(1)).await.unwrap(), granted(1, round));
        ask(&store, &lock, release(1)).await.unwrap();
    }
    assert_eq!(ask(&store, &lock, acquire(1)).await.unwrap(), granted(1, 4));
    server.raw::<()>(&["FLUSHALL"]).await;
    assert_eq!(ask(&store, &lock, renew(1)).await.unwrap(), Reply::Gone);
    assert_eq!(ask(&store, &lock, acquire(2)).await.unwrap(), granted(2, 1));
}

#[tokio::test]
async fn tokens_are_exact_up_to_the_last_one() {
    let server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));
    // 2^53 + 1 is where a Lua number would start to err.
    for (last, next) in [
        ("9007199254740992", 9_007_199_254_740_993),
        ("9223372036854775805", 9_223_372_036_854_775_806),
        ("9223372036854775806", 9_223_372_036_854_775_807),
    ] {
        server.raw::<()>(&["SET", "__tenure:1:token", last]).await;
        assert_eq!(ask(&store, &lock, acquire(1)).await.unwrap(), granted(1, next));
        let Reply::Busy { holder, .. } = ask(&store, &lock, acquire(2)).await.unwrap() else {
            panic!("not busy");
        };
        assert_eq!(holder, Token::new(next));
        ask(&store, &lock, release(1)).await.unwrap();
    }
}

#[tokio::test]
async fn a_counter_that_cannot_count_grants_nothing() {
    let server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));
    for broken in ["9223372036854775807", "nonsense", "", "-5", "-1", "1.5"] {
        server.raw::<()>(&["SET", "__tenure:1:token", broken]).await;
        let error = ask(&store, &lock, acquire(1)).await.unwrap_err();
        assert_eq!(error.failure(), REFUSED, "{broken}: {error}");
        assert!(error.to_string().contains("TENURECOUNTER"), "{error}");
        assert!(!server.raw::<bool>(&["EXISTS", "nightly"]).await, "{broken}");
    }
    server.raw::<()>(&["DEL", "__tenure:1:token"]).await;
    server.raw::<()>(&["RPUSH", "__tenure:1:token", "x"]).await;
    let error = ask(&store, &lock, acquire(1)).await.unwrap_err();
    assert!(error.to_string().contains("TENURECOUNTER"), "{error}");
    assert!(!server.raw::<bool>(&["EXISTS", "nightly"]).await);
}

#[tokio::test]
async fn a_key_of_another_kind_is_refused_and_untouched() {
    let server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));
    server.raw::<()>(&["RPUSH", "nightly", "x"]).await;
    for request in [acquire(1), renew(1), release(1)] {
        let error = ask(&store, &lock, request).await.unwrap_err();
        assert_eq!(error.failure(), REFUSED);
        assert!(error.to_string().contains("give the lock another name"), "{error}");
    }
    assert_eq!(store.inspect(&lock).await.unwrap_err().failure(), REFUSED);
    assert_eq!(server.raw::<i64>(&["LLEN", "nightly"]).await, 1);
    assert!(!server.raw::<bool>(&["EXISTS", "__tenure:1:token"]).await);
}

#[tokio::test]
async fn a_full_server_refuses_for_now_and_still_frees() {
    let server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));
    ask(&store, &lock, acquire(1)).await.unwrap();
    server.raw::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await;
    assert_eq!(failure(&store, &name("other"), acquire(2)).await, REFUSED_FOR_NOW);
    assert_eq!(ask(&store, &lock, renew(1)).await.unwrap(), Reply::Renewed { term: TERM });
    assert_eq!(ask(&store, &lock, release(1)).await.unwrap(), Reply::Released);
    server.raw::<()>(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert_eq!(ask(&store, &lock, acquire(1)).await.unwrap(), granted(1, 2));
}

#[tokio::test]
async fn a_replica_refuses_for_now() {
    let primary = Server::start(&[]);
    let server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));
    let port = primary.port().to_string();
    server.raw::<()>(&["REPLICAOF", "127.0.0.1", &port]).await;
    assert_eq!(failure(&store, &lock, acquire(1)).await, REFUSED_FOR_NOW);
    server.raw::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    ask(&store, &lock, acquire(1)).await.unwrap();
}

#[tokio::test]
async fn names_are_any_bytes_but_the_reserved_ones() {
    let server = Server::start(&[]);
    let store = server.store().await;
    for odd in [&b"\0\r\n\xff"[..], b"{", b"a b:*?[x]", b"__tenure", &[b'x'; 10_000]] {
        let lock = name(odd);
        assert!(matches!(ask(&store, &lock, acquire(1)).await, Ok(Reply::Granted { .. })));
        assert!(server.raw::<bool>(&[&b"EXISTS"[..], odd]).await);
        assert_eq!(ask(&store, &lock, release(1)).await.unwrap(), Reply::Released);
    }
    let error = ask(&store, &name("__tenure:1:token"), acquire(1)).await.unwrap_err();
    assert_eq!(error.failure(), REFUSED);
    assert!(error.to_string().contains("another name"), "{error}");
}

#[tokio::test]
async fn a_look_sees_the_holder() {
    let server = Server::start(&[]);
    let (store, lock) = (server.store().await, name("nightly"));
    assert_eq!(store.inspect(&lock).await.unwrap(), Inspection::Free);
    ask(&store, &lock, acquire(1)).await.unwrap();
    let Inspection::Held { token, remaining: Some(left), holder: None, .. } =
        store.inspect(&lock).await.unwrap()
    else {
        panic!("not held");
    };
    assert_eq!(token, Token::new(1));
    assert!(left <= TERM, "{left:?}");
}
