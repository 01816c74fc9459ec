//! Counts under [`metric_names`](crate::metric_names); without the feature `metrics`, nothing.

use std::time::Duration;

#[cfg(feature = "metrics")]
use crate::metric_names::{
    ACQUIRED, CAUSE, CONTENDED, LATE_TICKS, LOST, NEAR_MISSES, RENEW_MARGIN,
};

pub(crate) fn acquired() {
    #[cfg(feature = "metrics")]
    metrics::counter!(ACQUIRED).increment(1);
}

pub(crate) fn contended() {
    #[cfg(feature = "metrics")]
    metrics::counter!(CONTENDED).increment(1);
}

pub(crate) fn renewed(margin: Duration) {
    #[cfg(feature = "metrics")]
    metrics::histogram!(RENEW_MARGIN).record(margin);
    #[cfg(not(feature = "metrics"))]
    let _ = margin;
}

pub(crate) fn near_miss() {
    #[cfg(feature = "metrics")]
    metrics::counter!(NEAR_MISSES).increment(1);
}

pub(crate) fn late_tick() {
    #[cfg(feature = "metrics")]
    metrics::counter!(LATE_TICKS).increment(1);
}

pub(crate) fn lost(cause: &'static str) {
    #[cfg(feature = "metrics")]
    metrics::counter!(LOST, CAUSE => cause).increment(1);
    #[cfg(not(feature = "metrics"))]
    let _ = cause;
}
