//! The lease: acquire, wait, renew, release, kill-switch.

mod canonical;
pub(crate) mod debts;
mod events;
mod holding;
mod jitter;
mod place;
mod seeking;
pub(crate) mod slot;

pub(crate) use self::canonical::relative;
use self::{
    debts::{Debts, Lapsed, Undo},
    events::Events,
    holding::Holding,
    jitter::Jitter,
    place::Place,
    seeking::Seeking,
    slot::{Flight, Slot},
};
use crate::{
    Assurance, Basis, DenyReason, Failure, Input, Instant, LeaseConfig, LossReason, Nonce, OpId,
    Output, Promise, Reply, RequestKind, Token, Wait, Waiting, micros::Micros,
};

/// One holder's side of one lock, for as many generations as the host likes.
///
/// The host calls [`handle`](Self::handle) whenever something happens and then drains
/// [`poll`](Self::poll) until it says [`Output::Wait`]. Before any protected step it asks
/// [`held`](Self::held). The crate's first page has the whole loop.
///
/// A generation starts with `Acquire` and ends with [`Event::Closed`](crate::Event::Closed). In it
/// the application hears either `Denied`, or `Acquired` and then exactly one of `Lost` and
/// `Released` (which come alone, if they came before `Acquired` was polled).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    config: LeaseConfig,
    instance: u32,
    generation: u32,
    sequence: u32,
    now: Instant,
    highest: Option<Token>,
    jitter: Jitter,
    phase: Phase,
    events: Events,
    debts: Debts,
    /// The one term-establishing request: `Acquire`, `Enqueue` or `Renew`.
    establish: Slot,
    claim: Slot,
    watch: Slot,
    release: Slot,
    /// The nonce of the last `Watch` that was sent and not ended by `Unwatch`.
    watched: Option<Nonce>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Before the first generation, or after a generation's `Closed`.
    Closed,
    Seeking(Seeking),
    Held(Holding),
    /// The application knows how it ended; the store may still be owed a release.
    Ending,
}

/// What [`Lease::held`] answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Held {
    /// The fencing token to pass to every resource.
    pub token: Token,
    /// What the holding rests on.
    pub basis: Basis,
}

impl Lease {
    /// A closed machine. `instance` tells this machine's requests from those of the host's other
    /// machines: give each a number of its own.
    #[must_use]
    pub const fn new(config: LeaseConfig, instance: u32) -> Self {
        Self {
            config,
            instance,
            generation: 0,
            sequence: 0,
            now: Instant::ZERO,
            highest: None,
            jitter: Jitter::new([0; 16]),
            phase: Phase::Closed,
            events: Events::NONE,
            debts: Debts::NONE,
            establish: Slot::Idle,
            claim: Slot::Idle,
            watch: Slot::Idle,
            release: Slot::Idle,
            watched: None,
        }
    }

    /// Tells the machine of a token that was seen for this lock elsewhere (by another machine of the
    /// host, or in an earlier run), so that a store that lost its memory is noticed.
    pub fn remember(&mut self, token: Token) {
        self.highest = self.highest.max(Some(token));
    }

    /// The highest token seen for this lock.
    #[must_use]
    pub const fn highest_token(&self) -> Option<Token> {
        self.highest
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &LeaseConfig {
        &self.config
    }

    pub(crate) const fn instance(&self) -> u32 {
        self.instance
    }

    pub(crate) const fn generation(&self) -> u32 {
        self.generation
    }

    /// Whether the answer to the term-establishing request `op` is still wanted.
    pub(crate) const fn awaits(&self, op: OpId) -> bool {
        matches!(self.establish, Slot::Flying { sequence, .. } if sequence == op.sequence)
    }

    /// Takes one input at the host's time `now`. Never refuses and never fails: time is advanced
    /// first, so that a reply that comes at the deadline finds the lease lost.
    ///
    /// A `now` below an earlier one ends the lease, or the waiting for it (S23).
    pub fn handle(&mut self, now: Instant, input: Input) {
        if now < self.now {
            self.clock_went_back(now);
        }
        self.now = now;
        self.advance();
        match input {
            Input::Acquire { entropy, wait } => self.acquire(entropy, wait),
            Input::Release | Input::Cancel => self.give_up(),
            Input::Reply { op, reply, as_of } => self.reply(op, reply, as_of),
            Input::Failed { op, failure } => self.failed(op, failure),
            Input::Hint => self.hint(),
            Input::SessionLost { nonce } => self.session_lost(nonce),
            Input::Tick => {}
        }
        self.advance();
    }

    /// What the machine has to say next. Drain it until [`Output::Wait`] after every `handle`.
    pub fn poll(&mut self) -> Output {
        self.close_if_settled();
        if self.events.any()
            && let Some(event) = self.events.next(self.holding_now())
        {
            return Output::Event { generation: self.generation, event };
        }
        self.next_request().unwrap_or_else(|| Output::Wait(self.alarm()))
    }

    /// Whether the lease is held at the host's time `now`, asked from the clock and not from a timer
    /// (S21). `None` also where `now` is before the last `handle`.
    #[must_use]
    pub fn held(&self, now: Instant) -> Option<Held> {
        let Phase::Held(holding) = &self.phase else { return None };
        let session_silent = holding.is_session() && self.establish.overdue(now);
        if now < self.now || holding.expired(now) || session_silent {
            return None;
        }
        Some(Held { token: holding.token, basis: holding.basis() })
    }

    fn holding_now(&self) -> Option<(Basis, Instant)> {
        match &self.phase {
            Phase::Held(holding) => Some((holding.basis(), holding.deadline())),
            Phase::Seeking(_) | Phase::Closed | Phase::Ending => None,
        }
    }

    fn acquire(&mut self, entropy: [u8; 16], wait: Wait) {
        if !matches!(self.phase, Phase::Closed) || self.events.closing() {
            self.events.in_use();
            return;
        }
        self.generation = self.generation.wrapping_add(1);
        self.jitter = Jitter::new(entropy);
        let (once, limit) = match wait {
            Wait::Once => (true, Instant::NEVER),
            Wait::Until(limit) if limit <= self.now => (true, Instant::NEVER),
            Wait::Until(limit) => (false, limit),
            Wait::Forever => (false, Instant::NEVER),
        };
        self.phase = Phase::Seeking(Seeking::new(Nonce::from_bytes(entropy), once, limit));
        self.establish = Slot::Due;
    }

    fn give_up(&mut self) {
        match &self.phase {
            Phase::Seeking(_) => self.deny(DenyReason::Cancelled),
            Phase::Held(holding) => {
                let nonce = holding.nonce;
                self.events.holding_over();
                self.end();
                if self.release.is_flying() {
                    self.debts.interrupt();
                    self.release = Slot::Idle;
                }
                self.debts.owe_first(nonce);
            }
            Phase::Closed | Phase::Ending => {}
        }
    }

    fn reply(&mut self, op: OpId, reply: Reply, as_of: Option<Instant>) {
        if op.instance != self.instance {
            return;
        }
        if let Some(flight) = self.establish.land(op) {
            let sent = as_of.map_or(flight.sent, |as_of| as_of.min(flight.sent));
            self.established(reply, sent);
        } else if let Some(flight) = self.claim.land(op) {
            self.claimed(reply, flight);
        } else if self.watch.land(op).is_some() {
            self.watch_answered(reply);
        } else if self.release.land(op).is_some() {
            self.release_answered(reply);
        } else if let Reply::Granted { nonce, .. } | Reply::Enqueued { nonce, .. } = reply {
            self.late(nonce);
        }
    }

    fn failed(&mut self, op: OpId, failure: Failure) {
        if op.instance != self.instance {
            return;
        }
        if self.establish.land(op).is_some() {
            self.establish_failed(failure);
        } else if self.claim.land(op).is_some() {
            self.claim_failed(failure);
        } else if self.release.land(op).is_some() {
            self.release_failed(failure);
        } else {
            // Without a watch the polls go on, and the next one asks for it again.
            self.watch.land(op);
        }
    }

    fn session_lost(&mut self, nonce: Nonce) {
        let lapsed = self.debts.drop_nonce(nonce);
        self.debts_lapsed(lapsed);
        match &self.phase {
            Phase::Held(holding) if holding.nonce == nonce => self.lose(LossReason::SessionLost),
            Phase::Seeking(seeking) if seeking.sent_as(nonce) => self.seeking_session_lost(),
            Phase::Held(_) | Phase::Seeking(_) | Phase::Closed | Phase::Ending => {}
        }
    }

    /// A grant, or a place, that no request in flight asked for (S7). Releasing the live attempt's own
    /// would free the lease that is held; its live request resolves it.
    fn late(&mut self, nonce: Nonce) {
        let live = match &self.phase {
            Phase::Seeking(seeking) => seeking.sent_as(nonce),
            Phase::Held(holding) => holding.nonce == nonce,
            Phase::Closed | Phase::Ending => false,
        };
        if !live {
            self.owe(nonce, Undo::Release);
        }
    }

    fn owe(&mut self, nonce: Nonce, undo: Undo) {
        self.debts.owe(nonce, undo, self.release.is_flying());
    }

    /// What a request whose answer nobody will read may have left behind.
    fn undo_unknown(&self) -> Undo {
        if self.is_session_store() { Undo::Disconnect } else { Undo::Release }
    }

    fn is_session_store(&self) -> bool {
        self.config.assurance() == Assurance::Session
    }

    fn release_answered(&mut self, reply: Reply) {
        if !matches!(reply, Reply::Released | Reply::Gone) {
            return self.release_failed(Failure::Unknown);
        }
        if let Some(debt) = self.debts.acknowledged()
            && debt.asked
        {
            self.events.released(debt.undo == Undo::Release);
        }
    }

    fn release_failed(&mut self, failure: Failure) {
        let session = self.is_session_store();
        let (config, jitter) = (&self.config, &mut self.jitter);
        self.debts.failed(failure, session, self.now, |tries| retry_pause(config, jitter, tries));
    }

    fn debts_lapsed(&mut self, lapsed: Lapsed) {
        if lapsed.first && self.release.is_flying() {
            self.release = Slot::Idle;
        }
        if lapsed.asked {
            self.events.released(false);
        }
    }

    fn clock_went_back(&mut self, now: Instant) {
        self.now = now;
        if self.release.is_flying() {
            self.release = Slot::Idle;
        }
        self.debts.restart(now, self.config.lapse());
        match &self.phase {
            Phase::Held(_) => self.lose(LossReason::ClockWentBack),
            Phase::Seeking(_) => self.deny(DenyReason::ClockWentBack),
            Phase::Closed | Phase::Ending => {}
        }
    }

    /// Whatever the time alone brings about.
    fn advance(&mut self) {
        let now = self.now;
        self.advance_waiting();
        if self.establish.overdue(now) {
            self.establish = Slot::Idle;
            self.establish_failed(Failure::Unknown);
        }
        self.advance_holding();
        if self.claim.overdue(now) {
            self.claim = Slot::Idle;
            self.claim_failed(Failure::Unknown);
        }
        if self.watch.overdue(now) {
            self.watch = Slot::Idle;
        }
        if self.release.overdue(now) {
            self.release = Slot::Idle;
            self.release_failed(Failure::Unknown);
        }
        self.advance_place();
        let lapsed = self.debts.lapse(now, self.is_session_store());
        self.debts_lapsed(lapsed);
        self.establish.ripen(now);
        self.claim.ripen(now);
    }

    /// The application knows how it ended: nothing but debts and the watch is left.
    fn end(&mut self) {
        self.phase = Phase::Ending;
        self.establish = Slot::Idle;
        self.claim = Slot::Idle;
        self.watch = Slot::Idle;
    }

    fn close_if_settled(&mut self) {
        if matches!(self.phase, Phase::Ending) && self.debts.is_empty() && self.watched.is_none() {
            self.phase = Phase::Closed;
            self.events.closed();
        }
    }

    fn next_request(&mut self) -> Option<Output> {
        if !self.release.is_flying()
            && let Some(debt) = self.debts.pay(self.now, || self.config.lapse())
        {
            let (output, flight) = self.send(match debt.undo {
                Undo::Release => RequestKind::Release { nonce: debt.nonce },
                Undo::Disconnect => RequestKind::Disconnect { nonce: debt.nonce },
            });
            self.release = flight.into();
            return Some(output);
        }
        if !self.wants_watch()
            && let Some(nonce) = self.watched.take()
        {
            return Some(self.send(RequestKind::Unwatch { nonce }).0);
        }
        if self.establish == Slot::Due {
            return self.send_establish();
        }
        if self.claim == Slot::Due {
            return self.send_claim();
        }
        if self.watch == Slot::Due {
            return self.send_watch();
        }
        None
    }

    fn send(&mut self, kind: RequestKind) -> (Output, Flight) {
        let respond_by =
            self.now.alarm_after(self.config.spans().attempt_timeout).min(self.limit());
        self.send_by(kind, respond_by)
    }

    fn send_by(&mut self, kind: RequestKind, respond_by: Instant) -> (Output, Flight) {
        self.sequence = self.sequence.wrapping_add(1);
        let op =
            OpId { instance: self.instance, generation: self.generation, sequence: self.sequence };
        let flight = Flight { sequence: op.sequence, sent: self.now, respond_by };
        (Output::Request { op, kind, respond_by }, flight)
    }

    /// The instant after which no answer is of use to the phase.
    fn limit(&self) -> Instant {
        match &self.phase {
            Phase::Seeking(seeking) => seeking.limit(&self.config),
            Phase::Held(holding) => holding.limit(),
            Phase::Closed | Phase::Ending => Instant::NEVER,
        }
    }

    fn alarm(&self) -> Option<Instant> {
        let alarm = self
            .limit()
            .min(self.establish.alarm())
            .min(self.claim.alarm())
            .min(self.watch.alarm())
            .min(self.release.alarm())
            .min(self.debts.alarm(self.now));
        debug_assert!(alarm > self.now || self.now == Instant::NEVER, "Wait must be later");
        (alarm != Instant::NEVER).then_some(alarm)
    }
}

/// The pause before a failed request is sent again, spread over its upper half.
fn retry_pause(config: &LeaseConfig, jitter: &mut Jitter, tries: u32) -> Micros {
    let longest = config.retry_pause(tries);
    jitter.between(longest.part(2), longest)
}
