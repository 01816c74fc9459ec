use std::{
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Wake, Waker},
};

use tokio::{runtime::Handle, task::AbortHandle};

use crate::engine::Engine;

/// Drives one engine: inline in the caller's task while somebody waits for an answer, so that no
/// task lies between the caller and the socket, and by a relief in between.
///
/// Dropped at any time, it gives up whatever the engine has, in the background.
pub(crate) struct Driver {
    engine: Arc<Mutex<Engine>>,
    relief: Option<Arc<Relief>>,
}

impl Driver {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine: Arc::new(Mutex::new(engine)), relief: None }
    }

    pub(crate) fn engine(&self) -> MutexGuard<'_, Engine> {
        lock(&self.engine)
    }

    /// Drives in the caller's task until `ready` finds what it waits for. Cancel-safe.
    pub(crate) async fn inline<T>(&mut self, mut ready: impl FnMut(&mut Engine) -> Option<T>) -> T {
        self.take_over();
        poll_fn(|cx| self.engine().poll(cx, &mut ready)).await
    }

    /// Leaves the engine to a relief, which drives when there is something to do, until nothing is
    /// owed to the store any more. Must be called within `runtime`.
    pub(crate) fn hand_over(&mut self, runtime: Handle) {
        let relief = self.relieve(runtime);
        let waker = Waker::from(relief);
        let _ = self.engine().poll(&mut Context::from_waker(&waker), |_| None::<()>);
    }

    fn take_over(&mut self) {
        let mut engine = self.engine();
        engine.next_shift();
        // The caller may be in another runtime, and the timers of this one gone.
        engine.forget_timer();
        drop(engine);
        if let Some(relief) = self.relief.take() {
            relief.dismiss();
        }
    }

    fn relieve(&mut self, runtime: Handle) -> Arc<Relief> {
        let shift = self.engine().next_shift();
        let engine = Arc::downgrade(&self.engine);
        let relief = Arc::new(Relief { engine, shift, runtime, task: Mutex::new(None) });
        self.relief = Some(Arc::clone(&relief));
        relief
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let mut engine = self.engine();
        if engine.finished() {
            return;
        }
        engine.give_up();
        engine.wake();
        drop(engine);
        let driven = self.relief.as_ref().is_some_and(|relief| relief.drives());
        // Outside of a runtime nobody is left to drive: see `Engine`'s drop.
        if !driven && let Ok(runtime) = Handle::try_current() {
            self.engine().forget_timer();
            self.relieve(runtime).wake();
        }
    }
}

/// Starts a task to drive the engine at its first wake-up: a timer, an answer or a notice. Most
/// leases are given back before, and a task for each would cost more than all else that is done here.
struct Relief {
    engine: Weak<Mutex<Engine>>,
    shift: u64,
    runtime: Handle,
    task: Mutex<Option<AbortHandle>>,
}

impl Relief {
    fn drives(&self) -> bool {
        lock(&self.task).as_ref().is_some_and(|task| !task.is_finished())
    }

    /// Whoever drives next has the engine's wakers, so the task would wait for ever.
    fn dismiss(&self) {
        if let Some(task) = &*lock(&self.task) {
            task.abort();
        }
    }
}

impl Wake for Relief {
    /// May be called while the engine is locked.
    fn wake(self: Arc<Self>) {
        let mut task = lock(&self.task);
        if task.is_none()
            && let Some(engine) = self.engine.upgrade()
        {
            *task = Some(self.runtime.spawn(drive(engine, self.shift)).abort_handle());
        }
    }
}

async fn drive(engine: Arc<Mutex<Engine>>, shift: u64) {
    poll_fn(|cx| {
        let mut engine = lock(&engine);
        // An aborted task may be in the middle of this poll, or a late wake-up may have started it:
        // it must not take the wakers away from whoever drives now.
        if engine.shift() != shift {
            return Poll::Ready(());
        }
        engine.poll(cx, |engine| engine.finished().then_some(()))
    })
    .await;
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A store's future that panics poisons the engine's lock. The machine was not running then, so it
    // is whole, and it is what ends the lease in time.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
