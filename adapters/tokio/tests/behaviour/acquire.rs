use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tenure::{AcquireError, Contended, Token};
use tenure_core::{Assurance, Waiting};
use tokio::time::sleep;

use crate::{
    store::{Mood, TestStore},
    time::{VirtualClock, eventually, on_time, soon},
};

#[tokio::test(start_paused = true)]
async fn an_uncontended_acquire_and_release_are_one_request_each() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    assert!(guard.release().await.confirmed);
    assert_eq!(store.requests(), ["acquire", "release"]);
}

#[tokio::test(start_paused = true)]
async fn two_locks_of_one_name_exclude_each_other() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let (ours, theirs) = (store.lock(&clock), store.lock(&clock));
    let guard = ours.try_acquire().await.unwrap();
    let Err(AcquireError::Busy(contended)) = theirs.try_acquire().await else {
        panic!("two holders");
    };
    assert_eq!(contended.holder, Some(guard.token()));
    assert_eq!(contended.remaining, Some(Duration::from_secs(10)));

    guard.release().await;
    assert!(theirs.try_acquire().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_second_acquire_by_the_same_lock_is_a_second_holder() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let lock = store.lock(&clock);
    let _guard = lock.acquire().await.unwrap();
    assert!(matches!(lock.clone().try_acquire().await, Err(AcquireError::Busy(_))));
}

#[tokio::test(start_paused = true)]
async fn waiters_are_served_one_after_the_other_with_rising_tokens() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (lock, tokens) = (store.lock(&clock), Arc::clone(&tokens));
            tokio::spawn(async move {
                let guard = lock.acquire().await.unwrap();
                tokens.lock().unwrap().push(guard.token());
                sleep(Duration::from_millis(100)).await;
                assert!(guard.held().is_some());
                guard.release().await;
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let tokens = tokens.lock().unwrap();
    assert_eq!(tokens.len(), 8);
    assert!(tokens.is_sorted_by(|earlier, later| earlier < later), "{tokens:?}");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_ends_the_wait() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let lock = store.lock(&clock);
    let _guard = lock.acquire().await.unwrap();
    let before = clock.elapsed();
    let timeout = Duration::from_millis(2_500);
    assert!(matches!(lock.acquire_timeout(timeout).await, Err(AcquireError::Busy(_))));
    assert!(on_time(clock.elapsed() - before, timeout));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_too_long_for_the_clock_waits_for_ever() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    assert!(store.lock(&clock).acquire_timeout(Duration::MAX).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_hint_wakes_the_waiter_before_its_next_poll() {
    let store = TestStore::with(Waiting::PollAndWatch, Assurance::Term);
    let clock = VirtualClock::new();
    let pause = Duration::from_secs(3_600);
    let guard = store.lock(&clock).acquire().await.unwrap();
    let waiting = store.builder(&clock).poll_pause(pause, pause).build().unwrap();
    let waiter = tokio::spawn(async move { waiting.acquire().await.map(|guard| guard.token()) });
    eventually("watched", || store.watchers() == 1).await;

    let before = clock.elapsed();
    guard.release().await;
    assert!(waiter.await.unwrap().is_ok());
    assert!(on_time(clock.elapsed() - before, Duration::ZERO));
    eventually("no watcher is left", || store.watchers() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_blocks_is_asked_once() {
    let store = TestStore::with(Waiting::Block, Assurance::Session);
    let clock = VirtualClock::new();
    let (ours, theirs) = (store.lock(&clock), store.lock(&clock));
    let guard = ours.acquire().await.unwrap();
    let waiter = tokio::spawn(async move { theirs.acquire().await.map(|guard| guard.token()) });
    sleep(Duration::from_secs(3_600)).await;
    let token = guard.token();
    assert!(guard.release().await.confirmed);
    assert!(soon(waiter).await.unwrap().unwrap() > token);
    let acquires = store.requests().into_iter().filter(|request| *request == "acquire");
    assert_eq!(acquires.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_acquire_dropped_while_the_store_blocks_is_disconnected() {
    let store = TestStore::with(Waiting::Block, Assurance::Session);
    let clock = VirtualClock::new();
    let lock = store.lock(&clock);
    let _guard = lock.acquire().await.unwrap();
    let abandoned = tokio::time::timeout(Duration::from_secs(3_600), lock.acquire()).await;
    assert!(abandoned.is_err());
    eventually("disconnected", || store.requests().contains(&"disconnect")).await;
    eventually("no request is left under way", || store.under_way() == 0).await;
    assert!(!store.is_free(), "the holder's is another session");
}

#[tokio::test(start_paused = true)]
async fn the_callback_hears_who_has_the_lease() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    let heard = Arc::new(Mutex::new(Vec::<Contended>::new()));
    let lock = store
        .builder(&clock)
        .on_contended({
            let heard = Arc::clone(&heard);
            move |contended| heard.lock().unwrap().push(contended)
        })
        .build()
        .unwrap();
    let waiter = tokio::spawn(async move { lock.acquire().await.map(|guard| guard.token()) });
    eventually("heard", || !heard.lock().unwrap().is_empty()).await;
    assert_eq!(heard.lock().unwrap()[0].holder, Some(guard.token()));
    guard.release().await;
    assert!(waiter.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_acquire_dropped_before_the_answer_leaves_nothing_behind() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let lock = store.lock(&clock);
    store.set_mood(Mood::Mute);
    let abandoned = tokio::time::timeout(Duration::from_millis(10), lock.acquire()).await;
    assert!(abandoned.is_err());
    assert!(!store.is_free(), "granted, and the answer is lost");

    store.set_mood(Mood::Well);
    let before = clock.elapsed();
    eventually("released", || store.is_free()).await;
    assert!(clock.elapsed() - before < Duration::from_secs(5), "released, not lapsed");
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_arrives_after_its_acquire_was_dropped_is_released() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let lock = store.lock(&clock);
    store.set_latency(Duration::from_millis(50));
    let abandoned = tokio::time::timeout(Duration::from_millis(10), lock.acquire()).await;
    assert!(abandoned.is_err());
    eventually("granted", || !store.is_free()).await;
    let before = clock.elapsed();
    eventually("released", || store.is_free()).await;
    assert!(clock.elapsed() - before < Duration::from_secs(1), "released, not lapsed");
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_its_release_overtook_is_released_again() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let lock = store.lock(&clock);
    store.set_latency(Duration::from_millis(500));
    let abandoned = tokio::time::timeout(Duration::from_millis(10), lock.acquire()).await;
    assert!(abandoned.is_err());
    store.set_latency(Duration::ZERO);
    eventually("released once", || store.requests() == ["acquire", "release"]).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(store.requests(), ["acquire", "release", "release"]);
    assert!(store.is_free());
}

#[tokio::test(start_paused = true)]
async fn an_acquire_dropped_while_it_waits_leaves_no_watch_behind() {
    let store = TestStore::with(Waiting::PollAndWatch, Assurance::Term);
    let clock = VirtualClock::new();
    let lock = store.lock(&clock);
    let guard = lock.acquire().await.unwrap();
    let abandoned = tokio::time::timeout(Duration::from_secs(3), lock.acquire()).await;
    assert!(abandoned.is_err());
    eventually("no watcher is left", || store.watchers() == 0).await;
    guard.release().await;
    assert!(store.is_free());
}

#[tokio::test(start_paused = true)]
async fn a_token_that_went_back_is_told_to_the_holder() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let lock = store.lock(&clock);
    lock.remember(Token::new(7).unwrap());
    let guard = lock.acquire().await.unwrap();
    let told = guard.token_went_back().unwrap();
    assert_eq!((told.seen.get(), told.got.get()), (7, 1));
    assert_eq!(lock.highest_token(), Token::new(7), "the high mark stays");
    guard.release().await;

    for _ in 0..6 {
        lock.acquire().await.unwrap().release().await;
    }
    let guard = lock.acquire().await.unwrap();
    assert_eq!((guard.token().get(), guard.token_went_back()), (8, None));
    assert_eq!(lock.highest_token(), Token::new(8));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_flushed_is_noticed_by_the_next_grant() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let lock = store.lock(&clock);
    for _ in 0..3 {
        lock.acquire().await.unwrap().release().await;
    }
    store.flush();
    let told = lock.acquire().await.unwrap().token_went_back().unwrap();
    assert_eq!((told.seen.get(), told.got.get()), (3, 1));
}
