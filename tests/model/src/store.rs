use std::time::Duration;

use tenure_core::{NodeReply, NodeRequest, Nonce, Promise, Reply, RequestKind, Token};

use crate::config::TICK;

/// A store that keeps one lock: alone, or as one node of several. Expiry is what is left of a term
/// on the store's own clock, so nothing in it depends on when it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Store {
    pub(crate) record: Option<Record>,
    /// The highest token, which outlives every record. 0: none.
    counter: u64,
    pub(crate) memory: Memory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    pub(crate) nonce: Nonce,
    /// Whose it is: what no store knows, but the checks do.
    pub(crate) client: usize,
    /// Of a store alone.
    pub(crate) token: Option<Token>,
    /// In microseconds.
    left: u64,
}

/// What the store remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Memory {
    #[default]
    Whole,
    /// It lost its data, and its sentinel says so: it refuses to vote.
    LostAndKnown,
    /// It lost its data, and stays away until every lease that it may have granted is over.
    Away,
    /// It lost its data once, and answers.
    Lost,
}

/// How a node decides, right or wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// It accepts a token that equals its counter, in the second phase.
    pub(crate) accepts_equal: bool,
    /// It raises the counter only for the owner.
    pub(crate) asks_for_owner: bool,
}

impl Rule {
    pub(crate) const RIGHT: Self = Self { accepts_equal: false, asks_for_owner: true };
}

impl Store {
    /// A node whose counter was left at that by earlier holders.
    pub(crate) fn counting(counter: u64) -> Self {
        Self { counter, ..Self::default() }
    }

    pub(crate) const fn counter(&self) -> u64 {
        self.counter
    }

    pub(crate) fn tick(&mut self) {
        if let Some(record) = &mut self.record {
            record.left = record.left.saturating_sub(TICK);
        }
        if self.record.is_some_and(|record| record.left == 0) {
            self.record = None;
        }
    }

    pub(crate) fn forget(&mut self, memory: Memory) {
        *self = Self { memory, ..Self::default() };
    }

    /// As a store alone. `None`: there is no answer to this request.
    pub(crate) fn serve(&mut self, client: usize, kind: RequestKind) -> Option<Reply> {
        Some(match kind {
            RequestKind::Acquire { nonce, term, .. } => self.acquire(client, nonce, term),
            RequestKind::Renew { nonce, term } => {
                if self.renew(nonce, term) {
                    Reply::Renewed { term }
                } else {
                    Reply::Gone
                }
            }
            RequestKind::Release { nonce } => {
                if self.release(nonce) {
                    Reply::Released
                } else {
                    Reply::Gone
                }
            }
            RequestKind::Enqueue { .. }
            | RequestKind::Claim { .. }
            | RequestKind::Disconnect { .. }
            | RequestKind::Watch { .. }
            | RequestKind::Unwatch { .. }
            | _ => return None,
        })
    }

    /// As one node of several. `None`: it refuses.
    pub(crate) fn vote(
        &mut self,
        client: usize,
        request: NodeRequest,
        rule: Rule,
    ) -> Option<NodeReply> {
        if matches!(self.memory, Memory::LostAndKnown | Memory::Away) {
            return None;
        }
        Some(match request {
            NodeRequest::Lock { nonce, term, guess } => self.lock(client, nonce, term, guess),
            NodeRequest::Raise { nonce, token } => self.raise(nonce, token, rule),
            NodeRequest::Renew { nonce, term } => {
                if self.renew(nonce, term) {
                    NodeReply::Renewed { term }
                } else {
                    NodeReply::Gone
                }
            }
            NodeRequest::Release { nonce } => {
                if self.release(nonce) {
                    NodeReply::Released
                } else {
                    NodeReply::Gone
                }
            }
            _ => return None,
        })
    }

    pub(crate) fn owner(&self) -> Option<Nonce> {
        self.record.map(|record| record.nonce)
    }

    fn acquire(&mut self, client: usize, nonce: Nonce, term: Duration) -> Reply {
        let granted = |token| Reply::Granted { nonce, token, promise: Promise::Term(term) };
        match self.record {
            Some(Record { nonce: owner, token: Some(token), .. }) if owner == nonce => {
                granted(token)
            }
            Some(_) => Reply::Busy { retry_after: None, holder: None },
            None => {
                self.counter += 1;
                let token = Token::new(self.counter);
                self.record = Some(Record { nonce, client, token, left: micros(term) });
                granted(token.unwrap_or(Token::MAX))
            }
        }
    }

    fn lock(&mut self, client: usize, nonce: Nonce, term: Duration, guess: Token) -> NodeReply {
        if self.owner().is_some_and(|owner| owner != nonce) {
            return NodeReply::Busy { retry_after: None, counter: Token::new(self.counter) };
        }
        let record = Record { nonce, client, token: None, left: micros(term) };
        self.record.get_or_insert(record);
        let accepted = guess.get() > self.counter;
        if accepted {
            self.counter = guess.get();
        }
        NodeReply::Locked { nonce, term, accepted, counter: Token::new(self.counter) }
    }

    fn raise(&mut self, nonce: Nonce, token: Token, rule: Rule) -> NodeReply {
        if rule.asks_for_owner && self.owner() != Some(nonce) {
            return NodeReply::Gone;
        }
        let accepted =
            token.get() > self.counter || (rule.accepts_equal && token.get() == self.counter);
        if !accepted {
            return NodeReply::Higher { counter: Token::new(self.counter).unwrap_or(Token::MIN) };
        }
        self.counter = token.get();
        NodeReply::Raised
    }

    fn renew(&mut self, nonce: Nonce, term: Duration) -> bool {
        match &mut self.record {
            Some(record) if record.nonce == nonce => {
                record.left = micros(term);
                true
            }
            Some(_) | None => false,
        }
    }

    fn release(&mut self, nonce: Nonce) -> bool {
        self.record.take_if(|record| record.nonce == nonce).is_some()
    }
}

fn micros(term: Duration) -> u64 {
    term.as_micros().try_into().unwrap_or(u64::MAX)
}
