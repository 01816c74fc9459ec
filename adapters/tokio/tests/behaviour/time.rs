use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure::{Clock, Instant};

/// Tokio's paused time, plus what the machine was "suspended" for: that, tokio's timers do not see.
#[derive(Clone)]
pub(crate) struct VirtualClock {
    origin: tokio::time::Instant,
    suspended: Arc<AtomicU64>,
}

impl VirtualClock {
    pub(crate) fn new() -> Self {
        Self { origin: tokio::time::Instant::now(), suspended: Arc::default() }
    }

    pub(crate) fn suspend(&self, span: Duration) {
        self.suspended.fetch_add(micros(span), Ordering::SeqCst);
    }

    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_micros(self.now().as_micros())
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Instant {
        let awake = micros(self.origin.elapsed());
        Instant::from_micros(awake + self.suspended.load(Ordering::SeqCst))
    }
}

/// A clock that finds, at one of its readings, that an hour has passed.
pub(crate) struct SuspendAt {
    clock: VirtualClock,
    readings_left: AtomicU64,
}

impl SuspendAt {
    pub(crate) fn reading(number: u64) -> Self {
        Self { clock: VirtualClock::new(), readings_left: AtomicU64::new(number) }
    }
}

impl Clock for SuspendAt {
    fn now(&self) -> Instant {
        if self.readings_left.fetch_sub(1, Ordering::SeqCst) == 0 {
            self.clock.suspend(Duration::from_secs(3_600));
        }
        self.clock.now()
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap()
}

/// The outcome of `future`. Fails the test if it takes more than a virtual hour.
pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(3_600), future).await.unwrap()
}

/// Waits for what happens in the background. Fails the test if it does not within a virtual hour.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..3_600_000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("it did not come true: {what}");
}

/// Whether `actual` is `expected`, or up to 5 ms later: tokio's timers round up to milliseconds.
pub(crate) fn on_time(actual: Duration, expected: Duration) -> bool {
    (expected..expected + Duration::from_millis(5)).contains(&actual)
}
