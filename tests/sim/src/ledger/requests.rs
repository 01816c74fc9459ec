//! What a machine asks, and how it takes a store's answers.

use super::*;
use tenure_core::{NodeRequest, Promise, Reply};

/// Requests of which at most one is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Establishes,
    Claims,
    Watches,
    Undoes,
    Unanswered,
}

impl Class {
    pub(super) fn of(ask: Ask) -> Self {
        match ask {
            Ask::Node(NodeRequest::Release { .. })
            | Ask::Store(RequestKind::Release { .. } | RequestKind::Disconnect { .. }) => {
                Self::Undoes
            }
            Ask::Node(_)
            | Ask::Store(
                RequestKind::Acquire { .. }
                | RequestKind::Enqueue { .. }
                | RequestKind::Renew { .. },
            ) => Self::Establishes,
            Ask::Store(RequestKind::Claim { .. }) => Self::Claims,
            Ask::Store(RequestKind::Watch { .. }) => Self::Watches,
            Ask::Store(_) => Self::Unanswered,
        }
    }
}

impl Ledger {
    /// Returns whether the reply may have shortened the deadline.
    pub(super) fn replied(
        &mut self,
        before: &Before,
        op: OpId,
        reply: Reply,
        as_of: Option<Instant>,
        held: Option<Held>,
        coverage: &mut Coverage,
    ) -> Result<bool, Violation> {
        let Some(sent) = before.answers else {
            self.late(before, op, reply, held, coverage)?;
            return Ok(false);
        };
        let Ask::Store(kind) = sent.ask else { return Ok(false) };
        let nonce = kind.nonce();
        let sent_at = as_of.map_or(sent.at, |as_of| as_of.as_micros().min(sent.at));
        if Class::of(sent.ask) == Class::Undoes && matches!(reply, Reply::Released | Reply::Gone) {
            self.dues[0].acknowledge(nonce);
        }
        match (kind, reply) {
            (
                RequestKind::Acquire { .. }
                | RequestKind::Enqueue { .. }
                | RequestKind::Claim { .. },
                Reply::Granted { nonce: named, token, promise },
            ) => {
                match promise {
                    Promise::Term(term) => {
                        self.weigh(term, coverage);
                        self.justify(nonce, sent_at, term);
                    }
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
            (RequestKind::Enqueue { .. }, Reply::Enqueued { term, .. }) => {
                coverage.note(Seen::Enqueued);
                self.justify(nonce, sent_at, term);
            }
            (RequestKind::Renew { .. }, Reply::Renewed { term }) => {
                return self.renewed(before, &sent, sent_at, term, as_of.is_some(), held, coverage);
            }
            (RequestKind::Acquire { .. }, Reply::Busy { .. }) => {
                coverage.note(Seen::Contended);
                self.dues[0].settle(sent.op, false);
            }
            (RequestKind::Claim { .. }, Reply::NotYet) => coverage.note(Seen::NotYet),
            (RequestKind::Renew { .. }, Reply::Gone) if before.held.is_some() => {
                self.dues[0].confirm(nonce);
                require(held.is_none(), "S5", || "held after the store said `Gone`".into())?;
            }
            (RequestKind::Renew { .. } | RequestKind::Claim { .. }, Reply::Gone) => {
                if self.stage == Stage::Waiting {
                    coverage.note(Seen::PlaceLost);
                }
            }
            (_, Reply::Released | Reply::Gone | Reply::Watching) => {}
            // Not an answer to what was asked: as good as none.
            _ if self.session && (sent.ask.takes() || sent.ask.renews()) => {
                require(held.is_none(), "S10", || format!("held after {reply:?} to {kind:?}"))?;
            }
            _ => same(before, held, "S11", "an answer to something else")?,
        }
        Ok(false)
    }

    #[expect(clippy::too_many_arguments, reason = "all of it is about this one answer")]
    fn renewed(
        &mut self,
        before: &Before,
        sent: &Sent,
        sent_at: Micros,
        term: Duration,
        shared: bool,
        held: Option<Held>,
        coverage: &mut Coverage,
    ) -> Result<bool, Violation> {
        let nonce = sent.ask.nonce();
        self.last_renewed = self.last_renewed.max(sent.op.sequence);
        if self.session {
            self.justify_session(nonce, sent_at);
            return Ok(false);
        }
        let either = std::mem::take(&mut self.either_term) && before.held.is_some();
        let shorter = self.last_term.is_some_and(|last| term < last);
        self.weigh(term, coverage);
        self.justify(nonce, sent_at, term);
        coverage.note(Seen::Renewed);
        if std::mem::take(&mut self.renewals_failed) > 0 {
            coverage.note(Seen::RenewalRetried);
        }
        let deserved = sent_at + self.deductions.usable(term);
        let in_full = term >= self.term && !shared;
        self.probes = (in_full && self.could_extend(before)).then_some(0);
        if either {
            // Whether this term is the shorter one cannot be seen from here.
            let least = until(before.held).map(|until| until.min(deserved));
            let counts = self.could_extend(before) && deserved > self.now;
            require(!counts || until(held) >= least, "L2", || {
                format!("a renewal good for {deserved} left {held:?}")
            })?;
            return Ok(true);
        }
        if shorter && before.held.is_some() {
            coverage.note(Seen::TermShortened);
            let bound = until(held) <= Some(deserved);
            require(!self.could_extend(before) || bound, "S4", || {
                format!("a term shortened to {deserved} left {held:?}")
            })?;
            return Ok(true);
        }
        // One that was as good as over when it came saves nothing.
        let counts = self.could_extend(before) && deserved > self.now;
        require(!counts || until(held) >= Some(deserved), "L2", || {
            format!("a renewal good for {deserved} left {held:?}")
        })?;
        Ok(false)
    }

    /// An answer to a request that is over.
    fn late(
        &mut self,
        before: &Before,
        op: OpId,
        reply: Reply,
        held: Option<Held>,
        coverage: &mut Coverage,
    ) -> Result<(), Violation> {
        match reply {
            Reply::Granted { nonce, promise, .. } => {
                let term = if let Promise::Term(term) = promise { Some(term) } else { None };
                self.left_over(op, nonce, term, coverage);
                coverage.note(if self.nonce() == Some(nonce) {
                    Seen::DuplicateGrant
                } else {
                    Seen::LateGrant
                });
                return same(before, held, "S7", "a late grant");
            }
            Reply::Enqueued { nonce, .. } => self.left_over(op, nonce, None, coverage),
            Reply::Renewed { .. } if op.instance == self.instance => {
                self.late_renewal(op, coverage)
            }
            _ => {}
        }
        same(before, held, "S6", "an answer to a request that is over")
    }

    pub(super) fn late_renewal(&self, op: OpId, coverage: &mut Coverage) {
        if op.sequence < self.last_renewed {
            coverage.note(Seen::RenewalOvertaken);
        }
        if matches!(self.stage, Stage::Over | Stage::Closed) {
            coverage.note(Seen::RenewedAfterLoss);
        }
    }

    pub(super) fn requested(
        &mut self,
        site: usize,
        op: OpId,
        ask: Ask,
        respond_by: Micros,
        held: Option<Held>,
    ) -> Result<(), Violation> {
        require(op.instance == self.instance && op.sequence > self.sequence, "S6", || {
            format!("op {op} follows {}.{}", self.instance, self.sequence)
        })?;
        self.sequence = op.sequence;
        let nonce = ask.nonce();
        let class = Class::of(ask);
        let holds = held.is_some() && self.nonce() == Some(nonce);
        require(respond_by > self.now || class == Class::Unanswered, "C3", || {
            format!("{ask:?} is to be answered by {respond_by}, at {}", self.now)
        })?;
        match class {
            Class::Undoes => {
                require(!holds, "S29", || format!("{ask:?} while that lease is held"))?;
                self.dues[site].undo(nonce, self.now);
            }
            Class::Establishes | Class::Claims | Class::Watches => {
                let given_up = class != Class::Watches && self.dues[site].is_undone(nonce);
                require(!given_up, "S12", || format!("{ask:?} of an attempt that was given up"))?;
                require(!matches!(self.stage, Stage::Over | Stage::Closed), "S5", || {
                    format!("{ask:?} after the end of generation {}", self.generation)
                })?;
                self.one_in_flight(site, ask, class)?;
            }
            Class::Unanswered => {}
        }
        if ask.renews() {
            let another = self.votes.begin_renewal(nonce, self.now);
            self.probes = self.probes.map(|probes| probes + u32::from(another));
            require(self.stage != Stage::Stopping, "S5", || "renews after `Stopping`".into())?;
        }
        if let (
            Ask::Store(RequestKind::Renew { term, .. })
            | Ask::Node(NodeRequest::Renew { term, .. }),
            Some(grant),
            true,
        ) = (ask, &mut self.grant, holds)
        {
            // D4: the store may take it as the new term, though a longer one was granted before.
            let effect = self.now + self.deductions.usable(term);
            grant.until = grant.until.map(|until| until.min(effect));
            let effect =
                if let Ask::Node(_) = ask { self.votes.shorten(site, effect) } else { effect };
            self.justified = self.justified.map(|(nonce, at)| (nonce, at.min(effect)));
        }
        if let (Ask::Store(RequestKind::Renew { term, .. }), None) = (ask, &self.grant) {
            // So does a place's, where it was more: then its grant counts from the term asked for.
            self.either_term |= self.last_term.is_some_and(|last| last > term);
        }
        if ask.takes() {
            if self.last_nonce != Some(nonce) {
                self.last_nonce = Some(nonce);
                self.asked = 0;
                self.votes.begin(nonce);
            }
            self.votes.begin_lock(self.now);
            self.asked += u32::from(site == 0);
            self.dues[site].open(op, nonce);
            self.taking[op.sequence as usize % self.taking.len()] = Some((op, site, self.now));
        }
        if let Ask::Store(RequestKind::Unwatch { .. }) = ask {
            self.in_flight.retain(|sent| Class::of(sent.ask) != Class::Watches);
        }
        self.in_flight.push(Sent { op, site, ask, at: self.now, respond_by });
        Ok(())
    }

    /// An answer to a second one could not be told from an answer to the first. Those of an attempt
    /// that was given up are withdrawn with it, and those of a quorum's last round with that.
    fn one_in_flight(&mut self, site: usize, ask: Ask, class: Class) -> Result<(), Violation> {
        let now = self.now;
        let alike = |sent: &Sent| sent.site == site && Class::of(sent.ask) == class;
        if let Ask::Node(_) = ask {
            self.in_flight.retain(|sent| !alike(sent) || sent.at == now);
        }
        let second =
            self.in_flight.iter().find(|sent| alike(sent) && sent.ask.nonce() == ask.nonce());
        require(second.is_none(), "C2", || format!("{ask:?} is in flight beside {second:?}"))
    }
}
