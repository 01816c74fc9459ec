use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tenure_core::Nonce;
use tenure_store::{LockName, Notices};

type ByLock = HashMap<Vec<u8>, Vec<(Nonce, Notices)>>;

/// Who waits for which lock. A wake-up's payload only looks up; it is never kept.
#[derive(Default)]
pub(crate) struct Watchers {
    by_lock: Mutex<ByLock>,
}

impl Watchers {
    pub(crate) fn add(&self, lock: &LockName, nonce: Nonce, notices: &Notices) {
        let mut by_lock = self.lock();
        let waiting = by_lock.entry(lock.as_bytes().to_vec()).or_default();
        waiting.retain(|&(other, _)| other != nonce);
        waiting.push((nonce, notices.clone()));
    }

    pub(crate) fn remove(&self, lock: &LockName, nonce: Nonce) {
        if let Entry::Occupied(mut waiting) = self.lock().entry(lock.as_bytes().to_vec()) {
            waiting.get_mut().retain(|&(other, _)| other != nonce);
            if waiting.get().is_empty() {
                waiting.remove();
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Hints everybody who waits for `lock`.
    pub(crate) fn wake(&self, lock: &[u8]) {
        let woken = self.lock().get(lock).cloned().unwrap_or_default();
        hint(woken);
    }

    /// Hints everybody: wake-ups may have been missed.
    pub(crate) fn wake_all(&self) {
        let woken = self.lock().values().flatten().cloned().collect();
        hint(woken);
    }

    fn lock(&self) -> MutexGuard<'_, ByLock> {
        self.by_lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Outside of the lock: what a notice sets off is not ours.
fn hint(woken: Vec<(Nonce, Notices)>) {
    woken.iter().for_each(|(_, notices)| notices.hint());
}

impl fmt::Debug for Watchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watchers({} locks)", self.lock().len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    #[test]
    fn only_who_watches_the_lock_is_woken() {
        let watchers = Watchers::default();
        let (a, b) = (LockName::new("a").unwrap(), LockName::new("b").unwrap());
        let nonces = [1, 2, 3].map(|byte| Nonce::from_bytes([byte; 16]));
        let counts = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
        let notices = counts.clone().map(|count| {
            Notices::new(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
            })
        });
        let heard = || counts.each_ref().map(|count| count.load(Ordering::Relaxed));

        watchers.add(&a, nonces[0], &notices[0]);
        watchers.add(&a, nonces[0], &notices[0]);
        watchers.add(&a, nonces[1], &notices[1]);
        watchers.add(&b, nonces[2], &notices[2]);
        watchers.wake(b"a");
        watchers.wake(b"somebody's junk");
        assert_eq!(heard(), [1, 1, 0]);
        watchers.remove(&a, nonces[0]);
        watchers.remove(&b, nonces[0]);
        watchers.wake_all();
        assert_eq!(heard(), [1, 2, 1]);
        watchers.remove(&a, nonces[1]);
        watchers.remove(&b, nonces[2]);
        assert!(watchers.is_empty());
    }
}
