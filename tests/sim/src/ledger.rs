//! One machine's conduct, judged from outside: what it was told, what it said, what it claims.

use std::time::Duration;

use tenure_core::{
    Basis, DenyReason, Event, Failure, Held, Input, Instant, Lease, LossReason, Nonce, OpId,
    Output, Promise, Reply, RequestKind, Token, Wait,
};

use crate::{
    clock::Micros,
    coverage::{Coverage, Seen},
    dues::Dues,
    scenario::{ClientPlan, Deductions},
    violation::{Violation, require},
};

/// The books kept on one machine, from its creation to its crash.
#[derive(Debug)]
pub(crate) struct Ledger {
    instance: u32,
    deductions: Deductions,
    grace: Micros,
    by_harm_alone: bool,
    session: bool,
    now: Micros,
    generation: u32,
    sequence: u32,
    stage: Stage,
    /// The application gave a lease back that was held.
    gave_back: bool,
    gave_up_at: Option<Micros>,
    /// The clock went back unseen, so nothing is proven about deadlines until the next generation.
    distrusted: bool,
    grant: Option<Grant>,
    last_nonce: Option<Nonce>,
    /// S3: per nonce, the latest deadline that an answered request can justify.
    justified: Option<(Nonce, Micros)>,
    last_term: Option<Duration>,
    /// The last grant's token, if it did not exceed the highest seen before, until that is told.
    regressed: Option<Token>,
    in_flight: Vec<Sent>,
    /// How often the last attempt was asked for.
    asked: u32,
    dues: Dues,
    /// Renewals sent since the last good one, where none of them had to be late (D7).
    probes: Option<u32>,
    alarm: Option<Micros>,
    term: Duration,
    renewals_failed: u32,
    first_of_drain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Closed,
    Waiting,
    Acquired,
    AtRisk,
    Stopping,
    Over,
}

#[derive(Clone, Copy, Debug)]
struct Grant {
    nonce: Nonce,
    token: Token,
    until: Option<Micros>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    op: OpId,
    kind: RequestKind,
    at: Micros,
    respond_by: Micros,
}

/// What a machine claimed right before an input, at the input's own instant.
#[derive(Debug)]
pub(crate) struct Before {
    held: Option<Held>,
    highest: Option<Token>,
    /// The request that the input answers, if it was still outstanding.
    answers: Option<Sent>,
    /// The input's instant alone is enough to end what is held.
    over: bool,
    went_back: bool,
}

impl Ledger {
    pub(crate) fn new(instance: u32, plan: &ClientPlan, session: bool) -> Self {
        Self {
            instance,
            deductions: plan.deductions,
            grace: plan.config.grace().as_micros() as Micros,
            by_harm_alone: plan.by_harm_alone,
            session,
            now: 0,
            generation: 0,
            sequence: 0,
            stage: Stage::Closed,
            gave_back: false,
            gave_up_at: None,
            distrusted: false,
            grant: None,
            last_nonce: None,
            justified: None,
            last_term: None,
            regressed: None,
            in_flight: Vec::new(),
            asked: 0,
            dues: Dues::default(),
            probes: None,
            alarm: None,
            term: plan.config.term(),
            renewals_failed: 0,
            first_of_drain: true,
        }
    }

    pub(crate) fn distrust(&mut self) {
        self.distrusted = true;
    }

    pub(crate) fn is_trusted(&self) -> bool {
        !self.distrusted
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.stage == Stage::Closed
    }

    /// The attempt that the present holding rests on.
    pub(crate) fn nonce(&self) -> Option<Nonce> {
        self.grant.map(|grant| grant.nonce)
    }

    pub(crate) fn before(&mut self, now: Micros, input: &Input, lease: &Lease) -> Before {
        let held = lease.held(Instant::from_micros(now));
        let highest = lease.highest_token();
        let went_back = now < self.now;
        let op = match *input {
            Input::Reply { op, .. } | Input::Failed { op, .. } => Some(op),
            Input::Acquire { .. }
            | Input::Release
            | Input::Cancel
            | Input::Hint
            | Input::SessionLost { .. }
            | Input::Tick => None,
        };
        if went_back {
            self.dues.forgive();
            self.in_flight.clear();
        }
        let overdue = |sent: &Sent| now >= sent.respond_by;
        for sent in self.in_flight.iter().filter(|sent| overdue(sent)) {
            if matches!(sent.kind, RequestKind::Renew { .. }) {
                self.renewals_failed += 1;
            }
        }
        if went_back || self.alarm.is_some_and(|alarm| now > alarm) {
            self.probes = None;
        }
        let over = went_back || self.session && self.in_flight.iter().any(overdue);
        self.in_flight.retain(|sent| !overdue(sent));
        let answers = op
            .and_then(|op| self.in_flight.iter().position(|sent| sent.op == op))
            .map(|at| self.in_flight.swap_remove(at));
        Before { held, highest, answers, over, went_back }
    }

    /// Judges what one `handle` did to what is claimed.
    pub(crate) fn after(
        &mut self,
        now: Micros,
        input: &Input,
        before: &Before,
        lease: &Lease,
        coverage: &mut Coverage,
    ) -> Result<(), Violation> {
        self.now = now;
        let held = lease.held(Instant::from_micros(now));
        let highest = lease.highest_token();
        require(highest >= before.highest.max(held.map(|held| held.token)), "S13", || {
            format!("the highest token seen is {highest:?}, with {held:?}, after {before:?}")
        })?;
        if before.went_back {
            require(held.is_none(), "S23", || {
                format!("still held after the clock went back: {held:?}")
            })?;
        }
        let mut may_shorten = false;
        match *input {
            Input::Acquire { wait, .. } if self.stage == Stage::Closed => self.begin(wait),
            Input::Acquire { .. } | Input::Hint | Input::Tick => {
                same(before, held, "S27", "a hint, a tick or a refused acquire")?;
            }
            Input::Release | Input::Cancel => {
                require(held.is_none(), "D4", || "still held after it was given back".into())?;
                self.gave_back |= before.held.is_some() && !before.went_back;
            }
            Input::SessionLost { nonce } => {
                self.in_flight.retain(|sent| sent.kind.nonce() != nonce);
                self.dues.confirm(nonce);
                if before.held.is_some() && self.nonce() == Some(nonce) {
                    require(held.is_none(), "S10", || "held without its session".into())?;
                } else {
                    same(before, held, "S6", "the end of another session")?;
                }
            }
            Input::Failed { failure, .. } => self.failed(before, failure, held)?,
            Input::Reply { op, reply, as_of } => {
                may_shorten = self.replied(before, op, reply, as_of, held, coverage)?;
            }
        }
        if let (Some(grant), Some(Basis::Term { until })) =
            (&self.grant, held.map(|held| held.basis))
        {
            let until = until.as_micros();
            let earlier = grant.until.is_some_and(|last| until < last);
            require(!earlier || may_shorten || self.distrusted, "S4", || {
                format!("the deadline went from {:?} back to {until}", grant.until)
            })?;
            let moved = grant.until.is_some_and(|last| until != last);
            require(!moved || self.stage != Stage::Stopping, "S4", || {
                format!("the deadline moved from {:?} to {until} after `Stopping`", grant.until)
            })?;
            self.grant = Some(Grant { until: Some(until), ..*grant });
        }
        self.claims(now, held)
    }

    /// What must be true of a claim at any moment.
    pub(crate) fn claims(&self, now: Micros, held: Option<Held>) -> Result<(), Violation> {
        let Some(held) = held else { return Ok(()) };
        require(!matches!(self.stage, Stage::Over | Stage::Closed), "S5", || {
            format!("held again after the end of generation {}: {held:?}", self.generation)
        })?;
        require(!self.gave_back, "S5", || "held after it was given back".into())?;
        let Some(grant) = self.grant else {
            return require(false, "S6", || format!("held without a grant: {held:?}"));
        };
        require(held.token == grant.token, "S14", || {
            format!("token {} where {} was granted", held.token, grant.token)
        })?;
        let (Basis::Term { until: rests_on } | Basis::Session { last_ok: rests_on }) = held.basis
        else {
            return require(false, "S3", || format!("an unknown basis {:?}", held.basis));
        };
        if matches!(held.basis, Basis::Term { .. }) {
            require(!self.session, "S10", || "a term without one that a store promised".into())?;
            require(rests_on.as_micros() > now, "S21", || {
                format!("held at {now}, after its deadline {}", rests_on.as_micros())
            })?;
        }
        let justified = self.justified.filter(|(nonce, _)| *nonce == grant.nonce).map(|(_, at)| at);
        let excused = self.distrusted || self.by_harm_alone;
        require(excused || Some(rests_on.as_micros()) <= justified, "S3", || {
            format!(
                "the holding rests on {}, but the requests answered justify no more than {justified:?}",
                rests_on.as_micros()
            )
        })
    }

    fn begin(&mut self, wait: Wait) {
        self.in_flight.clear();
        self.generation += 1;
        self.stage = Stage::Waiting;
        self.gave_back = false;
        self.distrusted = false;
        self.grant = None;
        self.last_term = None;
        self.renewals_failed = 0;
        self.gave_up_at = match wait {
            Wait::Until(at) => Some(at.as_micros()),
            _ => None,
        };
    }

    fn failed(
        &mut self,
        before: &Before,
        failure: Failure,
        held: Option<Held>,
    ) -> Result<(), Violation> {
        let Some(sent) = before.answers else {
            return same(before, held, "S6", "a failure of a request that is over");
        };
        let establishes = matches!(
            sent.kind,
            RequestKind::Acquire { .. } | RequestKind::Enqueue { .. } | RequestKind::Renew { .. }
        );
        if establishes && self.session && failure == Failure::Unknown {
            return require(held.is_none(), "S10", || "held on a session that fell silent".into());
        }
        if matches!(sent.kind, RequestKind::Renew { .. }) {
            self.renewals_failed += 1;
        }
        if failure != Failure::Unknown {
            self.dues.settle(sent.op);
        }
        if let Failure::Refused { .. } = failure {
            self.probes = None;
        }
        same(before, held, "S11", "a failure")
    }

    /// Returns whether the reply may have shortened the deadline.
    fn replied(
        &mut self,
        before: &Before,
        op: OpId,
        reply: Reply,
        as_of: Option<Instant>,
        held: Option<Held>,
        coverage: &mut Coverage,
    ) -> Result<bool, Violation> {
        let Some(sent) = before.answers else {
            if let Reply::Granted { nonce, .. } | Reply::Enqueued { nonce, .. } = reply {
                self.left_over(op, nonce);
            }
            let Reply::Granted { nonce, .. } = reply else {
                same(before, held, "S6", "an answer to a request that is over")?;
                return Ok(false);
            };
            coverage.note(if self.nonce() == Some(nonce) {
                Seen::DuplicateGrant
            } else {
                Seen::LateGrant
            });
            same(before, held, "S7", "a late grant")?;
            return Ok(false);
        };
        let nonce = sent.kind.nonce();
        let sent_at = as_of.map_or(sent.at, |as_of| as_of.as_micros().min(sent.at));
        if Class::of(sent.kind) == Class::Undoes {
            self.dues.acknowledge(nonce);
        }
        match reply {
            Reply::Granted { nonce: named, token, promise } => {
                match promise {
                    Promise::Term(term) => self.justify(nonce, sent_at, term),
                    Promise::Session => self.justify_session(nonce, sent_at),
                    _ => {}
                }
                if before.held.is_none() && held.is_some() {
                    require(named == nonce, "S6", || {
                        format!("a grant for {named} answered {nonce}")
                    })?;
                    self.granted(nonce, token, before.highest, coverage);
                }
            }
            Reply::Enqueued { term, .. } => {
                coverage.note(Seen::Enqueued);
                self.justify(nonce, sent_at, term);
            }
            Reply::Renewed { .. } if self.session => self.justify_session(nonce, sent_at),
            Reply::Renewed { term } => {
                let shorter = self.last_term.is_some_and(|last| term < last);
                self.justify(nonce, sent_at, term);
                coverage.note(Seen::Renewed);
                if std::mem::take(&mut self.renewals_failed) > 0 {
                    coverage.note(Seen::RenewalRetried);
                }
                let deserved = sent_at + self.deductions.usable(term);
                let in_full = term >= self.term && as_of.is_none();
                self.probes = (in_full && self.could_extend(before)).then_some(0);
                if shorter && before.held.is_some() {
                    coverage.note(Seen::TermShortened);
                    let bound = until(held) <= Some(deserved);
                    require(!self.could_extend(before) || bound, "S4", || {
                        format!("a term shortened to {deserved} left {held:?}")
                    })?;
                    return Ok(true);
                }
                require(!self.could_extend(before) || until(held) >= Some(deserved), "L2", || {
                    format!("a renewal good for {deserved} left {held:?}")
                })?;
            }
            Reply::Busy { .. } => {
                coverage.note(Seen::Contended);
                self.dues.settle(sent.op);
            }
            Reply::NotYet => coverage.note(Seen::NotYet),
            Reply::Gone
                if matches!(sent.kind, RequestKind::Renew { .. }) && before.held.is_some() =>
            {
                self.dues.confirm(nonce);
                require(held.is_none(), "S5", || "held after the store said `Gone`".into())?;
            }
            Reply::Gone if before.held.is_none() && self.stage == Stage::Waiting => {
                if matches!(sent.kind, RequestKind::Renew { .. } | RequestKind::Claim { .. }) {
                    coverage.note(Seen::PlaceLost);
                }
            }
            _ => {}
        }
        Ok(false)
    }

    /// Whether a renewal that succeeds right now must count.
    fn could_extend(&self, before: &Before) -> bool {
        until(before.held).is_some_and(|until| until.saturating_sub(self.grace) > self.now)
    }

    /// A grant or a place came that nothing waits for. The live attempt's own is not released.
    fn left_over(&mut self, op: OpId, nonce: Nonce) {
        let over = matches!(self.stage, Stage::Over | Stage::Closed);
        if op.instance == self.instance && (over || self.last_nonce != Some(nonce)) {
            self.dues.open(op, nonce);
        }
    }

    fn granted(
        &mut self,
        nonce: Nonce,
        token: Token,
        highest: Option<Token>,
        coverage: &mut Coverage,
    ) {
        self.regressed = highest.filter(|highest| token <= *highest).map(|_| token);
        if self.asked > 1 {
            coverage.note(Seen::LostReplyResolved);
        }
        self.grant = Some(Grant { nonce, token, until: None });
        self.probes = None;
        self.renewals_failed = 0;
    }

    fn justify(&mut self, nonce: Nonce, sent_at: Micros, term: Duration) {
        self.last_term = Some(term);
        self.raise(nonce, sent_at + self.deductions.usable(term));
    }

    fn justify_session(&mut self, nonce: Nonce, sent_at: Micros) {
        self.raise(nonce, sent_at);
    }

    fn raise(&mut self, nonce: Nonce, to: Micros) {
        self.justified = match self.justified {
            Some((known, at)) if known == nonce => Some((nonce, at.max(to))),
            // An answer for an attempt that was given up justifies nothing.
            Some(known) if self.last_nonce != Some(nonce) => Some(known),
            Some(_) | None => Some((nonce, to)),
        };
    }

    pub(crate) fn drain_begins(&mut self) {
        self.first_of_drain = true;
    }

    /// Judges one output. `held`: the claim at the instant of the last `handle`.
    pub(crate) fn said(
        &mut self,
        output: &Output,
        held: Option<Held>,
        coverage: &mut Coverage,
    ) -> Result<(), Violation> {
        let first = std::mem::take(&mut self.first_of_drain);
        match *output {
            Output::Event { generation, event } => {
                require(generation == self.generation, "C1", || {
                    format!("{event:?} of generation {generation} in {}", self.generation)
                })?;
                self.told(event, first, held, coverage)
            }
            Output::Request { op, kind, respond_by } => {
                self.requested(op, kind, respond_by.as_micros(), held)
            }
            Output::Wait(until) => {
                require(until.is_none_or(|at| at.as_micros() > self.now), "C4", || {
                    format!("told to wait until {until:?} at {}", self.now)
                })?;
                self.alarm = until.map(Instant::as_micros);
                self.kill_switch(until, held)?;
                if self.stage == Stage::Closed && until.is_none() {
                    self.dues.close(self.now, self.deductions.usable(self.term))?;
                }
                require(held.is_none() || self.regressed.is_none(), "S13", || {
                    format!("that token {:?} went back was not told", self.regressed)
                })?;
                let waiting = self.stage == Stage::Waiting && self.grant.is_none();
                let oversleeps =
                    until.is_none_or(|wakes| Some(wakes.as_micros()) > self.gave_up_at);
                require(!waiting || self.gave_up_at.is_none() || !oversleeps, "C5", || {
                    format!("sleeps until {until:?}, though told to stop at {:?}", self.gave_up_at)
                })?;
                let expired = self.gave_up_at.is_some_and(|at| at <= self.now);
                require(
                    !expired || self.stage != Stage::Waiting || self.grant.is_some(),
                    "C5",
                    || {
                        format!(
                            "waits on at {} though told to stop at {:?}",
                            self.now, self.gave_up_at
                        )
                    },
                )
            }
        }
    }

    /// Whoever was told that it holds is told in time that it must stop, and that it has lost.
    fn kill_switch(&self, wakes: Option<Instant>, held: Option<Held>) -> Result<(), Violation> {
        if !matches!(self.stage, Stage::Acquired | Stage::AtRisk | Stage::Stopping)
            || self.gave_back
        {
            return Ok(());
        }
        require(held.is_some(), "S21", || "the loss was not told".into())?;
        let Some(Held { basis: Basis::Term { until }, .. }) = held else { return Ok(()) };
        let until = until.as_micros();
        let next =
            if self.stage == Stage::Stopping { until } else { until.saturating_sub(self.grace) };
        require(self.now < next, "S21", || {
            format!("no `Stopping` at {}, {next} or later", self.now)
        })?;
        require(wakes.is_some_and(|at| at.as_micros() <= next), "S21", || {
            format!("sleeps until {wakes:?}, beyond {next}")
        })
    }

    fn told(
        &mut self,
        event: Event,
        first: bool,
        held: Option<Held>,
        coverage: &mut Coverage,
    ) -> Result<(), Violation> {
        use Stage::{Acquired, AtRisk, Closed, Over, Stopping, Waiting};
        let stage = self.stage;
        let out_of_order = || require(false, "C1", || format!("{event:?} while {stage:?}"));
        match (event, stage) {
            (Event::Denied { reason: DenyReason::InUse }, _) => coverage.note(Seen::DeniedInUse),
            (Event::Acquired { token, .. }, Waiting) => {
                self.stage = Acquired;
                coverage.note(Seen::Acquired);
                if self.generation > 1 {
                    coverage.note(Seen::SecondGeneration);
                }
                let claimed = held.map(|held| held.token);
                require(self.gave_back || claimed == Some(token), "S21", || {
                    format!("told of token {token}, but what is held is {held:?}")
                })?;
            }
            (Event::AtRisk, Acquired | AtRisk) => {
                self.stage = AtRisk;
                coverage.note(Seen::AtRisk);
            }
            (Event::Recovered { .. }, AtRisk) => {
                self.stage = Acquired;
                coverage.note(Seen::Recovered);
            }
            (Event::Stopping { until }, Acquired | AtRisk) => {
                self.stage = Stopping;
                coverage.note(Seen::Stopping);
                require(self.probes.is_none_or(|probes| probes > 1), "L2", || {
                    format!("told to stop after {:?} attempts to renew", self.probes)
                })?;
                let claimed = held.map(|held| held.basis);
                require(self.session || claimed == Some(Basis::Term { until }), "S21", || {
                    format!("told to stop by {until:?}, but the holding is {claimed:?}")
                })?;
            }
            (Event::Lost { reason }, Waiting | Acquired | AtRisk | Stopping) => {
                require(first, "C1", || format!("{event:?} after other outputs"))?;
                require(!self.gave_back, "C1", || format!("{event:?} after the release"))?;
                require(self.grant.is_some(), "C1", || format!("{event:?} without a grant"))?;
                if stage == Waiting {
                    coverage.note(Seen::LostBeforeTold);
                }
                coverage.note(match reason {
                    LossReason::Expired => Seen::LostExpired,
                    LossReason::Gone => Seen::LostGone,
                    LossReason::SessionLost => Seen::LostSession,
                    LossReason::SessionUnknown => Seen::LostSessionUnknown,
                    LossReason::ClockWentBack => Seen::LostClockWentBack,
                    _ => return out_of_order(),
                });
                self.stage = Over;
            }
            (Event::Released { confirmed }, Waiting | Acquired | AtRisk | Stopping) => {
                require(self.gave_back, "C1", || format!("{event:?} that nobody asked for"))?;
                coverage.note(if confirmed {
                    Seen::ReleasedConfirmed
                } else {
                    Seen::ReleasedUnconfirmed
                });
                self.stage = Over;
            }
            (Event::Denied { reason }, Waiting) => {
                require(!self.gave_back, "C1", || format!("{event:?} of a lease that was held"))?;
                coverage.note(match reason {
                    DenyReason::Busy => Seen::DeniedBusy,
                    DenyReason::Cancelled => Seen::DeniedCancelled,
                    _ => Seen::DeniedFailed,
                });
                self.stage = Over;
            }
            (Event::TokenWentBack { seen, got }, Waiting | Acquired | AtRisk | Stopping | Over) => {
                coverage.note(Seen::TokenWentBack);
                self.regressed = None;
                require(got <= seen, "S13", || format!("{event:?}, though the token rose"))?;
            }
            (Event::Closed, Over) => {
                self.stage = Closed;
                self.dues.close(self.now, self.deductions.usable(self.term))?;
            }
            _ => return out_of_order(),
        }
        Ok(())
    }

    fn requested(
        &mut self,
        op: OpId,
        kind: RequestKind,
        respond_by: Micros,
        held: Option<Held>,
    ) -> Result<(), Violation> {
        require(op.instance == self.instance && op.sequence > self.sequence, "S6", || {
            format!("op {op} follows {}.{}", self.instance, self.sequence)
        })?;
        self.sequence = op.sequence;
        let nonce = kind.nonce();
        let class = Class::of(kind);
        let holds = held.is_some() && self.nonce() == Some(nonce);
        require(respond_by > self.now || class == Class::Unanswered, "C3", || {
            format!("{kind:?} is to be answered by {respond_by}, at {}", self.now)
        })?;
        match class {
            Class::Undoes => {
                require(!holds, "S29", || format!("{kind:?} while that lease is held"))?;
                self.dues.undo(nonce, self.now);
            }
            Class::Establishes | Class::Claims | Class::Watches => {
                let given_up = class != Class::Watches && self.dues.is_undone(nonce);
                require(!given_up, "S12", || format!("{kind:?} of an attempt that was given up"))?;
                require(!matches!(self.stage, Stage::Over | Stage::Closed), "S5", || {
                    format!("{kind:?} after the end of generation {}", self.generation)
                })?;
                // Those of an attempt that was given up are withdrawn with it.
                let second = self
                    .in_flight
                    .iter()
                    .find(|sent| Class::of(sent.kind) == class && sent.kind.nonce() == nonce);
                require(second.is_none(), "C2", || format!("{kind:?} beside {second:?}"))?;
            }
            Class::Unanswered => {}
        }
        if matches!(kind, RequestKind::Renew { .. }) {
            self.probes = self.probes.map(|probes| probes + 1);
            require(self.stage != Stage::Stopping, "S5", || "renews after `Stopping`".into())?;
        }
        if let (RequestKind::Renew { term, .. }, Some(grant), true) = (kind, &mut self.grant, holds)
        {
            // D4: the store may take it as the new term, though a longer one was granted before.
            let effect = self.now + self.deductions.usable(term);
            grant.until = grant.until.map(|until| until.min(effect));
            self.justified = self.justified.map(|(nonce, at)| (nonce, at.min(effect)));
        }
        if matches!(kind, RequestKind::Acquire { .. } | RequestKind::Enqueue { .. }) {
            if self.last_nonce != Some(nonce) {
                self.last_nonce = Some(nonce);
                self.asked = 0;
            }
            self.asked += 1;
            self.dues.open(op, nonce);
        }
        if let RequestKind::Unwatch { .. } = kind {
            self.in_flight.retain(|sent| Class::of(sent.kind) != Class::Watches);
        }
        self.in_flight.push(Sent { op, kind, at: self.now, respond_by });
        Ok(())
    }
}

fn until(held: Option<Held>) -> Option<Micros> {
    match held?.basis {
        Basis::Term { until } => Some(until.as_micros()),
        _ => None,
    }
}

/// Requests of which at most one is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Establishes,
    Claims,
    Watches,
    Undoes,
    Unanswered,
}

impl Class {
    fn of(kind: RequestKind) -> Self {
        match kind {
            RequestKind::Acquire { .. }
            | RequestKind::Enqueue { .. }
            | RequestKind::Renew { .. } => Self::Establishes,
            RequestKind::Claim { .. } => Self::Claims,
            RequestKind::Watch { .. } => Self::Watches,
            RequestKind::Release { .. } | RequestKind::Disconnect { .. } => Self::Undoes,
            _ => Self::Unanswered,
        }
    }
}

/// The input must not have changed what is claimed, unless time did.
fn same(
    before: &Before,
    held: Option<Held>,
    invariant: &'static str,
    what: &str,
) -> Result<(), Violation> {
    require(before.held == held || before.over && held.is_none(), invariant, || {
        format!("{what} turned {:?} into {held:?}", before.held)
    })
}
