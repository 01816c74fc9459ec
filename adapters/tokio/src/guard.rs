use std::{fmt, future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use tenure_core::{Held, LossReason, Token};
use tokio::{runtime::Handle, sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{Lost, Status, Stopping, driver::Driver, lock::Setup, nap::nap, status::Voice};

/// A lease that was granted. It is renewed in the background until it is released, dropped or lost.
///
/// That it exists does not mean that the lease is held: ask [`held`](Self::held), or put the work
/// under [`run`](Self::run). And even a lease that is held now may be lost when the next instruction
/// runs (the process may be stopped in between): pass [`token`](Self::token) to whatever the work
/// writes to, and let a [`Fence`](crate::Fence) there refuse older ones.
///
/// Dropping the guard releases the lease in the background. A program that ends right after leaves
/// no time for that, and outside of a tokio runtime it cannot be done: the lease is then left to end
/// by its term. [`release`](Self::release) waits for it.
#[must_use = "a guard that is dropped at once releases the lease"]
pub struct Guard {
    token: Token,
    driver: Driver,
    setup: Arc<Setup>,
    voice: Arc<Voice>,
}

impl Guard {
    pub(crate) fn new(mut driver: Driver, token: Token) -> Self {
        driver.hand_over(Handle::current());
        let (setup, voice) = driver.engine().shared();
        Self { token, driver, setup, voice }
    }

    /// The fencing token, the same for the whole grant. It outlives the lease: that a holder who
    /// has lost it still sends its token is what a fence is for.
    #[must_use]
    pub const fn token(&self) -> Token {
        self.token
    }

    /// What the lease rests on at this moment, by the clock; `None` once it is lost. No timer and no
    /// task has to run for it to be right.
    #[must_use]
    pub fn held(&self) -> Option<Held> {
        self.driver.engine().held()
    }

    /// The time left to the deadline; `None` if the lease is lost, or rests on a session, which
    /// promises no term.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.driver.engine().remaining()
    }

    /// Resolves when the lease is lost. Cancel-safe; any number may wait.
    pub async fn lost(&self) -> LossReason {
        self.wait_for(|| self.loss(), Duration::ZERO).await
    }

    /// Resolves when the lease is about to end and is not renewed any more (at deadline − grace), or
    /// is lost: the time to stop the work in an orderly way. Cancel-safe; any number may wait.
    ///
    /// A lease that the store says is gone, or whose session ended, has no such warning.
    pub async fn stopping(&self) -> Stopping {
        self.wait_for(|| self.stop(), self.setup.config.grace()).await
    }

    /// How the lease stands, as a value to watch. It lags behind [`held`](Self::held) if the runtime
    /// is busy.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<Status> {
        self.voice.subscribe()
    }

    /// A token that is cancelled when the work should stop: at [`Status::Stopping`], at the loss, or
    /// when the guard is released or dropped, whichever is first.
    #[must_use]
    pub fn cancellation_token(&self) -> CancellationToken {
        self.voice.stop().child_token()
    }

    /// Runs `work`, and drops it when the lease is lost.
    ///
    /// The lease is asked for before each poll of `work`, so no poll starts after the deadline; what
    /// one poll does, it can do beyond it. A result that `work` gave is never thrown away.
    ///
    /// # Errors
    ///
    /// [`Lost`]; `work` is dropped then.
    pub async fn run<F: Future>(&self, work: F) -> Result<F::Output, Lost> {
        let mut work = pin!(work);
        let mut lost = pin!(self.lost());
        poll_fn(|cx| {
            // The first looks at the clock now, the second wakes this task when it is time to.
            if let Some(reason) = self.loss() {
                return Poll::Ready(Err(Lost { reason }));
            }
            if let Poll::Ready(reason) = lost.as_mut().poll(cx) {
                return Poll::Ready(Err(Lost { reason }));
            }
            work.as_mut().poll(cx).map(Ok)
        })
        .await
    }

    /// What the store forgot, if this grant's token is not above the highest that was seen for the
    /// lock. A fence that was raised will refuse this holder; see
    /// [`Lock::remember`](crate::Lock::remember).
    #[must_use]
    pub fn token_went_back(&self) -> Option<TokenWentBack> {
        self.voice.token_went_back()
    }

    /// Gives the lease back, and waits until the store has acknowledged it, or until it has lapsed.
    ///
    /// Cancel-safe: the lease is not held from the call on, and if the future is dropped, the release
    /// goes on in the background.
    pub async fn release(mut self) -> Released {
        self.driver.engine().give_up();
        let confirmed = self.driver.inline(|engine| engine.released()).await;
        Released { confirmed }
    }

    fn loss(&self) -> Option<LossReason> {
        let engine = self.driver.engine();
        if let Status::Lost { reason } = self.voice.status() {
            return Some(reason);
        }
        engine.loss()
    }

    fn stop(&self) -> Option<Stopping> {
        if self.loss().is_some() {
            return Some(Stopping { remaining: Duration::ZERO });
        }
        // A session has no deadline to ask for, but what is told when it cannot be kept alive has.
        if let Status::Stopping { until } = self.voice.status() {
            let remaining = until.saturating_since(self.setup.now());
            return Some(Stopping { remaining });
        }
        let remaining = self.remaining()?;
        (remaining <= self.setup.config.grace()).then_some(Stopping { remaining })
    }

    /// Waits until `check` finds something. Looks at every change of the status, and on a timer of
    /// its own, at `lead` before the deadline: the task that renews may be late.
    async fn wait_for<T>(&self, check: impl Fn() -> Option<T>, lead: Duration) -> T {
        let mut status = self.voice.subscribe();
        loop {
            if let Some(found) = check() {
                return found;
            }
            let remaining = self.remaining();
            let due = remaining.map_or(Duration::MAX, |remaining| remaining.saturating_sub(lead));
            tokio::select! {
                biased;
                _ = status.changed() => {}
                () = sleep(nap(due, remaining)) => {}
            }
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("lock", &self.setup.name)
            .field("token", &self.token)
            .field("status", &self.voice.status())
            .finish_non_exhaustive()
    }
}

/// What became of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Released {
    /// The store has acknowledged it. Otherwise the lease was lost before, or the store was silent
    /// until its term had passed; either way it is not held.
    pub confirmed: bool,
}

/// The store lost its memory: it granted a token that is not above the highest one seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenWentBack {
    /// The highest token seen for the lock.
    pub seen: Token,
    /// The token granted.
    pub got: Token,
}

impl fmt::Display for TokenWentBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the store lost its memory: it granted token {} after token {}; a fence that has seen \
             the latter refuses this holder",
            self.got, self.seen
        )
    }
}
