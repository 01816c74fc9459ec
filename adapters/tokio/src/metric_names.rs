//! The names under which the feature `metrics` counts, through the facade of the same name.
//!
//! No metric carries the name of a lock: names are unbounded, and a metric's labels must not be.

/// Counter: leases granted.
pub const ACQUIRED: &str = "tenure_acquired_total";

/// Counter: acquires that found the lease taken, each counted once.
pub const CONTENDED: &str = "tenure_contended_total";

/// Histogram, seconds: what was left to the deadline when a renewal succeeded.
pub const RENEW_MARGIN: &str = "tenure_renew_margin_seconds";

/// Counter: renewals that succeeded after one that had failed.
pub const NEAR_MISSES: &str = "tenure_near_misses_total";

/// Counter: times that an engine ran more than 100 ms after it had asked to, because the runtime was
/// busy, the process stopped or the machine suspended.
pub const LATE_TICKS: &str = "tenure_late_ticks_total";

/// Counter: leases lost, by [`CAUSE`].
pub const LOST: &str = "tenure_lost_total";

/// Label of [`LOST`]: `expired`, `gone`, `session_lost`, `session_unknown` or `clock_went_back`.
pub const CAUSE: &str = "cause";
