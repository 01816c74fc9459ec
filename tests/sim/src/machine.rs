//! One vocabulary for every machine, so that one world, one driver and one application serve them all.

use std::fmt;

use tenure_core::{
    Event, Failure, Held, Input, Instant, Lease, LeaseConfig, NodeReply, NodeRequest, Nonce, OpId,
    Output, Quorum, QuorumInput, QuorumOutput, Reply, RequestKind, Token, Wait,
};

use crate::scenario::Kind;

/// A machine that a client runs.
pub(crate) trait Machine: fmt::Debug {
    fn handle(&mut self, now: Instant, told: Told);
    fn poll(&mut self) -> Said;
    fn held(&self, now: Instant) -> Option<Held>;
    fn highest_token(&self) -> Option<Token>;
    fn remember(&mut self, token: Token);
}

/// The machine for worlds of this kind.
pub(crate) fn machine(kind: Kind, config: LeaseConfig, instance: u32) -> Box<dyn Machine> {
    match kind {
        Kind::Quorum3 => Box::new(Quorum::<3>::new(config, instance)),
        Kind::Quorum4 => Box::new(Quorum::<4>::new(config, instance)),
        Kind::Quorum5 => Box::new(Quorum::<5>::new(config, instance)),
        Kind::Polled | Kind::Hinted | Kind::Queue | Kind::Session | Kind::Blocking => {
            Box::new(Lease::new(config, instance))
        }
    }
}

/// What a machine is told: the inputs of all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Acquire { entropy: [u8; 16], wait: Wait },
    Release,
    Cancel,
    Answered { op: OpId, answer: Answer },
    Failed { op: OpId, failure: Failure },
    Hint,
    SessionLost { nonce: Nonce },
    Tick,
}

/// What a machine says: the outputs of all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Event { generation: u32, event: Event },
    Request { site: usize, op: OpId, ask: Ask, respond_by: Instant },
    Wait(Option<Instant>),
}

/// What is asked of a store, or of one node of a quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Store(RequestKind),
    Node(NodeRequest),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Store { reply: Reply, as_of: Option<Instant> },
    Node(NodeReply),
}

impl Ask {
    pub(crate) fn nonce(&self) -> Nonce {
        match *self {
            Self::Store(kind) => kind.nonce(),
            Self::Node(
                NodeRequest::Lock { nonce, .. }
                | NodeRequest::Raise { nonce, .. }
                | NodeRequest::Renew { nonce, .. }
                | NodeRequest::Release { nonce },
            ) => nonce,
            Self::Node(other) => unreachable!("{other:?} is unknown here"),
        }
    }

    /// It may make its nonce the owner, or give it a place.
    pub(crate) fn takes(&self) -> bool {
        matches!(
            self,
            Self::Store(RequestKind::Acquire { .. } | RequestKind::Enqueue { .. })
                | Self::Node(NodeRequest::Lock { .. })
        )
    }

    pub(crate) fn renews(&self) -> bool {
        matches!(
            self,
            Self::Store(RequestKind::Renew { .. }) | Self::Node(NodeRequest::Renew { .. })
        )
    }

    pub(crate) fn releases(&self) -> bool {
        matches!(
            self,
            Self::Store(RequestKind::Release { .. }) | Self::Node(NodeRequest::Release { .. })
        )
    }
}

impl Machine for Lease {
    fn handle(&mut self, now: Instant, told: Told) {
        if let Some(input) = told.input() {
            self.handle(now, input);
        }
    }

    fn poll(&mut self) -> Said {
        self.poll().into()
    }

    fn held(&self, now: Instant) -> Option<Held> {
        self.held(now)
    }

    fn highest_token(&self) -> Option<Token> {
        self.highest_token()
    }

    fn remember(&mut self, token: Token) {
        self.remember(token);
    }
}

impl<const N: usize> Machine for Quorum<N> {
    fn handle(&mut self, now: Instant, told: Told) {
        if let Some(input) = told.quorum_input() {
            self.handle(now, input);
        }
    }

    fn poll(&mut self) -> Said {
        self.poll().into()
    }

    fn held(&self, now: Instant) -> Option<Held> {
        self.held(now)
    }

    fn highest_token(&self) -> Option<Token> {
        self.highest_token()
    }

    fn remember(&mut self, token: Token) {
        self.remember(token);
    }
}

impl Told {
    /// As a [`Lease`] is told; nothing if it is a node's answer.
    pub(crate) fn input(self) -> Option<Input> {
        Some(match self {
            Self::Acquire { entropy, wait } => Input::Acquire { entropy, wait },
            Self::Release => Input::Release,
            Self::Cancel => Input::Cancel,
            Self::Answered { op, answer: Answer::Store { reply, as_of } } => {
                Input::Reply { op, reply, as_of }
            }
            Self::Answered { answer: Answer::Node(_), .. } => return None,
            Self::Failed { op, failure } => Input::Failed { op, failure },
            Self::Hint => Input::Hint,
            Self::SessionLost { nonce } => Input::SessionLost { nonce },
            Self::Tick => Input::Tick,
        })
    }

    /// As a [`Quorum`] is told; nothing if it is no node's answer, or about a session.
    pub(crate) fn quorum_input(self) -> Option<QuorumInput> {
        Some(match self {
            Self::Acquire { entropy, wait } => QuorumInput::Acquire { entropy, wait },
            Self::Release => QuorumInput::Release,
            Self::Cancel => QuorumInput::Cancel,
            Self::Answered { op, answer: Answer::Node(reply) } => QuorumInput::Reply { op, reply },
            Self::Answered { answer: Answer::Store { .. }, .. } | Self::SessionLost { .. } => {
                return None;
            }
            Self::Failed { op, failure } => QuorumInput::Failed { op, failure },
            Self::Hint => QuorumInput::Hint,
            Self::Tick => QuorumInput::Tick,
        })
    }
}

impl Said {
    pub(crate) fn output(self) -> Option<Output> {
        Some(match self {
            Self::Event { generation, event } => Output::Event { generation, event },
            Self::Request { op, ask: Ask::Store(kind), respond_by, .. } => {
                Output::Request { op, kind, respond_by }
            }
            Self::Request { ask: Ask::Node(_), .. } => return None,
            Self::Wait(until) => Output::Wait(until),
        })
    }

    pub(crate) fn quorum_output(self) -> Option<QuorumOutput> {
        Some(match self {
            Self::Event { generation, event } => QuorumOutput::Event { generation, event },
            Self::Request { site, op, ask: Ask::Node(kind), respond_by } => {
                QuorumOutput::Request { node: u8::try_from(site).ok()?, op, kind, respond_by }
            }
            Self::Request { ask: Ask::Store(_), .. } => return None,
            Self::Wait(until) => QuorumOutput::Wait(until),
        })
    }
}

impl From<Input> for Told {
    fn from(input: Input) -> Self {
        match input {
            Input::Acquire { entropy, wait } => Self::Acquire { entropy, wait },
            Input::Release => Self::Release,
            Input::Cancel => Self::Cancel,
            Input::Reply { op, reply, as_of } => {
                Self::Answered { op, answer: Answer::Store { reply, as_of } }
            }
            Input::Failed { op, failure } => Self::Failed { op, failure },
            Input::Hint => Self::Hint,
            Input::SessionLost { nonce } => Self::SessionLost { nonce },
            Input::Tick => Self::Tick,
        }
    }
}

impl From<QuorumInput> for Told {
    fn from(input: QuorumInput) -> Self {
        match input {
            QuorumInput::Acquire { entropy, wait } => Self::Acquire { entropy, wait },
            QuorumInput::Release => Self::Release,
            QuorumInput::Cancel => Self::Cancel,
            QuorumInput::Reply { op, reply } => Self::Answered { op, answer: Answer::Node(reply) },
            QuorumInput::Failed { op, failure } => Self::Failed { op, failure },
            QuorumInput::Hint => Self::Hint,
            QuorumInput::Tick => Self::Tick,
        }
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        match output {
            Output::Event { generation, event } => Self::Event { generation, event },
            Output::Request { op, kind, respond_by } => {
                Self::Request { site: 0, op, ask: Ask::Store(kind), respond_by }
            }
            Output::Wait(until) => Self::Wait(until),
        }
    }
}

impl From<QuorumOutput> for Said {
    fn from(output: QuorumOutput) -> Self {
        match output {
            QuorumOutput::Event { generation, event } => Self::Event { generation, event },
            QuorumOutput::Request { node, op, kind, respond_by } => {
                Self::Request { site: node.into(), op, ask: Ask::Node(kind), respond_by }
            }
            QuorumOutput::Wait(until) => Self::Wait(until),
        }
    }
}
