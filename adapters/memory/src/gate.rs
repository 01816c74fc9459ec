use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use event_listener::Event;

/// Holds requests or answers up until a test lets them go. Clones are the same gate.
#[derive(Clone, Default)]
pub struct Gate {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Event,
}

#[derive(Default)]
struct State {
    open: bool,
    arrived: usize,
    deferred: VecDeque<Deferred>,
}

type Deferred = Box<dyn FnOnce() + Send>;

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets go what is held up, in the order of its arrival, and whatever comes later.
    pub fn open(&self) {
        while let Some(work) = self.next_or_open() {
            work();
        }
        self.shared.changed.notify(usize::MAX);
    }

    /// Waits until `count` requests or answers in all have arrived at the gate.
    pub async fn arrived(&self, count: usize) {
        self.until(|state| state.arrived >= count).await;
    }

    /// Does `work` when the gate opens, in the caller of `open`, whoever is dropped until then.
    pub(crate) fn defer(&self, work: impl FnOnce() + Send + 'static) {
        let mut state = self.state();
        state.arrived += 1;
        if state.open {
            drop(state);
            work();
        } else {
            state.deferred.push_back(Box::new(work));
            drop(state);
        }
        self.shared.changed.notify(usize::MAX);
    }

    /// Waits until the gate has opened and what was deferred is done.
    pub(crate) async fn pass(&self) {
        self.until(|state| state.open).await;
    }

    /// The gate counts as open only when what had arrived before is done.
    fn next_or_open(&self) -> Option<Deferred> {
        let mut state = self.state();
        let next = state.deferred.pop_front();
        state.open = next.is_none();
        next
    }

    async fn until(&self, condition: impl Fn(&State) -> bool) {
        loop {
            let changed = self.shared.changed.listen();
            if condition(&self.state()) {
                return;
            }
            changed.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("open", &self.state().open).finish_non_exhaustive()
    }
}
