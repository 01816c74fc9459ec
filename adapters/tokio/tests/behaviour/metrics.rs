use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use tenure::metric_names::{
    ACQUIRED, CAUSE, CONTENDED, LATE_TICKS, LOST, NEAR_MISSES, RENEW_MARGIN,
};
use tokio::time::sleep;

use crate::{
    store::{Mood, TestStore},
    time::{VirtualClock, eventually},
};

#[tokio::test(start_paused = true)]
async fn what_happens_to_a_lease_is_counted() {
    let counts = Counts::default();
    let _recorder = metrics::set_default_local_recorder(&counts);

    let (store, clock) = (TestStore::new(), VirtualClock::new());
    let lock = store.lock(&clock);
    let guard = lock.acquire().await.unwrap();
    assert!(lock.acquire_timeout(Duration::from_secs(3)).await.is_err());
    store.set_mood(Mood::Unreachable("connection refused"));
    sleep(Duration::from_secs(1)).await;
    store.set_mood(Mood::Well);
    sleep(Duration::from_secs(2)).await;
    clock.suspend(Duration::from_secs(60));
    eventually("lost", || guard.held().is_none()).await;
    sleep(Duration::from_secs(1)).await;

    let margins = counts.take(RENEW_MARGIN);
    assert_eq!(margins.len(), 1);
    assert!((5.0..7.0).contains(&margins[0]), "{margins:?}");
    let expired = format!("{LOST} {CAUSE}=expired");
    for name in [ACQUIRED, CONTENDED, LATE_TICKS, NEAR_MISSES, &expired] {
        assert_eq!(counts.take(name), [1.0], "{name}");
    }
    assert_eq!(counts.rest(), BTreeMap::new());
}

/// What was counted, by name and label.
#[derive(Clone, Default)]
struct Counts(Arc<Mutex<BTreeMap<String, Vec<f64>>>>);

impl Counts {
    fn take(&self, name: &str) -> Vec<f64> {
        self.0.lock().unwrap().remove(name).unwrap_or_default()
    }

    fn rest(&self) -> BTreeMap<String, Vec<f64>> {
        self.0.lock().unwrap().clone()
    }

    fn entry(&self, key: &Key) -> Arc<Entry> {
        let labels = key.labels().map(|label| format!(" {}={}", label.key(), label.value()));
        let name = key.name().to_owned() + &labels.collect::<String>();
        Arc::new(Entry { counts: self.clone(), name })
    }
}

struct Entry {
    counts: Counts,
    name: String,
}

impl Entry {
    fn push(&self, value: f64) {
        self.counts.0.lock().unwrap().entry(self.name.clone()).or_default().push(value);
    }
}

impl CounterFn for Entry {
    fn increment(&self, value: u64) {
        self.push(value as f64);
    }

    fn absolute(&self, _: u64) {
        panic!("counters only rise");
    }
}

impl HistogramFn for Entry {
    fn record(&self, value: f64) {
        self.push(value);
    }
}

impl Recorder for Counts {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.entry(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        panic!("no gauge is promised: {key}");
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.entry(key))
    }
}
