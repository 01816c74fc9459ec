//! Each way in which a request can fail, and what it leaves in the store.

mod support;

use support::*;
use tenure_core::{Assurance, Failure, Reply, RequestKind, Waiting};
use tenure_memory::{Fault, Gate, Kind, MemoryStore};
use tenure_store::StoreError;

#[test]
fn what_was_not_executed_leaves_nothing() {
    let refused = Failure::Refused { permanent: false, retry_after: Some(TERM) };
    for (fault, failure) in [
        (Fault::NotSent, Failure::NotSent),
        (Fault::LoseRequest, Failure::Unknown),
        (Fault::Refuse { permanent: false, retry_after: Some(TERM) }, refused),
    ] {
        let store = MemoryStore::new();
        let client = Client::new(&store, 1);
        store.fail_next(fault);
        assert_eq!(client.acquire().unwrap_err().failure(), failure);
        assert!(store.is_empty());
        assert_eq!(token(client.acquire()), 1);
    }
}

#[test]
fn an_answer_that_is_lost_is_resolved_by_the_nonce() {
    let store = MemoryStore::new();
    let [first, second] = [1, 2].map(|number| Client::new(&store, number));
    store.fail_next(Fault::LoseAnswer);
    assert_eq!(first.acquire().unwrap_err().failure(), Failure::Unknown);
    assert_busy(second.acquire());
    assert_eq!(token(first.acquire()), 1);
    store.fail_next(Fault::LoseAnswer);
    assert_eq!(first.release().unwrap_err().failure(), Failure::Unknown);
    assert!(store.is_empty());
}

/// The lock step without the token step, for each request that grants.
#[test]
fn half_a_grant_keeps_others_out_and_is_undone_or_finished_by_its_nonce() {
    type Ask = fn(&Client) -> Result<Reply, StoreError>;
    let cases: [(Kind, Ask); 3] = [
        (Kind::Acquire, Client::acquire),
        (Kind::Enqueue, Client::enqueue),
        (Kind::Claim, Client::claim),
    ];
    for (kind, ask) in cases {
        for undone in [true, false] {
            let store = MemoryStore::builder().waiting(Waiting::Queue).build();
            let [first, second] = [1, 2].map(|number| Client::new(&store, number));
            if kind == Kind::Claim {
                token(second.enqueue());
                first.enqueue().unwrap();
                second.release().unwrap();
            }
            store.fail_next(Fault::StopHalfway);
            assert_eq!(ask(&first).unwrap_err().failure(), Failure::Unknown);
            assert_eq!(store.holder(&nightly()), Some((first.nonce, None)));
            assert_busy(second.acquire());
            if undone {
                assert_reply(first.release(), Reply::Released);
                assert!(store.is_empty());
            } else {
                token(ask(&first));
            }
        }
    }
}

#[test]
fn a_late_request_is_executed_when_nobody_waits_for_it_any_more() {
    let store = MemoryStore::new();
    let client = Client::new(&store, 1);
    let gate = Gate::new();
    store.fail_next(Fault::HoldRequest(gate.clone()));
    drop(client.begin(client.acquire_request()));
    assert_reply(client.release(), Reply::Gone);
    assert!(store.is_empty());
    gate.open();
    assert_eq!(store.holder(&nightly()).map(|(nonce, _)| nonce), Some(client.nonce));
    assert_reply(client.release(), Reply::Released);
}

#[test]
fn a_closed_session_gets_nothing_from_a_late_request() {
    let store = MemoryStore::builder().assurance(Assurance::Session).build();
    let client = Client::new(&store, 1);
    let gate = Gate::new();
    store.fail_next(Fault::HoldRequest(gate.clone()));
    let mut asking = client.begin(client.acquire_request());
    client.disconnect().unwrap();
    gate.open();
    assert_eq!(poll(&mut asking).unwrap().unwrap_err().failure(), Failure::Unknown);
    assert!(store.is_empty());
}

#[test]
fn a_late_request_may_block_when_it_arrives() {
    let store =
        MemoryStore::builder().waiting(Waiting::Block).assurance(Assurance::Session).build();
    let [first, second] = [1, 2].map(|number| Client::new(&store, number));
    token(first.acquire());
    let gate = Gate::new();
    store.fail_next(Fault::HoldRequest(gate.clone()));
    let mut asking = second.begin(second.acquire_request());
    gate.open();
    assert!(poll(&mut asking).is_none());
    first.release().unwrap();
    assert_eq!(token(poll(&mut asking).unwrap()), 2);
}

#[test]
fn an_answer_is_held_up_but_not_what_it_answers() {
    let store = MemoryStore::new();
    let client = Client::new(&store, 1);
    token(client.acquire());
    let gate = Gate::new();
    store.fail_next(Fault::HoldAnswer(gate.clone()));
    let mut asking = client.begin(RequestKind::Release { nonce: client.nonce });
    futures_lite::future::block_on(gate.arrived(1));
    assert!(store.is_empty());
    assert!(poll(&mut asking).is_none());
    gate.open();
    assert_reply(poll(&mut asking).unwrap(), Reply::Released);
}

#[test]
fn faults_are_for_their_kind_and_used_up_in_order() {
    let store = MemoryStore::new();
    let client = Client::new(&store, 1);
    store.fail_next_of(Kind::Renew, Fault::NotSent);
    store.fail_next_of(Kind::Renew, Fault::LoseRequest);
    token(client.acquire());
    assert_eq!(client.renew().unwrap_err().failure(), Failure::NotSent);
    assert_eq!(client.renew().unwrap_err().failure(), Failure::Unknown);
    assert_reply(client.renew(), Reply::Renewed { term: TERM });

    store.fail_all(Some(Fault::NotSent));
    store.fail_next_of(Kind::Release, Fault::LoseRequest);
    assert_eq!(client.renew().unwrap_err().failure(), Failure::NotSent);
    assert_eq!(client.release().unwrap_err().failure(), Failure::Unknown);
    assert_eq!(client.release().unwrap_err().failure(), Failure::NotSent);
    store.fail_all(None);
    assert_reply(client.release(), Reply::Released);
    assert_eq!(store.requests(Kind::Release), 3);
}

#[test]
fn nothing_happens_before_the_first_poll() {
    let store = MemoryStore::new();
    let client = Client::new(&store, 1);
    store.fail_next(Fault::NotSent);
    drop(client.clone().execute(client.acquire_request()));
    assert_eq!(store.requests(Kind::Acquire), 0);
    assert_eq!(client.acquire().unwrap_err().failure(), Failure::NotSent, "not used up");
}
