use std::time::Duration;

use tenure::{AcquireError, Fencing, Lock, LockError, Tenancy};

use crate::{
    store::{Mood, TestStore},
    time::{VirtualClock, eventually, on_time, soon},
};

#[tokio::test(start_paused = true)]
async fn a_store_that_refuses_is_quoted() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    store.set_mood(Mood::Refusing("no space left on /var/lock: free some"));
    let error = store.lock(&clock).acquire().await.unwrap_err();
    assert!(matches!(error, AcquireError::Failed(_)));
    assert!(error.to_string().contains("no space left on /var/lock: free some"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_be_reached_is_quoted_when_the_wait_is_over() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let lock = store.lock(&clock);
    store.set_mood(Mood::Unreachable("connection refused"));
    let error = lock.try_acquire().await.unwrap_err();
    assert!(error.to_string().contains("connection refused"), "{error}");

    let timeout = Duration::from_secs(30);
    let error = lock.acquire_timeout(timeout).await.unwrap_err();
    assert!(error.to_string().contains("connection refused"), "{error}");
    assert!(on_time(clock.elapsed(), timeout), "{:?}", clock.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_silent_store_is_called_silent() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    store.set_mood(Mood::Deaf);
    let error = store.lock(&clock).try_acquire().await.unwrap_err();
    assert!(error.to_string().contains("did not answer"), "{error}");
    eventually("no request is left under way", || store.under_way() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_gives_too_little_is_refused() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let strict = store.builder(&clock).require(Fencing::Durable).require(Tenancy::Term).build();
    let error = strict.unwrap_err();
    assert!(matches!(error, LockError::Unmet(_)));
    assert!(error.to_string().contains("fencing"), "{error}");

    let modest = store.builder(&clock).require(Fencing::LostWithData).require(Tenancy::Term);
    assert!(modest.build().is_ok());
}

#[test]
fn a_lock_that_makes_no_sense_is_refused() {
    let store = TestStore::new();
    assert!(matches!(Lock::new(store.clone(), ""), Err(LockError::Name(_))));
    let grace = Lock::builder(store, "lock").grace(Duration::from_secs(60)).build();
    let error = grace.unwrap_err();
    assert!(matches!(error, LockError::Config(_)));
    assert!(error.to_string().contains("shorter grace"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn no_panic_of_a_store_takes_the_deadline_away() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    store.set_mood(Mood::Panicking);
    soon(guard.lost()).await;
    assert!(on_time(clock.elapsed(), Duration::from_millis(9_988)), "{:?}", clock.elapsed());
}
