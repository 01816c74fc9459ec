use std::{mem, sync::OnceLock, time::Duration};

use tenure_core::{Basis, Instant, LossReason};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::TokenWentBack;

/// How a lease stands, as last seen by the task that renews it. To act on, ask
/// [`Guard::held`](crate::Guard::held): it reads the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// Held. Told anew after every renewal.
    Held {
        /// What the holding rests on.
        basis: Basis,
    },
    /// Held, but a renewal failed; it is being tried again.
    AtRisk,
    /// Held until then, and not renewed any more: stop the protected work.
    Stopping {
        /// The deadline, on the lock's clock.
        until: Instant,
    },
    /// Not held any more. Final.
    Lost {
        /// Why.
        reason: LossReason,
    },
    /// Given back. Final.
    Released,
}

/// The lease is about to end. See [`Guard::stopping`](crate::Guard::stopping).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stopping {
    /// What is left to stop in; zero if the lease is lost already.
    pub remaining: Duration,
}

/// What the engine tells, and all who hold a part of it hear.
pub(crate) struct Voice {
    status: watch::Sender<Status>,
    stop: CancellationToken,
    token_went_back: OnceLock<TokenWentBack>,
}

impl Voice {
    pub(crate) fn new() -> Self {
        Self {
            status: watch::Sender::new(Status::Released),
            stop: CancellationToken::new(),
            token_went_back: OnceLock::new(),
        }
    }

    pub(crate) fn status(&self) -> Status {
        *self.status.borrow()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Cancelled by the first status after which no new work should start.
    pub(crate) const fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    pub(crate) fn token_went_back(&self) -> Option<TokenWentBack> {
        self.token_went_back.get().copied()
    }

    pub(crate) fn tell(&self, status: Status) {
        if matches!(status, Status::Stopping { .. } | Status::Lost { .. } | Status::Released) {
            self.stop.cancel();
        }
        self.status.send_replace(status);
    }

    /// A renewal moved the basis. While `AtRisk`, `Recovered` tells it.
    pub(crate) fn tell_basis(&self, new: Basis) {
        self.status.send_if_modified(|status| {
            let Status::Held { basis } = status else { return false };
            mem::replace(basis, new) != new
        });
    }

    pub(crate) fn tell_token_went_back(&self, told: TokenWentBack) {
        // Once a grant: a second report is about the same one.
        let _ = self.token_went_back.set(told);
    }
}
