use std::time::Duration;

use tenure::Status;
use tokio::time::{sleep, timeout};

use crate::{
    store::{Mood, TestStore},
    time::{VirtualClock, eventually, on_time, soon},
};

#[tokio::test(start_paused = true)]
async fn a_dropped_guard_releases_in_the_background() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    let (status, token) = (guard.status(), guard.cancellation_token());
    drop(guard);
    eventually("released", || store.is_free()).await;
    assert!(on_time(clock.elapsed(), Duration::ZERO), "{:?}", clock.elapsed());
    assert_eq!(store.requests(), ["acquire", "release"]);
    eventually("told", || *status.borrow() == Status::Released).await;
    assert!(token.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_guard_dropped_while_the_store_is_away_releases_when_it_is_back() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    store.set_mood(Mood::Unreachable("connection refused"));
    drop(guard);
    sleep(Duration::from_secs(1)).await;
    assert!(!store.is_free());
    store.set_mood(Mood::Well);
    eventually("released", || store.is_free()).await;
    assert!(clock.elapsed() < Duration::from_secs(5), "released, not lapsed");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_release_goes_on_in_the_background() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    store.set_latency(Duration::from_millis(100));
    assert!(timeout(Duration::from_millis(10), guard.release()).await.is_err());
    assert!(!store.is_free());
    eventually("released", || store.is_free()).await;
    assert!(on_time(clock.elapsed(), Duration::from_millis(100)), "{:?}", clock.elapsed());
    assert_eq!(store.requests(), ["acquire", "release"]);
}

#[tokio::test(start_paused = true)]
async fn a_release_that_is_never_polled_is_a_drop() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    drop(guard.release());
    eventually("released", || store.is_free()).await;
}

#[tokio::test(start_paused = true)]
async fn a_release_does_not_wait_behind_a_hung_renewal() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    store.set_mood(Mood::DeafToRenewals);
    eventually("renewing", || store.requests().contains(&"renew")).await;
    let before = clock.elapsed();
    assert!(guard.release().await.confirmed);
    assert_eq!(clock.elapsed(), before);
    assert!(store.is_free());
    assert_eq!(store.under_way(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_release_without_an_answer_ends_with_the_term() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    store.set_mood(Mood::Deaf);
    assert!(!guard.release().await.confirmed);
    assert!(store.is_free(), "the term has passed");
    assert!(clock.elapsed() < Duration::from_secs(11), "{:?}", clock.elapsed());
}

#[tokio::test(start_paused = true)]
async fn releasing_a_lost_lease_confirms_nothing_and_frees_nobody_elses() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    store.set_mood(Mood::Deaf);
    soon(guard.lost()).await;
    store.set_mood(Mood::Well);
    sleep(Duration::from_secs(1)).await;
    let successor = store.lock(&clock).acquire().await.unwrap();
    assert!(!guard.release().await.confirmed);
    assert!(successor.held().is_some());
    assert!(!store.is_free());
}
