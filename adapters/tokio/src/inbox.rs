use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use tenure_core::{Input, Nonce};

/// What a store left unasked, until the engine takes it. Bounded: repeated notices are one.
#[derive(Default)]
pub(crate) struct Inbox {
    contents: Mutex<Contents>,
}

#[derive(Default)]
struct Contents {
    hint: bool,
    ended_sessions: Vec<Nonce>,
    waker: Option<Waker>,
}

impl Inbox {
    /// Takes a hint or the end of a session; nothing else is a store's to say unasked.
    pub(crate) fn deliver(&self, input: Input) {
        let mut contents = self.contents();
        match input {
            Input::Hint => contents.hint = true,
            Input::SessionLost { nonce } if !contents.ended_sessions.contains(&nonce) => {
                contents.ended_sessions.push(nonce);
            }
            Input::SessionLost { .. }
            | Input::Acquire { .. }
            | Input::Release
            | Input::Cancel
            | Input::Reply { .. }
            | Input::Failed { .. }
            | Input::Tick => return,
        }
        drop(contents);
        self.wake();
    }

    /// Wakes the task that drives the engine.
    pub(crate) fn wake(&self) {
        let waker = self.contents().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Makes `waker` the one to wake. Before [`take`](Self::take), or a notice between the two would
    /// wake nobody.
    pub(crate) fn listen(&self, waker: &Waker) {
        let mut contents = self.contents();
        match &mut contents.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// The next notice. The end of a session goes before a hint.
    pub(crate) fn take(&self) -> Option<Input> {
        let mut contents = self.contents();
        match contents.ended_sessions.pop() {
            Some(nonce) => Some(Input::SessionLost { nonce }),
            None => mem::take(&mut contents.hint).then_some(Input::Hint),
        }
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        // Nothing that runs under this lock can panic half-way.
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
