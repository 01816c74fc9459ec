use std::{pin::Pin, sync::Arc, time::Duration};

use tenure_core::{
    Event, Held, Input, Instant, Lease, LeaseConfig, NodeReply, NodeRequest, Nonce, OpId, Output,
    Quorum, QuorumInput, QuorumOutput, Reply, RequestKind, Token,
};
use tenure_store::{Answer, Call, NodeCall, Notices, StoreError};

use crate::{Contended, lock::Setup};

/// The machine of one acquire: of a lease in one store, or in several servers by majority.
#[expect(clippy::large_enum_variant, reason = "the usual one shall not cost an allocation")]
pub(crate) enum Machine {
    Lease(Lease),
    Quorum(Box<dyn AnyQuorum>),
}

/// What a machine has to say, whichever it is.
pub(crate) enum Said {
    Event(Event),
    Request { op: OpId, request: Request, respond_by: Instant },
    Wait(Option<Instant>),
}

/// What a machine asks for.
#[derive(Clone, Copy)]
pub(crate) enum Request {
    Store(RequestKind),
    Node { node: u8, kind: NodeRequest },
}

/// What it is answered.
pub(crate) enum Answered {
    Store(Answer),
    Node(NodeReply),
}

/// A request under way.
pub(crate) type Asking = Pin<Box<dyn Future<Output = Result<Answered, StoreError>> + Send>>;

impl Machine {
    /// The machine for the setup's store.
    pub(crate) fn new(setup: &Setup, instance: u32) -> Self {
        let mut machine = match setup.store.nodes() {
            None => Self::Lease(Lease::new(setup.config, instance)),
            Some(nodes) => Self::Quorum(quorum(nodes.count(), setup.config, instance)),
        };
        if let Some(token) = setup.highest_token() {
            match &mut machine {
                Self::Lease(lease) => lease.remember(token),
                Self::Quorum(quorum) => quorum.remember(token),
            }
        }
        machine
    }

    /// Takes what is not a reply.
    pub(crate) fn handle(&mut self, now: Instant, input: Input) {
        let quorum = match self {
            Self::Lease(lease) => return lease.handle(now, input),
            Self::Quorum(quorum) => quorum,
        };
        let input = match input {
            Input::Acquire { entropy, wait } => QuorumInput::Acquire { entropy, wait },
            Input::Release => QuorumInput::Release,
            Input::Cancel => QuorumInput::Cancel,
            Input::Hint => QuorumInput::Hint,
            Input::Failed { op, failure } => QuorumInput::Failed { op, failure },
            // Nodes have no sessions, and their replies come by `reply`.
            Input::SessionLost { .. } | Input::Reply { .. } | Input::Tick => QuorumInput::Tick,
        };
        quorum.handle(now, input);
    }

    pub(crate) fn reply(&mut self, now: Instant, op: OpId, answered: Answered) {
        match (self, answered) {
            (Self::Lease(lease), Answered::Store(Answer { reply, as_of, .. })) => {
                lease.handle(now, Input::Reply { op, reply, as_of });
            }
            (Self::Quorum(quorum), Answered::Node(reply)) => {
                quorum.handle(now, QuorumInput::Reply { op, reply });
            }
            (Self::Lease(_), Answered::Node(_)) | (Self::Quorum(_), Answered::Store(_)) => {
                debug_assert!(false, "each machine asks its own kind of store");
            }
        }
    }

    pub(crate) fn poll(&mut self) -> Said {
        match self {
            Self::Lease(lease) => match lease.poll() {
                Output::Event { event, .. } => Said::Event(event),
                Output::Request { op, kind, respond_by } => {
                    Said::Request { op, request: Request::Store(kind), respond_by }
                }
                Output::Wait(due) => Said::Wait(due),
            },
            Self::Quorum(quorum) => said(quorum.poll()),
        }
    }

    pub(crate) fn held(&self, now: Instant) -> Option<Held> {
        match self {
            Self::Lease(lease) => lease.held(now),
            Self::Quorum(quorum) => quorum.held(now),
        }
    }

    /// What it would say at `now`, if it were told the time.
    pub(crate) fn foresee(&self, now: Instant) -> Said {
        match self {
            Self::Lease(lease) => {
                let mut ahead = Self::Lease(lease.clone());
                ahead.handle(now, Input::Tick);
                ahead.poll()
            }
            Self::Quorum(quorum) => said(quorum.foresee(now)),
        }
    }
}

impl Request {
    /// Sends it. Nothing leaves before the future is first polled.
    pub(crate) fn send(
        self,
        setup: &Arc<Setup>,
        notices: &Notices,
        time_left: Option<Duration>,
    ) -> Asking {
        let setup = Arc::clone(setup);
        match self {
            Self::Store(request) => {
                let notices = notices.clone();
                Box::pin(async move {
                    let call = Call { lock: &setup.name, request, time_left, notices: &notices };
                    setup.store.execute(call).await.map(Answered::Store)
                })
            }
            Self::Node { node, kind: request } => Box::pin(async move {
                let Some(nodes) = setup.store.nodes() else {
                    return Err(StoreError::refused("the store has no nodes any more"));
                };
                let time_left = time_left.unwrap_or(Duration::MAX);
                let call = NodeCall { node, lock: &setup.name, request, time_left };
                nodes.ask(call).await.map(Answered::Node)
            }),
        }
    }

    /// Whether its answer, however late, gives nothing that would have to be given back.
    pub(crate) const fn grants_nothing(&self) -> bool {
        match self {
            Self::Store(kind) => {
                matches!(kind, RequestKind::Renew { .. } | RequestKind::Watch { .. })
            }
            Self::Node { kind, .. } => {
                matches!(kind, NodeRequest::Renew { .. } | NodeRequest::Raise { .. })
            }
        }
    }

    /// The attempt to lock that a node's answer belongs to.
    pub(crate) const fn attempt(&self) -> Option<Nonce> {
        match *self {
            Self::Node { kind: NodeRequest::Lock { nonce, .. }, .. } => Some(nonce),
            Self::Node { .. } | Self::Store(_) => None,
        }
    }

    pub(crate) const fn verb(&self) -> &'static str {
        match self {
            Self::Store(kind) => match kind {
                RequestKind::Acquire { .. } => "acquire",
                RequestKind::Enqueue { .. } => "enqueue",
                RequestKind::Claim { .. } => "claim",
                RequestKind::Renew { .. } => "renew",
                RequestKind::Release { .. } => "release",
                RequestKind::Disconnect { .. } => "disconnect",
                RequestKind::Watch { .. } => "watch",
                RequestKind::Unwatch { .. } => "unwatch",
                _ => "request",
            },
            Self::Node { kind, .. } => match kind {
                NodeRequest::Lock { .. } => "lock",
                NodeRequest::Raise { .. } => "raise",
                NodeRequest::Renew { .. } => "renew",
                NodeRequest::Release { .. } => "release",
                _ => "request",
            },
        }
    }
}

impl Answered {
    /// Who has the lease, if somebody else does.
    pub(crate) fn contended(&self) -> Option<Contended> {
        match *self {
            Self::Store(Answer { reply: Reply::Busy { retry_after, holder }, .. }) => {
                Some(Contended { holder, remaining: retry_after })
            }
            Self::Store(Answer { reply: Reply::NotYet, .. }) => Some(Contended::default()),
            Self::Node(NodeReply::Busy { retry_after, .. }) => {
                Some(Contended { holder: None, remaining: retry_after })
            }
            Self::Store(_) | Self::Node(_) => None,
        }
    }
}

fn said(output: QuorumOutput) -> Said {
    match output {
        QuorumOutput::Event { event, .. } => Said::Event(event),
        QuorumOutput::Request { node, op, kind, respond_by } => {
            Said::Request { op, request: Request::Node { node, kind }, respond_by }
        }
        QuorumOutput::Wait(due) => Said::Wait(due),
    }
}

/// A [`Quorum`] of as many nodes as turn out to be.
pub(crate) trait AnyQuorum: Send {
    fn handle(&mut self, now: Instant, input: QuorumInput);
    fn poll(&mut self) -> QuorumOutput;
    fn held(&self, now: Instant) -> Option<Held>;
    fn remember(&mut self, token: Token);
    fn foresee(&self, now: Instant) -> QuorumOutput;
}

impl<const N: usize> AnyQuorum for Quorum<N> {
    fn handle(&mut self, now: Instant, input: QuorumInput) {
        Self::handle(self, now, input);
    }

    fn poll(&mut self) -> QuorumOutput {
        Self::poll(self)
    }

    fn held(&self, now: Instant) -> Option<Held> {
        Self::held(self, now)
    }

    fn remember(&mut self, token: Token) {
        Self::remember(self, token);
    }

    fn foresee(&self, now: Instant) -> QuorumOutput {
        let mut ahead = self.clone();
        ahead.handle(now, QuorumInput::Tick);
        ahead.poll()
    }
}

fn quorum(nodes: u8, config: LeaseConfig, instance: u32) -> Box<dyn AnyQuorum> {
    match nodes {
        0 | 1 => Box::new(Quorum::<1>::new(config, instance)),
        2 => Box::new(Quorum::<2>::new(config, instance)),
        3 => Box::new(Quorum::<3>::new(config, instance)),
        4 => Box::new(Quorum::<4>::new(config, instance)),
        5 => Box::new(Quorum::<5>::new(config, instance)),
        6 => Box::new(Quorum::<6>::new(config, instance)),
        7 => Box::new(Quorum::<7>::new(config, instance)),
        8 => Box::new(Quorum::<8>::new(config, instance)),
        // There are no more, by the contract of `Nodes`.
        9.. => Box::new(Quorum::<9>::new(config, instance)),
    }
}
