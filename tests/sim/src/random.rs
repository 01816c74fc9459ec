/// SplitMix64. Written out, so that a seed means the same run for ever, whatever a crate's next
/// version makes of it.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// Parts per million: the unit of every probability here.
pub(crate) type Ppm = u32;

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        debug_assert!(low <= high, "{low}..={high} is empty");
        let span = u128::from(high - low) + 1;
        low + ((u128::from(self.next()) * span) >> 64) as u64
    }

    pub(crate) fn chance(&mut self, ppm: Ppm) -> bool {
        ppm > 0 && self.between(0, 999_999) < u64::from(ppm)
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.between(0, of.len() as u64 - 1) as usize]
    }

    pub(crate) fn bytes(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.next().to_le_bytes());
        bytes[8..].copy_from_slice(&self.next().to_le_bytes());
        bytes
    }
}
