//! A place in the store's queue: kept by renewal, turned into the lease by `Claim`.

use super::*;

/// A place in the store's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// When the last acknowledged `Enqueue` or `Renew` was sent: `Claim` establishes no term.
    pub(super) kept: Instant,
    pub(super) term: Micros,
}

impl Place {
    pub(super) fn end(&self, config: &LeaseConfig) -> Instant {
        self.kept.deadline_after(config.usable_of(self.term))
    }
}

impl Lease {
    pub(super) fn enqueued(&mut self, term: Micros, sent: Instant) {
        let Phase::Seeking(seeking) = &mut self.phase else { return };
        seeking.failures = 0;
        seeking.unresolved = false;
        seeking.last_answer = DenyReason::Busy;
        seeking.place = Some(Place { kept: sent, term });
        self.claim = Slot::Due;
        self.plan_place_renewal(sent, term);
    }

    fn plan_place_renewal(&mut self, sent: Instant, term: Micros) {
        let floor = self.now.alarm_after(self.config.retry_pause(0));
        let next = sent.alarm_after(LeaseConfig::renew_after(term));
        self.establish = Slot::At(next.max(floor));
    }

    pub(super) fn place_renewed(&mut self, reply: Reply, sent: Instant) {
        match reply {
            Reply::Renewed { term } => {
                let term = Micros::of(term);
                let Phase::Seeking(seeking) = &mut self.phase else { return };
                let Some(place) = &mut seeking.place else { return };
                let renewed = Place { kept: sent, term };
                if term < place.term || renewed.end(&self.config) > place.end(&self.config) {
                    *place = renewed;
                }
                seeking.failures = 0;
                self.plan_place_renewal(sent, term);
            }
            Reply::Gone => self.place_lost(Undo::Release),
            Reply::Granted { nonce, .. } | Reply::Enqueued { nonce, .. } => {
                self.late(nonce);
                self.seeking_failed(Failure::Unknown);
            }
            Reply::Busy { .. } | Reply::NotYet | Reply::Released | Reply::Watching => {
                self.seeking_failed(Failure::Unknown);
            }
        }
    }

    /// A renewal of the place, or a claim, brought no answer.
    pub(super) fn place_failed(&mut self, failure: Failure, retry: Instant) {
        match failure {
            Failure::Unknown if self.config.assurance() == Assurance::Session => {
                self.place_lost(Undo::Disconnect);
            }
            Failure::Refused { permanent: true, .. } => self.deny(DenyReason::Failed(failure)),
            Failure::Unknown | Failure::NotSent | Failure::Refused { .. } => {
                if self.establish.is_idle() {
                    self.establish = Slot::At(retry);
                }
                if self.claim.is_idle() {
                    self.claim = Slot::At(retry);
                }
            }
        }
    }

    /// The place is released and taken anew under a fresh nonce.
    fn place_lost(&mut self, undo: Undo) {
        let retry = self.next_poll(None);
        self.start_over(retry, Some(undo));
    }

    pub(super) fn claimed(&mut self, reply: Reply, flight: Flight) {
        let Phase::Seeking(seeking) = self.phase else { return };
        let Some(place) = seeking.place else { return };
        match reply {
            Reply::Granted { nonce, token, promise } if nonce == seeking.nonce => {
                let (promise, sent) = match promise {
                    Promise::Session => (promise, flight.sent),
                    Promise::Place => (promise, place.kept),
                    Promise::Term(term) => (Promise::Term(term.min(place.term.get())), place.kept),
                };
                self.granted(nonce, token, promise, sent, place.term);
            }
            Reply::NotYet => self.not_yet(),
            Reply::Gone => self.place_lost(Undo::Release),
            Reply::Granted { nonce, .. } | Reply::Enqueued { nonce, .. } => {
                self.late(nonce);
                self.claim_failed(Failure::Unknown);
            }
            Reply::Busy { .. } | Reply::Renewed { .. } | Reply::Released | Reply::Watching => {
                self.claim_failed(Failure::Unknown);
            }
        }
    }

    fn not_yet(&mut self) {
        let next = self.next_poll(None);
        let Phase::Seeking(seeking) = &mut self.phase else { return };
        if seeking.once {
            return self.deny(DenyReason::Busy);
        }
        seeking.failures = 0;
        seeking.last_answer = DenyReason::Busy;
        let hinted = core::mem::take(&mut seeking.hinted);
        self.watch_unless_watching();
        self.claim = if hinted { Slot::Due } else { Slot::At(next) };
    }

    pub(super) fn claim_failed(&mut self, failure: Failure) {
        let Phase::Seeking(seeking) = &self.phase else { return };
        if seeking.place.is_some() {
            self.seeking_failed(failure);
        }
    }

    pub(super) fn advance_place(&mut self) {
        let Phase::Seeking(seeking) = &self.phase else { return };
        if seeking.place.is_some_and(|place| place.end(&self.config) <= self.now) {
            self.place_lost(if self.establish.is_flying() || self.claim.is_flying() {
                self.undo_unknown()
            } else {
                Undo::Release
            });
        }
    }
}
