//! One machine's conduct, judged from outside: what it was told, what it said, what it claims.

mod events;
mod requests;
mod votes;

use std::time::Duration;

use tenure_core::{Basis, Failure, Held, Instant, Nonce, OpId, RequestKind, Token, Wait};

use self::votes::Votes;
use crate::{
    clock::Micros,
    coverage::{Coverage, Seen},
    dues::Dues,
    machine::{Answer, Ask, Machine, Told},
    scenario::{ClientPlan, Deductions, Kind},
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
    /// Or the term that was asked for, of a place.
    either_term: bool,
    /// The last grant's token, if it did not exceed the highest seen before, until that is told.
    regressed: Option<Token>,
    in_flight: Vec<Sent>,
    /// Where and when the last requests that may take the lock were sent.
    taking: [Option<(OpId, usize, Micros)>; 64],
    last_renewed: u32,
    /// How often the last attempt was asked for.
    asked: u32,
    /// What may be left at each site.
    dues: Vec<Dues>,
    votes: Votes,
    /// Renewals sent since the last good one, where none of them had to be late (D7).
    probes: Option<u32>,
    alarm: Option<Micros>,
    term: Duration,
    renewals_failed: u32,
    recoveries: u32,
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
    site: usize,
    ask: Ask,
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
    pub(crate) fn new(instance: u32, plan: &ClientPlan, kind: Kind) -> Self {
        // Of its three, a quorum may keep one for a node that was silent when the round was decided.
        let remembered = if kind.is_quorum() { 2 } else { 3 };
        Self {
            instance,
            deductions: plan.deductions,
            grace: plan.config.grace().as_micros() as Micros,
            by_harm_alone: plan.by_harm_alone,
            session: kind.is_session(),
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
            either_term: false,
            regressed: None,
            in_flight: Vec::new(),
            taking: [None; 64],
            last_renewed: 0,
            asked: 0,
            dues: (0..kind.sites()).map(|_| Dues::new(remembered)).collect(),
            votes: Votes::new(kind),
            probes: None,
            alarm: None,
            term: plan.config.term(),
            renewals_failed: 0,
            recoveries: 0,
            first_of_drain: true,
        }
    }

    pub(crate) fn instance(&self) -> u32 {
        self.instance
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

    /// The application was told that it has the lease, and not yet that it has not.
    pub(crate) fn believes(&self) -> bool {
        matches!(self.stage, Stage::Acquired | Stage::AtRisk | Stage::Stopping)
    }

    /// The attempt that the present holding rests on.
    pub(crate) fn nonce(&self) -> Option<Nonce> {
        self.grant.map(|grant| grant.nonce)
    }

    /// Nobody waits for `nonce` any more.
    pub(crate) fn gave_up(&self, nonce: Nonce) -> bool {
        self.last_nonce != Some(nonce) || matches!(self.stage, Stage::Over | Stage::Closed)
    }

    fn is_asking(&self, what: impl Fn(&Ask) -> bool) -> bool {
        self.in_flight.iter().any(|sent| what(&sent.ask))
    }

    pub(crate) fn before(&mut self, now: Micros, told: &Told, machine: &dyn Machine) -> Before {
        let held = machine.held(Instant::from_micros(now));
        let highest = machine.highest_token();
        let went_back = now < self.now;
        let op = match *told {
            Told::Answered { op, .. } | Told::Failed { op, .. } => Some(op),
            Told::Acquire { .. }
            | Told::Release
            | Told::Cancel
            | Told::Hint
            | Told::SessionLost { .. }
            | Told::Tick => None,
        };
        if went_back {
            self.dues.iter_mut().for_each(Dues::forgive);
            self.in_flight.clear();
        }
        let overdue = |sent: &Sent| now >= sent.respond_by;
        for sent in self.in_flight.iter().filter(|sent| overdue(sent)) {
            self.votes.fail(sent);
            if sent.ask.renews() {
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
        told: &Told,
        before: &Before,
        machine: &dyn Machine,
        coverage: &mut Coverage,
    ) -> Result<Option<Held>, Violation> {
        self.now = now;
        let held = machine.held(Instant::from_micros(now));
        let highest = machine.highest_token();
        require(highest >= before.highest.max(held.map(|held| held.token)), "S13", || {
            format!("the highest token seen is {highest:?}, with {held:?}, after {before:?}")
        })?;
        if before.went_back {
            require(held.is_none(), "S23", || {
                format!("still held after the clock went back: {held:?}")
            })?;
        }
        let mut may_shorten = false;
        match *told {
            Told::Acquire { wait, .. } if self.stage == Stage::Closed => self.begin(wait),
            Told::Acquire { .. } | Told::Hint | Told::Tick => {
                same(before, held, "S27", "a hint, a tick or a refused acquire")?;
            }
            Told::Release | Told::Cancel => {
                require(held.is_none(), "D4", || "still held after it was given back".into())?;
                if before.held.is_some() && !before.went_back {
                    self.gave_back = true;
                    coverage.note(Seen::GaveBack);
                    if self.is_asking(Ask::renews) {
                        coverage.note(Seen::ReleasedDuringRenewal);
                    }
                } else if self.stage == Stage::Waiting && self.is_asking(Ask::takes) {
                    coverage.note(Seen::CancelledInFlight);
                }
            }
            Told::SessionLost { nonce } => {
                self.in_flight.retain(|sent| sent.ask.nonce() != nonce);
                self.dues[0].confirm(nonce);
                if before.held.is_some() && self.nonce() == Some(nonce) {
                    require(held.is_none(), "S10", || "held without its session".into())?;
                } else {
                    same(before, held, "S6", "the end of another session")?;
                }
            }
            Told::Failed { failure, .. } => self.failed(before, failure, held)?,
            Told::Answered { op, answer: Answer::Store { reply, as_of } } => {
                may_shorten = self.replied(before, op, reply, as_of, held, coverage)?;
            }
            Told::Answered { op, answer: Answer::Node(reply) } => {
                may_shorten = self.voted(before, op, reply, held, coverage)?;
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
        self.claims(now, held)?;
        Ok(held)
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
        self.either_term = false;
        self.renewals_failed = 0;
        self.recoveries = 0;
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
        let establishes = sent.ask.takes() || sent.ask.renews();
        if establishes && self.session && failure == Failure::Unknown {
            return require(held.is_none(), "S10", || "held on a session that fell silent".into());
        }
        let late = self.votes.fail(&sent) && matches!(sent.ask, Ask::Node(_));
        if sent.ask.renews() {
            self.renewals_failed += 1;
        }
        if failure != Failure::Unknown {
            self.dues[sent.site].settle(sent.op, late);
        }
        if let Failure::Refused { .. } = failure {
            self.probes = None;
        }
        same(before, held, "S11", "a failure")
    }

    /// Whether a renewal that succeeds right now must count.
    fn could_extend(&self, before: &Before) -> bool {
        until(before.held).is_some_and(|until| until.saturating_sub(self.grace) > self.now)
    }

    /// A grant or a place came that nothing waits for. The live attempt's own is not released.
    fn left_over(
        &mut self,
        op: OpId,
        nonce: Nonce,
        term: Option<Duration>,
        coverage: &mut Coverage,
    ) {
        if op.instance != self.instance {
            return;
        }
        let known = self.taking[op.sequence as usize % self.taking.len()];
        let Some((_, site, sent)) = known.filter(|(known, ..)| *known == op) else {
            // Too old to tell where it came from.
            self.dues.iter_mut().for_each(|dues| dues.suspect(nonce));
            return;
        };
        if self.gave_up(nonce) {
            self.dues[site].open(op, nonce);
        }
        if term.is_some_and(|term| self.now >= sent + self.deductions.usable(term)) {
            coverage.note(Seen::GrantedTooLate);
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

    /// Whether the term granted was more or less than what was asked for, or of no use.
    fn weigh(&self, term: Duration, coverage: &mut Coverage) {
        if self.deductions.usable(term) == 0 {
            coverage.note(Seen::NothingLeftOfTerm);
        } else if term > self.term {
            coverage.note(Seen::TermLonger);
        } else if term < self.term {
            coverage.note(Seen::TermShorter);
        }
    }

    fn close_dues(&mut self) -> Result<(), Violation> {
        let lapse = self.deductions.usable(self.term);
        self.dues.iter_mut().try_for_each(|dues| dues.close(self.now, lapse))
    }
}

fn until(held: Option<Held>) -> Option<Micros> {
    match held?.basis {
        Basis::Term { until } => Some(until.as_micros()),
        _ => None,
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
