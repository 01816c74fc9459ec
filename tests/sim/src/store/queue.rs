use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use tenure_core::{Nonce, Promise, Reply, RequestKind, Token};

use super::{Arrival, Effects, Grant, StorePlan, is_used_up, next_token, ticked};
use crate::clock::Micros;

/// A first-in, first-out queue of places that expire, as sequential nodes or keys under a lease are.
#[derive(Debug)]
pub(crate) struct QueueStore {
    plan: StorePlan,
    places: VecDeque<Place>,
    counter: u64,
    watchers: BTreeMap<Nonce, usize>,
}

#[derive(Debug)]
struct Place {
    nonce: Nonce,
    term: Micros,
    expires: Micros,
    /// Once claimed.
    token: Option<Token>,
}

impl QueueStore {
    pub(super) fn new(plan: StorePlan) -> Self {
        Self { counter: plan.counts_from, plan, places: VecDeque::new(), watchers: BTreeMap::new() }
    }

    pub(super) fn execute(
        &mut self,
        now: Micros,
        arrival: &Arrival,
        kind: RequestKind,
        effects: &mut Effects,
    ) {
        let reply = match kind {
            RequestKind::Enqueue { nonce, term } => match self.enqueue(now, nonce, term, effects) {
                Some(reply) => reply,
                None => return effects.refused = Some(true),
            },
            RequestKind::Claim { nonce } => match self.claim(nonce, effects) {
                Some(reply) => reply,
                None => return effects.refused = Some(true),
            },
            RequestKind::Renew { nonce, term } => self.renew(now, nonce, term),
            RequestKind::Release { nonce } => self.release(nonce, effects),
            RequestKind::Watch { nonce } => {
                self.watchers.insert(nonce, arrival.client);
                Reply::Watching
            }
            RequestKind::Unwatch { nonce } => {
                self.watchers.remove(&nonce);
                return;
            }
            other => unreachable!("{other:?} is not asked of a queueing store"),
        };
        effects.answer(arrival, reply);
    }

    pub(super) fn advance(&mut self, now: Micros, effects: &mut Effects) {
        let now = ticked(now, self.plan.tick);
        let first = self.first();
        let had_owner = self.claimed().is_some();
        self.places.retain(|place| now < place.expires);
        if first != self.first() {
            effects.lapsed += u32::from(had_owner);
            self.hint(effects);
        }
    }

    pub(super) fn next(&self) -> Option<Micros> {
        let first = self.places.iter().map(|place| place.expires).min()?;
        Some(first.next_multiple_of(self.plan.tick))
    }

    pub(super) fn owner(&self, now: Micros) -> Option<Nonce> {
        let now = ticked(now, self.plan.tick);
        let first = self.places.iter().find(|place| now < place.expires)?;
        first.token.map(|_| first.nonce)
    }

    pub(super) fn is_empty(&self, now: Micros) -> bool {
        let now = ticked(now, self.plan.tick);
        self.places.iter().all(|place| place.expires <= now)
    }

    pub(super) fn limit_terms(&mut self, most: Micros) {
        self.plan.limit_terms(most);
    }

    pub(super) fn flush(&mut self) {
        self.places.clear();
        self.counter = 0;
    }

    fn enqueue(
        &mut self,
        now: Micros,
        nonce: Nonce,
        asked: Duration,
        effects: &mut Effects,
    ) -> Option<Reply> {
        let now = ticked(now, self.plan.tick);
        if let Some(place) = self.places.iter().find(|place| place.nonce == nonce) {
            let rest = if self.plan.tells_rest { place.expires - now } else { place.term };
            let term = Duration::from_micros(rest);
            return Some(match place.token {
                Some(token) => Reply::Granted { nonce, token, promise: Promise::Term(term) },
                None => Reply::Enqueued { nonce, term },
            });
        }
        let term = self.plan.grants(asked);
        let at_once = self.plan.queue_grants && self.places.is_empty();
        self.places.push_back(Place { nonce, term, expires: now + term, token: None });
        let term = Duration::from_micros(term);
        if !at_once {
            return Some(Reply::Enqueued { nonce, term });
        }
        let Some(token) = self.grant_first(effects) else {
            self.places.pop_back();
            return None;
        };
        Some(Reply::Granted { nonce, token, promise: Promise::Term(term) })
    }

    fn claim(&mut self, nonce: Nonce, effects: &mut Effects) -> Option<Reply> {
        Some(match self.places.iter().position(|place| place.nonce == nonce) {
            None => Reply::Gone,
            Some(0) => {
                let token = match self.places[0].token {
                    Some(token) => token,
                    None => self.grant_first(effects)?,
                };
                Reply::Granted { nonce, token, promise: Promise::Place }
            }
            Some(_) => Reply::NotYet,
        })
    }

    fn renew(&mut self, now: Micros, nonce: Nonce, asked: Duration) -> Reply {
        let now = ticked(now, self.plan.tick);
        let Some(place) = self.places.iter_mut().find(|place| place.nonce == nonce) else {
            return Reply::Gone;
        };
        (place.term, place.expires) = self.plan.renews(now, asked, place.expires);
        Reply::Renewed { term: Duration::from_micros(place.term) }
    }

    fn release(&mut self, nonce: Nonce, effects: &mut Effects) -> Reply {
        let Some(at) = self.places.iter().position(|place| place.nonce == nonce) else {
            return Reply::Gone;
        };
        if self.places[at].token.is_some() {
            effects.released = Some(nonce);
        }
        self.places.remove(at);
        if at == 0 {
            self.hint(effects);
        }
        Reply::Released
    }

    fn grant_first(&mut self, effects: &mut Effects) -> Option<Token> {
        if is_used_up(self.counter) {
            return None;
        }
        let token = next_token(&mut self.counter);
        let place = &mut self.places[0];
        place.token = Some(token);
        effects.granted.push(Grant { nonce: place.nonce, token });
        Some(token)
    }

    fn first(&self) -> Option<Nonce> {
        self.places.front().map(|place| place.nonce)
    }

    fn claimed(&self) -> Option<Token> {
        self.places.front().and_then(|place| place.token)
    }

    /// Tells whoever is first now.
    fn hint(&self, effects: &mut Effects) {
        if let Some(client) = self.first().and_then(|nonce| self.watchers.get(&nonce)) {
            effects.hints.push(*client);
        }
    }
}
