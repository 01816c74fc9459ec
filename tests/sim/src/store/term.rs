use std::{collections::BTreeSet, time::Duration};

use tenure_core::{Nonce, Promise, Reply, RequestKind, Token};

use super::{Arrival, Effects, Grant, StorePlan, is_used_up, next_token, ticked};
use crate::clock::Micros;

/// One key with an owner, a token and an expiry, as a Redis script keeps it.
#[derive(Debug)]
pub(crate) struct TermStore {
    plan: StorePlan,
    record: Option<Record>,
    counter: u64,
    watchers: BTreeSet<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    grant: Grant,
    term: Micros,
    expires: Micros,
}

impl TermStore {
    pub(super) fn new(plan: StorePlan) -> Self {
        Self { counter: plan.counts_from, plan, record: None, watchers: BTreeSet::new() }
    }

    pub(super) fn execute(
        &mut self,
        now: Micros,
        arrival: &Arrival,
        kind: RequestKind,
        effects: &mut Effects,
    ) {
        let reply = match kind {
            RequestKind::Acquire { nonce, term, .. } => {
                match self.acquire(now, nonce, term, effects) {
                    Some(reply) => reply,
                    None => return effects.refused = Some(true),
                }
            }
            RequestKind::Renew { nonce, term } => self.renew(now, nonce, term, effects),
            RequestKind::Release { nonce } => self.release(nonce, effects),
            RequestKind::Watch { .. } => {
                self.watchers.insert(arrival.client);
                Reply::Watching
            }
            RequestKind::Unwatch { .. } => {
                self.watchers.remove(&arrival.client);
                return;
            }
            other => unreachable!("{other:?} is not asked of a polled store"),
        };
        effects.answer(arrival, reply);
    }

    pub(super) fn advance(&mut self, now: Micros, effects: &mut Effects) {
        if self.record.is_some() && self.owner(now).is_none() {
            self.record = None;
            effects.lapsed += 1;
            self.hint(effects);
        }
    }

    pub(super) fn next(&self) -> Option<Micros> {
        self.record.map(|record| record.expires.next_multiple_of(self.plan.tick))
    }

    pub(super) fn owner(&self, now: Micros) -> Option<Nonce> {
        let now = ticked(now, self.plan.tick);
        self.record.filter(|record| now < record.expires).map(|record| record.grant.nonce)
    }

    pub(super) fn limit_terms(&mut self, most: Micros) {
        self.plan.limit_terms(most);
    }

    pub(super) fn flush(&mut self) {
        self.record = None;
        self.counter = 0;
    }

    fn acquire(
        &mut self,
        now: Micros,
        nonce: Nonce,
        asked: Duration,
        effects: &mut Effects,
    ) -> Option<Reply> {
        let now = ticked(now, self.plan.tick);
        if let Some(record) = self.record {
            let rest = record.expires - now;
            if record.grant.nonce != nonce {
                let tell = self.plan.tells_holder;
                return Some(Reply::Busy {
                    retry_after: tell.then(|| Duration::from_micros(rest)),
                    holder: tell.then_some(record.grant.token),
                });
            }
            let term = if self.plan.tells_rest { rest } else { record.term };
            return Some(granted(nonce, record.grant.token, term));
        }
        let term = self.plan.grants(asked);
        if is_used_up(self.counter) {
            return None;
        }
        let grant = Grant { nonce, token: next_token(&mut self.counter) };
        self.record = Some(Record { grant, term, expires: now + term });
        effects.granted.push(grant);
        Some(granted(nonce, grant.token, term))
    }

    fn renew(
        &mut self,
        now: Micros,
        nonce: Nonce,
        asked: Duration,
        effects: &mut Effects,
    ) -> Reply {
        let now = ticked(now, self.plan.tick);
        match &mut self.record {
            Some(record) if record.grant.nonce == nonce => {
                (record.term, record.expires) = self.plan.renews(now, asked, record.expires);
                Reply::Renewed { term: Duration::from_micros(record.term) }
            }
            Some(_) | None if self.plan.lies => {
                effects.lied = true;
                Reply::Renewed { term: asked }
            }
            Some(_) | None => Reply::Gone,
        }
    }

    fn release(&mut self, nonce: Nonce, effects: &mut Effects) -> Reply {
        if self.record.is_none_or(|record| record.grant.nonce != nonce) {
            return Reply::Gone;
        }
        self.record = None;
        effects.released = Some(nonce);
        self.hint(effects);
        Reply::Released
    }

    fn hint(&self, effects: &mut Effects) {
        effects.hints.extend(&self.watchers);
    }
}

fn granted(nonce: Nonce, token: Token, term: Micros) -> Reply {
    Reply::Granted { nonce, token, promise: Promise::Term(Duration::from_micros(term)) }
}
