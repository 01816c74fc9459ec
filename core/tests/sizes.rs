//! What a machine costs in memory, and that the same inputs give the same outputs (S30).
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic, and is its own documentation"
)]

mod common;

use common::*;
use tenure_core::{Failure, Input, Lease, Output, Wait};

#[test]
#[cfg(target_pointer_width = "64")]
fn sizes_are_pinned() {
    assert!(size_of::<Lease>() <= 512, "{}", size_of::<Lease>());
    assert!(size_of::<Output>() <= 64, "{}", size_of::<Output>());
    assert!(size_of::<Input>() <= 88, "{}", size_of::<Input>());
}

#[test]
fn equal_futures_are_equal_states() {
    let held_since = |start: u64, earlier_requests: bool| {
        let mut machine = Machine::new(config());
        if earlier_requests {
            let asked = machine.acquire(start, Wait::Once).request();
            machine.fail(start, asked.op, Failure::NotSent);
        }
        machine.hold(start, 1);
        machine.lease.canonical(ms(start + 500))
    };
    assert_eq!(held_since(1_000, false), held_since(77_000, false));
    assert_eq!(held_since(1_000, false), held_since(1_000, true));

    let mut machine = Machine::new(config());
    machine.hold(1_000, 1);
    let (early, late) = (machine.lease.canonical(ms(1_500)), machine.lease.canonical(ms(2_500)));
    assert_ne!(early, late, "what is left of the term differs");
}
