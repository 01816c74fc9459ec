use serde::{Serialize, de::DeserializeOwned};
use tenure_core::{
    Held, Input, Instant, Lease, LeaseConfig, Output, Quorum, QuorumInput, QuorumOutput,
};

/// Which machine a trace is of: the second byte of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// [`Lease`], 0.
    Lease,
    /// [`Quorum`] of 3, 1.
    Quorum3,
    /// [`Quorum`] of 5, 2.
    Quorum5,
}

impl Kind {
    /// The kind that `byte` stands for.
    #[must_use]
    pub const fn of(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Lease),
            1 => Some(Self::Quorum3),
            2 => Some(Self::Quorum5),
            _ => None,
        }
    }

    /// The byte that stands for it.
    #[must_use]
    pub const fn byte(self) -> u8 {
        match self {
            Self::Lease => 0,
            Self::Quorum3 => 1,
            Self::Quorum5 => 2,
        }
    }
}

/// What all machines have in common: the two verbs, and the question.
pub trait Machine {
    /// What `handle` takes.
    type Input: Copy + core::fmt::Debug + Serialize + DeserializeOwned;

    /// What `poll` says.
    type Output: Copy + core::fmt::Debug + Serialize;

    /// A closed machine.
    fn new(config: LeaseConfig, instance: u32) -> Self;

    /// As [`Lease::handle`].
    fn handle(&mut self, now: Instant, input: Self::Input);

    /// As [`Lease::poll`].
    fn poll(&mut self) -> Self::Output;

    /// As [`Lease::held`].
    fn held(&self, now: Instant) -> Option<Held>;
}

impl Machine for Lease {
    type Input = Input;
    type Output = Output;

    fn new(config: LeaseConfig, instance: u32) -> Self {
        Self::new(config, instance)
    }

    fn handle(&mut self, now: Instant, input: Input) {
        self.handle(now, input);
    }

    fn poll(&mut self) -> Output {
        self.poll()
    }

    fn held(&self, now: Instant) -> Option<Held> {
        self.held(now)
    }
}

impl<const N: usize> Machine for Quorum<N> {
    type Input = QuorumInput;
    type Output = QuorumOutput;

    fn new(config: LeaseConfig, instance: u32) -> Self {
        Self::new(config, instance)
    }

    fn handle(&mut self, now: Instant, input: QuorumInput) {
        self.handle(now, input);
    }

    fn poll(&mut self) -> QuorumOutput {
        self.poll()
    }

    fn held(&self, now: Instant) -> Option<Held> {
        self.held(now)
    }
}
