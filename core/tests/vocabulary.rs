//! What the vocabulary says of itself, and its edges.
#![allow(
    missing_docs,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic, and is its own documentation"
)]

use core::time::Duration;
use tenure_core::{
    Assurance, Drift, Fence, LeaseConfig, Nonce, OpId, Quorum, Token, TokenOutOfRange, Waiting,
    WriteRefused,
};

#[test]
fn a_nonce_is_32_hexadecimal_digits() {
    let bytes = [0, 1, 2, 3, 4, 5, 6, 7, 0x80, 0x91, 0xa2, 0xb3, 0xc4, 0xd5, 0xe6, 0xff];
    let nonce = Nonce::from_bytes(bytes);
    let hex = "0001020304050607".to_owned() + "8091a2b3c4d5e6ff";
    assert_eq!(nonce.to_bytes(), bytes);
    assert_eq!(nonce.to_string(), hex);
    assert_eq!(format!("{nonce:?}"), format!("Nonce({hex})"));
    assert_eq!(Nonce::from_hex(hex.as_bytes()), Some(nonce));
    assert_eq!(Nonce::from_hex(hex.to_uppercase().as_bytes()), Some(nonce));
    for wrong in ["", "00", &hex[1..], &format!("{hex}0"), &hex.replace('f', "g")] {
        assert_eq!(Nonce::from_hex(wrong.as_bytes()), None, "{wrong}");
    }
}

#[test]
fn names_and_errors_say_what_they_are() {
    let op = OpId { instance: 1, generation: 2, sequence: 3 };
    assert_eq!(op.to_string(), "1.2.3");
    assert_eq!(Drift::from_ppm(50).to_string(), "50 ppm");
    let TokenOutOfRange { value, .. } = Token::try_from(u64::MAX).unwrap_err();
    assert_eq!(value, u64::MAX);
    assert!(Token::try_from(0).unwrap_err().to_string().starts_with("0 is no fencing token"));

    let (older, newer) = (Token::MIN, Token::MAX);
    let mut fence = Fence::restored(newer);
    let stale = fence.admit_in_order(older, 1).unwrap_err();
    assert_eq!(stale.to_string(), "stale token 1: 9223372036854775807 is installed");
    fence.admit_in_order(newer, 7).unwrap();
    let WriteRefused::OutOfOrder(order) = fence.admit_in_order(newer, 5).unwrap_err() else {
        panic!("the token is not stale");
    };
    assert_eq!(order.to_string(), "write 5 after write 7 of the same holder");
    assert_eq!(WriteRefused::OutOfOrder(order).to_string(), order.to_string());
}

#[test]
fn the_longest_term_is_a_year_and_the_bounds_belong_to_the_range() {
    assert_eq!(LeaseConfig::MAX_TERM, Duration::from_hours(365 * 24));
    let longest = LeaseConfig::builder().term(LeaseConfig::MAX_TERM);
    assert!(longest.build().is_ok());
    assert!(longest.term(LeaseConfig::MAX_TERM + Duration::from_nanos(1)).build().is_err());
    let shortest_pause = Duration::from_millis(1);
    assert!(LeaseConfig::builder().poll_pause(shortest_pause, shortest_pause).build().is_ok());
}

#[test]
fn a_configuration_may_use_all_the_room_there_is() {
    let exact = Duration::from_millis(192_000 - 64_000 - 10_000 - 3_000);
    let config = LeaseConfig::builder()
        .term(Duration::from_millis(192_000))
        .attempt_timeout(Duration::from_millis(5_000))
        .drift(Drift::from_ppm(0))
        .quantum(Duration::ZERO)
        .margin(Duration::ZERO);
    assert!(config.grace(exact).build().is_ok());
    assert!(config.grace(exact + Duration::from_micros(1)).build().is_err());
}

#[test]
fn the_nodes_of_a_quorum_are_polled_and_promise_a_term() {
    let config = LeaseConfig::builder().waiting(Waiting::Block).assurance(Assurance::Session);
    let quorum = Quorum::<3>::new(config.build().unwrap(), 1);
    assert_eq!(quorum.config().waiting(), Waiting::Poll);
    assert_eq!(quorum.config().assurance(), Assurance::Term);
}

#[test]
fn a_quorum_remembers_tokens() {
    let mut quorum = Quorum::<3>::new(LeaseConfig::default(), 1);
    assert_eq!(quorum.highest_token(), None);
    quorum.remember(Token::MAX);
    quorum.remember(Token::MIN);
    assert_eq!(quorum.highest_token(), Some(Token::MAX));
}

#[cfg(feature = "heapless")]
#[test]
fn a_fence_map_counts_its_keys() {
    use tenure_core::{FenceMap, FenceMapError};

    let mut fences = FenceMap::<u8, 2>::new();
    assert!(fences.is_empty());
    fences.install(1, Token::MIN).unwrap();
    assert!(!fences.is_empty() && fences.len() == 1);
    assert!(FenceMapError::Full.to_string().contains("make it larger"));
}
