use std::collections::BTreeMap;

use tenure_core::{Fence, Token};

use crate::violation::{Violation, require};

/// What the lock protects: a register behind a fence, and one without as a control.
#[derive(Debug, Default)]
pub(crate) struct Resource {
    fence: Fence,
    /// The place of every token in the order of the store's grants: what "older" means, whatever
    /// the tokens' numbers are.
    order: BTreeMap<Token, usize>,
    newest_installed: usize,
    newest_admitted: usize,
    newest_written: usize,
}

/// What became of a write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) accepted: bool,
    /// The register without a fence held a newer holder's value, and holds it no more.
    pub(crate) overwritten: bool,
}

impl Resource {
    pub(crate) fn granted(&mut self, token: Token) {
        let place = self.order.len() + 1;
        self.order.insert(token, place);
    }

    pub(crate) fn highest(&self) -> Option<Token> {
        self.fence.highest()
    }

    /// Raises the fence before the holder reads anything (S18).
    pub(crate) fn install(&mut self, token: Token) -> bool {
        let accepted = self.fence.install(token).is_ok();
        if accepted {
            self.newest_installed = self.newest_installed.max(self.place(token));
            self.newest_admitted = self.newest_admitted.max(self.newest_installed);
        }
        accepted
    }

    /// `tokens_rise`: the store has kept its memory, so that the fence can promise something.
    pub(crate) fn write(&mut self, token: Token, tokens_rise: bool) -> Result<Written, Violation> {
        let place = self.place(token);
        let accepted = self.fence.admit(token).is_ok();
        if tokens_rise {
            require(!accepted || place >= self.newest_installed, "S18", || {
                format!("a write under {token} was applied after a newer holder was installed")
            })?;
            require(accepted || place < self.newest_admitted, "S17", || {
                format!("a write under {token} was refused, though nothing newer was seen")
            })?;
        }
        if accepted {
            self.newest_admitted = self.newest_admitted.max(place);
        }
        let overwritten = place < self.newest_written;
        self.newest_written = self.newest_written.max(place);
        Ok(Written { accepted, overwritten })
    }

    fn place(&self, token: Token) -> usize {
        self.order.get(&token).copied().unwrap_or(0)
    }
}
