//! Stores as they are reached: each with its own clock, and up, down or slow.

use std::time::Duration;

use tenure_core::{Failure, Instant, NodeReply, Nonce, OpId, Reply, RequestKind, Token};

use crate::{
    clock::{Clock, MILLIS, Micros, SECONDS},
    coverage::Seen,
    machine::{Answer, Ask, Told},
    scenario::{ClockPlan, Kind},
    store::{Arrival, Effects, Store, StorePlan},
    trace::What,
    violation::Violation,
    world::{Happens, World},
};

/// A store, or one node of a quorum.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) stalled_until: Micros,
    pub(crate) down_until: Micros,
    /// The earliest wake-up that it has coming.
    alarm: Micros,
    last_renewal: Option<(Nonce, OpId)>,
}

impl Site {
    pub(crate) fn new(kind: Kind, plan: StorePlan, clock: &ClockPlan) -> Self {
        Self {
            store: match kind {
                Kind::Polled | Kind::Hinted => Store::term(plan),
                Kind::Queue => Store::queue(plan),
                Kind::Session | Kind::Blocking => Store::session(plan),
                Kind::Quorum3 | Kind::Quorum4 | Kind::Quorum5 => Store::node(plan),
            },
            clock: Clock::new(clock.reading, clock.rates[0]),
            stalled_until: 0,
            down_until: 0,
            alarm: Micros::MAX,
            last_renewal: None,
        }
    }

    pub(crate) fn is_down(&self, now: Micros) -> bool {
        now < self.down_until
    }

    pub(crate) fn owner(&self, now: Micros) -> Option<Nonce> {
        self.store.owner(self.clock.read(now))
    }

    /// Nobody but `nonce` can get the lock here: it is the owner, or was when the node lost its data
    /// and stopped to vote.
    pub(crate) fn keeps(&self, nonce: Nonce, now: Micros) -> bool {
        let kept = self.owner(now) == Some(nonce);
        let Store::Node(node) = &self.store else { return kept };
        let votes = node.votes() && !self.is_down(now);
        kept || !votes && node.ghost(self.clock.read(now)) == Some(nonce)
    }

    pub(crate) fn is_empty(&self, now: Micros) -> bool {
        self.store.is_empty(self.clock.read(now))
    }
}

impl World {
    pub(crate) fn arrives(&mut self, arrival: Arrival) -> Result<(), Violation> {
        let Arrival { client, site: number, op, ask, .. } = arrival;
        let site = &self.sites[number];
        if self.now < site.stalled_until {
            self.at(site.stalled_until, Happens::ToStore(arrival));
            return Ok(());
        }
        if site.is_down(self.now) {
            // The host is there and says that nobody listens; or it is not.
            if self.random.coin() {
                self.fail(client, op, Failure::NotSent);
            }
            return Ok(());
        }
        let nonce = ask.nonce();
        if self.scenario.kind.is_session() && self.connections.get(nonce).is_none_or(|c| c.dead) {
            return Ok(());
        }
        self.coverage.messages += 1;
        if let Some(failure) = self.refusal(client) {
            self.answer(client, number, op, Told::Failed { op, failure });
            return Ok(());
        }
        if ask.takes() && !self.executed.insert(op) {
            self.coverage.note(Seen::DuplicateExecuted);
        }
        self.trace.note(self.now, What::Executed(client, number, ask));
        let mut effects = std::mem::take(&mut self.effects);
        let site = &mut self.sites[number];
        site.store.execute(site.clock.read(self.now), &arrival, &mut effects);
        self.note_execution(&arrival, &effects);
        if let (true, Some(connection)) = (ask.releases(), self.connections.get(nonce)) {
            connection.idle = true;
        }
        if let Some(permanent) = effects.refused {
            let failure = Failure::Refused { permanent, retry_after: None };
            self.answer(client, number, op, Told::Failed { op, failure });
            self.exhausted |= permanent;
            self.coverage.note(if permanent {
                Seen::TokensExhausted
            } else {
                Seen::AmnesiacRefused
            });
        }
        self.take_effect(number, effects)
    }

    fn note_execution(&mut self, arrival: &Arrival, effects: &Effects) {
        let Arrival { client, site, op, ask, .. } = *arrival;
        let nonce = ask.nonce();
        let taken = effects.taken.is_some() || !effects.granted.is_empty();
        let newly = taken && ask.takes();
        let client = &self.clients[client];
        if newly && (client.life != op.instance || client.ledger.gave_up(nonce)) {
            self.coverage.note(Seen::ExecutedAfterGivenUp);
        }
        if newly && self.released_early.contains(&(site, nonce)) {
            self.coverage.note(Seen::ReleaseOvertookAcquire);
        }
        if ask.releases() && effects.released.is_none() {
            if self.taken.contains(&(site, nonce)) {
                if self.sites[site].owner(self.now).is_some_and(|owner| owner != nonce) {
                    self.coverage.note(Seen::ReleasedAfterSuccessor);
                }
            } else {
                self.released_early.insert((site, nonce));
            }
        }
        if newly {
            self.taken.insert((site, nonce));
        }
        if let Ask::Store(RequestKind::Acquire { block: true, .. }) = ask
            && effects.answers.is_empty()
        {
            self.coverage.note(Seen::Blocked);
        }
        if ask.renews() {
            let last = &mut self.sites[site].last_renewal;
            let overtaken = last.is_some_and(|(known, last)| {
                known == nonce && last.instance == op.instance && op.sequence < last.sequence
            });
            if overtaken {
                self.coverage.note(Seen::RenewalsReordered);
            } else {
                *last = Some((nonce, op));
            }
        }
        let busy = effects.answers.iter().any(|(_, _, answer)| {
            matches!(
                answer,
                Answer::Store { reply: Reply::Busy { .. }, .. }
                    | Answer::Node(NodeReply::Busy { .. })
            )
        });
        let owner = if busy { self.sites[site].owner(self.now) } else { None };
        let by = owner.and_then(|owner| self.nonces.get(&owner));
        if by.is_some_and(|(_, life, _)| *life == op.instance) {
            self.coverage.note(Seen::BlockedByOwnNonce);
        }
    }

    fn refusal(&mut self, client: usize) -> Option<Failure> {
        if self.now < self.clients[client].locked_out_until {
            self.coverage.note(Seen::RefusedForGood);
            return Some(Failure::Refused { permanent: true, retry_after: None });
        }
        if !self.struck(self.scenario.faults.refused) {
            return None;
        }
        self.coverage.note(Seen::Refused);
        let pause = Duration::from_micros(self.random.between(1, 500 * MILLIS));
        let retry_after = Some(pause).filter(|_| self.random.coin());
        Some(Failure::Refused { permanent: false, retry_after })
    }

    pub(crate) fn advance_store(&mut self, number: usize) -> Result<(), Violation> {
        let mut effects = std::mem::take(&mut self.effects);
        let site = &mut self.sites[number];
        if site.alarm == self.now {
            site.alarm = Micros::MAX;
        }
        site.store.advance(site.clock.read(self.now), &mut effects);
        self.take_effect(number, effects)
    }

    pub(crate) fn end_session(&mut self, nonce: Nonce) -> Result<(), Violation> {
        if let Some(connection) = self.connections.get(nonce) {
            connection.dead = true;
        }
        let mut effects = std::mem::take(&mut self.effects);
        self.sites[0].store.end_session(nonce, &mut effects);
        self.take_effect(0, effects)
    }

    fn take_effect(&mut self, site: usize, mut effects: Effects) -> Result<(), Violation> {
        for grant in &effects.granted {
            let client = self.nonces.get(&grant.nonce).map(|(client, ..)| *client);
            self.trace.note(self.now, What::Granted(client, grant.token));
            self.grants.insert(grant.nonce, grant.token);
        }
        if let Some(nonce) = effects.taken {
            let client = self.nonces.get(&nonce).map(|(client, ..)| *client);
            self.trace.note(self.now, What::Taken(client, site));
            self.look_for_a_split_vote();
        }
        if let Some((nonce, token)) = effects.accepted {
            self.accepted(site, nonce, token);
        }
        if effects.lapsed > 0 {
            self.trace.note(self.now, What::Lapsed(site));
            self.coverage.note(Seen::TermRanOut);
        }
        if let Some(nonce) = effects.released {
            self.trace.note(self.now, What::Freed(site));
            self.require_not_held(nonce)?;
        }
        if effects.lied {
            self.lied = true;
            self.coverage.note(Seen::FalseRenewal);
        }
        for &(client, op, answer) in &effects.answers {
            self.trace.note(self.now, What::Answered(client, site, answer));
            let answer = self.early_exchange(client, answer);
            let answer = self.garble(answer);
            self.answer(client, site, op, Told::Answered { op, answer });
        }
        if effects.hints.len() >= WAITERS_OF_A_STORM {
            self.coverage.note(Seen::AllWoken);
        }
        for &client in &effects.hints {
            self.hint(client);
        }
        effects.clear();
        self.effects = effects;
        self.expect_store(site);
        Ok(())
    }

    fn accepted(&mut self, site: usize, nonce: Nonce, token: Token) {
        let nodes = self.tokens.entry(token).or_default();
        nodes.retain(|(at, _)| *at != site);
        nodes.push((site, nonce));
    }

    /// All nodes are taken, and nobody has a majority.
    fn look_for_a_split_vote(&mut self) {
        let owners = self.sites.iter().map(|site| site.owner(self.now));
        let Some(owners) = owners.collect::<Option<Vec<_>>>() else { return };
        let most = owners.iter().map(|one| owners.iter().filter(|other| *other == one).count());
        if most.max() < Some(self.scenario.kind.majority()) {
            self.coverage.note(Seen::SplitVote);
        }
    }

    /// Wakes the store at its next expiry, at that very instant.
    pub(crate) fn expect_store(&mut self, number: usize) {
        let site = &mut self.sites[number];
        let Some(next) = site.store.next() else { return };
        let at = site.clock.when(self.now, next);
        if at < site.alarm {
            site.alarm = at;
            self.at(at, Happens::StoreAdvances(number));
        }
    }

    fn early_exchange(&mut self, client: usize, answer: Answer) -> Answer {
        let Answer::Store { reply: reply @ Reply::Renewed { .. }, .. } = answer else {
            return answer;
        };
        if !self.random.chance(self.scenario.faults.early_exchange) {
            return answer;
        }
        // Mostly before the request. A later one must not count.
        let ago = self.random.between(0, 15 * SECONDS);
        let now = self.clients[client].clock.read(self.now);
        Answer::Store { reply, as_of: Some(Instant::from_micros(now.saturating_sub(ago))) }
    }

    /// An answer that belongs to no request of this kind, as a proxy or a wrong key would give it.
    fn garble(&mut self, answer: Answer) -> Answer {
        if !self.struck(self.scenario.faults.garbled) {
            return answer;
        }
        self.coverage.note(Seen::Garbled);
        match answer {
            Answer::Store { reply: Reply::Watching, .. } => {
                Answer::Store { reply: Reply::NotYet, as_of: None }
            }
            Answer::Store { .. } => Answer::Store { reply: Reply::Watching, as_of: None },
            Answer::Node(NodeReply::Raised | NodeReply::Higher { .. }) => {
                Answer::Node(NodeReply::Released)
            }
            Answer::Node(NodeReply::Gone | NodeReply::Released) => {
                Answer::Node(NodeReply::Busy { retry_after: None, counter: None })
            }
            Answer::Node(_) => Answer::Node(NodeReply::Raised),
        }
    }

    /// An operator brings a node that forgot back, once nothing of before can still be under way: it
    /// reads the counters of a majority that votes, and writes one above them.
    pub(crate) fn operator_reads(&mut self, site: usize) {
        let voting = |other: &Site| {
            !other.is_down(self.now) && matches!(&other.store, Store::Node(node) if node.votes())
        };
        let counters =
            self.sites.iter().filter(|other| voting(other)).map(|other| {
                if let Store::Node(node) = &other.store { node.counter() } else { None }
            });
        let counters: Vec<_> = counters.collect();
        if counters.len() < self.scenario.kind.majority() {
            self.after(SECONDS, Happens::OperatorReads(site));
            return;
        }
        let highest = counters.into_iter().max().flatten();
        let above = highest
            .map_or(Token::MIN, |highest| Token::new(highest.get() + 1).unwrap_or(Token::MAX));
        let pause = self.random.between(1, SECONDS);
        self.after(pause, Happens::OperatorSeeds(site, above));
    }

    pub(crate) fn operator_seeds(&mut self, number: usize, token: Token) {
        let site = &mut self.sites[number];
        if site.is_down(self.now) {
            self.after(SECONDS, Happens::OperatorReads(number));
        } else if let Store::Node(node) = &mut site.store {
            node.seed(Some(token));
            self.coverage.note(Seen::Seeded);
            self.trace.note(self.now, What::Fault("is seeded again: node", Some(number), 0));
        }
    }
}

/// As many as wait in a large world of this size.
const WAITERS_OF_A_STORM: usize = 4;
