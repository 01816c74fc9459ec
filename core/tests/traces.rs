//! A trace of (now, input) → outputs, stored with postcard, replays byte for byte.
#![cfg(feature = "serde")]
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
use tenure_core::{Failure, Input, Instant, Lease, LeaseConfig, Nonce, Output, Reply, Token, Wait};

type Step = (Instant, Input, Vec<Output>);

fn outputs(lease: &mut Lease) -> Vec<Output> {
    let mut outputs = Vec::new();
    loop {
        let output = lease.poll();
        outputs.push(output);
        if let Output::Wait(_) = output {
            return outputs;
        }
    }
}

fn record(inputs: impl IntoIterator<Item = (u64, Input)>) -> (LeaseConfig, Vec<Step>) {
    let config = config().build().unwrap();
    let mut lease = Lease::new(config, 7);
    let steps = inputs.into_iter().map(|(millis, input)| {
        lease.handle(ms(millis), input);
        (ms(millis), input, outputs(&mut lease))
    });
    (config, steps.collect())
}

#[test]
fn a_stored_trace_replays() {
    let op = |sequence| tenure_core::OpId { instance: 7, generation: 1, sequence };
    let nonce = {
        let mut machine = Machine::new(config());
        machine.acquire(0, Wait::Forever).request().nonce()
    };
    let reply = |sequence, reply| Input::Reply { op: op(sequence), reply, as_of: None };
    let (config, recorded) = record([
        (0, Input::Acquire { entropy: [1; 16], wait: Wait::Forever }),
        (5, reply(1, granted(nonce, 41, TERM))),
        (4_000, Input::Tick),
        (4_001, Input::Failed { op: op(2), failure: Failure::Unknown }),
        (4_500, Input::Tick),
        (4_501, reply(3, Reply::Renewed { term: span(TERM) })),
        (4_600, Input::SessionLost { nonce: Nonce::from_bytes([3; 16]) }),
        (4_700, Input::Hint),
        (5_000, Input::Release),
        (5_010, reply(4, Reply::Released)),
    ]);
    let last = &recorded.last().unwrap().2;
    assert!(format!("{last:?}").contains("Closed"), "{recorded:#?}");

    let bytes = postcard::to_stdvec(&(config, &recorded)).unwrap();
    let (config, stored): (LeaseConfig, Vec<Step>) = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(stored, recorded);
    let mut lease = Lease::new(config, 7);
    for (now, input, expected) in stored {
        lease.handle(now, input);
        assert_eq!(outputs(&mut lease), expected);
    }
}

#[test]
fn strangers_bytes_make_no_invalid_value() {
    let bytes = postcard::to_stdvec(&0_u64).unwrap();
    assert!(postcard::from_bytes::<Token>(&bytes).is_err());
    let bytes = postcard::to_stdvec(&LeaseConfig::builder().term(span(0))).unwrap();
    assert!(postcard::from_bytes::<LeaseConfig>(&bytes).is_err());
}
