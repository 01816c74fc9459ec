use std::fmt;

use tenure::{ConfigError, Instant, LeaseConfig, Token};
use tenure_core::{Event, Input, Lease, Output, Wait};

use super::store::Store;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    A,
    B,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A process that wants the lock, with the same machine that every Tenure client has.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) who: Who,
    pub(super) paused: bool,
    /// Its fencing token, once it had the lease.
    pub(super) token: Option<Token>,
    lease: Lease,
    alarm: Option<Instant>,
}

impl Client {
    pub(super) fn new(who: Who) -> Result<Self, ConfigError> {
        let config = LeaseConfig::builder().term(super::play::TERM).build()?;
        let lease = Lease::new(config, who as u32);
        Ok(Self { who, paused: false, token: None, lease, alarm: None })
    }

    /// When the machine wants to be called again; never while it is paused.
    pub(super) fn alarm(&self) -> Option<Instant> {
        self.alarm.filter(|_| !self.paused)
    }

    pub(super) fn holds(&self, now: Instant) -> bool {
        self.lease.held(now).is_some()
    }

    /// Starts to wait for the lock.
    pub(super) fn acquire(&mut self, now: Instant, store: &mut Store) -> Vec<Event> {
        let entropy = [self.who as u8; 16];
        self.handle(now, Input::Acquire { entropy, wait: Wait::Forever }, store)
    }

    /// Lets the machine see the time. Returns what it has to tell.
    pub(super) fn tick(&mut self, now: Instant, store: &mut Store) -> Vec<Event> {
        self.handle(now, Input::Tick, store)
    }

    fn handle(&mut self, now: Instant, input: Input, store: &mut Store) -> Vec<Event> {
        let (mut inputs, mut events) = (vec![input], Vec::new());
        while let Some(input) = inputs.pop() {
            self.lease.handle(now, input);
            self.alarm = loop {
                match self.lease.poll() {
                    Output::Event { event, .. } => events.push(event),
                    Output::Request { op, kind, .. } => {
                        let reply = store.answer(now, kind);
                        inputs.push(Input::Reply { op, reply, as_of: None });
                    }
                    Output::Wait(alarm) => break alarm,
                }
            };
        }
        for event in &events {
            if let Event::Acquired { token, .. } = event {
                self.token = Some(*token);
            }
        }
        events
    }
}
