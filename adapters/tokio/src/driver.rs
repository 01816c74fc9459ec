use std::{
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use tokio::{runtime::Handle, task::AbortHandle};

use crate::engine::Engine;

/// Drives one engine: inline in the caller's task while somebody waits for an answer, so that no
/// task lies between the caller and the socket, and by a task of its own in between.
///
/// Dropped at any time, it gives up whatever the engine has, in the background.
pub(crate) struct Driver {
    engine: Arc<Mutex<Engine>>,
    task: Option<AbortHandle>,
}

impl Driver {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine: Arc::new(Mutex::new(engine)), task: None }
    }

    pub(crate) fn engine(&self) -> MutexGuard<'_, Engine> {
        lock(&self.engine)
    }

    /// Drives in the caller's task until `ready` finds what it waits for. Cancel-safe.
    pub(crate) async fn inline<T>(&mut self, mut ready: impl FnMut(&mut Engine) -> Option<T>) -> T {
        self.engine().next_shift();
        if let Some(task) = self.task.take() {
            task.abort();
        }
        poll_fn(|cx| {
            let mut engine = self.engine();
            engine.poll(cx);
            ready(&mut engine).map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Drives in a task of its own, until nothing is owed to the store any more.
    pub(crate) fn detach(&mut self, runtime: &Handle) {
        let shift = self.engine().next_shift();
        let task = runtime.spawn(drive(Arc::clone(&self.engine), shift));
        self.task = Some(task.abort_handle());
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let mut engine = self.engine();
        if engine.finished() {
            return;
        }
        engine.give_up();
        drop(engine);
        let driven = self.task.as_ref().is_some_and(|task| !task.is_finished());
        // Outside of a runtime nobody is left to drive: see `Engine`'s drop.
        if !driven && let Ok(runtime) = Handle::try_current() {
            self.detach(&runtime);
        }
    }
}

async fn drive(engine: Arc<Mutex<Engine>>, shift: u64) {
    poll_fn(|cx| {
        let mut engine = lock(&engine);
        // An aborted task may be in the middle of this poll, and must not take the wakers away from
        // whoever drives now.
        if engine.shift() != shift {
            return Poll::Ready(());
        }
        engine.poll(cx);
        if engine.finished() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

fn lock(engine: &Mutex<Engine>) -> MutexGuard<'_, Engine> {
    // A store's future that panics poisons the lock. The machine was not running then, so it is
    // whole, and it is what ends the lease in time.
    engine.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, ready},
        pin::pin,
        task::{Context, Waker},
        time::Duration,
    };

    use tenure_core::{Assurance, Wait, Waiting};
    use tenure_store::{
        Call, Executing, Failover, Fairness, Fencing, Guarantees, Inspecting, Inspection, LockName,
        Profile, Store, Tenancy,
    };

    use super::*;
    use crate::Lock;

    #[tokio::test(start_paused = true)]
    async fn who_has_been_relieved_drives_no_more() {
        let lock = Lock::new(Silent::new(), "lock").unwrap();
        let mut engine = lock.engine([0; 16], Wait::Forever);
        let shift = engine.next_shift();
        let engine = Arc::new(Mutex::new(engine));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(pin!(drive(Arc::clone(&engine), shift)).poll(&mut cx).is_pending());

        super::lock(&engine).next_shift();
        assert!(pin!(drive(engine, shift)).poll(&mut cx).is_ready());
    }

    #[derive(Debug)]
    struct Silent(Guarantees);

    impl Silent {
        fn new() -> Self {
            Self(Guarantees::new(
                Fencing::None,
                Tenancy::Term,
                Failover::Impossible,
                Fairness::None,
            ))
        }
    }

    impl Store for Silent {
        fn profile(&self) -> Profile {
            Profile::new(Waiting::Poll, Assurance::Term, Duration::from_millis(1))
        }

        fn guarantees(&self) -> &Guarantees {
            &self.0
        }

        fn execute<'a>(&'a self, _: Call<'a>) -> Executing<'a> {
            Box::pin(pending())
        }

        fn inspect<'a>(&'a self, _: &'a LockName) -> Inspecting<'a> {
            Box::pin(ready(Ok(Inspection::Free)))
        }
    }
}
