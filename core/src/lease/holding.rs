//! The lease is held: renewal, the kill-switch, loss.

use super::*;
use crate::config::Spans;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Holding {
    pub(super) nonce: Nonce,
    pub(super) token: Token,
    tenancy: Tenancy,
    /// The term, less the grace: from here on the holding only ends. Of a session that is at risk
    /// alone, since a session promises no term.
    stop: Instant,
    deadline: Instant,
    /// Failed renewals since the last good one.
    failures: u32,
    stopping: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Tenancy {
    /// The last term that the store granted.
    Term(Micros),
    /// When the last request that the session answered was sent.
    Session { last_ok: Instant },
}

impl Holding {
    pub(super) const fn is_session(&self) -> bool {
        matches!(self.tenancy, Tenancy::Session { .. })
    }

    pub(super) const fn basis(&self) -> Basis {
        match self.tenancy {
            Tenancy::Term(_) => Basis::Term { until: self.deadline },
            Tenancy::Session { last_ok } => Basis::Session { last_ok },
        }
    }

    pub(super) const fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(super) fn expired(&self, now: Instant) -> bool {
        self.bounded() && now >= self.deadline
    }

    /// The next instant at which time alone changes something.
    pub(super) const fn limit(&self) -> Instant {
        match (self.bounded(), self.stopping) {
            (true, false) => self.stop,
            (true, true) => self.deadline,
            (false, _) => Instant::NEVER,
        }
    }

    const fn bounded(&self) -> bool {
        !self.is_session() || self.failures > 0
    }

    pub(super) fn shift(&mut self, shift: impl Fn(Instant) -> Instant) {
        if let Tenancy::Session { last_ok } = &mut self.tenancy {
            *last_ok = shift(*last_ok);
        }
        self.stop = shift(self.stop);
        self.deadline = shift(self.deadline);
    }

    const fn rest_on(&mut self, deadline: Instant, grace: Micros) {
        self.deadline = deadline;
        self.stop = deadline.before(grace);
    }
}

impl Lease {
    /// D1 and D2: the deadline of a grant of `term` whose request was first sent at `sent`.
    fn deadline(&self, sent: Instant, term: Micros) -> Instant {
        sent.deadline_after(self.config.usable_of(term))
    }

    /// A grant whose request was first sent at `sent`: held, unless too little of it is left.
    pub(super) fn granted(
        &mut self,
        nonce: Nonce,
        token: Token,
        promise: Promise,
        sent: Instant,
        place: Micros,
    ) {
        if let Some(seen) = self.highest
            && token <= seen
        {
            self.events.token_went_back(seen, token);
        }
        self.remember(token);

        let (tenancy, term) = match promise {
            Promise::Term(term) => (Tenancy::Term(Micros::of(term)), Micros::of(term)),
            Promise::Place => (Tenancy::Term(place), place),
            Promise::Session => (Tenancy::Session { last_ok: sent }, self.config.spans().term),
        };
        let mut holding = Holding {
            nonce,
            token,
            tenancy,
            stop: Instant::ZERO,
            deadline: Instant::ZERO,
            failures: 0,
            stopping: false,
        };
        holding.rest_on(self.deadline(sent, term), self.config.spans().grace);
        if holding.bounded() && holding.stop <= self.now {
            let hopeless = self.config.usable_of(term) <= self.config.spans().grace;
            return self.grant_too_late(hopeless);
        }
        self.events.acquired(token, holding.basis());
        self.phase = Phase::Held(holding);
        self.claim = Slot::Idle;
        self.watch = Slot::Idle;
        // The renewal of the place may be under way; it is the lease's now.
        if !self.establish.is_flying() {
            self.establish = Slot::At(sent.alarm_after(LeaseConfig::renew_after(term)));
        }
    }

    pub(super) fn send_renewal(&mut self) -> Option<(Output, Flight)> {
        // D4: where the store had granted more than we ask for, this shortens the lease, answered or not.
        let Spans { term, grace, .. } = self.config.spans();
        let end = self.now.deadline_after(self.config.usable_of(term));
        let Phase::Held(holding) = &mut self.phase else { return None };
        if matches!(holding.tenancy, Tenancy::Term(granted) if granted > term) {
            holding.rest_on(holding.deadline.min(end), grace);
        }
        let nonce = holding.nonce;
        Some(self.send(RequestKind::Renew { nonce, term: term.get() }))
    }

    /// The answer to a renewal; of no use any more once the lease is stopping.
    pub(super) fn renewal_answered(&mut self, reply: Reply, sent: Instant) {
        match reply {
            Reply::Renewed { .. } if self.stopping() => {}
            Reply::Renewed { term } => self.renewed(Micros::of(term), sent),
            Reply::Gone => self.lose(LossReason::Gone),
            Reply::Granted { nonce, .. } | Reply::Enqueued { nonce, .. } => {
                self.late(nonce);
                self.renewal_failed(Failure::Unknown);
            }
            Reply::Busy { .. } | Reply::NotYet | Reply::Released | Reply::Watching => {
                self.renewal_failed(Failure::Unknown);
            }
        }
    }

    fn renewed(&mut self, term: Micros, sent: Instant) {
        let Phase::Held(holding) = &self.phase else { return };
        let (tenancy, term, shorter) = match holding.tenancy {
            Tenancy::Session { last_ok } => {
                let last_ok = last_ok.max(sent);
                (Tenancy::Session { last_ok }, self.config.spans().term, false)
            }
            Tenancy::Term(granted) => (Tenancy::Term(term), term, term < granted),
        };
        let deadline = self.deadline(sent, term);
        // D3, except that a shorter term ends the lease earlier at the store, too.
        let deadline = if shorter { deadline } else { deadline.max(holding.deadline) };
        let next = sent.alarm_after(LeaseConfig::renew_after(term));
        let floor = self.now.alarm_after(self.config.retry_pause(0));
        self.establish = Slot::At(next.max(floor));

        let grace = self.config.spans().grace;
        let Phase::Held(holding) = &mut self.phase else { return };
        holding.tenancy = tenancy;
        holding.rest_on(deadline, grace);
        if core::mem::take(&mut holding.failures) > 0 {
            self.events.recovered();
        }
    }

    /// A renewal brought no answer: never a release, never a longer lease (S11).
    pub(super) fn renewal_failed(&mut self, failure: Failure) {
        let (config, jitter) = (&self.config, &mut self.jitter);
        let Phase::Held(holding) = &mut self.phase else { return };
        if holding.is_session() && failure == Failure::Unknown {
            return self.lose(LossReason::SessionUnknown);
        }
        if holding.stopping {
            return;
        }
        if holding.failures == 0 {
            self.events.at_risk();
            if let Tenancy::Session { last_ok } = holding.tenancy {
                // However long ago the last probe was, the retries have their time.
                let Spans { term, grace, .. } = config.spans();
                let asked = last_ok.max(self.now.before(LeaseConfig::renew_after(term)));
                holding.rest_on(asked.deadline_after(config.usable_of(term)), grace);
            }
        }
        let pause = retry_pause(config, jitter, holding.failures);
        holding.failures = holding.failures.saturating_add(1);
        self.establish = match failure {
            Failure::Refused { permanent: true, .. } => Slot::Idle,
            Failure::Refused { permanent: false, retry_after } => Slot::At(
                self.now.alarm_after(pause.max(retry_after.map_or(Micros::ZERO, Micros::of))),
            ),
            Failure::NotSent | Failure::Unknown => Slot::At(self.now.alarm_after(pause)),
        };
    }

    pub(super) fn advance_holding(&mut self) {
        let now = self.now;
        let Phase::Held(holding) = &mut self.phase else { return };
        if holding.expired(now) {
            return self.lose(LossReason::Expired);
        }
        if holding.bounded() && !holding.stopping && now >= holding.stop {
            holding.stopping = true;
            self.events.stopping();
            // A probe's silence still tells that the session is not what it was.
            if !(holding.is_session() && self.establish.is_flying()) {
                self.establish = Slot::Idle;
            }
        }
    }

    const fn stopping(&self) -> bool {
        matches!(&self.phase, Phase::Held(holding) if holding.stopping)
    }

    pub(super) fn lose(&mut self, reason: LossReason) {
        let Phase::Held(holding) = &self.phase else { return };
        let nonce = holding.nonce;
        let unknown = self.establish.is_flying();
        self.events.holding_over();
        self.events.lost(reason);
        self.end();
        match reason {
            LossReason::Gone | LossReason::SessionLost => {}
            LossReason::SessionUnknown => self.owe(nonce, Undo::Disconnect),
            LossReason::Expired | LossReason::ClockWentBack if unknown => {
                self.owe(nonce, self.undo_unknown());
            }
            LossReason::Expired | LossReason::ClockWentBack => self.owe(nonce, Undo::Release),
        }
    }
}
