//! T2: S17–S20.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic, and is its own documentation"
)]

use tenure_core::{Fence, StaleToken, Token, WriteRefused};

fn token(value: u64) -> Token {
    Token::new(value).unwrap()
}

fn stale(offered: u64, highest: u64) -> StaleToken {
    let mut fence = Fence::restored(token(highest));
    fence.admit(token(offered)).unwrap_err()
}

#[test]
fn a_lower_token_is_refused_after_a_higher_one() {
    let mut fence = Fence::new();
    fence.admit(token(33)).unwrap();
    fence.admit(token(33)).unwrap();
    fence.admit(token(34)).unwrap();
    let refused = fence.admit(token(33)).unwrap_err();
    assert_eq!((refused.offered, refused.highest), (token(33), token(34)));
    assert_eq!(fence.highest(), Some(token(34)));
}

#[test]
fn install_closes_the_gap_before_the_first_write() {
    let mut fence = Fence::new();
    fence.admit(token(33)).unwrap();
    fence.admit(token(33)).expect("without install the older holder is still welcome");
    fence.install(token(34)).unwrap();
    assert_eq!(fence.admit(token(33)), Err(stale(33, 34)));
    fence.install(token(34)).expect("again, after a lost answer");
    assert_eq!(fence.install(token(33)), Err(stale(33, 34)));
}

#[test]
fn one_holder_s_writes_stay_in_order() {
    let mut fence = Fence::new();
    fence.admit_in_order(token(1), 10).unwrap();
    for write in [10, 9, 0] {
        let refused = fence.admit_in_order(token(1), write).unwrap_err();
        assert!(matches!(refused, WriteRefused::OutOfOrder(order) if order.last == 10));
    }
    fence.admit_in_order(token(1), 11).unwrap();
    fence.admit_in_order(token(2), 0).expect("a new holder counts anew");
    assert!(matches!(fence.admit_in_order(token(1), 99), Err(WriteRefused::Stale(_))));
    fence.install(token(2)).unwrap();
    assert!(
        fence.admit_in_order(token(2), 0).is_err(),
        "install of the same token forgets nothing"
    );
}

#[test]
fn a_fence_is_restored_from_what_was_stored() {
    let mut fence = Fence::restored(token(9));
    assert_eq!(fence.admit(token(8)), Err(stale(8, 9)));
    fence.admit(token(9)).unwrap();
}

#[test]
fn tokens_fit_every_store() {
    assert_eq!(Token::new(0), None);
    assert_eq!(Token::new(u64::MAX), None);
    assert_eq!(Token::new(i64::MAX as u64), Some(Token::MAX));
    assert_eq!(Token::new(i64::MAX as u64 + 1), None);
    let error = Token::try_from(0).unwrap_err();
    assert_eq!(error.value, 0);
    assert!(error.to_string().contains("between 1 and 9223372036854775807"));
}

#[cfg(feature = "heapless")]
mod map {
    use super::*;
    use tenure_core::{FenceMap, FenceMapError};

    #[test]
    fn a_full_table_refuses_a_new_key_and_evicts_nothing() {
        let mut fences = FenceMap::<u8, 2>::new();
        fences.admit(1, token(5)).unwrap();
        fences.install(2, token(6)).unwrap();
        assert_eq!(fences.admit(3, token(9)), Err(FenceMapError::Full));
        assert_eq!(fences.restore(3, token(9)), Err(FenceMapError::Full));
        assert_eq!(fences.admit(1, token(4)), Err(FenceMapError::Stale(stale(4, 5))));
        fences.admit(1, token(7)).unwrap();
        assert_eq!(fences.len(), 2);

        fences.remove(&2).unwrap();
        fences.admit(3, token(9)).unwrap();
        assert_eq!(fences.highest(&1), Some(token(7)), "removing a key disturbs no other");
    }

    #[test]
    fn restoring_never_lowers_the_bar() {
        let mut fences = FenceMap::<u8, 2>::new();
        fences.restore(1, token(9)).unwrap();
        fences.restore(1, token(3)).unwrap();
        assert_eq!(fences.highest(&1), Some(token(9)));
    }
}
