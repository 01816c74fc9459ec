//! Modelled stores: what a lock service keeps, on its own clock, and nothing of how it is reached.

mod node;
mod queue;
mod session;
mod term;

use std::time::Duration;

use tenure_core::{NodeReply, Nonce, OpId, Reply, Token};

use crate::{
    clock::Micros,
    machine::{Answer, Ask},
};
pub(crate) use node::{Kept, NodeStore};
use queue::QueueStore;
use session::SessionStore;
use term::TermStore;

/// How a store reckons; drawn from the seed.
#[derive(Clone, Debug)]
pub(crate) struct StorePlan {
    /// Its clock's tick: a term may end this much early.
    pub(crate) tick: Micros,
    /// No term is granted below or above these.
    pub(crate) terms: (Micros, Micros),
    /// A repeated `Acquire` is answered with what is left of the term, not with the term.
    pub(crate) tells_rest: bool,
    /// `Busy` tells the holder's remaining term and token.
    pub(crate) tells_holder: bool,
    /// An empty queue grants at once.
    pub(crate) queue_grants: bool,
    /// A renewal sets the expiry to just what it asks for, even if more was left.
    pub(crate) renews_exactly: bool,
    /// The token before its first one.
    pub(crate) counts_from: u64,
    /// It breaks its contract: a renewal of what it has freed succeeds.
    pub(crate) lies: bool,
}

impl StorePlan {
    fn limit_terms(&mut self, most: Micros) {
        let (least, _) = self.terms;
        self.terms = (least.min(most), most);
    }

    /// The term that is granted where `asked` is asked for.
    fn grants(&self, asked: Duration) -> Micros {
        let (least, most) = self.terms;
        (asked.as_micros() as Micros).clamp(least, most)
    }

    /// The term and the expiry that a renewal at `now` leaves, where `expires` was set.
    fn renews(&self, now: Micros, asked: Duration, expires: Micros) -> (Micros, Micros) {
        if self.renews_exactly {
            let term = asked.as_micros() as Micros;
            return (term, now + term);
        }
        // What was promised before is kept.
        let term = self.grants(asked);
        (term, expires.max(now + term))
    }
}

/// One request as the store sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) client: usize,
    pub(crate) site: usize,
    pub(crate) op: OpId,
    pub(crate) ask: Ask,
    /// How long the answer may be held back.
    pub(crate) patience: Micros,
}

/// What one step of a store gave rise to.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) answers: Vec<(usize, OpId, Answer)>,
    /// It will not, now or (`true`) ever.
    pub(crate) refused: Option<bool>,
    pub(crate) hints: Vec<usize>,
    pub(crate) granted: Vec<Grant>,
    /// A node has a new owner.
    pub(crate) taken: Option<Nonce>,
    /// A node has raised its counter to the token, for this attempt.
    pub(crate) accepted: Option<(Nonce, Token)>,
    /// Freed by a `Release` that named it.
    pub(crate) released: Option<Nonce>,
    /// A grant's term ran out with the grant still there.
    pub(crate) lapsed: u32,
    /// A renewal succeeded that should not have.
    pub(crate) lied: bool,
}

impl Effects {
    /// Nothing, in the same memory.
    pub(crate) fn clear(&mut self) {
        let Self { mut answers, mut hints, mut granted, .. } = std::mem::take(self);
        answers.clear();
        hints.clear();
        granted.clear();
        *self = Self { answers, hints, granted, ..Self::default() };
    }

    fn answer(&mut self, to: &Arrival, reply: Reply) {
        self.answers.push((to.client, to.op, Answer::Store { reply, as_of: None }));
    }

    fn vote(&mut self, to: &Arrival, vote: Option<NodeReply>) {
        match vote {
            Some(reply) => self.answers.push((to.client, to.op, Answer::Node(reply))),
            None => self.refused = Some(false),
        }
    }
}

/// Who has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) nonce: Nonce,
    pub(crate) token: Token,
}

#[derive(Debug)]
pub(crate) enum Store {
    Term(TermStore),
    Queue(QueueStore),
    Session(SessionStore),
    Node(NodeStore),
}

impl Store {
    pub(crate) fn term(plan: StorePlan) -> Self {
        Self::Term(TermStore::new(plan))
    }

    pub(crate) fn queue(plan: StorePlan) -> Self {
        Self::Queue(QueueStore::new(plan))
    }

    pub(crate) fn session(plan: StorePlan) -> Self {
        Self::Session(SessionStore::new(plan))
    }

    pub(crate) fn node(plan: StorePlan) -> Self {
        Self::Node(NodeStore::new(plan))
    }

    pub(crate) fn execute(&mut self, now: Micros, arrival: &Arrival, effects: &mut Effects) {
        self.advance(now, effects);
        match (self, arrival.ask) {
            (Self::Term(store), Ask::Store(kind)) => store.execute(now, arrival, kind, effects),
            (Self::Queue(store), Ask::Store(kind)) => store.execute(now, arrival, kind, effects),
            (Self::Session(store), Ask::Store(kind)) => store.execute(now, arrival, kind, effects),
            (Self::Node(store), Ask::Node(request)) => {
                let vote = store.answer(now, request, effects);
                effects.vote(arrival, vote);
            }
            (store, ask) => unreachable!("{ask:?} is not asked of {store:?}"),
        }
    }

    /// Only time has passed: expiries, and the end of somebody's patience.
    pub(crate) fn advance(&mut self, now: Micros, effects: &mut Effects) {
        match self {
            Self::Term(store) => store.advance(now, effects),
            Self::Queue(store) => store.advance(now, effects),
            Self::Session(store) => store.advance(now, effects),
            Self::Node(store) => store.advance(now, effects),
        }
    }

    /// When `advance` next has something to do.
    pub(crate) fn next(&self) -> Option<Micros> {
        match self {
            Self::Term(store) => store.next(),
            Self::Queue(store) => store.next(),
            Self::Session(store) => store.next(),
            Self::Node(store) => store.next(),
        }
    }

    /// Who has the lock at `now`. The ground truth of S1 and S2.
    pub(crate) fn owner(&self, now: Micros) -> Option<Nonce> {
        match self {
            Self::Term(store) => store.owner(now),
            Self::Queue(store) => store.owner(now),
            Self::Session(store) => store.owner(),
            Self::Node(store) => store.owner(now),
        }
    }

    pub(crate) fn is_empty(&self, now: Micros) -> bool {
        match self {
            Self::Term(store) => store.owner(now).is_none(),
            Self::Queue(store) => store.is_empty(now),
            Self::Session(store) => store.is_empty(),
            Self::Node(store) => store.owner(now).is_none(),
        }
    }

    /// The session of `nonce` is over.
    pub(crate) fn end_session(&mut self, nonce: Nonce, effects: &mut Effects) {
        if let Self::Session(store) = self {
            store.end(nonce, effects);
        }
    }

    /// From now on no term is granted above `most`.
    pub(crate) fn limit_terms(&mut self, most: Micros) {
        match self {
            Self::Term(store) => store.limit_terms(most),
            Self::Queue(store) => store.limit_terms(most),
            Self::Node(store) => store.limit_terms(most),
            Self::Session(_) => {}
        }
    }

    /// Everything is forgotten, the token counter too.
    pub(crate) fn flush(&mut self) {
        match self {
            Self::Term(store) => store.flush(),
            Self::Queue(store) => store.flush(),
            Self::Node(store) => store.forget(false),
            Self::Session(_) => {}
        }
    }
}

/// The last multiple of `tick` at or before `now`: what a coarse clock shows.
fn ticked(now: Micros, tick: Micros) -> Micros {
    now - now % tick
}

/// There is no higher token, and none is used twice.
fn is_used_up(counter: u64) -> bool {
    counter >= Token::MAX.get()
}

fn next_token(counter: &mut u64) -> Token {
    *counter += 1;
    Token::new(*counter).unwrap_or(Token::MAX)
}
