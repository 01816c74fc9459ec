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
    /// Made when it is first asked for.
    stop: OnceLock<CancellationToken>,
    token_went_back: OnceLock<TokenWentBack>,
}

impl Voice {
    pub(crate) fn new() -> Self {
        Self {
            status: watch::Sender::new(Status::Released),
            stop: OnceLock::new(),
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
    pub(crate) fn stop(&self) -> &CancellationToken {
        let stop = self.stop.get_or_init(CancellationToken::new);
        // After it was made: a status told in between cancels it or is seen here.
        if is_end(self.status()) {
            stop.cancel();
        }
        stop
    }

    pub(crate) fn token_went_back(&self) -> Option<TokenWentBack> {
        self.token_went_back.get().copied()
    }

    pub(crate) fn tell(&self, status: Status) {
        // To notify nobody is dear.
        self.status.send_if_modified(|told| {
            *told = status;
            self.status.receiver_count() > 0
        });
        if is_end(status)
            && let Some(stop) = self.stop.get()
        {
            stop.cancel();
        }
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

/// No new work should start after it.
const fn is_end(status: Status) -> bool {
    matches!(status, Status::Stopping { .. } | Status::Lost { .. } | Status::Released)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cancellation_token_is_cancelled_whenever_it_is_asked_for() {
        let asked_before = Voice::new();
        asked_before.tell(Status::AtRisk);
        let token = asked_before.stop().clone();
        assert!(!token.is_cancelled());
        asked_before.tell(Status::Released);
        assert!(token.is_cancelled());

        let asked_after = Voice::new();
        asked_after.tell(Status::AtRisk);
        asked_after.tell(Status::Lost { reason: LossReason::Gone });
        assert!(asked_after.stop().is_cancelled());
    }

    #[test]
    fn what_was_told_to_nobody_is_known_to_who_subscribes_later() {
        let voice = Voice::new();
        voice.tell(Status::AtRisk);
        let mut status = voice.subscribe();
        assert_eq!(*status.borrow(), Status::AtRisk);
        voice.tell(Status::Released);
        assert!(status.has_changed().unwrap());
        assert_eq!(*status.borrow_and_update(), Status::Released);
    }
}
