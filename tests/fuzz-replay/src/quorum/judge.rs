use tenure_core::{
    Basis, Event, Held, Instant, NodeReply, NodeRequest, Nonce, OpId, Quorum, QuorumInput,
    QuorumOutput, Token,
};

use crate::{
    order::Order,
    source::{Deductions, at_the_end_of_time},
};

/// The books kept on one quorum.
pub(super) struct Judge<const N: usize> {
    deductions: Deductions,
    now: Instant,
    alarm: Option<Instant>,
    order: Order,
    sequence: u32,
    sent: Vec<Sent>,
    /// The nonce that was last asked for.
    live: Option<Nonce>,
    nodes: [Node; N],
    counter: u64,
}

/// What one node has said of the live nonce.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Up to when, in nanoseconds, its answers justify to hold.
    justified: u128,
    /// The highest token that it has accepted.
    token: Option<Token>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    node: usize,
    op: OpId,
    kind: NodeRequest,
    at: Instant,
}

impl<const N: usize> Judge<N> {
    pub(super) fn new(deductions: Deductions) -> Self {
        Self {
            deductions,
            now: Instant::ZERO,
            alarm: None,
            order: Order::default(),
            sequence: 0,
            sent: Vec::new(),
            live: None,
            nodes: [Node::default(); N],
            counter: 0,
        }
    }

    pub(super) const fn alarm(&self) -> Option<Instant> {
        self.alarm
    }

    pub(super) const fn order(&self) -> &Order {
        &self.order
    }

    /// The highest counter that any node has told.
    pub(super) const fn highest_counter(&self) -> u64 {
        self.counter
    }

    /// Hands the input on, and judges what it did to what is claimed.
    pub(super) fn handle(&mut self, quorum: &mut Quorum<N>, now: Instant, input: QuorumInput) {
        let went_back = now < self.now;
        let before = quorum.held(now);
        let highest = quorum.highest_token();
        if let QuorumInput::Reply { op, reply } = input {
            self.note(op, reply);
        }
        quorum.handle(now, input);
        self.now = now;
        let after = quorum.held(now);
        assert!(quorum.highest_token() >= highest, "S13: the highest token went back");
        assert!(!went_back || after.is_none(), "S23: held though the clock went back");
        match input {
            QuorumInput::Release | QuorumInput::Cancel => {
                assert!(after.is_none(), "S5: held though it was given back");
                self.order.give_back();
            }
            QuorumInput::Reply { .. } => {}
            QuorumInput::Acquire { .. }
            | QuorumInput::Failed { .. }
            | QuorumInput::Hint
            | QuorumInput::Tick => {
                assert_eq!(before, after, "S11, S27: {input:?} changed what is held");
            }
        }
        self.claims(after);
    }

    /// What the machine said, right after it said it.
    pub(super) fn said(&mut self, quorum: &Quorum<N>, output: &QuorumOutput) {
        let held = quorum.held(self.now);
        match *output {
            QuorumOutput::Event { generation, event } => {
                self.order.hear(generation, event, self.now, held);
                if let Event::Acquired { token, .. } = event {
                    let accepted = |node: &&Node| node.token == Some(token);
                    let count = self.nodes.iter().filter(accepted).count();
                    assert!(count >= Quorum::<N>::MAJORITY, "S25: {count} accepted {token}");
                }
            }
            QuorumOutput::Request { node, op, kind, respond_by } => {
                self.asked(usize::from(node), op, kind, respond_by, held);
            }
            QuorumOutput::Wait(alarm) => {
                assert!(alarm.is_none_or(|alarm| alarm > self.now), "waits into the past");
                self.alarm = alarm;
                self.order.settled(held);
            }
        }
        self.claims(held);
    }

    fn claims(&self, held: Option<Held>) {
        self.order.claims(held);
        let Some(held) = held else { return };
        let Basis::Term { until } = held.basis else { panic!("no term: {held:?}") };
        assert!(until > self.now, "S21: held after its deadline");
        let mut justified = self.nodes.map(|node| node.justified);
        justified.sort_unstable_by(|one, other| other.cmp(one));
        let by_majority = justified[Quorum::<N>::MAJORITY - 1];
        let until = u128::from(until.as_micros()) * 1_000;
        assert!(until <= by_majority, "D5: {held:?} where a majority justifies {by_majority} ns");
        let stopped = self.order.stopping().filter(|_| self.order.holds());
        let moved = stopped.is_some_and(|said| u128::from(said.as_micros()) * 1_000 != until);
        assert!(!moved, "S4: moved after Stopping");
    }

    fn note(&mut self, op: OpId, reply: NodeReply) {
        if let NodeReply::Locked { counter: Some(counter), .. }
        | NodeReply::Busy { counter: Some(counter), .. }
        | NodeReply::Higher { counter } = reply
        {
            self.counter = self.counter.max(counter.get());
        }
        let Some(&sent) = self.sent.iter().find(|sent| sent.op == op) else { return };
        let asked = nonce_of(sent.kind);
        if self.live != Some(asked) {
            return;
        }
        let up_to = |term| u128::from(sent.at.as_micros()) * 1_000 + self.deductions.usable(term);
        let said = match (sent.kind, reply) {
            (NodeRequest::Lock { guess, .. }, NodeReply::Locked { nonce, term, accepted, .. })
                if nonce == asked =>
            {
                Node { justified: up_to(term), token: accepted.then_some(guess) }
            }
            (NodeRequest::Raise { token, .. }, NodeReply::Raised) => {
                Node { justified: 0, token: Some(token) }
            }
            (NodeRequest::Renew { .. }, NodeReply::Renewed { term }) => {
                Node { justified: up_to(term), token: None }
            }
            _ => return,
        };
        let node = &mut self.nodes[sent.node];
        node.justified = node.justified.max(said.justified);
        node.token = node.token.max(said.token);
    }

    fn asked(
        &mut self,
        node: usize,
        op: OpId,
        kind: NodeRequest,
        respond_by: Instant,
        held: Option<Held>,
    ) {
        assert!(node < N, "no such node: {node}");
        assert!(op.sequence > self.sequence, "{op} after {}", self.sequence);
        self.sequence = op.sequence;
        let (now, nonce) = (self.now, nonce_of(kind));
        assert!(
            respond_by > now || at_the_end_of_time(now),
            "{kind:?} by {respond_by:?}, at {now:?}"
        );
        if let NodeRequest::Release { .. } = kind {
            assert!(held.is_none() || self.live != Some(nonce), "S29: {kind:?} while that is held");
        } else {
            assert!(self.order.is_closed() || !self.order.is_over(), "S5: {kind:?} after the end");
            if self.live != Some(nonce) {
                self.live = Some(nonce);
                self.nodes = [Node::default(); N];
            }
        }
        self.sent.push(Sent { node, op, kind, at: now });
    }
}

pub(super) fn nonce_of(kind: NodeRequest) -> Nonce {
    match kind {
        NodeRequest::Lock { nonce, .. }
        | NodeRequest::Raise { nonce, .. }
        | NodeRequest::Renew { nonce, .. }
        | NodeRequest::Release { nonce } => nonce,
        other => panic!("unheard of: {other:?}"),
    }
}
