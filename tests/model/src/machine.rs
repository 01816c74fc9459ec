use std::{fmt::Debug, hash::Hash};

use tenure_core::{
    Event, Failure, Held, Input, Instant, Lease, LeaseConfig, NodeReply, NodeRequest, Nonce, OpId,
    Output, Quorum, QuorumInput, QuorumOutput, Reply, RequestKind, Wait,
};

use crate::store::{Rule, Store};

/// What both machines have in common: the worlds drive either, exactly as it ships.
pub(crate) trait Machine: Clone + Debug + Hash {
    /// How many stores it talks to.
    const STORES: usize;
    type Ask: Copy + Debug + Hash + PartialEq;
    type Answer: Copy + Debug + Hash + PartialEq;

    fn build(config: LeaseConfig, instance: u32) -> Self;
    fn tell(&mut self, now: Instant, news: News<Self::Answer>);
    fn say(&mut self) -> Said<Self::Ask>;
    fn holds(&self, now: Instant) -> Option<Held>;
    fn relative(&self, now: Instant) -> Self;

    /// What a store makes of the request. `None`: no answer, or a refusal.
    fn serve(store: &mut Store, client: usize, ask: Self::Ask, rule: Rule) -> Option<Self::Answer>;

    /// The nonce that the answer gives the lease to.
    fn granted(answer: &Self::Answer) -> Option<Nonce>;
    /// The nonce that the request releases.
    fn released(ask: &Self::Ask) -> Option<Nonce>;
}

/// An input of either machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum News<A> {
    Acquire { entropy: [u8; 16], wait: Wait },
    Release,
    Answer { op: OpId, answer: A },
    Failed { op: OpId, failure: Failure },
    Tick,
}

/// An output of either machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Said<K> {
    Event { generation: u32, event: Event },
    Ask { store: usize, op: OpId, ask: K },
    Wait(Option<Instant>),
}

impl Machine for Lease {
    const STORES: usize = 1;
    type Ask = RequestKind;
    type Answer = Reply;

    fn build(config: LeaseConfig, instance: u32) -> Self {
        Self::new(config, instance)
    }

    fn tell(&mut self, now: Instant, news: News<Reply>) {
        let input = match news {
            News::Acquire { entropy, wait } => Input::Acquire { entropy, wait },
            News::Release => Input::Release,
            News::Answer { op, answer } => Input::Reply { op, reply: answer, as_of: None },
            News::Failed { op, failure } => Input::Failed { op, failure },
            News::Tick => Input::Tick,
        };
        self.handle(now, input);
    }

    fn say(&mut self) -> Said<RequestKind> {
        match self.poll() {
            Output::Event { generation, event } => Said::Event { generation, event },
            Output::Request { op, kind, .. } => Said::Ask { store: 0, op, ask: kind },
            Output::Wait(alarm) => Said::Wait(alarm),
        }
    }

    fn holds(&self, now: Instant) -> Option<Held> {
        self.held(now)
    }

    fn relative(&self, now: Instant) -> Self {
        self.canonical(now)
    }

    fn serve(store: &mut Store, client: usize, ask: RequestKind, _: Rule) -> Option<Reply> {
        store.serve(client, ask)
    }

    fn granted(answer: &Reply) -> Option<Nonce> {
        if let Reply::Granted { nonce, .. } = *answer { Some(nonce) } else { None }
    }

    fn released(ask: &RequestKind) -> Option<Nonce> {
        if let RequestKind::Release { nonce } = *ask { Some(nonce) } else { None }
    }
}

impl<const N: usize> Machine for Quorum<N> {
    const STORES: usize = N;
    type Ask = NodeRequest;
    type Answer = NodeReply;

    fn build(config: LeaseConfig, instance: u32) -> Self {
        Self::new(config, instance)
    }

    fn tell(&mut self, now: Instant, news: News<NodeReply>) {
        let input = match news {
            News::Acquire { entropy, wait } => QuorumInput::Acquire { entropy, wait },
            News::Release => QuorumInput::Release,
            News::Answer { op, answer } => QuorumInput::Reply { op, reply: answer },
            News::Failed { op, failure } => QuorumInput::Failed { op, failure },
            News::Tick => QuorumInput::Tick,
        };
        self.handle(now, input);
    }

    fn say(&mut self) -> Said<NodeRequest> {
        match self.poll() {
            QuorumOutput::Event { generation, event } => Said::Event { generation, event },
            QuorumOutput::Request { node, op, kind, .. } => {
                Said::Ask { store: node.into(), op, ask: kind }
            }
            QuorumOutput::Wait(alarm) => Said::Wait(alarm),
        }
    }

    fn holds(&self, now: Instant) -> Option<Held> {
        self.held(now)
    }

    fn relative(&self, now: Instant) -> Self {
        self.canonical(now)
    }

    fn serve(store: &mut Store, client: usize, ask: NodeRequest, rule: Rule) -> Option<NodeReply> {
        store.vote(client, ask, rule)
    }

    fn granted(answer: &NodeReply) -> Option<Nonce> {
        if let NodeReply::Locked { nonce, .. } = *answer { Some(nonce) } else { None }
    }

    fn released(ask: &NodeRequest) -> Option<Nonce> {
        if let NodeRequest::Release { nonce } = *ask { Some(nonce) } else { None }
    }
}
