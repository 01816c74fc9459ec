//! How a quorum takes its nodes' answers.

use super::*;
use tenure_core::{NodeReply, NodeRequest};

/// The most nodes that a world has.
const MOST: usize = 5;

/// What each node has acknowledged of the present attempt.
#[derive(Debug)]
pub(super) struct Votes {
    majority: usize,
    nodes: usize,
    nonce: Option<Nonce>,
    /// Until when each node's acknowledgements justify relying on it.
    until: [Micros; MOST],
    /// The token that each node accepted last.
    accepted: [Option<Token>; MOST],
    /// When the last renewal was put to the nodes, and what they said.
    renewal: Micros,
    renewed: [Option<Duration>; MOST],
    gone: [bool; MOST],
    /// How many of them have failed, or stayed silent.
    failed: usize,
    /// When the last lock was asked for, and how many nodes did not give it.
    locking: Micros,
    refused: usize,
}

impl Votes {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            majority: kind.majority(),
            nodes: kind.sites(),
            nonce: None,
            until: [0; MOST],
            accepted: [None; MOST],
            renewal: 0,
            renewed: [None; MOST],
            gone: [false; MOST],
            failed: 0,
            locking: 0,
            refused: 0,
        }
    }

    pub(super) fn begin_lock(&mut self, now: Micros) {
        if self.locking != now {
            self.locking = now;
            self.refused = 0;
        }
    }

    pub(super) fn begin(&mut self, nonce: Nonce) {
        self.nonce = Some(nonce);
        self.until = [0; MOST];
        self.accepted = [None; MOST];
        self.renewal = 0;
    }

    /// Returns whether it is another renewal than the last, rather than the same to another node.
    pub(super) fn begin_renewal(&mut self, nonce: Nonce, now: Micros) -> bool {
        let another = self.nonce != Some(nonce) || self.renewal != now || self.nodes == 1;
        if another {
            self.renewal = now;
            self.renewed = [None; MOST];
            self.gone = [false; MOST];
            self.failed = 0;
        }
        another
    }

    /// `sent` brought no answer, or no vote. Returns whether so many had not voted before that it
    /// could change nothing any more.
    pub(super) fn fail(&mut self, sent: &Sent) -> bool {
        self.failed += usize::from(sent.ask.renews() && sent.at == self.renewal);
        if !sent.ask.takes() {
            return false;
        }
        if sent.at != self.locking {
            return true;
        }
        self.refused += 1;
        self.nodes + 1 - self.refused < self.majority
    }

    /// The store at `site` may take it as the new term, though a longer one was granted before (D4).
    pub(super) fn shorten(&mut self, site: usize, to: Micros) -> Micros {
        self.until[site] = self.until[site].min(to);
        self.justify()
    }

    fn renewed_by(&self) -> usize {
        self.renewed.iter().flatten().count()
    }

    /// D5: until when a majority's acknowledgements justify relying on them.
    fn justify(&self) -> Micros {
        let mut until = self.until;
        until.sort_unstable_by(|a, b| b.cmp(a));
        until[self.majority - 1]
    }
}

impl Ledger {
    /// Returns whether the reply may have shortened the deadline.
    pub(super) fn voted(
        &mut self,
        before: &Before,
        op: OpId,
        reply: NodeReply,
        held: Option<Held>,
        coverage: &mut Coverage,
    ) -> Result<bool, Violation> {
        let Some(sent) = before.answers else {
            self.late_vote(before, op, reply, held, coverage)?;
            return Ok(false);
        };
        let Ask::Node(request) = sent.ask else { return Ok(false) };
        let (site, nonce) = (sent.site, sent.ask.nonce());
        match (request, reply) {
            (NodeRequest::Lock { guess, .. }, NodeReply::Locked { term, accepted, .. }) => {
                self.weigh(term, coverage);
                self.acknowledged(site, nonce, sent.at, term);
                self.dues[site].took(sent.op);
                if accepted && self.votes.nonce == Some(nonce) {
                    self.votes.accepted[site] = Some(guess);
                }
                self.majority_grants(before, nonce, held, coverage)?;
            }
            (NodeRequest::Raise { token, .. }, NodeReply::Raised) => {
                if self.votes.nonce == Some(nonce) {
                    self.votes.accepted[site] = Some(token);
                }
                self.majority_grants(before, nonce, held, coverage)?;
            }
            (NodeRequest::Renew { .. }, NodeReply::Renewed { term }) => {
                self.acknowledged(site, nonce, sent.at, term);
                return self.node_renewed(before, &sent, term, held, coverage);
            }
            (NodeRequest::Renew { .. }, NodeReply::Gone) => {
                self.dues[site].confirm(nonce);
                let gone = self.votes.gone.iter().filter(|&&gone| gone).count();
                // Unless so many have failed before that nothing could be decided any more.
                let undecided = self.votes.nodes - gone - self.votes.failed >= self.votes.majority;
                let fatal = self.votes.nodes - gone <= self.votes.majority;
                self.votes.gone[site] |= sent.at == self.votes.renewal;
                if self.nonce() == Some(nonce) && fatal {
                    let lost = held.is_none() || !undecided;
                    return require(lost, "S5", || {
                        format!("held after {} nodes said `Gone`", gone + 1)
                    })
                    .map(|()| false);
                }
                same(before, held, "S25", "one node's `Gone`")?;
            }
            (NodeRequest::Release { .. }, NodeReply::Released | NodeReply::Gone) => {
                self.dues[site].acknowledge(nonce);
                same(before, held, "S6", "the end of a release")?;
            }
            (NodeRequest::Lock { .. }, NodeReply::Busy { .. }) => {
                coverage.note(Seen::Contended);
                let late = self.votes.fail(&sent);
                self.dues[site].settle(sent.op, late);
                self.dues[site].lapsed(nonce);
                same(before, held, "S25", "a node's `Busy`")?;
            }
            (NodeRequest::Raise { .. }, NodeReply::Gone) => {
                self.dues[site].confirm(nonce);
                same(before, held, "S25", "one node's `Gone`")?;
            }
            (NodeRequest::Raise { .. }, NodeReply::Higher { .. }) => {
                coverage.note(Seen::TokenOvertaken);
                same(before, held, "S25", "a counter that is higher")?;
            }
            _ => {
                self.votes.fail(&sent);
                same(before, held, "S11", "an answer to something else")?;
            }
        }
        Ok(false)
    }

    fn acknowledged(&mut self, site: usize, nonce: Nonce, sent: Micros, term: Duration) {
        if self.votes.nonce == Some(nonce) {
            let until = sent + self.deductions.usable(term);
            self.votes.until[site] = self.votes.until[site].max(until);
            self.raise(nonce, self.votes.justify());
        }
    }

    fn majority_grants(
        &mut self,
        before: &Before,
        nonce: Nonce,
        held: Option<Held>,
        coverage: &mut Coverage,
    ) -> Result<(), Violation> {
        let (None, Some(held)) = (before.held, held) else {
            return same(before, held, "S4", "a vote for what is held");
        };
        let accepted =
            self.votes.accepted.iter().filter(|token| **token == Some(held.token)).count();
        require(accepted >= self.votes.majority, "S25", || {
            format!("held, but only {accepted} nodes have accepted token {}", held.token)
        })?;
        self.last_term = None;
        self.granted(nonce, held.token, before.highest, coverage);
        Ok(())
    }

    fn node_renewed(
        &mut self,
        before: &Before,
        sent: &Sent,
        term: Duration,
        held: Option<Held>,
        coverage: &mut Coverage,
    ) -> Result<bool, Violation> {
        self.last_renewed = self.last_renewed.max(sent.op.sequence);
        if sent.at != self.votes.renewal || self.votes.nonce != Some(sent.ask.nonce()) {
            return same(before, held, "S6", "a renewal that is over").map(|()| false);
        }
        self.votes.renewed[sent.site] = Some(term);
        let renewed = self.votes.renewed_by();
        if renewed != self.votes.majority {
            if renewed < self.votes.majority {
                coverage.note(Seen::RenewedByMinority);
            }
            return same(before, held, "S25", "one node's renewal").map(|()| false);
        }
        coverage.note(Seen::Renewed);
        if std::mem::take(&mut self.renewals_failed) > 0 {
            coverage.note(Seen::RenewalRetried);
        }
        let least = self.votes.renewed.iter().flatten().min().copied().unwrap_or_default();
        let shorter = self.last_term.is_none_or(|last| least < last);
        self.last_term = Some(least);
        let deserved = sent.at + self.deductions.usable(least);
        self.probes = (least >= self.term && self.could_extend(before)).then_some(0);
        let counts = self.could_extend(before) && deserved > self.now;
        require(!counts || until(held) >= Some(deserved), "L2", || {
            format!("a renewal by a majority, good for {deserved}, left {held:?}")
        })?;
        Ok(shorter)
    }

    /// An answer to a request that is over.
    fn late_vote(
        &mut self,
        before: &Before,
        op: OpId,
        reply: NodeReply,
        held: Option<Held>,
        coverage: &mut Coverage,
    ) -> Result<(), Violation> {
        match reply {
            NodeReply::Locked { nonce, term, .. } => {
                self.left_over(op, nonce, Some(term), coverage);
                coverage.note(if self.nonce() == Some(nonce) {
                    Seen::DuplicateGrant
                } else {
                    Seen::LateGrant
                });
                same(before, held, "S7", "a late grant")
            }
            NodeReply::Renewed { .. } if op.instance == self.instance => {
                self.late_renewal(op, coverage);
                same(before, held, "S6", "a late renewal")
            }
            _ => same(before, held, "S6", "an answer to a request that is over"),
        }
    }
}
