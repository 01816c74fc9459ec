use std::time::Duration;

use tenure_core::{Drift, LeaseConfig};

/// One tick of the stores' clock, in microseconds: one second, so that one part per million of it is
/// the smallest difference in rate that a machine can see.
pub(crate) const TICK: u64 = 1_000_000;

/// What every client is set to, for a term of so many ticks: spans that fall on few of them.
///
/// One tick of the term for drift makes the deadline of a clock at the bound fall on the instant of
/// the store's expiry, with nothing to spare: so that one part per million more breaks S1.
pub(crate) fn config(term: u32) -> LeaseConfig {
    LeaseConfig::builder()
        .term(Duration::from_micros(TICK) * term)
        .drift(Drift::from_ppm(1_000_000 / term))
        .quantum(Duration::ZERO)
        .margin(Duration::ZERO)
        .attempt_timeout(Duration::from_micros(TICK / 2))
        .grace(Duration::from_micros(TICK))
        .poll_pause(Duration::from_micros(TICK), Duration::from_micros(TICK))
        .build()
        .unwrap_or_else(|error| panic!("{error}"))
}
