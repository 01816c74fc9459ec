use tenure_core::Token;

use crate::violation::{Violation, ensure};

/// The tokens of all grants that were told to an application (S13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TokensTold {
    /// One bit a token: a small world has few.
    bits: u64,
}

impl TokensTold {
    pub(crate) fn highest(self) -> Option<Token> {
        Token::new(self.bits.checked_ilog2()?.into())
    }

    /// Another grant is complete. `floor`: the highest before its attempt began.
    pub(crate) fn told(&mut self, token: Token, floor: Option<Token>) -> Result<(), Violation> {
        let bit = u32::try_from(token.get()).ok().and_then(|place| 1_u64.checked_shl(place));
        let bit = bit.unwrap_or(0);
        ensure(bit != 0, "small world", || format!("token {token} is too high to be kept"))?;
        ensure(self.bits & bit == 0, "S13", || format!("token {token} was given twice"))?;
        ensure(floor < Some(token), "S13", || {
            format!("token {token} after {floor:?} was complete")
        })?;
        self.bits |= bit;
        Ok(())
    }
}
