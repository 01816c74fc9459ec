use std::fmt::Debug;

use serde::{Serialize, de::DeserializeOwned};
use tenure_core::{
    Event, Failure, Fence, Held, Input, Instant, Lease, LeaseConfig, NodeReply, NodeRequest, Nonce,
    OpId, Output, Quorum, QuorumInput, QuorumOutput, Reply, RequestKind, StaleToken, Token,
};
use tenure_vectors::replay;

use crate::config::is_sound;

/// What strangers stored: an error, or a value that could have been made here.
pub(crate) fn target(bytes: &[u8]) {
    let Some((&kind, stored)) = bytes.split_first() else { return };
    match kind % 16 {
        0 => {
            let _ = replay(stored, |_| {});
        }
        1 => {
            if let Some(config) = read::<LeaseConfig>(stored) {
                is_sound(&config);
            }
        }
        2 => inputs(stored),
        3 => quorum_inputs(stored),
        4 => {
            if let Some(token) = read::<Token>(stored) {
                assert_eq!(Token::new(token.get()), Some(token));
            }
        }
        5 => {
            if let Some(mut fence) = read::<Fence>(stored) {
                let highest = fence.highest();
                let _ = fence.admit_in_order(Token::MIN, 0);
                assert_eq!(fence.highest(), highest.max(Some(Token::MIN)));
            }
        }
        6 => drop(read::<Output>(stored)),
        7 => drop(read::<QuorumOutput>(stored)),
        8 => drop(read::<Event>(stored)),
        9 => drop((read::<Reply>(stored), read::<NodeReply>(stored))),
        10 => drop((read::<RequestKind>(stored), read::<NodeRequest>(stored))),
        11 => drop((read::<Nonce>(stored), read::<OpId>(stored))),
        12 => drop((read::<Held>(stored), read::<StaleToken>(stored))),
        13 => drop(read::<Failure>(stored)),
        14 => drop(read::<Vec<(Instant, Input, Vec<Output>)>>(stored)),
        _ => drop(read::<(LeaseConfig, Vec<(Instant, QuorumInput, Vec<QuorumOutput>)>)>(stored)),
    }
}

/// Reads a value; what was read can be stored and read again.
fn read<T: Serialize + DeserializeOwned + PartialEq + Debug>(stored: &[u8]) -> Option<T> {
    let value: T = postcard::from_bytes(stored).ok()?;
    let again = postcard::to_stdvec(&value).expect("it can be stored");
    assert_eq!(postcard::from_bytes::<T>(&again).as_ref(), Ok(&value));
    Some(value)
}

fn inputs(stored: &[u8]) {
    let Some(inputs) = read::<Vec<(Instant, Input)>>(stored) else { return };
    let mut lease = Lease::new(LeaseConfig::default(), 0);
    for (now, input) in inputs {
        lease.handle(now, input);
        let waits = (0..40).any(|_| matches!(lease.poll(), Output::Wait(_)));
        assert!(waits, "poll never waits");
    }
}

fn quorum_inputs(stored: &[u8]) {
    let Some(inputs) = read::<Vec<(Instant, QuorumInput)>>(stored) else { return };
    let mut quorum = Quorum::<3>::new(LeaseConfig::default(), 0);
    for (now, input) in inputs {
        quorum.handle(now, input);
        let waits = (0..120).any(|_| matches!(quorum.poll(), QuorumOutput::Wait(_)));
        assert!(waits, "poll never waits");
    }
}
