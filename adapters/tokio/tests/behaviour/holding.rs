use std::{
    cell::Cell,
    future::{pending, poll_fn},
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};

use tenure::{AcquireError, Basis, LossReason, Status};
use tenure_core::{Assurance, Waiting};
use tokio::time::sleep;

use crate::{
    store::{Mood, TestStore},
    time::{SuspendAt, VirtualClock, eventually, on_time, soon},
};

/// The term of 10 s, less 1,000 ppm of drift, the store's tick and the margin of 1 ms each.
const DEADLINE: Duration = Duration::from_millis(9_988);
const GRACE: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn renewal_keeps_the_lease_over_many_terms() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    let token = guard.token();
    for _ in 0..100 {
        sleep(Duration::from_secs(1)).await;
        assert_eq!(guard.held().unwrap().token, token);
        assert!(guard.remaining().unwrap() > Duration::from_secs(6));
        assert!(!store.is_free());
    }
    let renewals = store.requests().iter().filter(|request| **request == "renew").count();
    assert!((29..=31).contains(&renewals), "one each third of a term: {renewals}");
}

#[tokio::test(start_paused = true)]
async fn the_status_tells_every_renewal() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    let mut status = guard.status();
    let mut last = Duration::ZERO;
    for _ in 0..5 {
        soon(status.changed()).await.unwrap();
        let Status::Held { basis: Basis::Term { until } } = *status.borrow_and_update() else {
            panic!("not held");
        };
        let until = Duration::from_micros(until.as_micros());
        assert!(until > last);
        last = until;
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_store_stops_the_holder_at_its_deadline() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    let mut status = guard.status();
    let token = guard.cancellation_token();
    store.set_mood(Mood::Deaf);

    assert!(soon(status.wait_for(|status| *status == Status::AtRisk)).await.is_ok());
    assert!(guard.held().is_some() && !token.is_cancelled());

    let stopping = soon(guard.stopping()).await;
    assert!(on_time(clock.elapsed(), DEADLINE - GRACE), "{:?}", clock.elapsed());
    assert!(stopping.remaining <= GRACE && stopping.remaining > GRACE * 9 / 10);
    assert!(guard.held().is_some());
    token.cancelled().await;

    assert_eq!(soon(guard.lost()).await, LossReason::Expired);
    assert!(on_time(clock.elapsed(), DEADLINE), "{:?}", clock.elapsed());
    assert_eq!((guard.held(), guard.remaining()), (None, None));
    assert_eq!(guard.stopping().await.remaining, Duration::ZERO);
    eventually("told", || *status.borrow() == Status::Lost { reason: LossReason::Expired }).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_comes_back_in_time_costs_nothing() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    let mut status = guard.status();
    store.set_mood(Mood::Unreachable("connection refused"));
    assert!(soon(status.wait_for(|status| *status == Status::AtRisk)).await.is_ok());
    store.set_mood(Mood::Well);
    assert!(soon(status.wait_for(|status| matches!(status, Status::Held { .. }))).await.is_ok());
    sleep(Duration::from_secs(60)).await;
    assert!(guard.held().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_the_store_forgot_is_lost_at_the_next_renewal() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    store.flush();
    assert_eq!(soon(guard.lost()).await, LossReason::Gone);
    assert!(on_time(clock.elapsed(), Duration::from_secs(10) / 3), "{:?}", clock.elapsed());
}

#[tokio::test(start_paused = true)]
async fn run_gives_the_result_of_the_work() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    let work = async {
        sleep(Duration::from_secs(60)).await;
        42
    };
    assert_eq!(soon(guard.run(work)).await, Ok(42));
}

#[tokio::test(start_paused = true)]
async fn run_drops_the_work_when_the_lease_is_lost() {
    struct Dropped<'a>(&'a AtomicBool);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    store.set_mood(Mood::Deaf);
    let dropped = AtomicBool::new(false);
    let work = Dropped(&dropped);
    let outcome = soon(guard.run(async move {
        let _work = work;
        pending::<()>().await;
    }))
    .await;
    assert_eq!(outcome.unwrap_err().reason, LossReason::Expired);
    assert!(dropped.load(Ordering::SeqCst));
    assert!(on_time(clock.elapsed(), DEADLINE), "{:?}", clock.elapsed());
}

#[tokio::test(start_paused = true)]
async fn run_polls_no_work_after_the_deadline_though_no_timer_fired() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    let polls = Cell::new(0);
    let mut run = pin!(guard.run(poll_fn(|_| {
        polls.set(polls.get() + 1);
        Poll::<()>::Pending
    })));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(run.as_mut().poll(&mut cx).is_pending());
    assert!(run.as_mut().poll(&mut cx).is_pending());
    clock.suspend(DEADLINE);
    assert!(matches!(run.as_mut().poll(&mut cx), Poll::Ready(Err(_))));
    assert_eq!(polls.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_suspend_is_seen_at_once_by_who_asks_and_soon_by_who_waits() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    let mut status = guard.status();
    tokio::task::yield_now().await;
    clock.suspend(Duration::from_secs(3_600));
    assert_eq!(guard.held(), None);

    let resumed = clock.elapsed();
    assert!(soon(status.wait_for(|status| matches!(status, Status::Lost { .. }))).await.is_ok());
    assert!(clock.elapsed() - resumed <= Duration::from_secs(2), "{:?}", clock.elapsed());
    assert_eq!(soon(guard.lost()).await, LossReason::Expired);
}

#[tokio::test(start_paused = true)]
async fn no_reading_of_the_clock_is_one_at_which_a_suspend_goes_unseen() {
    for reading in 0..40 {
        let (store, clock) = (TestStore::new(), VirtualClock::new());
        let lock = store.builder(&clock).clock(SuspendAt::reading(reading)).build().unwrap();
        let outcome = soon(lock.try_acquire()).await;
        println!("suspended at reading {reading}: {outcome:?}");
        match outcome {
            // Before the request was sent, a suspend does no harm.
            Ok(guard) if reading < 2 => assert!(guard.held().is_some()),
            Ok(guard) => assert_eq!(soon(guard.lost()).await, LossReason::Expired),
            Err(AcquireError::TooLate | AcquireError::Failed(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_ends_the_lease_at_once() {
    let store = TestStore::with(Waiting::Poll, Assurance::Session);
    let clock = VirtualClock::new();
    let guard = store.lock(&clock).acquire().await.unwrap();
    assert!(matches!(guard.held().unwrap().basis, Basis::Session { .. }));
    assert_eq!(guard.remaining(), None);
    let before = clock.elapsed();
    store.end_session();
    assert_eq!(soon(guard.lost()).await, LossReason::SessionLost);
    assert!(on_time(clock.elapsed() - before, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_kept_alive_stops_the_holder_too() {
    let store = TestStore::with(Waiting::Poll, Assurance::Session);
    let clock = VirtualClock::new();
    let guard = store.lock(&clock).acquire().await.unwrap();
    store.set_mood(Mood::Unreachable("connection refused"));
    let stopping = soon(guard.stopping()).await;
    assert!(stopping.remaining > Duration::ZERO && stopping.remaining <= GRACE, "{stopping:?}");
    assert!(guard.held().is_some());
    assert_eq!(soon(guard.lost()).await, LossReason::Expired);
}

#[tokio::test(start_paused = true)]
async fn many_may_wait_for_the_loss() {
    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let guard = store.lock(&clock).acquire().await.unwrap();
    store.set_mood(Mood::Deaf);
    let (first, second, third) = tokio::join!(guard.lost(), guard.lost(), guard.stopping());
    assert_eq!((first, second), (LossReason::Expired, LossReason::Expired));
    assert!(third.remaining > Duration::ZERO);
}
