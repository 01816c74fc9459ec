//! The lease is wanted: attempts, waiting, a place in the queue.

use super::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seeking {
    nonce: Nonce,
    /// One answer is enough.
    once: bool,
    /// When the waiting ends.
    until: Instant,
    /// When the first request that may have been executed under this nonce was sent.
    first_sent: Option<Instant>,
    /// A request under this nonce brought no answer.
    unresolved: bool,
    place: Option<Place>,
    /// Failed requests in a row.
    failures: u32,
    /// The last pause between two polls, in microseconds.
    last_pause: u64,
    /// A hint came while a request was under way.
    hinted: bool,
    /// A `Watch` is installed; in a queue: and its hint has not come yet.
    watching: bool,
    /// What to say if the wait ends now.
    last_answer: DenyReason,
}

/// A place in the store's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    /// When the last acknowledged `Enqueue` or `Renew` was sent: `Claim` establishes no term.
    kept: Instant,
    term: Duration,
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
            last_pause: 0,
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

impl Place {
    fn end(&self, config: &LeaseConfig) -> Instant {
        self.kept.checked_add(config.usable(self.term)).unwrap_or(self.kept)
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
                    let waited = self.now.saturating_since(place.kept);
                    place.term = place.term.min(waited.saturating_add(term));
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
            Phase::Held(_) => self.send_renewal(term)?,
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
                if nonce == seeking.nonce || cfg!(tenure_sabotage = "nonce-ignored") =>
            {
                self.granted(nonce, token, promise, first, self.config.term());
            }
            Reply::Enqueued { nonce, term }
                if nonce == seeking.nonce && self.config.waiting() == Waiting::Queue =>
            {
                self.enqueued(term, first);
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
        let (nonce, unresolved) = (seeking.nonce, seeking.unresolved);
        let hinted = core::mem::take(&mut seeking.hinted);
        let once = seeking.once;
        if !once {
            seeking.next_attempt();
        }
        if once {
            return self.deny(DenyReason::Busy);
        }
        if unresolved {
            self.owe(nonce, self.undo_unknown());
        }
        if self.config.waiting() == Waiting::PollAndWatch {
            self.watch_unless_watching();
        }
        self.establish = if hinted { Slot::Due } else { Slot::At(self.next_poll(retry_after)) };
    }

    /// Decorrelated jitter between the floor and the ceiling ("Exponential Backoff And Jitter", AWS
    /// Architecture Blog, 2015), and not later than the holder's term is known to end, plus a floor.
    fn next_poll(&mut self, holder_has: Option<Duration>) -> Instant {
        let (floor, ceiling) = self.config.poll_pause();
        let Phase::Seeking(seeking) = &mut self.phase else { return self.now };
        let longest = Duration::from_micros(seeking.last_pause.saturating_mul(3));
        let mut pause = self.jitter.between(floor, longest.clamp(floor, ceiling));
        seeking.last_pause = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
        if let Some(left) = holder_has {
            pause = pause.min(left.saturating_add(self.jitter.between(Duration::ZERO, floor)));
        }
        self.now.alarm_after(pause.max(Duration::from_millis(1)))
    }

    fn seeking_failed(&mut self, failure: Failure) {
        let retry = {
            let (config, jitter) = (&self.config, &mut self.jitter);
            let Phase::Seeking(seeking) = &mut self.phase else { return };
            seeking.last_answer = DenyReason::Failed(failure);
            let pause = retry_pause(config, jitter, seeking.failures);
            seeking.failures = seeking.failures.saturating_add(1);
            self.now.alarm_after(match failure {
                Failure::Refused { retry_after, .. } => pause.max(retry_after.unwrap_or_default()),
                Failure::NotSent | Failure::Unknown => pause,
            })
        };
        let Phase::Seeking(seeking) = &mut self.phase else { return };
        if seeking.place.is_some() {
            return self.place_failed(failure, retry);
        }
        let half_gone = |seeking: &Seeking| {
            let half = self.config.usable(self.config.term()).checked_div(2).unwrap_or_default();
            seeking.first_sent.is_some_and(|first| retry.saturating_since(first) >= half)
        };
        let give_up = match failure {
            Failure::Unknown => {
                seeking.unresolved = true;
                if self.config.assurance() == Assurance::Session || half_gone(seeking) {
                    let nonce = seeking.nonce;
                    let once = seeking.once;
                    if !once {
                        seeking.next_attempt();
                        self.owe(nonce, self.undo_unknown());
                    }
                    once
                } else {
                    false
                }
            }
            Failure::NotSent | Failure::Refused { .. } => {
                if !seeking.unresolved {
                    seeking.first_sent = None;
                } else if half_gone(seeking) && !seeking.once {
                    let nonce = seeking.nonce;
                    seeking.next_attempt();
                    self.owe(nonce, self.undo_unknown());
                }
                let permanent = matches!(failure, Failure::Refused { permanent: true, .. });
                let Phase::Seeking(seeking) = &self.phase else { return };
                permanent || seeking.once
            }
        };
        if give_up {
            return self.deny(DenyReason::Failed(failure));
        }
        self.establish = Slot::At(retry);
    }

    /// The store granted what is of no use.
    pub(super) fn grant_too_late(&mut self, nonce: Nonce, hopeless: bool) {
        let retry = self.next_poll(None);
        let Phase::Seeking(seeking) = &mut self.phase else { return };
        seeking.last_answer = DenyReason::TooLate;
        let once = seeking.once;
        seeking.next_attempt();
        self.owe(nonce, Undo::Release);
        self.claim = Slot::Idle;
        if once || hopeless {
            return self.deny(DenyReason::TooLate);
        }
        self.establish = Slot::At(retry);
    }

    fn enqueued(&mut self, term: Duration, sent: Instant) {
        let Phase::Seeking(seeking) = &mut self.phase else { return };
        seeking.failures = 0;
        seeking.unresolved = false;
        seeking.last_answer = DenyReason::Busy;
        seeking.place = Some(Place { kept: sent, term });
        self.claim = Slot::Due;
        self.plan_place_renewal(sent, term);
    }

    fn plan_place_renewal(&mut self, sent: Instant, term: Duration) {
        let floor = self.now.alarm_after(self.config.retry_pause(0));
        let next = sent.alarm_after(LeaseConfig::renew_after(term));
        self.establish = Slot::At(next.max(floor));
    }

    fn place_renewed(&mut self, reply: Reply, sent: Instant) {
        match reply {
            Reply::Renewed { term } => {
                let Phase::Seeking(seeking) = &mut self.phase else { return };
                let Some(place) = &mut seeking.place else { return };
                let shorter = term < place.term;
                place.kept = if shorter { sent } else { place.kept.max(sent) };
                place.term = term;
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
    fn place_failed(&mut self, failure: Failure, retry: Instant) {
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
        let Phase::Seeking(seeking) = &mut self.phase else { return };
        let nonce = seeking.nonce;
        seeking.next_attempt();
        seeking.watching = false;
        self.claim = Slot::Idle;
        self.watch = Slot::Idle;
        self.establish = Slot::At(retry);
        self.owe(nonce, undo);
    }

    pub(super) fn claimed(&mut self, reply: Reply, flight: Flight) {
        let Phase::Seeking(seeking) = self.phase else { return };
        let Some(place) = seeking.place else { return };
        match reply {
            Reply::Granted { nonce, token, promise } if nonce == seeking.nonce => {
                let (promise, sent) = match promise {
                    Promise::Session => (promise, flight.sent),
                    Promise::Place => (promise, place.kept),
                    Promise::Term(term) => (Promise::Term(term.min(place.term)), place.kept),
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

    fn watch_unless_watching(&mut self) {
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
        seeking.next_attempt();
        seeking.watching = false;
        self.establish = Slot::Idle;
        self.claim = Slot::Idle;
        self.watch = Slot::Idle;
        if once {
            return self.deny(DenyReason::SessionLost);
        }
        self.establish = Slot::At(retry);
    }

    pub(super) fn advance_waiting(&mut self) {
        let Phase::Seeking(seeking) = &self.phase else { return };
        if seeking.until <= self.now {
            self.deny(seeking.last_answer);
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
