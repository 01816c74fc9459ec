//! A machine on a clock of milliseconds, and the store's side of it, one message at a time.
#![allow(dead_code, missing_docs, reason = "each test file uses a part")]

use core::time::Duration;

use tenure_core::{
    Event, Failure, Input, Instant, Lease, LeaseConfig, LeaseConfigBuilder, Nonce, OpId, Output,
    Promise, Reply, RequestKind, Token, Wait,
};

pub(crate) const TERM: u64 = 12_000;

pub(crate) fn ms(millis: u64) -> Instant {
    Instant::from_micros(millis * 1_000)
}

pub(crate) const fn span(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn token(value: u64) -> Token {
    Token::new(value).unwrap()
}

/// Term 12 s, grace 2 s, no drift, quantum and margin, so that deadlines are round numbers.
pub(crate) fn config() -> LeaseConfigBuilder {
    LeaseConfig::builder()
        .term(span(TERM))
        .grace(span(2_000))
        .drift(tenure_core::Drift::from_ppm(0))
        .quantum(Duration::ZERO)
        .margin(Duration::ZERO)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) op: OpId,
    pub(crate) kind: RequestKind,
    pub(crate) respond_by: Instant,
}

impl Request {
    pub(crate) fn nonce(&self) -> Nonce {
        self.kind.nonce()
    }
}

/// What one `handle` brought.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) events: Vec<Event>,
    pub(crate) requests: Vec<Request>,
    pub(crate) wait: Option<Instant>,
}

impl Said {
    /// The one request, and no event.
    #[track_caller]
    pub(crate) fn request(&self) -> Request {
        assert!(self.events.is_empty(), "{self:?}");
        self.only_request()
    }

    /// The one request, whatever the events.
    #[track_caller]
    pub(crate) fn only_request(&self) -> Request {
        assert_eq!(self.requests.len(), 1, "{self:?}");
        self.requests[0]
    }

    #[track_caller]
    pub(crate) fn nothing(&self) {
        assert!(self.events.is_empty() && self.requests.is_empty(), "{self:?}");
    }

    #[track_caller]
    pub(crate) fn events(&self, expected: &[Event]) {
        assert_eq!(self.events, expected, "{self:?}");
    }
}

pub(crate) struct Machine {
    pub(crate) lease: Lease,
    last: Instant,
}

impl Machine {
    pub(crate) fn new(config: LeaseConfigBuilder) -> Self {
        Self { lease: Lease::new(config.build().unwrap(), 7), last: Instant::ZERO }
    }

    /// One `handle`, drained.
    pub(crate) fn at(&mut self, millis: u64, input: Input) -> Said {
        self.push(millis, input);
        self.drain()
    }

    /// One `handle`, not drained.
    pub(crate) fn push(&mut self, millis: u64, input: Input) {
        self.last = ms(millis);
        self.lease.handle(self.last, input);
    }

    pub(crate) fn drain(&mut self) -> Said {
        let mut said = Said::default();
        for _ in 0..100 {
            match self.lease.poll() {
                Output::Event { event, .. } => said.events.push(event),
                Output::Request { op, kind, respond_by } => {
                    assert!(respond_by > self.last);
                    said.requests.push(Request { op, kind, respond_by });
                }
                Output::Wait(wait) => {
                    assert!(wait.is_none_or(|wait| wait > self.last), "{wait:?} {:?}", self.last);
                    said.wait = wait;
                    return said;
                }
            }
        }
        panic!("poll never waits");
    }

    pub(crate) fn acquire(&mut self, millis: u64, wait: Wait) -> Said {
        self.acquire_with(millis, wait, 1)
    }

    pub(crate) fn acquire_with(&mut self, millis: u64, wait: Wait, entropy: u8) -> Said {
        self.at(millis, Input::Acquire { entropy: [entropy; 16], wait })
    }

    pub(crate) fn reply(&mut self, millis: u64, op: OpId, reply: Reply) -> Said {
        self.at(millis, Input::Reply { op, reply, as_of: None })
    }

    pub(crate) fn fail(&mut self, millis: u64, op: OpId, failure: Failure) -> Said {
        self.at(millis, Input::Failed { op, failure })
    }

    pub(crate) fn tick(&mut self, millis: u64) -> Said {
        self.at(millis, Input::Tick)
    }

    /// Ticks exactly when told to, until something is said.
    #[track_caller]
    pub(crate) fn run(&mut self) -> (u64, Said) {
        for _ in 0..1_000 {
            let said = self.drain();
            let wait = said.wait.expect("an alarm");
            let millis = wait.as_micros().div_ceil(1_000);
            let said = self.tick(millis);
            if !said.events.is_empty() || !said.requests.is_empty() {
                return (millis, said);
            }
        }
        panic!("nothing ever happens");
    }

    /// Acquired at `millis`, with an instant answer; returns the nonce.
    #[track_caller]
    pub(crate) fn hold(&mut self, millis: u64, value: u64) -> Nonce {
        let asked = self.acquire(millis, Wait::Forever).request();
        let said = self.reply(millis, asked.op, granted(asked.nonce(), value, TERM));
        assert!(matches!(said.events[..], [Event::Acquired { .. }]), "{said:?}");
        asked.nonce()
    }

    pub(crate) fn held(&self, millis: u64) -> bool {
        self.lease.held(ms(millis)).is_some()
    }
}

pub(crate) fn granted(nonce: Nonce, value: u64, term: u64) -> Reply {
    Reply::Granted { nonce, token: token(value), promise: Promise::Term(span(term)) }
}

pub(crate) fn busy() -> Reply {
    Reply::Busy { retry_after: None, holder: None }
}

pub(crate) fn refused(permanent: bool) -> Failure {
    Failure::Refused { permanent, retry_after: None }
}
