use std::collections::VecDeque;

use tenure_core::{Nonce, Promise, Reply, RequestKind};

use super::{Arrival, Effects, Grant, StorePlan, next_token};
use crate::clock::Micros;

/// A lock that lives as long as the connection that took it, as an advisory lock does. It promises
/// no term: the moment the session ends, the next one has it.
#[derive(Debug)]
pub(crate) struct SessionStore {
    plan: StorePlan,
    owner: Option<Grant>,
    counter: u64,
    waiting: VecDeque<Blocked>,
}

#[derive(Debug)]
struct Blocked {
    arrival: Arrival,
    gives_up: Micros,
}

impl SessionStore {
    pub(super) fn new(plan: StorePlan) -> Self {
        Self { counter: plan.counts_from, plan, owner: None, waiting: VecDeque::new() }
    }

    pub(super) fn execute(
        &mut self,
        now: Micros,
        arrival: &Arrival,
        kind: RequestKind,
        effects: &mut Effects,
    ) {
        match kind {
            RequestKind::Acquire { nonce, block, .. } => match self.owner {
                None => self.grant(arrival, effects),
                Some(owner) if owner.nonce == nonce => effects.answer(arrival, granted(owner)),
                Some(_) if block => {
                    let gives_up = now.saturating_add(arrival.patience);
                    self.waiting.push_back(Blocked { arrival: *arrival, gives_up });
                }
                Some(_) => effects.answer(arrival, self.busy()),
            },
            RequestKind::Renew { nonce, term } => {
                let reply =
                    if self.is_owner(nonce) { Reply::Renewed { term } } else { Reply::Gone };
                effects.answer(arrival, reply);
            }
            RequestKind::Release { nonce } => {
                let mine = self.is_owner(nonce);
                effects.released = mine.then_some(nonce);
                self.cancel(nonce, effects);
                effects.answer(arrival, if mine { Reply::Released } else { Reply::Gone });
                self.end(nonce, effects);
            }
            other => unreachable!("{other:?} is not asked of a session's store"),
        }
    }

    pub(super) fn advance(&mut self, now: Micros, effects: &mut Effects) {
        let busy = self.busy();
        self.waiting.retain(|blocked| {
            let goes_on = now < blocked.gives_up;
            if !goes_on {
                effects.answer(&blocked.arrival, busy);
            }
            goes_on
        });
    }

    pub(super) fn next(&self) -> Option<Micros> {
        self.waiting.iter().map(|blocked| blocked.gives_up).min()
    }

    pub(super) fn owner(&self) -> Option<Nonce> {
        self.owner.map(|owner| owner.nonce)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.owner.is_none() && self.waiting.is_empty()
    }

    /// The session of `nonce` is over, and whatever it had or waited for with it.
    pub(super) fn end(&mut self, nonce: Nonce, effects: &mut Effects) {
        self.waiting.retain(|blocked| blocked.arrival.ask.nonce() != nonce);
        if self.is_owner(nonce) {
            self.owner = None;
            if let Some(next) = self.waiting.pop_front() {
                self.grant(&next.arrival, effects);
            }
        }
    }

    /// A statement of this session that still waits is answered before the next one is.
    fn cancel(&self, nonce: Nonce, effects: &mut Effects) {
        let busy = self.busy();
        for blocked in self.waiting.iter().filter(|b| b.arrival.ask.nonce() == nonce) {
            effects.answer(&blocked.arrival, busy);
        }
    }

    fn grant(&mut self, to: &Arrival, effects: &mut Effects) {
        let grant = Grant { nonce: to.ask.nonce(), token: next_token(&mut self.counter) };
        self.owner = Some(grant);
        effects.granted.push(grant);
        effects.answer(to, granted(grant));
    }

    fn is_owner(&self, nonce: Nonce) -> bool {
        self.owner.is_some_and(|owner| owner.nonce == nonce)
    }

    fn busy(&self) -> Reply {
        let holder = self.owner.map(|owner| owner.token).filter(|_| self.plan.tells_holder);
        Reply::Busy { retry_after: None, holder }
    }
}

fn granted(Grant { nonce, token }: Grant) -> Reply {
    Reply::Granted { nonce, token, promise: Promise::Session }
}
