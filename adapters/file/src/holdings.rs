use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use tenure_core::{Nonce, Token};
use tenure_store::LockName;

use crate::lock_file::LockFile;

/// What this store holds and what it is taking, by attempt. Never locked during I/O, so that a disk
/// that hangs under one lock holds up no other.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    slots: Mutex<HashMap<Key, Slot>>,
    settled: Condvar,
}

/// One attempt at one lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) lock: LockName,
    pub(crate) nonce: Nonce,
}

/// A lock that is held.
#[derive(Debug)]
pub(crate) struct Holding {
    pub(crate) file: LockFile,
    pub(crate) token: Token,
}

#[derive(Debug)]
enum Slot {
    Taking,
    Held(Arc<Holding>),
}

impl Holdings {
    /// Begins the attempt, unless it has begun already.
    pub(crate) fn begin(self: &Arc<Self>, key: &Key) -> Option<Taking> {
        match self.slots().entry(key.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(slot) => {
                slot.insert(Slot::Taking);
                Some(Taking { holdings: Arc::clone(self), key: key.clone() })
            }
        }
    }

    /// What the attempt holds. Waits for the outcome of an acquire under way.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Holding>> {
        match self.wait(key).get(key) {
            Some(Slot::Held(holding)) => Some(Arc::clone(holding)),
            Some(Slot::Taking) | None => None,
        }
    }

    /// The same, and forgets it.
    pub(crate) fn remove(&self, key: &Key) -> Option<Arc<Holding>> {
        match self.wait(key).remove(key) {
            Some(Slot::Held(holding)) => Some(holding),
            Some(Slot::Taking) | None => None,
        }
    }

    /// What any attempt holds of `lock`.
    pub(crate) fn of(&self, lock: &LockName) -> Option<Arc<Holding>> {
        self.slots().iter().find_map(|(key, slot)| match slot {
            Slot::Held(holding) if key.lock == *lock => Some(Arc::clone(holding)),
            Slot::Held(_) | Slot::Taking => None,
        })
    }

    fn wait(&self, key: &Key) -> MutexGuard<'_, HashMap<Key, Slot>> {
        self.settled
            .wait_while(self.slots(), |slots| matches!(slots.get(key), Some(Slot::Taking)))
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<Key, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An acquire under way. Dropped, it leaves nothing.
#[derive(Debug)]
pub(crate) struct Taking {
    holdings: Arc<Holdings>,
    key: Key,
}

impl Taking {
    /// It succeeded.
    pub(crate) fn hold(self, holding: Holding) {
        self.holdings.slots().insert(self.key.clone(), Slot::Held(Arc::new(holding)));
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        if let Entry::Occupied(slot) = self.holdings.slots().entry(self.key.clone())
            && matches!(slot.get(), Slot::Taking)
        {
            slot.remove();
        }
        self.holdings.settled.notify_all();
    }
}
