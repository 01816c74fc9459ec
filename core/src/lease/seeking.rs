//! The lease is wanted: attempts, their outcomes, the waiting between them.

use core::time::Duration;

use super::*;
use crate::config::Spans;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seeking {
    pub(super) nonce: Nonce,
    /// One answer is enough.
    pub(super) once: bool,
    /// When the waiting ends.
    until: Instant,
    /// When the first request that may have been executed under this nonce was sent.
    first_sent: Option<Instant>,
    /// A request under this nonce brought no answer.
    pub(super) unresolved: bool,
    pub(super) place: Option<Place>,
    /// Failed requests in a row.
    pub(super) failures: u32,
    /// The last pause between two polls.
    last_pause: Micros,
    /// A hint came while a request was under way.
    pub(super) hinted: bool,
    /// A `Watch` is installed; in a queue: and its hint has not come yet.
    pub(super) watching: bool,
    /// What to say if the wait ends now.
    pub(super) last_answer: DenyReason,
}

impl Seeking {
    pub(super) const fn new(nonce: Nonce, once: bool, until: Instant) -> Self {
        Self {
            nonce,
            once,
            until,
            first_sent: None,
            unresolved: false,
            place: None,
            failures: 0,
            last_pause: Micros::ZERO,
            hinted: false,
            watching: false,
            last_answer: DenyReason::Failed(Failure::Unknown),
        }
    }

    /// Whether `nonce` is the live attempt's, and the store may know it.
    pub(super) fn sent_as(&self, nonce: Nonce) -> bool {
        self.nonce == nonce && self.first_sent.is_some()
    }

    /// The next instant at which time alone changes something.
    pub(super) fn limit(&self, config: &LeaseConfig) -> Instant {
        self.until.min(self.place.map_or(Instant::NEVER, |place| place.end(config)))
    }

    pub(super) fn shift(&mut self, shift: impl Fn(Instant) -> Instant) {
        self.until = shift(self.until);
        self.first_sent = self.first_sent.map(&shift);
        if let Some(place) = &mut self.place {
            place.kept = shift(place.kept);
        }
    }

    fn next_attempt(&mut self) {
        self.nonce = self.nonce.next();
        self.first_sent = None;
        self.unresolved = false;
        self.place = None;
    }
}

impl Lease {
    pub(super) fn deny(&mut self, reason: DenyReason) {
        let Phase::Seeking(seeking) = &self.phase else { return };
        let nonce = seeking.nonce;
        let placed = seeking.place.is_some();
        let unknown =
            seeking.unresolved || self.claim.is_flying() || (self.establish.is_flying() && !placed);
        self.events.denied(reason);
        self.end();
        if unknown {
            self.owe(nonce, self.undo_unknown());
        } else if placed {
            self.owe(nonce, Undo::Release);
        }
    }

    pub(super) fn send_establish(&mut self) -> Option<Output> {
        let term = self.config.term();
        let (output, flight) = match &mut self.phase {
            Phase::Seeking(seeking) => {
                let nonce = seeking.nonce;
                let block = self.config.waiting() == Waiting::Block && !seeking.once;
                if let Some(place) = &mut seeking.place {
                    // D4: this may shorten the place, answered or not.
                    let asked = Place { kept: self.now, term: Micros::of(term) };
                    if asked.end(&self.config) < place.end(&self.config) {
                        *place = asked;
                    }
                    self.send(RequestKind::Renew { nonce, term })
                } else {
                    seeking.first_sent.get_or_insert(self.now);
                    match self.config.waiting() {
                        Waiting::Queue => self.send(RequestKind::Enqueue { nonce, term }),
                        Waiting::Block if block => {
                            // Silence is all that there is to hear until the lease is free.
                            seeking.last_answer = DenyReason::Busy;
                            let limit = self.limit();
                            self.send_by(RequestKind::Acquire { nonce, term, block }, limit)
                        }
                        Waiting::Poll | Waiting::PollAndWatch | Waiting::Block => {
                            self.send(RequestKind::Acquire { nonce, term, block })
                        }
                    }
                }
            }
            Phase::Held(_) => self.send_renewal()?,
            Phase::Closed | Phase::Ending => return None,
        };
        self.establish = flight.into();
        Some(output)
    }

    pub(super) fn send_claim(&mut self) -> Option<Output> {
        let Phase::Seeking(seeking) = &self.phase else { return None };
        let (output, flight) = self.send(RequestKind::Claim { nonce: seeking.nonce });
        self.claim = flight.into();
        Some(output)
    }

    pub(super) fn send_watch(&mut self) -> Option<Output> {
        let Phase::Seeking(seeking) = &self.phase else { return None };
        let nonce = self.watched.unwrap_or(seeking.nonce);
        let (output, flight) = self.send(RequestKind::Watch { nonce });
        self.watch = flight.into();
        self.watched = Some(nonce);
        Some(output)
    }

    /// Whether the watch that was sent is still of use: the waiting goes on, in a queue for the
    /// same place.
    pub(super) fn wants_watch(&self) -> bool {
        match &self.phase {
            Phase::Seeking(seeking) => match self.config.waiting() {
                Waiting::Queue => self.watched == Some(seeking.nonce),
                Waiting::Poll | Waiting::PollAndWatch | Waiting::Block => true,
            },
            Phase::Held(_) | Phase::Closed | Phase::Ending => false,
        }
    }

    /// The answer to the term-establishing request in flight, counted as sent at `sent`.
    pub(super) fn established(&mut self, reply: Reply, sent: Instant) {
        match self.phase {
            Phase::Seeking(seeking) => match seeking.place {
                Some(_) => self.place_renewed(reply, sent),
                None => self.acquire_answered(seeking, reply, sent),
            },
            Phase::Held(_) => self.renewal_answered(reply, sent),
            Phase::Closed | Phase::Ending => {}
        }
    }

    pub(super) fn establish_failed(&mut self, failure: Failure) {
        match &self.phase {
            Phase::Seeking(_) => self.seeking_failed(failure),
            Phase::Held(_) => self.renewal_failed(failure),
            Phase::Closed | Phase::Ending => {}
        }
    }

    fn acquire_answered(&mut self, seeking: Seeking, reply: Reply, sent: Instant) {
        // D2: the answer may be that of an earlier send of the same nonce.
        let first = seeking.first_sent.map_or(sent, |first| first.min(sent));
        match reply {
            Reply::Granted { nonce, token, promise }
                if nonce == seeking.nonce && promise != Promise::Place =>
            {
                self.granted(nonce, token, promise, first, self.config.spans().term);
            }
            Reply::Enqueued { nonce, term }
                if nonce == seeking.nonce && self.config.waiting() == Waiting::Queue =>
            {
                self.enqueued(Micros::of(term), first);
            }
            Reply::Busy { retry_after, holder } => self.busy(retry_after, holder),
            Reply::Granted { nonce, .. } | Reply::Enqueued { nonce, .. } => {
                self.late(nonce);
                self.seeking_failed(Failure::Unknown);
            }
            Reply::NotYet
            | Reply::Renewed { .. }
            | Reply::Gone
            | Reply::Released
            | Reply::Watching => self.seeking_failed(Failure::Unknown),
        }
    }

    fn busy(&mut self, retry_after: Option<Duration>, holder: Option<Token>) {
        if let Some(holder) = holder {
            self.remember(holder);
        }
        let Phase::Seeking(seeking) = &mut self.phase else { return };
        seeking.failures = 0;
        seeking.last_answer = DenyReason::Busy;
        let (unresolved, hinted) = (seeking.unresolved, core::mem::take(&mut seeking.hinted));
        if seeking.once {
            return self.deny(DenyReason::Busy);
        }
        self.next_attempt(unresolved.then(|| self.undo_unknown()));
        if self.config.waiting() == Waiting::PollAndWatch {
            self.watch_unless_watching();
        }
        self.establish = if hinted { Slot::Due } else { Slot::At(self.next_poll(retry_after)) };
    }

    /// Decorrelated jitter between the floor and the ceiling ("Exponential Backoff And Jitter", AWS
    /// Architecture Blog, 2015), and not later than the holder's term is known to end, plus a floor.
    pub(super) fn next_poll(&mut self, holder_has: Option<Duration>) -> Instant {
        let Spans { poll_floor: floor, poll_ceiling: ceiling, .. } = self.config.spans();
        let Phase::Seeking(seeking) = &mut self.phase else { return self.now };
        let longest = seeking.last_pause.times(3).clamp(floor, ceiling);
        let mut pause = self.jitter.between(floor, longest);
        seeking.last_pause = pause;
        if let Some(left) = holder_has {
            let late = self.jitter.between(Micros::ZERO, floor);
            pause = pause.min(Micros::of(left).plus(late));
        }
        self.now.alarm_after(pause.max(Micros(1_000)))
    }

    pub(super) fn seeking_failed(&mut self, failure: Failure) {
        let retry = self.next_retry(failure);
        let Phase::Seeking(seeking) = &mut self.phase else { return };
        seeking.last_answer = DenyReason::Failed(failure);
        if seeking.place.is_some() {
            return self.place_failed(failure, retry);
        }
        if failure == Failure::Unknown {
            seeking.unresolved = true;
        } else if !seeking.unresolved {
            // Not executed: but a copy of the request may be, so the nonce is not used again (S12).
            seeking.next_attempt();
        }
        // The same nonce resolves what is unknown, while half of its term since the first send is left.
        let half = self.config.usable_of(self.config.spans().term).part(2);
        let fresh = seeking.first_sent.is_some_and(|sent| retry.since(sent) < half);
        let (once, unresolved) = (seeking.once, seeking.unresolved);
        let resolving = unresolved && fresh && !self.is_session_store();

        let permanent = matches!(failure, Failure::Refused { permanent: true, .. });
        let answered = failure != Failure::Unknown || !resolving;
        if permanent || (once && answered) {
            return self.deny(DenyReason::Failed(failure));
        }
        if unresolved && !resolving {
            self.next_attempt(Some(self.undo_unknown()));
        }
        self.establish = Slot::At(retry);
    }

    fn next_retry(&mut self, failure: Failure) -> Instant {
        let Phase::Seeking(seeking) = &mut self.phase else { return self.now };
        let pause = retry_pause(&self.config, &mut self.jitter, seeking.failures);
        seeking.failures = seeking.failures.saturating_add(1);
        self.now.alarm_after(match failure {
            Failure::Refused { retry_after, .. } => {
                pause.max(retry_after.map_or(Micros::ZERO, Micros::of))
            }
            Failure::NotSent | Failure::Unknown => pause,
        })
    }

    /// Goes on under a fresh nonce; the old one's debt is `owed`.
    pub(super) fn next_attempt(&mut self, owed: Option<Undo>) {
        let Phase::Seeking(seeking) = &mut self.phase else { return };
        let nonce = seeking.nonce;
        seeking.next_attempt();
        if let Some(undo) = owed {
            self.owe(nonce, undo);
        }
    }

    /// The attempt under way was undone by the quorum around this lease: its nonce is not used again.
    pub(crate) fn attempt_given_back(&mut self) {
        self.next_attempt(None);
    }

    /// The store granted what is of no use.
    pub(super) fn grant_too_late(&mut self, hopeless: bool) {
        let retry = self.next_poll(None);
        let Phase::Seeking(seeking) = &mut self.phase else { return };
        seeking.last_answer = DenyReason::TooLate;
        let give_up = seeking.once || hopeless;
        self.establish = Slot::Idle;
        self.claim = Slot::Idle;
        self.next_attempt(Some(Undo::Release));
        if give_up {
            return self.deny(DenyReason::TooLate);
        }
        self.establish = Slot::At(retry);
    }

    pub(super) fn watch_answered(&mut self, reply: Reply) {
        if reply == Reply::Watching {
            if let Phase::Seeking(seeking) = &mut self.phase {
                seeking.watching = true;
            }
            // What happened between the last look and the watch was not hinted at.
            self.look_now();
        }
    }

    pub(super) fn hint(&mut self) {
        if let Phase::Seeking(seeking) = &mut self.phase
            && seeking.place.is_some()
        {
            seeking.watching = false;
        }
        self.look_now();
    }

    pub(super) fn watch_unless_watching(&mut self) {
        let Phase::Seeking(seeking) = &self.phase else { return };
        if !seeking.watching {
            self.watch.hurry();
        }
    }

    /// Asks at once; if a request is under way, once more after it.
    fn look_now(&mut self) {
        let Phase::Seeking(seeking) = &mut self.phase else { return };
        let slot = if seeking.place.is_some() { &mut self.claim } else { &mut self.establish };
        if slot.is_flying() {
            seeking.hinted = true;
        } else if seeking.failures == 0 {
            slot.hurry();
        }
    }

    pub(super) fn seeking_session_lost(&mut self) {
        let retry = self.next_poll(None);
        let Phase::Seeking(seeking) = &mut self.phase else { return };
        let once = seeking.once;
        seeking.last_answer = DenyReason::SessionLost;
        self.start_over(retry, None);
        if once {
            self.deny(DenyReason::SessionLost);
        }
    }

    /// Drops whatever is under way, and goes on under a fresh nonce at `retry`.
    pub(super) fn start_over(&mut self, retry: Instant, owed: Option<Undo>) {
        let Phase::Seeking(seeking) = &mut self.phase else { return };
        seeking.watching = false;
        self.claim = Slot::Idle;
        self.watch = Slot::Idle;
        self.establish = Slot::At(retry);
        self.next_attempt(owed);
    }

    pub(super) fn advance_waiting(&mut self) {
        let Phase::Seeking(seeking) = &self.phase else { return };
        if seeking.until <= self.now {
            self.deny(seeking.last_answer);
        }
    }
}
