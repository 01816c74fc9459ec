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
use tenure_core::{Failure, Input, Lease, Output, Reply, Wait, Waiting};

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

#[test]
fn states_are_equal_whenever_the_same_happened() {
    let states = |start: u64| {
        let mut machine =
            Machine::new(config().waiting(Waiting::Queue).poll_pause(span(500), span(900)));
        let mut states = Vec::new();
        let mut note = |machine: &Machine, at| states.push(machine.lease.canonical(ms(at)));
        let enqueue = machine.acquire(start, Wait::Until(ms(start + 60_000))).request();
        let (nonce, term) = (enqueue.nonce(), span(TERM));
        note(&machine, start + 1);
        let claim =
            machine.reply(start + 10, enqueue.op, Reply::Enqueued { nonce, term }).request();
        note(&machine, start + 11);
        machine.reply(start + 20, claim.op, Reply::NotYet).request();
        note(&machine, start + 21);
        let stranger = granted(tenure_core::Nonce::from_bytes([9; 16]), 1, TERM);
        let release = machine.reply(start + 30, enqueue.op, stranger).request();
        note(&machine, start + 31);
        machine.fail(start + 40, release.op, Failure::NotSent);
        note(&machine, start + 41);
        let claim = machine.at(start + 50, Input::Hint).request();
        let promise = tenure_core::Promise::Place;
        let reply = Reply::Granted { nonce, token: token(1), promise };
        machine.push(start + 60, Input::Reply { op: claim.op, reply, as_of: None });
        note(&machine, start + 61);
        states
    };
    assert_eq!(states(1_000), states(77_000));
}
