use crate::micros::Micros;

/// Spreads the requests of many machines over time. Seeded by the host's entropy, so the same
/// inputs give the same outputs (S30). SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Jitter {
    state: u64,
}

impl Jitter {
    pub(super) const fn new(entropy: [u8; 16]) -> Self {
        let both = u128::from_le_bytes(entropy);
        let (high, low) = ((both >> 64) as u64, both as u64);
        Self { state: low.wrapping_add(high.wrapping_mul(0xd6e8_feb8_6659_fd93)) }
    }

    /// A span in `low..=high`; `low` where that is empty.
    pub(super) const fn between(&mut self, low: Micros, high: Micros) -> Micros {
        let width = high.less(low).plus(Micros(1));
        let part = (self.next() as u128).wrapping_mul(width.0 as u128) >> 64;
        low.plus(Micros(part as u64))
    }

    const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
