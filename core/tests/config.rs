//! D7, S24: what a configuration may be.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic, and is its own documentation"
)]

use core::time::Duration;

use tenure_core::{ConfigError, Drift, LeaseConfig};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn defaults() {
    let config = LeaseConfig::default();
    assert_eq!(config, LeaseConfig::builder().build().unwrap());
    assert_eq!(config.term(), ms(30_000));
    assert_eq!(config.grace(), ms(3_000));
    assert_eq!(config.attempt_timeout(), ms(5_000));
}

#[test]
fn the_grace_is_a_tenth_of_the_term_within_bounds() {
    for (term, grace) in [(600, 100), (4_000, 400), (30_000, 3_000), (300_000, 5_000)] {
        let config = LeaseConfig::builder().term(ms(term)).build().unwrap();
        assert_eq!(config.grace(), ms(grace));
    }
}

#[test]
fn terms_that_no_store_can_keep_are_refused_with_a_remedy() {
    for term in [Duration::ZERO, Duration::from_micros(999)] {
        let error = LeaseConfig::builder().term(term).build().unwrap_err();
        assert_eq!(error, ConfigError::TermTooShort { term });
        assert!(error.to_string().contains("at least 1ms"), "{error}");
    }
    for term in [Duration::MAX, Duration::from_secs(365 * 86_400 + 1)] {
        let error = LeaseConfig::builder().term(term).build().unwrap_err();
        assert_eq!(error, ConfigError::TermTooLong { term });
    }
}

#[test]
fn two_renewal_attempts_must_fit_before_the_grace() {
    let build = |term, grace| LeaseConfig::builder().term(ms(term)).grace(ms(grace)).build();
    build(4_000, 1_000).unwrap();
    for (term, grace) in [(4_000, 2_000), (15_000, 14_000), (1, 1), (1_000, u64::MAX)] {
        let error = build(term, grace).unwrap_err();
        assert!(matches!(error, ConfigError::NoRoomToRenew { .. }), "{error}");
        assert!(error.to_string().contains("longer term"), "{error}");
    }
    let slow = LeaseConfig::builder().term(ms(12_000)).attempt_timeout(ms(5_000)).build();
    assert!(matches!(slow, Err(ConfigError::NoRoomToRenew { .. })));
    let none = LeaseConfig::builder().attempt_timeout(Duration::ZERO).build();
    assert_eq!(none, Err(ConfigError::NoAttemptTimeout));
}

#[test]
fn nothing_overflows() {
    for span in [Duration::MAX, Duration::ZERO, Duration::from_micros(u64::MAX)] {
        let builders = [
            LeaseConfig::builder().grace(span),
            LeaseConfig::builder().quantum(span),
            LeaseConfig::builder().margin(span),
            LeaseConfig::builder().attempt_timeout(span),
            LeaseConfig::builder().poll_pause(span, span),
        ];
        for builder in builders {
            if let Ok(config) = builder.build() {
                let _ = config.worst_case().to_string();
            }
        }
    }
}

#[test]
fn what_is_begun_of_a_microsecond_is_taken_off_whole() {
    let begun = Duration::from_nanos(1);
    let plain = LeaseConfig::builder().quantum(Duration::ZERO).margin(Duration::ZERO);
    let config = plain.quantum(begun).margin(begun).attempt_timeout(begun).build().unwrap();
    let whole = plain.build().unwrap().usable(ms(30_000));
    assert_eq!(config.usable(ms(30_000)), whole - Duration::from_micros(2));
    assert_eq!(config.attempt_timeout(), Duration::from_micros(1), "no request is overdue at once");
}

#[test]
fn a_drift_bound_of_all_of_the_term_is_refused() {
    let drift = Drift::from_ppm(1_000_000);
    let error = LeaseConfig::builder().drift(drift).build().unwrap_err();
    assert_eq!(error, ConfigError::DriftTooLarge { drift });
}

#[test]
fn drift_rounds_up() {
    assert_eq!(Drift::from_ppm(1).of(Duration::from_micros(1)), Duration::from_micros(1));
    assert_eq!(Drift::from_ppm(1_000).of(ms(30_000)), ms(30));
}

#[test]
fn a_poll_pause_is_a_range() {
    for (floor, ceiling) in [(0, 10), (20, 10)] {
        let error = LeaseConfig::builder().poll_pause(ms(floor), ms(ceiling)).build().unwrap_err();
        assert!(matches!(error, ConfigError::PollPause { .. }));
    }
}

#[test]
fn the_worst_case_in_a_sentence() {
    let config = LeaseConfig::builder().term(ms(10_000)).build().unwrap();
    let worst = config.worst_case();
    assert_eq!(worst.loss, ms(9_988));
    assert_eq!(worst.warning, ms(8_988));
    assert_eq!(worst.takeover, ms(11_011));
    assert_eq!(
        worst.to_string(),
        "if the store falls silent, the holder is warned 8.988s after its last renewal and stops at \
         9.988s; if the holder dies, a waiter has the lease 11.011s after that renewal at the latest"
    );
}
