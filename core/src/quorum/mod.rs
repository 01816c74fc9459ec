//! The quorum: many stores as one.

mod canonical;
mod node;
mod round;
mod vocabulary;

pub use vocabulary::{NodeReply, NodeRequest, QuorumInput, QuorumOutput};

use self::node::{Goal, Node, Round, Vote};
use crate::{
    DenyReason, Event, Failure, Held, Input, Instant, Lease, LeaseConfig, Nonce, OpId, Output,
    Reply, RequestKind, Token,
    lease::slot::{Flight, Slot},
    micros::Micros,
};

/// One holder's side of one lock that `N` independent stores keep together: held while a majority
/// keeps it (S25).
///
/// The cycle is [`Lease`]'s, with answers from single nodes. Each request of the lease inside is put
/// to all nodes at once and decided as soon as no open answer can change the outcome; a tie is a
/// failure, an error is no vote, and whatever is not kept is released on its node.
///
/// The deadline counts from the send of the first request of the round, on the least term granted
/// (D5, in its safe simplification), and is checked again after the last phase.
///
/// **Tokens** need no consensus, only a counter on each node that a majority keeps: a read of the
/// highest, then set-if-greater on a majority. Two majorities meet in a node that was read after it
/// was written, so tokens rise; a node accepts a token once, so they are unique. The first round
/// carries a guess, which saves the second if a majority accepts it. A node that lost its data breaks
/// this, however long it stays away: it must refuse to vote until it is seeded again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quorum<const N: usize> {
    lease: Lease,
    now: Instant,
    sequence: u32,
    /// The highest counter that any node has told.
    counter: Option<Token>,
    /// The nonce that is asked for, or held.
    live: Option<Nonce>,
    round: Option<Round>,
    releasing: Option<Releasing<N>>,
    nodes: [Node; N],
    /// The lease inside has closed; nodes may still be owed a release.
    closing: Option<u32>,
    in_use: bool,
}

/// A release of the lease inside, and the nodes that have acknowledged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Releasing<const N: usize> {
    parent: OpId,
    nonce: Nonce,
    acknowledged: [bool; N],
}

impl<const N: usize> Quorum<N> {
    /// More than half.
    pub const MAJORITY: usize = N / 2 + 1;

    const NODES: u32 = N as u32;

    /// Requests are counted modulo this and one: a power of two, so that nine times it fits.
    const SEQUENCES: u32 = (1 << 28) - 1;

    /// A closed machine; `instance` as in [`Lease::new`]. Nodes are polled, and promise a term,
    /// whatever the configuration says.
    ///
    /// `N` is from 1 to 9; anything else does not compile.
    #[must_use]
    pub const fn new(config: LeaseConfig, instance: u32) -> Self {
        const { assert!(N >= 1 && N <= 9, "a quorum has 1 to 9 nodes") }
        Self {
            lease: Lease::new(config.polled(), instance),
            now: Instant::ZERO,
            sequence: 0,
            counter: None,
            live: None,
            round: None,
            releasing: None,
            nodes: [Node::NEW; N],
            closing: None,
            in_use: false,
        }
    }

    /// As [`Lease::remember`].
    pub fn remember(&mut self, token: Token) {
        self.lease.remember(token);
    }

    /// As [`Lease::highest_token`].
    #[must_use]
    pub const fn highest_token(&self) -> Option<Token> {
        self.lease.highest_token()
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &LeaseConfig {
        self.lease.config()
    }

    /// As [`Lease::held`].
    #[must_use]
    pub fn held(&self, now: Instant) -> Option<Held> {
        self.lease.held(now)
    }

    /// Takes one input at the host's time `now`; as [`Lease::handle`].
    pub fn handle(&mut self, now: Instant, input: QuorumInput) {
        if now < self.now {
            self.clock_went_back(now);
        }
        self.now = now;
        match input {
            QuorumInput::Acquire { .. } if self.closing.is_some() => {
                self.lease.handle(now, Input::Tick);
                self.in_use = true;
            }
            QuorumInput::Acquire { entropy, wait } => {
                self.lease.handle(now, Input::Acquire { entropy, wait });
            }
            QuorumInput::Release => self.lease.handle(now, Input::Release),
            QuorumInput::Cancel => self.lease.handle(now, Input::Cancel),
            QuorumInput::Hint => self.lease.handle(now, Input::Hint),
            QuorumInput::Reply { .. } | QuorumInput::Failed { .. } | QuorumInput::Tick => {
                self.lease.handle(now, Input::Tick);
            }
        }
        self.advance();
        match input {
            QuorumInput::Reply { op, reply } => self.reply(op, reply),
            QuorumInput::Failed { op, failure } => self.failed(op, failure),
            QuorumInput::Acquire { .. }
            | QuorumInput::Release
            | QuorumInput::Cancel
            | QuorumInput::Hint
            | QuorumInput::Tick => {}
        }
        self.advance();
    }

    /// What the machine has to say next; as [`Lease::poll`].
    pub fn poll(&mut self) -> QuorumOutput {
        let lease_alarm = loop {
            match self.lease.poll() {
                Output::Event { generation, event: Event::Closed } => {
                    self.closing = Some(generation);
                }
                Output::Event { generation, event } => {
                    return QuorumOutput::Event { generation, event };
                }
                Output::Request { op, kind, respond_by } => self.start(op, kind, respond_by),
                Output::Wait(alarm) => break alarm.unwrap_or(Instant::NEVER),
            }
        };
        let settled = self.nodes.iter().all(Node::settled);
        if let Some(generation) = self.closing.take_if(|_| settled) {
            return QuorumOutput::Event { generation, event: Event::Closed };
        }
        if core::mem::take(&mut self.in_use) {
            let (generation, reason) = (self.lease.generation(), DenyReason::InUse);
            return QuorumOutput::Event { generation, event: Event::Denied { reason } };
        }
        if let Some(request) = self.next_request() {
            return request;
        }
        let alarm =
            self.nodes.iter().fold(lease_alarm, |alarm, node| alarm.min(node.alarm(self.now)));
        debug_assert!(alarm > self.now || self.now == Instant::NEVER, "Wait must be later");
        QuorumOutput::Wait((alarm != Instant::NEVER).then_some(alarm))
    }

    /// A request of the lease inside. Its `op` stays here; its children are sent in this same drain,
    /// hence at the instant that the lease counts from.
    fn start(&mut self, parent: OpId, kind: RequestKind, until: Instant) {
        match kind {
            RequestKind::Acquire { nonce, term, .. } => {
                self.enliven(nonce);
                let guess = self.above_every_counter();
                self.ask_all(Round { parent, nonce, term, until, goal: Goal::Lock { guess } });
            }
            RequestKind::Renew { nonce, term } => {
                self.ask_all(Round { parent, nonce, term, until, goal: Goal::Renew });
            }
            RequestKind::Release { nonce } => {
                let owing = self.give_back(nonce);
                self.releasing =
                    Some(Releasing { parent, nonce, acknowledged: owing.map(|owes| !owes) });
                self.release_acknowledged();
            }
            RequestKind::Enqueue { .. }
            | RequestKind::Claim { .. }
            | RequestKind::Disconnect { .. }
            | RequestKind::Watch { .. }
            | RequestKind::Unwatch { .. } => {
                self.lease
                    .handle(self.now, Input::Failed { op: parent, failure: Failure::NotSent });
            }
        }
    }

    fn ask_all(&mut self, round: Round) {
        for node in &mut self.nodes {
            node.stop_asking();
            node.vote = Vote::Open;
            node.ask = Slot::Due;
        }
        self.round = Some(round);
    }

    fn enliven(&mut self, nonce: Nonce) {
        if self.live != Some(nonce) {
            self.live = Some(nonce);
            self.nodes.iter_mut().for_each(Node::forget);
        }
    }

    /// Nobody wants `nonce` any more: it is released wherever it may be the owner. Returns where.
    fn give_back(&mut self, nonce: Nonce) -> [bool; N] {
        if self.round.is_some_and(|round| round.nonce == nonce) {
            self.end_round();
        }
        let live = self.live == Some(nonce);
        if live {
            self.live = None;
        }
        let mut owing = [true; N];
        for (node, owes) in self.nodes.iter_mut().zip(&mut owing) {
            if live {
                *owes = node.may_have;
                node.forget();
            }
            if *owes {
                node.owe(nonce);
            }
        }
        owing
    }

    fn end_round(&mut self) {
        self.round = None;
        self.nodes.iter_mut().for_each(Node::stop_asking);
    }

    fn next_request(&mut self) -> Option<QuorumOutput> {
        let (now, config) = (self.now, *self.lease.config());
        for index in 0..N {
            let node = self.nodes.get_mut(index)?;
            if !node.release.is_flying()
                && let Some(debt) = node.debts.pay(now, || config.lapse())
            {
                let respond_by = now.alarm_after(config.spans().attempt_timeout);
                let kind = NodeRequest::Release { nonce: debt.nonce };
                let (request, flight) = self.send(index, kind, respond_by);
                self.nodes.get_mut(index)?.release = flight.into();
                return Some(request);
            }
            let node = self.nodes.get(index)?;
            if node.ask == Slot::Due
                && let Some(round) = self.round
            {
                // Half of what is left, so that a second phase fits behind a node that is silent.
                let half = round.until.since(now).part(2).max(Micros(1));
                let respond_by = now.alarm_after(half);
                let (request, flight) = self.send(index, round.request(), respond_by);
                let node = self.nodes.get_mut(index)?;
                node.ask = flight.into();
                if let Goal::Lock { .. } = round.goal {
                    node.tries();
                }
                return Some(request);
            }
        }
        None
    }

    fn send(
        &mut self,
        index: usize,
        kind: NodeRequest,
        respond_by: Instant,
    ) -> (QuorumOutput, Flight) {
        let node = u8::try_from(index).unwrap_or(u8::MAX);
        // Each number leaves the same rest for the same node: an answer tells where it came from.
        self.sequence = self.sequence.wrapping_add(1) & Self::SEQUENCES;
        let sequence = self.sequence.wrapping_mul(Self::NODES).wrapping_add(u32::from(node));
        let (instance, generation) = (self.lease.instance(), self.lease.generation());
        let op = OpId { instance, generation, sequence };
        let flight = Flight { sequence, sent: self.now, respond_by };
        (QuorumOutput::Request { node, op, kind, respond_by }, flight)
    }

    fn reply(&mut self, op: OpId, reply: NodeReply) {
        if op.instance != self.lease.instance() {
            return;
        }
        if let NodeReply::Locked { counter, .. } | NodeReply::Busy { counter, .. } = reply {
            self.counter = self.counter.max(counter);
        }
        let index = Self::node_of(op);
        let Some(node) = self.nodes.get_mut(index) else { return };
        if node.ask.land(op).is_some() {
            self.voted(index, reply);
        } else if node.release.land(op).is_some() {
            self.release_answered(index, reply);
        } else if let NodeReply::Locked { nonce, .. } = reply
            && self.live != Some(nonce)
        {
            node.owe(nonce);
        }
    }

    fn failed(&mut self, op: OpId, failure: Failure) {
        if op.instance != self.lease.instance() {
            return;
        }
        let index = Self::node_of(op);
        let Some(node) = self.nodes.get_mut(index) else { return };
        if node.ask.land(op).is_some() {
            self.no_vote(index, failure);
        } else if node.release.land(op).is_some() {
            self.release_failed(index, failure);
        }
    }

    const fn node_of(op: OpId) -> usize {
        match op.sequence.checked_rem(Self::NODES) {
            Some(index) => index as usize,
            None => 0,
        }
    }

    fn release_answered(&mut self, index: usize, reply: NodeReply) {
        if !matches!(reply, NodeReply::Released | NodeReply::Gone) {
            return self.release_failed(index, Failure::Unknown);
        }
        let Some(node) = self.nodes.get_mut(index) else { return };
        let Some(debt) = node.debts.acknowledged() else { return };
        if let Some(releasing) = self.releasing.as_mut().filter(|all| all.nonce == debt.nonce)
            && let Some(acknowledged) = releasing.acknowledged.get_mut(index)
        {
            *acknowledged = true;
            self.release_acknowledged();
        }
    }

    /// A release that a majority has acknowledged is one.
    fn release_acknowledged(&mut self) {
        let acknowledged = |releasing: &mut Releasing<N>| {
            releasing.acknowledged.iter().filter(|&&done| done).count() >= Self::MAJORITY
        };
        if let Some(Releasing { parent: op, .. }) = self.releasing.take_if(acknowledged) {
            let reply = Reply::Released;
            self.lease.handle(self.now, Input::Reply { op, reply, as_of: None });
        }
    }

    fn release_failed(&mut self, index: usize, failure: Failure) {
        let (now, config) = (self.now, *self.lease.config());
        if let Some(node) = self.nodes.get_mut(index) {
            node.debts.failed(failure, false, now, |tries| config.retry_pause(tries));
        }
    }

    fn clock_went_back(&mut self, now: Instant) {
        self.end_round();
        self.releasing = None;
        for node in &mut self.nodes {
            node.release = Slot::Idle;
            node.debts.restart(now, self.lease.config().lapse());
        }
    }

    /// Whatever the time alone brings about. The lease inside has been told already.
    fn advance(&mut self) {
        let now = self.now;
        if self.round.is_some_and(|round| !self.lease.awaits(round.parent)) {
            // The lease inside has taken its silence for what it is, or has no use for it any more.
            self.end_round();
        }
        for index in 0..N {
            let Some(node) = self.nodes.get_mut(index) else { return };
            let lapsed = node.debts.lapse(now, false);
            if lapsed.first {
                node.release = Slot::Idle;
            }
            if node.release.overdue(now) {
                node.release = Slot::Idle;
                self.release_failed(index, Failure::Unknown);
            }
            let Some(node) = self.nodes.get_mut(index) else { return };
            if node.ask.overdue(now) {
                node.ask = Slot::Idle;
                self.no_vote(index, Failure::Unknown);
            }
        }
    }

    fn above_every_counter(&self) -> Token {
        let highest = self.counter.max(self.lease.highest_token());
        highest.map_or(Token::MIN, |highest| highest.next().unwrap_or(Token::MAX))
    }
}
