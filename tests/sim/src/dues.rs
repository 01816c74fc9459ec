use std::collections::{BTreeMap, BTreeSet};

use tenure_core::{Nonce, OpId};

use crate::{
    clock::Micros,
    violation::{Violation, require},
};

/// What one machine's requests may have left in the store: each must be undone before the machine
/// says that nothing is owed (S7, S10).
#[derive(Debug, Default)]
pub(crate) struct Dues {
    open: BTreeMap<OpId, Nonce>,
    /// When an attempt was first undone: a term later its lease has lapsed by itself.
    undone: BTreeMap<Nonce, Micros>,
    /// Undone, as far as we know, but the store has not said so.
    unconfirmed: BTreeSet<Nonce>,
    /// More was open at once than a machine's memory must hold. That is safe, for a ghost lapses.
    overflown: bool,
}

/// At least this many debts are remembered.
const REMEMBERED: usize = 3;

impl Dues {
    /// `op` may leave something under `nonce`.
    pub(crate) fn open(&mut self, op: OpId, nonce: Nonce) {
        self.open.insert(op, nonce);
        let nonces: BTreeSet<_> = self.open.values().chain(&self.unconfirmed).collect();
        self.overflown |= nonces.len() > REMEMBERED;
    }

    /// `op` has left nothing.
    pub(crate) fn settle(&mut self, op: OpId) {
        self.open.remove(&op);
    }

    /// The store is told to forget `nonce`, at `now`.
    pub(crate) fn undo(&mut self, nonce: Nonce, now: Micros) {
        self.open.retain(|_, open| *open != nonce);
        self.undone.entry(nonce).or_insert(now);
        self.unconfirmed.insert(nonce);
    }

    /// The store has done as it was told. What came since then is still open.
    pub(crate) fn acknowledge(&mut self, nonce: Nonce) {
        self.unconfirmed.remove(&nonce);
    }

    /// The store has nothing of `nonce`.
    pub(crate) fn confirm(&mut self, nonce: Nonce) {
        self.open.retain(|_, open| *open != nonce);
        self.unconfirmed.remove(&nonce);
    }

    pub(crate) fn is_undone(&self, nonce: Nonce) -> bool {
        self.undone.contains_key(&nonce)
    }

    /// The clock went back: when a lease lapses cannot be told any more.
    pub(crate) fn forgive(&mut self) {
        self.overflown = true;
    }

    /// Nothing is said to be owed any more. `lapse`: how long a lease lasts after it was undone in vain.
    pub(crate) fn close(&mut self, now: Micros, lapse: Micros) -> Result<(), Violation> {
        let undone = &self.undone;
        let lapsed = |nonce| undone.get(nonce).is_some_and(|at| now.abs_diff(*at) >= lapse);
        let owed = self.open.iter().find(|(_, nonce)| !lapsed(nonce));
        require(self.overflown || owed.is_none(), "S7", || {
            format!("nothing is said to be owed, but {owed:?} was never undone")
        })?;
        self.open.clear();
        self.unconfirmed.clear();
        self.overflown = false;
        Ok(())
    }
}
