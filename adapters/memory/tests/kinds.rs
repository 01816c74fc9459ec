//! The store of each kind, when nothing fails.

mod support;

use std::time::Duration;

use support::*;
use tenure_core::{Assurance, Failure, Input, Promise, Reply, Token, Waiting};
use tenure_memory::{Kind, MemoryStore};
use tenure_store::{Fairness, Inspection, Store as _, Tenancy};

const MOMENT: Duration = Duration::from_micros(1);

fn on_test_clock() -> (MemoryStore, TestClock) {
    let clock = TestClock::default();
    (MemoryStore::builder().clock(clock.clone()).build(), clock)
}

fn queueing() -> (MemoryStore, TestClock) {
    let clock = TestClock::default();
    (MemoryStore::builder().waiting(Waiting::Queue).clock(clock.clone()).build(), clock)
}

fn of_sessions(waiting: Waiting) -> MemoryStore {
    MemoryStore::builder().waiting(waiting).assurance(Assurance::Session).build()
}

#[test]
fn a_polled_store_excludes_and_tells_what_is_left() {
    let (store, clock) = on_test_clock();
    let [first, second] = [1, 2].map(|number| Client::new(&store, number));
    let granted =
        Reply::Granted { nonce: first.nonce, token: Token::MIN, promise: Promise::Term(TERM) };
    assert_reply(first.acquire(), granted);
    clock.advance(TERM / 4);
    let busy = Reply::Busy { retry_after: Some(TERM / 4 * 3), holder: Some(Token::MIN) };
    assert_reply(second.acquire(), busy);
    assert_reply(first.acquire(), granted);
    assert_reply(second.acquire(), busy);
    assert_reply(second.release(), Reply::Gone);
    assert_reply(first.release(), Reply::Released);
    assert_reply(first.release(), Reply::Gone);
    assert_eq!(token(second.acquire()), 2);
    assert_eq!((store.requests(Kind::Acquire), store.requests(Kind::Release)), (5, 3));
}

#[test]
fn a_term_ends_at_its_end_unless_it_is_renewed() {
    let (store, clock) = on_test_clock();
    let [first, second] = [1, 2].map(|number| Client::new(&store, number));
    token(first.acquire());
    clock.advance(TERM - MOMENT);
    assert_reply(first.renew(), Reply::Renewed { term: TERM });
    clock.advance(TERM - MOMENT);
    assert_busy(second.acquire());
    assert!(!store.is_empty());
    clock.advance(MOMENT);
    assert!(store.is_empty());
    assert_reply(first.renew(), Reply::Gone);
    assert_eq!(token(second.acquire()), 2);
}

#[test]
fn a_store_may_grant_less_than_asked() {
    let store = MemoryStore::builder().max_term(TERM / 3).build();
    let client = Client::new(&store, 1);
    let reply = client.acquire().unwrap();
    assert!(
        matches!(reply, Reply::Granted { promise: Promise::Term(term), .. } if term == TERM / 3)
    );
    assert_reply(client.renew(), Reply::Renewed { term: TERM / 3 });
}

#[test]
fn a_hint_follows_a_release_and_nothing_else() {
    let store = MemoryStore::builder().waiting(Waiting::PollAndWatch).build();
    let [first, second] = [1, 2].map(|number| Client::new(&store, number));
    token(first.acquire());
    assert_reply(second.watch(), Reply::Watching);
    assert_busy(second.acquire());
    assert_reply(first.renew(), Reply::Renewed { term: TERM });
    assert_eq!(second.told(), []);
    first.release().unwrap();
    assert_eq!(second.told(), [Input::Hint]);
    token(second.acquire());
    second.unwatch().unwrap();
    second.release().unwrap();
    assert_eq!(second.told(), []);
    assert!(store.is_empty());
}

#[test]
fn a_queue_is_served_in_order() {
    let (store, clock) = queueing();
    assert_eq!(store.guarantees().fairness, Fairness::Fifo);
    let [first, second, third] = [1, 2, 3].map(|number| Client::new(&store, number));
    token(first.enqueue());
    let place = Reply::Enqueued { nonce: second.nonce, term: TERM };
    assert_reply(second.enqueue(), place);
    assert_reply(second.enqueue(), place);
    third.enqueue().unwrap();
    second.watch().unwrap();
    assert_reply(second.claim(), Reply::NotYet);
    first.release().unwrap();
    assert_eq!(second.told(), [Input::Hint]);
    assert_reply(third.claim(), Reply::NotYet);
    assert_busy(first.acquire());

    // A claim establishes no term: what is left of the place's is what there is.
    clock.advance(TERM / 2);
    let granted = Reply::Granted {
        nonce: second.nonce,
        token: Token::new(2).unwrap(),
        promise: Promise::Place,
    };
    assert_reply(second.claim(), granted);
    assert_reply(second.claim(), granted);
    third.renew().unwrap();
    clock.advance(TERM / 2);
    assert_reply(second.renew(), Reply::Gone);
    assert_eq!(token(third.claim()), 3);
}

#[test]
fn a_place_that_is_not_renewed_is_lost() {
    let (store, clock) = queueing();
    let [first, second, third] = [1, 2, 3].map(|number| Client::new(&store, number));
    token(first.enqueue());
    second.enqueue().unwrap();
    third.enqueue().unwrap();
    clock.advance(TERM - MOMENT);
    first.renew().unwrap();
    third.renew().unwrap();
    clock.advance(MOMENT);
    assert_reply(second.claim(), Reply::Gone);
    assert_reply(third.release(), Reply::Released);
    first.release().unwrap();
    assert!(store.is_empty());
}

#[test]
fn a_session_lasts_until_it_ends_and_then_says_so() {
    let clock = TestClock::default();
    let store = MemoryStore::builder().assurance(Assurance::Session).clock(clock.clone()).build();
    assert_eq!(store.guarantees().tenancy, Tenancy::Session);
    let [first, second] = [1, 2].map(|number| Client::new(&store, number));
    let reply = first.acquire().unwrap();
    assert!(matches!(reply, Reply::Granted { promise: Promise::Session, .. }));
    clock.advance(Duration::from_secs(1_000_000));
    assert_reply(second.acquire(), Reply::Busy { retry_after: None, holder: Some(Token::MIN) });

    store.end_session(first.nonce);
    assert_eq!(first.told(), [Input::SessionLost { nonce: first.nonce }]);
    assert_eq!(second.told(), []);
    assert_reply(first.renew(), Reply::Gone);
    assert_eq!(first.acquire().unwrap_err().failure(), Failure::Unknown);
    token(second.acquire());
}

#[test]
fn a_disconnect_ends_a_session_but_no_term() {
    let store = of_sessions(Waiting::Poll);
    let client = Client::new(&store, 1);
    token(client.acquire());
    assert_reply(client.disconnect(), Reply::Released);
    assert_eq!(client.told(), []);
    assert!(store.is_empty());

    let store = MemoryStore::new();
    let client = Client::new(&store, 1);
    token(client.acquire());
    assert_reply(client.disconnect(), Reply::Released);
    assert!(!store.is_empty());
}

#[test]
fn a_blocking_store_answers_when_the_lease_is_free() {
    let store = of_sessions(Waiting::Block);
    let [first, second, third] = [1, 2, 3].map(|number| Client::new(&store, number));
    token(first.acquire());
    let mut waiting = second.begin(second.acquire_request());
    let mut waiting_too = third.begin(third.acquire_request());
    assert!(poll(&mut waiting).is_none());
    store.end_session(third.nonce);
    assert_eq!(poll(&mut waiting_too).unwrap().unwrap_err().failure(), Failure::Unknown);
    assert!(poll(&mut waiting).is_none());
    first.release().unwrap();
    assert_eq!(token(poll(&mut waiting).unwrap()), 2);
}

#[test]
fn a_blocked_request_that_is_dropped_leaves_nothing() {
    let store = of_sessions(Waiting::Block);
    let [first, second] = [1, 2].map(|number| Client::new(&store, number));
    token(first.acquire());
    drop(second.begin(second.acquire_request()));
    first.release().unwrap();
    assert!(store.is_empty());
}

#[test]
fn what_a_kind_does_not_offer_is_refused_for_good() {
    let refused = Failure::Refused { permanent: true, retry_after: None };
    let polled = Client::new(&MemoryStore::new(), 1);
    for reply in [polled.enqueue(), polled.claim(), polled.watch(), polled.unwatch()] {
        assert_eq!(reply.unwrap_err().failure(), refused);
    }
}

#[test]
fn a_broken_lease_and_a_flush_are_found_out_later() {
    let store = MemoryStore::new();
    let [first, second] = [1, 2].map(|number| Client::new(&store, number));
    token(first.acquire());
    assert_eq!(store.break_lease(&nightly()), Some(first.nonce));
    assert_eq!(first.told(), []);
    assert_eq!(token(second.acquire()), 2);
    assert_reply(first.renew(), Reply::Gone);

    store.flush();
    assert_reply(second.renew(), Reply::Gone);
    assert_eq!(token(first.acquire()), 1, "the counter is forgotten too");
}

#[test]
fn a_look_tells_who_has_it() {
    let (store, clock) = on_test_clock();
    let client = Client::new(&store, 1);
    let inspect = || futures_lite::future::block_on(store.inspect(&nightly())).unwrap();
    assert_eq!(inspect(), Inspection::Free);
    token(client.acquire());
    clock.advance(TERM / 3);
    let held = Inspection::Held {
        token: Some(Token::MIN),
        remaining: Some(TERM / 3 * 2),
        holder: Some(client.nonce.to_string()),
    };
    assert_eq!(inspect(), held);
    assert_eq!(store.holder(&nightly()), Some((client.nonce, Some(Token::MIN))));
}
