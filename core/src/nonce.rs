use core::fmt;

/// The identity of one attempt to take a lease: 128 bits, fresh for every attempt, never per process.
///
/// A store keeps it as the lease's owner. Renewal and release name it, so that neither can touch
/// anybody else's lease (S8), and a lost answer is resolved by asking again with the same nonce (S10).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Nonce([u8; 16]);

impl Nonce {
    /// The nonce with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, as a store keeps them.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// Reads the form that [`Display`](fmt::Display) writes: 32 hexadecimal digits.
    #[must_use]
    pub fn from_hex(hex: &[u8]) -> Option<Self> {
        let (pairs, []) = hex.as_chunks::<2>() else { return None };
        let pairs: &[[u8; 2]; 16] = pairs.try_into().ok()?;
        let mut bytes = [0; 16];
        for (byte, &[high, low]) in bytes.iter_mut().zip(pairs) {
            let high = char::from(high).to_digit(16)?;
            let low = char::from(low).to_digit(16)?;
            *byte = u8::try_from(high << 4 | low).ok()?;
        }
        Some(Self(bytes))
    }

    /// The nonce of the next attempt: a walk that comes back after 2^128 steps, so that two attempts
    /// of one generation never share a nonce (S12).
    pub(crate) const fn next(self) -> Self {
        // The golden ratio's bits; odd, so that the walk meets every value before it repeats one.
        const STEP: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
        Self(u128::from_le_bytes(self.0).wrapping_add(STEP).to_le_bytes())
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nonce({self})")
    }
}
