//! What becomes of a request when the connection, the server or the login fails.

use std::time::Duration;

use tenure_core::Reply;
use tenure_redis::RedisStore;
use tenure_store::{ConnectError, Failover, Fencing, Store as _};

use crate::{asking::*, proxy::Proxy, server::Server};

#[tokio::test]
async fn acquire_renew_and_release_are_one_round_trip_each() {
    let server = Server::start(&[]);
    let proxy = Proxy::before(server.port()).await;
    let (store, lock) = (RedisStore::connect(&proxy.url()).await.unwrap(), name("nightly"));
    for (request, wanted) in [(acquire(1), 1), (acquire(2), 1), (renew(1), 1), (release(1), 1)] {
        let before = proxy.round_trips();
        ask(&store, &lock, request).await.unwrap();
        assert_eq!(proxy.round_trips() - before, wanted, "{request:?}");
    }
    server.raw::<()>(&["SCRIPT", "FLUSH"]).await;
    let before = proxy.round_trips();
    ask(&store, &lock, acquire(1)).await.unwrap();
    assert_eq!(proxy.round_trips() - before, 2, "the script had to be handed over");
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn a_server_that_is_down_was_sent_nothing_and_is_found_again() {
    let mut server = Server::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let (store, lock) = (server.store().await, name("nightly"));
    ask(&store, &lock, acquire(1)).await.unwrap();
    server.kill();
    // The end of the connection may not have been noticed yet, but it will have been after this.
    let _ = ask(&store, &lock, renew(1)).await;
    let error = ask(&store, &lock, renew(1)).await.unwrap_err();
    assert_eq!(error.failure(), NOT_SENT, "{error}");
    assert!(error.to_string().contains(&server.port().to_string()), "{error}");
    server.restart();
    assert_eq!(ask(&store, &lock, renew(1)).await.unwrap(), Reply::Renewed { term: TERM });
}

#[tokio::test]
async fn a_connection_that_ended_while_idle_costs_no_request() {
    let server = Server::start(&[]);
    let proxy = Proxy::before(server.port()).await;
    let (store, lock) = (RedisStore::connect(&proxy.url()).await.unwrap(), name("nightly"));
    ask(&store, &lock, acquire(1)).await.unwrap();
    for _ in 0..3 {
        server.raw::<()>(&["CLIENT", "KILL", "TYPE", "NORMAL"]).await;
        proxy.hung_up().await;
        assert_eq!(ask(&store, &lock, renew(1)).await.unwrap(), Reply::Renewed { term: TERM });
    }
}

#[tokio::test]
async fn an_answer_may_take_as_long_as_the_machine_waits() {
    let server = Server::start(&[]);
    let proxy = Proxy::before(server.port()).await;
    let (store, lock) = (RedisStore::connect(&proxy.url()).await.unwrap(), name("nightly"));
    server.freeze();
    let mut request = std::pin::pin!(ask(&store, &lock, acquire(1)));
    tokio::select! {
        answer = &mut request => panic!("answered by a server that stands still: {answer:?}"),
        () = proxy.heard() => {}
    }
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(10)).await;
    tokio::select! {
        biased;
        answer = &mut request => panic!("given up: {answer:?}"),
        () = std::future::ready(()) => {}
    }
    tokio::time::resume();
    server.thaw();
    assert_eq!(request.await.unwrap(), granted(1, 1));
}

#[tokio::test]
async fn a_server_that_dies_under_way_may_have_executed_the_request() {
    let mut server = Server::start(&[]);
    let proxy = Proxy::before(server.port()).await;
    let (store, lock) = (RedisStore::connect(&proxy.url()).await.unwrap(), name("nightly"));
    server.freeze();
    let asked = async { ask(&store, &lock, acquire(1)).await };
    let killed = async {
        proxy.heard().await;
        server.kill();
    };
    let (answer, ()) = tokio::join!(asked, killed);
    let error = answer.unwrap_err();
    assert_eq!(error.failure(), UNKNOWN, "{error}");
    server.restart();
    assert_eq!(ask(&store, &lock, acquire(1)).await.unwrap(), granted(1, 1));
}

#[tokio::test]
async fn a_dropped_request_leaves_the_connection_to_the_others() {
    let server = Server::start(&[]);
    let proxy = Proxy::before(server.port()).await;
    let (store, lock) = (RedisStore::connect(&proxy.url()).await.unwrap(), name("nightly"));
    for byte in 1..=50 {
        let request = ask(&store, &lock, acquire(byte));
        tokio::select! {
            biased;
            _ = request => panic!("answered at the first poll"),
            () = std::future::ready(()) => {}
        }
    }
    for byte in 1..=50 {
        let request = ask(&store, &lock, acquire(byte));
        tokio::select! {
            _ = request => {}
            () = proxy.heard() => {}
        }
    }
    // Each of them that was sent took the lock or was told that it is taken; the first of them has it.
    let (other, reply) = (name("other"), ask(&store, &name("other"), acquire(99)).await.unwrap());
    assert!(matches!(reply, Reply::Granted { .. }), "{reply:?}");
    assert_eq!(ask(&store, &other, release(99)).await.unwrap(), Reply::Released);
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn a_connection_that_leaves_an_answer_out_is_replaced() {
    let server = Server::start(&[]);
    let proxy = Proxy::before(server.port()).await;
    let (store, lock) = (RedisStore::connect(&proxy.url()).await.unwrap(), name("nightly"));
    ask(&store, &lock, acquire(1)).await.unwrap();
    proxy.swallow(true);
    let answer = ask_within(&store, &lock, renew(1), Duration::from_millis(100)).await;
    assert_eq!(answer.unwrap_err().failure(), UNKNOWN);
    // Now there is no connection, and none can be made: whatever is asked is not sent.
    let answer = ask_within(&store, &lock, renew(1), Duration::from_millis(500)).await;
    assert_eq!(answer.unwrap_err().failure(), NOT_SENT);
    proxy.swallow(false);
    assert_eq!(ask(&store, &lock, renew(1)).await.unwrap(), Reply::Renewed { term: TERM });
}

#[tokio::test]
async fn many_requests_on_a_dead_connection_make_one_new_one() {
    let mut server = Server::start(&[]);
    let proxy = Proxy::before(server.port()).await;
    let store = RedisStore::connect(&proxy.url()).await.unwrap();
    server.kill();
    let _ = ask(&store, &name("0"), acquire(1)).await;
    server.restart();
    let before = proxy.connections();
    let asked = (1..=20_u8).map(|byte| {
        let store = store.clone();
        tokio::spawn(async move { ask(&store, &name([byte]), acquire(byte)).await })
    });
    for answer in asked.collect::<Vec<_>>() {
        assert!(matches!(answer.await.unwrap(), Ok(Reply::Granted { .. })));
    }
    assert_eq!(proxy.connections() - before, 1);
}

#[tokio::test]
async fn a_wrong_login_is_refused_for_good_and_tells_no_secret() {
    let server = Server::start(&["--requirepass", "right-secret"]);
    for (user, code) in
        [("", "NOAUTH"), (":wrong-secret@", "WRONGPASS"), ("u:wrong-secret@", "WRONGPASS")]
    {
        let url = format!("redis://{user}127.0.0.1:{}", server.port());
        let error = RedisStore::connect(&url).await.unwrap_err();
        let text = format!("{error} {error:?}");
        let ConnectError::Unreachable(error) = error else { panic!("{text}") };
        assert_eq!(error.failure(), REFUSED, "{text}");
        assert!(text.contains(code) && !text.contains("secret"), "{text}");
    }
    let url = format!("redis://:right-secret@127.0.0.1:{}", server.port());
    let store = RedisStore::connect(&url).await.unwrap();
    assert!(matches!(ask(&store, &name("nightly"), acquire(1)).await, Ok(Reply::Granted { .. })));
    assert!(!format!("{store:?}").contains("secret"));
}

#[tokio::test]
async fn a_user_with_the_rights_of_the_readme_can_do_everything() {
    let server = Server::start(&[]);
    let readme = include_str!("../../README.md");
    let rights = readme.split("ACL SETUSER app").nth(1).unwrap().split("```").next().unwrap();
    let rights = rights.replace(['\\', '\n'], " ");
    let words = ["ACL", "SETUSER", "app"].into_iter().chain(rights.split_whitespace());
    server.raw::<()>(&words.collect::<Vec<_>>()).await;

    let url = format!("redis://app:password@127.0.0.1:{}", server.port());
    let (store, lock) = (RedisStore::connect(&url).await.unwrap(), name("lock:nightly"));
    for request in [watch(1), acquire(1), renew(1), release(1)] {
        ask(&store, &lock, request).await.unwrap();
    }
    store.inspect(&lock).await.unwrap();
    assert!(!store.guarantees().findings.iter().any(|finding| finding.text.contains("refused")));
    let error = ask(&store, &name("elsewhere"), acquire(1)).await.unwrap_err();
    assert_eq!(error.failure(), REFUSED);
    assert!(error.to_string().contains("NOPERM"), "{error}");
}

#[tokio::test]
async fn a_user_without_the_rights_to_look_and_to_publish_has_locks_all_the_same() {
    let server = Server::start(&[]);
    let rights = "ACL SETUSER app on nopass resetchannels ~* +eval +evalsha +get +set +incr +pttl \
                  +pexpire +del";
    server.raw::<()>(&rights.split_whitespace().collect::<Vec<_>>()).await;
    let url = format!("redis://app:any@127.0.0.1:{}", server.port());
    let (store, lock) = (RedisStore::connect(&url).await.unwrap(), name("nightly"));
    assert!(store.guarantees().findings[0].text.contains("INFO was refused"));
    assert_eq!(failure(&store, &lock, watch(1)).await, REFUSED);
    for reply in [granted(1, 1), granted(1, 2)] {
        assert_eq!(ask(&store, &lock, acquire(1)).await.unwrap(), reply);
        assert_eq!(ask(&store, &lock, release(1)).await.unwrap(), Reply::Released);
    }
}

#[tokio::test]
async fn a_user_who_may_not_set_gets_no_half_made_lock() {
    let server = Server::start(&[]);
    let rights = "ACL SETUSER app on nopass ~* +eval +evalsha +get +incr +info";
    server.raw::<()>(&rights.split_whitespace().collect::<Vec<_>>()).await;
    let url = format!("redis://app:any@127.0.0.1:{}", server.port());
    let (store, lock) = (RedisStore::connect(&url).await.unwrap(), name("nightly"));
    assert_eq!(failure(&store, &lock, acquire(1)).await, REFUSED);
    assert!(!server.raw::<bool>(&["EXISTS", "nightly"]).await);
}

#[tokio::test]
async fn a_database_number_and_a_unix_socket_are_honoured() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("redis.sock");
    let socket = socket.to_str().unwrap();
    let server = Server::start(&["--unixsocket", socket]);
    let lock = name("nightly");
    for url in [format!("{}/3", server.url()), format!("unix://{socket}?db=3")] {
        let store = RedisStore::connect(&url).await.unwrap();
        assert!(matches!(ask(&store, &lock, acquire(1)).await, Ok(Reply::Granted { .. })));
        assert!(!server.raw::<bool>(&["EXISTS", "nightly"]).await, "that is database 0");
        ask(&store, &lock, release(1)).await.unwrap();
    }
    let error = RedisStore::connect(&format!("{}/99", server.url())).await.unwrap_err();
    assert!(error.to_string().contains("no database of this number"), "{error}");
}

#[tokio::test]
async fn the_self_check_tells_what_the_server_is_worth() {
    let server = Server::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let store = server.store().await;
    assert_eq!(store.guarantees().fencing, Fencing::Durable);
    assert_eq!(store.guarantees().failover, Failover::Impossible);
    assert_eq!(store.guarantees().findings, []);

    let replica = Server::start(&["--replicaof", "127.0.0.1", &server.port().to_string()]);
    let Err(ConnectError::Unsafe(text)) = RedisStore::connect(&replica.url()).await else {
        panic!("a replica was accepted");
    };
    assert!(text.contains(&format!("127.0.0.1:{}", server.port())), "{text}");

    let evicting = Server::start(&["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]);
    let Err(ConnectError::Unsafe(text)) = RedisStore::connect(&evicting.url()).await else {
        panic!("eviction was accepted");
    };
    assert!(text.contains("allkeys-lru"), "{text}");

    let volatile = Server::start(&["--maxmemory-policy", "volatile-ttl"]);
    let findings = volatile.store().await.guarantees().findings.clone();
    let [eviction, persistence] = findings.as_slice() else { panic!("{findings:?}") };
    assert!(eviction.text.contains("volatile-ttl"), "{eviction}");
    assert!(persistence.text.contains("no append-only file"), "{persistence}");
}

#[tokio::test]
async fn what_is_no_redis_is_not_reached() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        use tokio::io::AsyncWriteExt as _;
        let (mut client, _) = listener.accept().await.unwrap();
        client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    let url = format!("redis://u:secret@127.0.0.1:{port}");
    let error = RedisStore::connect(&url).await.unwrap_err();
    let ConnectError::Unreachable(error) = error else { panic!("{error}") };
    assert_eq!(error.failure(), NOT_SENT);
    assert!(!error.to_string().contains("secret"), "{error}");
}
