use std::{thread, time::Duration};

use tenure::{Guard, Lock};
use tokio::runtime::{Builder, Runtime};

use crate::store::TestStore;

#[test]
fn locks_guards_and_their_futures_cross_threads() {
    fn crosses<T: Send>(_: &T) {}
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<Lock>();
    is_shared::<Guard>();
    let lock = lock(&TestStore::new());
    crosses(&lock.acquire());
    crosses(&lock.try_acquire());
    let runtime = runtime();
    let guard = runtime.block_on(lock.acquire()).unwrap();
    crosses(&guard.lost());
    crosses(&guard.run(async {}));
    crosses(&guard.release());
}

#[test]
fn a_guard_is_of_use_on_a_thread_without_a_runtime() {
    let store = TestStore::new();
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let guard = runtime.block_on(lock(&store).acquire()).unwrap();
    thread::spawn(move || {
        assert!(guard.held().is_some());
        assert!(guard.remaining().is_some());
        drop(guard);
    })
    .join()
    .unwrap();
    // The task that renewed does the release.
    runtime.block_on(async {
        while !store.is_free() {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn a_guard_outlives_its_runtime_and_can_be_released_on_another() {
    let store = TestStore::new();
    let first = runtime();
    let guard = first.block_on(lock(&store).acquire()).unwrap();
    drop(first);
    assert!(guard.held().is_some(), "validity is asked from the clock");
    store.set_latency(Duration::from_millis(2));
    assert!(runtime().block_on(guard.release()).confirmed);
    assert!(store.is_free());
}

#[test]
fn a_lease_that_is_given_back_early_needs_no_task() {
    let store = TestStore::new();
    let runtime = runtime();
    runtime.block_on(async {
        let guard = lock(&store).acquire().await.unwrap();
        let tasks = runtime.metrics().num_alive_tasks();
        assert!(guard.release().await.confirmed);
        assert_eq!((tasks, runtime.metrics().num_alive_tasks()), (0, 0));
    });
}

#[test]
fn a_guard_dropped_without_a_runtime_is_left_to_its_term() {
    let store = TestStore::new();
    let runtime = runtime();
    let guard = runtime.block_on(lock(&store).acquire()).unwrap();
    drop(runtime);
    drop(guard);
    assert!(!store.is_free());
}

#[test]
fn a_runtime_that_shuts_down_with_guards_in_its_tasks_does_so() {
    let store = TestStore::new();
    let runtime = runtime();
    let lock = lock(&store);
    runtime.block_on(async {
        let guard = lock.acquire().await.unwrap();
        tokio::spawn(async move {
            guard.lost().await;
        });
        tokio::spawn(async move { lock.acquire().await.map(drop) });
        tokio::task::yield_now().await;
    });
    drop(runtime);
    assert!(!store.is_free());
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// On the host's own clock; the term is longer than any test.
fn lock(store: &TestStore) -> Lock {
    Lock::builder(store.clone(), "lock").term(Duration::from_secs(3_600)).build().unwrap()
}
