//! What a user of `Lock` and `Guard` may rely on, on virtual time.

#![allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test fails by its panic"
)]

mod acquire;
mod errors;
mod holding;
#[cfg(feature = "metrics")]
mod metrics;
mod queue;
mod release;
mod runtime;
mod store;
mod time;
