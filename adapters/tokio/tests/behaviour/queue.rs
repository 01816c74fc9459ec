use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tenure::Lock;
use tenure_core::Waiting;
use tenure_memory::MemoryStore;
use tokio::time::sleep;

use crate::time::{VirtualClock, eventually, soon};

#[tokio::test(start_paused = true)]
async fn waiters_are_served_in_the_order_in_which_they_came() {
    let (store, clock) = store();
    let guard = lock(&store, &clock).acquire().await.unwrap();
    let served = Arc::new(Mutex::new(Vec::new()));
    let mut waiters = Vec::new();
    for number in 0..5 {
        let (lock, served) = (lock(&store, &clock), Arc::clone(&served));
        waiters.push(tokio::spawn(async move {
            let guard = lock.acquire().await.unwrap();
            served.lock().unwrap().push((number, guard.token()));
            guard.release().await;
        }));
        sleep(Duration::from_millis(10)).await;
    }
    // Longer than a place is kept without renewals.
    sleep(Duration::from_secs(60)).await;
    let first = guard.token();
    guard.release().await;
    for waiter in waiters {
        soon(waiter).await.unwrap();
    }
    eventually("nothing is left", || store.is_empty()).await;
    let served = served.lock().unwrap();
    assert!(served.is_sorted() && served.len() == 5, "{served:?}");
    assert!(served.iter().map(|(_, token)| *token).is_sorted_by(|one, next| one < next));
    assert!(served[0].1 > first);
}

#[tokio::test(start_paused = true)]
async fn only_who_is_not_the_first_is_told_to_wait() {
    let (store, clock) = store();
    let told = Arc::new(AtomicU32::new(0));
    let counting = {
        let told = Arc::clone(&told);
        Lock::builder(store.clone(), "lock")
            .clock(clock.clone())
            .on_contended(move |_| {
                told.fetch_add(1, Ordering::SeqCst);
            })
            .build()
            .unwrap()
    };
    let guard = counting.acquire().await.unwrap();
    assert_eq!(told.load(Ordering::SeqCst), 0);
    assert!(counting.acquire_timeout(Duration::from_secs(1)).await.is_err());
    assert!(told.load(Ordering::SeqCst) > 0);
    guard.release().await;
}

#[tokio::test(start_paused = true)]
async fn an_acquire_dropped_in_the_queue_gives_up_its_place() {
    let (store, clock) = store();
    let guard = lock(&store, &clock).acquire().await.unwrap();
    let waiting = lock(&store, &clock);
    let abandoned = tokio::time::timeout(Duration::from_secs(3), waiting.acquire()).await;
    assert!(abandoned.is_err());
    guard.release().await;
    eventually("nothing is left", || store.is_empty()).await;
    assert!(clock.elapsed() < Duration::from_secs(5), "given up, not lapsed");
}

fn store() -> (MemoryStore, VirtualClock) {
    let clock = VirtualClock::new();
    (MemoryStore::builder().waiting(Waiting::Queue).clock(clock.clone()).build(), clock)
}

fn lock(store: &MemoryStore, clock: &VirtualClock) -> Lock {
    Lock::builder(store.clone(), "lock")
        .term(Duration::from_secs(10))
        .clock(clock.clone())
        .build()
        .unwrap()
}
