use std::time::Duration;

use tenure_core::{NodeReply, NodeRequest, Nonce, Token};

use super::{Effects, StorePlan, ticked};
use crate::clock::Micros;

/// One node of a quorum: an owner with a term, and a counter that outlives every owner.
#[derive(Debug)]
pub(crate) struct NodeStore {
    plan: StorePlan,
    kept: Kept,
    /// It has lost its data and was not seeded again, so it refuses to vote.
    forgot: bool,
    /// Who had it when it lost its data. Only the checker knows.
    ghost: Option<Owner>,
}

/// What a node keeps, and may lose.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kept {
    owner: Option<Owner>,
    counter: Option<Token>,
}

#[derive(Clone, Copy, Debug)]
struct Owner {
    nonce: Nonce,
    term: Micros,
    expires: Micros,
}

impl NodeStore {
    pub(super) fn new(plan: StorePlan) -> Self {
        Self { plan, kept: Kept::default(), forgot: false, ghost: None }
    }

    /// `None`: a node without its sentinel does not vote.
    pub(crate) fn answer(
        &mut self,
        now: Micros,
        request: NodeRequest,
        effects: &mut Effects,
    ) -> Option<NodeReply> {
        if self.forgot {
            return None;
        }
        let now = ticked(now, self.plan.tick);
        Some(match request {
            NodeRequest::Lock { nonce, term, guess } => self.lock(now, nonce, term, guess, effects),
            NodeRequest::Raise { nonce, token } => self.raise(nonce, token, effects),
            NodeRequest::Renew { nonce, term } => self.renew(now, nonce, term),
            NodeRequest::Release { nonce } => self.release(nonce, effects),
            other => unreachable!("{other:?} is unknown here"),
        })
    }

    pub(super) fn advance(&mut self, now: Micros, effects: &mut Effects) {
        if self.kept.owner.is_some() && self.owner(now).is_none() {
            self.kept.owner = None;
            effects.lapsed += 1;
        }
    }

    pub(super) fn next(&self) -> Option<Micros> {
        self.kept.owner.map(|owner| owner.expires.next_multiple_of(self.plan.tick))
    }

    pub(crate) fn owner(&self, now: Micros) -> Option<Nonce> {
        let now = ticked(now, self.plan.tick);
        self.kept.owner.filter(|owner| now < owner.expires).map(|owner| owner.nonce)
    }

    /// Whom it would still keep the lock for if it had not lost its data.
    pub(crate) fn ghost(&self, now: Micros) -> Option<Nonce> {
        let now = ticked(now, self.plan.tick);
        self.ghost.filter(|owner| now < owner.expires).map(|owner| owner.nonce)
    }

    pub(super) fn limit_terms(&mut self, most: Micros) {
        self.plan.limit_terms(most);
    }

    /// What it keeps at this moment, as its replica has it.
    pub(crate) fn kept(&self) -> Kept {
        self.kept
    }

    /// A replica takes over that has only this.
    pub(crate) fn fall_back_to(&mut self, kept: Kept) {
        self.kept = kept;
    }

    /// Everything is gone. `knows`: a sentinel tells it so, and it refuses to vote.
    pub(crate) fn forget(&mut self, knows: bool) {
        self.ghost = self.kept.owner.or(self.ghost);
        self.kept = Kept::default();
        self.forgot = knows;
    }

    /// Whether it votes.
    pub(crate) fn votes(&self) -> bool {
        !self.forgot
    }

    pub(crate) fn counter(&self) -> Option<Token> {
        self.kept.counter
    }

    /// An operator lets it vote again, above every token that a majority knows.
    pub(crate) fn seed(&mut self, counter: Option<Token>) {
        self.kept.counter = counter;
        self.forgot = false;
    }

    fn lock(
        &mut self,
        now: Micros,
        nonce: Nonce,
        asked: Duration,
        guess: Token,
        effects: &mut Effects,
    ) -> NodeReply {
        let owner = match self.kept.owner {
            Some(owner) if owner.nonce != nonce => {
                let rest = Duration::from_micros(owner.expires - now);
                return NodeReply::Busy {
                    retry_after: self.plan.tells_holder.then_some(rest),
                    counter: self.kept.counter,
                };
            }
            Some(owner) => owner,
            None => {
                let term = self.plan.grants(asked);
                effects.taken = Some(nonce);
                Owner { nonce, term, expires: now + term }
            }
        };
        self.kept.owner = Some(owner);
        let rest = if self.plan.tells_rest { owner.expires - now } else { owner.term };
        let accepted = self.accept(nonce, guess, effects);
        let (term, counter) = (Duration::from_micros(rest), self.kept.counter);
        NodeReply::Locked { nonce, term, accepted, counter }
    }

    fn raise(&mut self, nonce: Nonce, token: Token, effects: &mut Effects) -> NodeReply {
        if self.kept.owner.is_none_or(|owner| owner.nonce != nonce) {
            return NodeReply::Gone;
        }
        if self.accept(nonce, token, effects) {
            return NodeReply::Raised;
        }
        NodeReply::Higher { counter: self.kept.counter.unwrap_or(token) }
    }

    /// Set if greater: a node accepts a token once.
    fn accept(&mut self, nonce: Nonce, token: Token, effects: &mut Effects) -> bool {
        let accepted = self.kept.counter < Some(token);
        if accepted {
            self.kept.counter = Some(token);
            effects.accepted = Some((nonce, token));
        }
        accepted
    }

    fn renew(&mut self, now: Micros, nonce: Nonce, asked: Duration) -> NodeReply {
        match &mut self.kept.owner {
            Some(owner) if owner.nonce == nonce => {
                (owner.term, owner.expires) = self.plan.renews(now, asked, owner.expires);
                NodeReply::Renewed { term: Duration::from_micros(owner.term) }
            }
            Some(_) | None => NodeReply::Gone,
        }
    }

    fn release(&mut self, nonce: Nonce, effects: &mut Effects) -> NodeReply {
        if self.kept.owner.is_none_or(|owner| owner.nonce != nonce) {
            return NodeReply::Gone;
        }
        self.kept.owner = None;
        effects.released = Some(nonce);
        NodeReply::Released
    }
}
