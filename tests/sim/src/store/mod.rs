//! Modelled stores: what a lock service keeps, on its own clock, and nothing of how it is reached.

mod queue;
mod session;
mod term;

use std::time::Duration;

use tenure_core::{Nonce, OpId, Reply, RequestKind, Token};

use crate::clock::Micros;
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
    pub(crate) op: OpId,
    pub(crate) kind: RequestKind,
    /// How long the answer may be held back.
    pub(crate) patience: Micros,
}

/// What one step of a store gave rise to.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) answers: Vec<(usize, OpId, Reply)>,
    pub(crate) hints: Vec<usize>,
    pub(crate) granted: Vec<Grant>,
    /// Freed by a `Release` that named it.
    pub(crate) released: Option<Nonce>,
    /// A grant's term ran out with the grant still there.
    pub(crate) lapsed: u32,
}

impl Effects {
    fn answer(&mut self, to: &Arrival, reply: Reply) {
        self.answers.push((to.client, to.op, reply));
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

    pub(crate) fn execute(&mut self, now: Micros, arrival: &Arrival, effects: &mut Effects) {
        self.advance(now, effects);
        match self {
            Self::Term(store) => store.execute(now, arrival, effects),
            Self::Queue(store) => store.execute(now, arrival, effects),
            Self::Session(store) => store.execute(now, arrival, effects),
        }
    }

    /// Only time has passed: expiries, and the end of somebody's patience.
    pub(crate) fn advance(&mut self, now: Micros, effects: &mut Effects) {
        match self {
            Self::Term(store) => store.advance(now, effects),
            Self::Queue(store) => store.advance(now, effects),
            Self::Session(store) => store.advance(now, effects),
        }
    }

    /// When `advance` next has something to do.
    pub(crate) fn next(&self) -> Option<Micros> {
        match self {
            Self::Term(store) => store.next(),
            Self::Queue(store) => store.next(),
            Self::Session(store) => store.next(),
        }
    }

    /// Who has the lock at `now`. The ground truth of S1 and S2.
    pub(crate) fn owner(&self, now: Micros) -> Option<Grant> {
        match self {
            Self::Term(store) => store.owner(now),
            Self::Queue(store) => store.owner(now),
            Self::Session(store) => store.owner(),
        }
    }

    pub(crate) fn is_empty(&self, now: Micros) -> bool {
        match self {
            Self::Term(store) => store.owner(now).is_none(),
            Self::Queue(store) => store.is_empty(now),
            Self::Session(store) => store.is_empty(),
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
            Self::Session(_) => {}
        }
    }

    /// Everything is forgotten, the token counter too.
    pub(crate) fn flush(&mut self) {
        match self {
            Self::Term(store) => store.flush(),
            Self::Queue(store) => store.flush(),
            Self::Session(_) => {}
        }
    }
}

/// The last multiple of `tick` at or before `now`: what a coarse clock shows.
fn ticked(now: Micros, tick: Micros) -> Micros {
    now - now % tick
}

fn next_token(counter: &mut u64) -> Token {
    *counter += 1;
    Token::new(*counter).unwrap_or(Token::MAX)
}
