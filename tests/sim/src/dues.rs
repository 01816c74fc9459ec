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
    /// So many debts are remembered in any case, of those that can be seen from outside.
    remembered: usize,
    open: BTreeMap<OpId, Nonce>,
    /// Those of them whose answer has come.
    answered: BTreeSet<OpId>,
    /// When an attempt was first undone: a term later its lease has lapsed by itself.
    undone: BTreeMap<Nonce, Micros>,
    /// Undone, as far as we know, but the store has not said so.
    unconfirmed: BTreeSet<Nonce>,
    /// The machine undoes them once more: a grant came while the release was under way.
    again: BTreeSet<Nonce>,
    /// More was open at once than a machine's memory must hold. That is safe, for a ghost lapses.
    overflown: bool,
}

impl Dues {
    pub(crate) fn new(remembered: usize) -> Self {
        Self { remembered, ..Self::default() }
    }

    /// `op` may leave something under `nonce`.
    pub(crate) fn open(&mut self, op: OpId, nonce: Nonce) {
        self.open.insert(op, nonce);
        self.count();
    }

    /// The machine may undo `nonce` here, though nothing of it is known to be here.
    pub(crate) fn suspect(&mut self, nonce: Nonce) {
        if !self.unconfirmed.insert(nonce) {
            self.again.insert(nonce);
        }
        self.count();
    }

    fn count(&mut self) {
        let nonces: BTreeSet<_> = self.open.values().chain(&self.unconfirmed).collect();
        self.overflown |= nonces.len() > self.remembered;
    }

    /// `op` has taken the lock.
    pub(crate) fn took(&mut self, op: OpId) {
        if self.open.contains_key(&op) {
            self.answered.insert(op);
        }
    }

    /// Somebody else has the lock, so what `nonce` was known to have taken has lapsed. What was not
    /// answered may yet be executed.
    pub(crate) fn lapsed(&mut self, nonce: Nonce) {
        let Self { open, answered, .. } = self;
        open.retain(|op, open| *open != nonce || !answered.contains(op));
    }

    /// `op` has left nothing. `late`: the machine had stopped to listen, and may undo it all the same.
    pub(crate) fn settle(&mut self, op: OpId, late: bool) {
        if let Some(nonce) = self.open.remove(&op)
            && late
        {
            self.suspect(nonce);
        }
    }

    /// The store is told to forget `nonce`, at `now`.
    pub(crate) fn undo(&mut self, nonce: Nonce, now: Micros) {
        self.open.retain(|_, open| *open != nonce);
        self.undone.entry(nonce).or_insert(now);
        self.unconfirmed.insert(nonce);
    }

    /// The store has done as it was told. What came since then is still open.
    pub(crate) fn acknowledge(&mut self, nonce: Nonce) {
        if !self.again.remove(&nonce) {
            self.unconfirmed.remove(&nonce);
        }
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
        self.answered.clear();
        self.unconfirmed.clear();
        self.again.clear();
        self.overflown = false;
        Ok(())
    }
}
