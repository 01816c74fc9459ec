use tenure_core::{Fence, Token, WriteRefused};

use crate::violation::{Violation, require};

/// What the lock protects: a register behind a fence, and one without as a control.
///
/// Where a store keeps its memory, a newer holder has the higher token (S13, judged elsewhere), so
/// that "older" means lower here.
#[derive(Debug, Default)]
pub(crate) struct Resource {
    fence: Fence,
    newest_installed: Option<Token>,
    newest_admitted: Option<Token>,
    newest_written: Option<Token>,
    /// The number of the last write that was applied, since the resource's last restart.
    last: Option<(Token, u64)>,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Applied,
    Stale,
    /// The same holder has written this or something later already.
    OutOfOrder,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) verdict: Verdict,
    /// The register without a fence held a newer holder's value, and holds it no more.
    pub(crate) overwritten: bool,
    /// The newer holder had only installed its token.
    pub(crate) by_install_alone: bool,
}

impl Resource {
    pub(crate) fn highest(&self) -> Option<Token> {
        self.fence.highest()
    }

    /// A new holder reads what is there. `raise`: it installs its token first, as it must (S18).
    pub(crate) fn read(&mut self, token: Token, raise: bool) -> bool {
        let accepted = !raise || self.fence.install(token).is_ok();
        if accepted {
            self.newest_installed = self.newest_installed.max(Some(token));
            self.newest_admitted = self.newest_admitted.max(self.newest_installed);
        }
        accepted
    }

    /// `tokens_rise`: the store has kept its memory, so that the fence can promise something.
    pub(crate) fn write(
        &mut self,
        token: Token,
        number: u64,
        ordered: bool,
        tokens_rise: bool,
    ) -> Result<Written, Violation> {
        let verdict = if ordered {
            match self.fence.admit_in_order(token, number) {
                Ok(()) => Verdict::Applied,
                Err(WriteRefused::OutOfOrder(_)) => Verdict::OutOfOrder,
                Err(_) => Verdict::Stale,
            }
        } else if self.fence.admit(token).is_ok() {
            Verdict::Applied
        } else {
            Verdict::Stale
        };
        if tokens_rise {
            require(
                verdict == Verdict::Stale || Some(token) >= self.newest_installed,
                "S18",
                || format!("a write under {token} was applied after a newer holder was installed"),
            )?;
            require(
                verdict != Verdict::Stale || Some(token) < self.newest_admitted,
                "S17",
                || format!("a write under {token} was refused, though nothing newer was seen"),
            )?;
        }
        if ordered {
            let late = self.last.is_some_and(|(last, n)| last == token && number <= n);
            require(
                verdict == Verdict::Stale || late == (verdict != Verdict::Applied),
                "S19",
                || format!("write {number} under {token} after {:?}: {verdict:?}", self.last),
            )?;
        }
        if verdict == Verdict::Applied {
            self.newest_admitted = self.newest_admitted.max(Some(token));
            self.last = Some((token, number));
        }
        let overwritten = Some(token) < self.newest_written;
        let by_install_alone = verdict == Verdict::Stale && Some(token) >= self.newest_written;
        self.newest_written = self.newest_written.max(Some(token));
        Ok(Written { verdict, overwritten, by_install_alone })
    }

    /// It comes back with the highest token that it kept beside its data; or, if it `forgets` even
    /// that, with none.
    pub(crate) fn restart(&mut self, forgets: bool) {
        self.fence = match self.fence.highest() {
            Some(highest) if !forgets => Fence::restored(highest),
            Some(_) | None => Fence::new(),
        };
        self.last = None;
    }
}
