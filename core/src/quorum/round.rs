use core::time::Duration;

use super::*;

impl Round {
    pub(super) const fn is_lock(&self) -> bool {
        matches!(self.goal, Goal::Lock { .. })
    }

    pub(super) const fn request(&self) -> NodeRequest {
        let (nonce, term) = (self.nonce, self.term);
        match self.goal {
            Goal::Lock { guess } => NodeRequest::Lock { nonce, term, guess },
            Goal::Raise { token, .. } => NodeRequest::Raise { nonce, token },
            Goal::Renew => NodeRequest::Renew { nonce, term },
        }
    }
}

/// The votes of a round, counted.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    locked: usize,
    accepted: usize,
    raised: usize,
    renewed: usize,
    busy: usize,
    higher: usize,
    gone: usize,
    open: usize,
}

impl<const N: usize> Quorum<N> {
    pub(super) fn voted(&mut self, index: usize, reply: NodeReply) {
        let Some(round) = self.round else { return };
        let vote = match (round.goal, reply) {
            (Goal::Lock { .. }, NodeReply::Locked { nonce, term, accepted, .. })
                if nonce == round.nonce =>
            {
                Vote::Locked { term, accepted }
            }
            (Goal::Lock { .. }, NodeReply::Busy { retry_after, .. }) => Vote::Busy { retry_after },
            (Goal::Raise { .. }, NodeReply::Raised) => Vote::Raised,
            (Goal::Raise { .. }, NodeReply::Higher { counter }) => {
                self.counter = self.counter.max(Some(counter));
                Vote::Higher
            }
            (Goal::Renew, NodeReply::Renewed { term }) => Vote::Renewed { term },
            (Goal::Raise { .. } | Goal::Renew, NodeReply::Gone) => Vote::Gone,
            // Not an answer to what was asked.
            (
                _,
                NodeReply::Locked { .. }
                | NodeReply::Busy { .. }
                | NodeReply::Raised
                | NodeReply::Higher { .. }
                | NodeReply::Renewed { .. }
                | NodeReply::Gone
                | NodeReply::Released,
            ) => Vote::None(Failure::Unknown),
        };
        self.vote(index, vote);
    }

    pub(super) fn no_vote(&mut self, index: usize, failure: Failure) {
        self.vote(index, Vote::None(failure));
    }

    fn vote(&mut self, index: usize, vote: Vote) {
        let Some(node) = self.nodes.get_mut(index) else { return };
        node.vote = vote;
        match vote {
            Vote::None(Failure::Unknown) => node.doubts(),
            Vote::Busy { .. } | Vote::Gone => node.has_not(),
            Vote::None(_) if self.round.is_some_and(|round| round.is_lock()) => node.did_nothing(),
            Vote::None(_)
            | Vote::Open
            | Vote::Locked { .. }
            | Vote::Raised
            | Vote::Renewed { .. }
            | Vote::Higher => {}
        }
        let Some(round) = self.round else { return };
        let count = self.count();
        match round.goal {
            Goal::Lock { guess } => self.decide_lock(round, guess, count),
            Goal::Raise { token, least } => self.decide_raise(round, token, least, count),
            Goal::Renew => self.decide_renewal(round, count),
        }
    }

    fn count(&self) -> Count {
        let mut count = Count::default();
        for node in &self.nodes {
            let kind = match node.vote {
                Vote::Locked { accepted, .. } => {
                    if accepted {
                        add(&mut count.accepted);
                    }
                    &mut count.locked
                }
                Vote::Raised => &mut count.raised,
                Vote::Renewed { .. } => &mut count.renewed,
                Vote::Busy { .. } => &mut count.busy,
                Vote::Higher => &mut count.higher,
                Vote::Gone => &mut count.gone,
                Vote::Open if node.awaited() => &mut count.open,
                Vote::Open | Vote::None(_) => continue,
            };
            add(kind);
        }
        count
    }

    fn decide_lock(&mut self, round: Round, guess: Token, count: Count) {
        let least = self.least_granted();
        if count.accepted >= Self::MAJORITY {
            return self.granted(round, guess, least);
        }
        if count.locked.saturating_add(count.open) < Self::MAJORITY {
            return self.not_granted(round, count);
        }
        let accepted_at_most = count.accepted.saturating_add(count.open);
        if count.locked >= Self::MAJORITY && accepted_at_most < Self::MAJORITY {
            self.raise(round, least);
        }
    }

    /// Phase two, on the nodes that gave the lock.
    fn raise(&mut self, round: Round, least: Duration) {
        let token = self.above_every_counter();
        self.round = Some(Round { goal: Goal::Raise { token, least }, ..round });
        for node in &mut self.nodes {
            node.stop_asking();
            if let Vote::Locked { .. } | Vote::Raised | Vote::Higher = node.vote {
                node.ask = Slot::Due;
            }
            node.vote = Vote::Open;
        }
    }

    fn decide_raise(&mut self, round: Round, token: Token, least: Duration, count: Count) {
        if count.raised >= Self::MAJORITY {
            return self.granted(round, token, least);
        }
        if count.raised.saturating_add(count.open) >= Self::MAJORITY {
            return;
        }
        if count.raised.saturating_add(count.higher) >= Self::MAJORITY {
            return self.raise(round, least);
        }
        self.undecided(round, Failure::Unknown);
    }

    fn decide_renewal(&mut self, round: Round, count: Count) {
        if count.renewed >= Self::MAJORITY {
            let term = self.least_granted();
            self.end_round();
            return self.answer(round, Reply::Renewed { term });
        }
        if count.gone > N.saturating_sub(Self::MAJORITY) {
            self.give_back(round.nonce);
            return self.answer(round, Reply::Gone);
        }
        let may_be_gone = count.gone > 0
            && count.gone.saturating_add(count.open) > N.saturating_sub(Self::MAJORITY);
        if count.renewed.saturating_add(count.open) < Self::MAJORITY && !may_be_gone {
            let failure = self.worst_failure();
            self.undecided(round, failure);
        }
    }

    fn granted(&mut self, round: Round, token: Token, term: Duration) {
        self.end_round();
        self.counter = self.counter.max(Some(token));
        let promise = crate::Promise::Term(term);
        self.answer(round, Reply::Granted { nonce: round.nonce, token, promise });
    }

    /// A majority is out of reach. Somebody else's locks make that `Busy`, and ours are given back;
    /// otherwise it depends on what the nodes failed with.
    fn not_granted(&mut self, round: Round, count: Count) {
        let failure = self.worst_failure();
        if count.busy == 0 && failure == Failure::Unknown {
            return self.undecided(round, failure);
        }
        let retry_after = self.nodes.iter().filter_map(Node::busy_for).min();
        self.give_back(round.nonce);
        self.lease.attempt_given_back();
        if count.busy > 0 {
            self.answer(round, Reply::Busy { retry_after, holder: None });
        } else {
            self.undecided(round, failure);
        }
    }

    fn undecided(&mut self, round: Round, failure: Failure) {
        self.end_round();
        self.lease.handle(self.now, Input::Failed { op: round.parent, failure });
    }

    fn answer(&mut self, round: Round, reply: Reply) {
        self.lease.handle(self.now, Input::Reply { op: round.parent, reply, as_of: None });
    }

    fn least_granted(&self) -> Duration {
        let granted = self.nodes.iter().filter_map(|node| match node.vote {
            Vote::Locked { term, .. } | Vote::Renewed { term } => Some(term),
            Vote::Open
            | Vote::Raised
            | Vote::Busy { .. }
            | Vote::Higher
            | Vote::Gone
            | Vote::None(_) => None,
        });
        granted.min().unwrap_or_default()
    }

    /// What the lease inside must be told: the least certain of the nodes' failures.
    fn worst_failure(&self) -> Failure {
        let failures = self.nodes.iter().filter_map(|node| match node.vote {
            Vote::None(failure) => Some(failure),
            Vote::Open if node.ask.is_flying() => Some(Failure::Unknown),
            Vote::Open
            | Vote::Locked { .. }
            | Vote::Raised
            | Vote::Renewed { .. }
            | Vote::Busy { .. }
            | Vote::Higher
            | Vote::Gone => None,
        });
        let certainty = |failure: &Failure| match failure {
            Failure::Unknown => 0,
            Failure::Refused { permanent: false, .. } => 1,
            Failure::NotSent => 2,
            Failure::Refused { permanent: true, .. } => 3,
        };
        failures.min_by_key(certainty).unwrap_or(Failure::Unknown)
    }
}

impl Node {
    fn busy_for(&self) -> Option<Duration> {
        match self.vote {
            Vote::Busy { retry_after } => retry_after,
            Vote::Open
            | Vote::Locked { .. }
            | Vote::Raised
            | Vote::Renewed { .. }
            | Vote::Higher
            | Vote::Gone
            | Vote::None(_) => None,
        }
    }
}

const fn add(count: &mut usize) {
    *count = count.saturating_add(1);
}
