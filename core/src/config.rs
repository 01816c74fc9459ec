use core::{error, fmt, time::Duration};

use crate::{Drift, micros::Micros};

/// How a [`Lease`](crate::Lease) behaves; checked when it is built, and immutable after.
///
/// ```
/// use core::time::Duration;
/// use tenure_core::LeaseConfig;
///
/// let config = LeaseConfig::builder().term(Duration::from_secs(12)).build()?;
/// assert_eq!(config.grace(), Duration::from_millis(1_200));
/// # Ok::<(), tenure_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "LeaseConfigBuilder", into = "LeaseConfigBuilder"))]
pub struct LeaseConfig {
    term: Micros,
    grace: Micros,
    quantum: Micros,
    margin: Micros,
    attempt_timeout: Micros,
    poll_floor: Micros,
    poll_ceiling: Micros,
    drift: Drift,
    waiting: Waiting,
    assurance: Assurance,
}

/// How one waits for a lease that somebody else has; a property of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Waiting {
    /// Short `Acquire`s with a jittered pause between them.
    #[default]
    Poll,
    /// The same, and a `Watch` that may wake the waiter earlier.
    PollAndWatch,
    /// A place in the store's queue: `Enqueue`, `Watch`, `Claim`; polling remains as the fallback.
    Queue,
    /// One `Acquire` that the store answers when the lease is free. Sessions only: an answer's term
    /// counts from when the request was sent.
    Block,
}

/// What a store's grant rests on; a property of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Assurance {
    /// A term with a lower bound.
    #[default]
    Term,
    /// A session without one: an answer that stays away means loss.
    Session,
}

impl LeaseConfig {
    /// The shortest term, 1 ms. Stores that count in milliseconds cannot tell less from zero.
    pub const MIN_TERM: Duration = Duration::from_millis(1);

    /// The longest term, 365 days.
    pub const MAX_TERM: Duration = Duration::from_secs(365 * 24 * 60 * 60);

    /// Starts from the defaults: a term of 30 s.
    pub const fn builder() -> LeaseConfigBuilder {
        LeaseConfigBuilder {
            term: Duration::from_secs(30),
            grace: None,
            drift: Drift::DEFAULT,
            quantum: Duration::from_millis(1),
            margin: Duration::from_millis(1),
            attempt_timeout: None,
            poll_floor: Duration::from_millis(20),
            poll_ceiling: Duration::from_secs(1),
            waiting: Waiting::Poll,
            assurance: Assurance::Term,
        }
    }

    /// The term asked for. Deadlines count from the term that the store grants.
    #[must_use]
    pub const fn term(&self) -> Duration {
        self.term.get()
    }

    /// How long before the deadline `Stopping` is told.
    #[must_use]
    pub const fn grace(&self) -> Duration {
        self.grace.get()
    }

    /// The bound on the difference of the clocks' rates.
    #[must_use]
    pub const fn drift(&self) -> Drift {
        self.drift
    }

    /// How long the machine waits for one answer.
    #[must_use]
    pub const fn attempt_timeout(&self) -> Duration {
        self.attempt_timeout.get()
    }

    /// The shortest and the longest pause between two polls while waiting.
    #[must_use]
    pub const fn poll_pause(&self) -> (Duration, Duration) {
        (self.poll_floor.get(), self.poll_ceiling.get())
    }

    /// How one waits at this store.
    #[must_use]
    pub const fn waiting(&self) -> Waiting {
        self.waiting
    }

    /// What this store's grants rest on.
    #[must_use]
    pub const fn assurance(&self) -> Assurance {
        self.assurance
    }

    /// D1: how long after a request was sent its grant of `term` may be relied on, which is
    /// `term − ⌈term·ρ⌉ − quantum − margin`; zero if that is negative. A term above
    /// [`MAX_TERM`](Self::MAX_TERM) counts as that.
    #[must_use]
    pub const fn usable(&self, term: Duration) -> Duration {
        self.usable_of(Micros::of(term)).get()
    }

    pub(crate) const fn usable_of(&self, term: Micros) -> Micros {
        let longest = Micros::of(Self::MAX_TERM);
        let term = if term.0 > longest.0 { longest } else { term };
        term.less(self.drift.of_micros(term)).less(self.quantum).less(self.margin)
    }

    /// What this configuration costs when things go wrong.
    #[must_use]
    pub fn worst_case(&self) -> WorstCase {
        let loss = self.usable(self.term());
        WorstCase {
            warning: loss.saturating_sub(self.grace()),
            loss,
            takeover: self.lapse().plus(self.poll_ceiling).get(),
        }
    }

    /// The same, for a store that is polled and promises a term.
    pub(crate) const fn polled(self) -> Self {
        Self { waiting: Waiting::Poll, assurance: Assurance::Term, ..self }
    }

    /// L1: how long after its last renewal the store has certainly freed a lease that nobody renews.
    pub(crate) const fn lapse(&self) -> Micros {
        self.term.plus(self.drift.of_micros(self.term)).plus(self.quantum)
    }

    /// How long after the last good renewal was sent the next one is.
    pub(crate) const fn renew_after(term: Micros) -> Micros {
        term.part(3)
    }

    /// The longest pause before retry `number` (from 0) of a failed request.
    pub(crate) fn retry_pause(&self, number: u32) -> Micros {
        self.term.part(64).times(1 << number.min(4)).min(self.term.part(12))
    }

    pub(crate) const fn spans(&self) -> Spans {
        let Self { term, grace, attempt_timeout, poll_floor, poll_ceiling, .. } = *self;
        Spans { term, grace, attempt_timeout, poll_floor, poll_ceiling }
    }
}

/// The spans that the machines read, as they reckon.
pub(crate) struct Spans {
    pub(crate) term: Micros,
    pub(crate) grace: Micros,
    pub(crate) attempt_timeout: Micros,
    pub(crate) poll_floor: Micros,
    pub(crate) poll_ceiling: Micros,
}

impl Default for LeaseConfig {
    /// The builder's defaults.
    fn default() -> Self {
        Self::builder().unchecked()
    }
}

/// Builds a [`LeaseConfig`]. Each setter says its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[must_use = "does nothing until `build`"]
pub struct LeaseConfigBuilder {
    term: Duration,
    grace: Option<Duration>,
    drift: Drift,
    quantum: Duration,
    margin: Duration,
    attempt_timeout: Option<Duration>,
    poll_floor: Duration,
    poll_ceiling: Duration,
    waiting: Waiting,
    assurance: Assurance,
}

impl LeaseConfigBuilder {
    /// The term to ask the store for, from 1 ms to 365 days. A holder that dies is replaced after
    /// about this long. Default 30 s.
    pub const fn term(mut self, term: Duration) -> Self {
        self.term = term;
        self
    }

    /// How long before the deadline `Stopping` is told: at least what the protected work needs to
    /// stop. Default a tenth of the term, but 100 ms to 5 s.
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// The bound on the difference of the clocks' rates, client plus store. Default 1,000 ppm.
    pub const fn drift(mut self, drift: Drift) -> Self {
        self.drift = drift;
        self
    }

    /// The store's clock tick (q_s): Redis 1 ms, etcd 1 s. Default 1 ms.
    pub const fn quantum(mut self, quantum: Duration) -> Self {
        self.quantum = quantum;
        self
    }

    /// What else to take off every term: the host clock's tick (q_c) and a margin of choice (m_c).
    /// Default 1 ms.
    pub const fn margin(mut self, margin: Duration) -> Self {
        self.margin = margin;
        self
    }

    /// How long to wait for one answer. Default a sixth of the term, at most 5 s.
    pub const fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = Some(timeout);
        self
    }

    /// The shortest and the longest pause between two polls while waiting. Default 20 ms and 1 s.
    pub const fn poll_pause(mut self, floor: Duration, ceiling: Duration) -> Self {
        self.poll_floor = floor;
        self.poll_ceiling = ceiling;
        self
    }

    /// How one waits at this store. Default [`Waiting::Poll`].
    pub const fn waiting(mut self, waiting: Waiting) -> Self {
        self.waiting = waiting;
        self
    }

    /// What this store's grants rest on. Default [`Assurance::Term`].
    pub const fn assurance(mut self, assurance: Assurance) -> Self {
        self.assurance = assurance;
        self
    }

    /// Checks the whole.
    ///
    /// # Errors
    ///
    /// Any [`ConfigError`]; each says what to change. Above all, two renewal attempts must fit
    /// between a third of the term and `deadline − grace` (D7), so that one lost packet loses no lease.
    pub fn build(self) -> Result<LeaseConfig, ConfigError> {
        let Self { term, drift, poll_floor, poll_ceiling, .. } = self;
        if term < LeaseConfig::MIN_TERM {
            return Err(ConfigError::TermTooShort { term });
        }
        if term > LeaseConfig::MAX_TERM {
            return Err(ConfigError::TermTooLong { term });
        }
        if drift.ppm() >= 1_000_000 {
            return Err(ConfigError::DriftTooLarge { drift });
        }
        let attempt_timeout = self.attempt_timeout_or_default();
        if attempt_timeout.is_zero() {
            return Err(ConfigError::NoAttemptTimeout);
        }
        if poll_floor < Duration::from_millis(1) || poll_floor > poll_ceiling {
            return Err(ConfigError::PollPause { floor: poll_floor, ceiling: poll_ceiling });
        }
        if self.waiting == Waiting::Block && self.assurance == Assurance::Term {
            return Err(ConfigError::BlockingNeedsSession);
        }
        let config = self.unchecked();
        let needed = LeaseConfig::renew_after(config.term)
            .plus(config.attempt_timeout.times(2))
            .plus(config.retry_pause(0))
            .plus(config.grace)
            .get();
        let available = config.usable(term);
        if needed > available {
            return Err(ConfigError::NoRoomToRenew { needed, available });
        }
        Ok(config)
    }

    fn unchecked(self) -> LeaseConfig {
        LeaseConfig {
            term: Micros::of(self.term),
            grace: Micros::at_least(self.grace_or_default()),
            quantum: Micros::at_least(self.quantum),
            margin: Micros::at_least(self.margin),
            attempt_timeout: Micros::at_least(self.attempt_timeout_or_default()),
            poll_floor: Micros::of(self.poll_floor),
            poll_ceiling: Micros::of(self.poll_ceiling),
            drift: self.drift,
            waiting: self.waiting,
            assurance: self.assurance,
        }
    }

    fn grace_or_default(&self) -> Duration {
        self.grace.unwrap_or_else(|| {
            let tenth = Micros::of(self.term).part(10).get();
            tenth.clamp(Duration::from_millis(100), Duration::from_secs(5))
        })
    }

    fn attempt_timeout_or_default(&self) -> Duration {
        self.attempt_timeout.unwrap_or_else(|| {
            let sixth = Micros::of(self.term).part(6).get();
            sixth.min(Duration::from_secs(5))
        })
    }
}

impl Default for LeaseConfigBuilder {
    fn default() -> Self {
        LeaseConfig::builder()
    }
}

impl TryFrom<LeaseConfigBuilder> for LeaseConfig {
    type Error = ConfigError;

    fn try_from(builder: LeaseConfigBuilder) -> Result<Self, ConfigError> {
        builder.build()
    }
}

impl From<LeaseConfig> for LeaseConfigBuilder {
    fn from(config: LeaseConfig) -> Self {
        Self {
            term: config.term.get(),
            grace: Some(config.grace.get()),
            drift: config.drift,
            quantum: config.quantum.get(),
            margin: config.margin.get(),
            attempt_timeout: Some(config.attempt_timeout.get()),
            poll_floor: config.poll_floor.get(),
            poll_ceiling: config.poll_ceiling.get(),
            waiting: config.waiting,
            assurance: config.assurance,
        }
    }
}

/// What a [`LeaseConfig`] costs at worst. [`Display`](fmt::Display) puts it in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorstCase {
    /// From the last renewal that the store answered to `Stopping`.
    pub warning: Duration,
    /// From the last renewal that the store answered to `Lost`.
    pub loss: Duration,
    /// From a holder's last renewal to its successor's grant, if the holder dies and the successor
    /// is already waiting; plus one round trip.
    pub takeover: Duration,
}

impl fmt::Display for WorstCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "if the store falls silent, the holder is warned {:?} after its last renewal and stops \
             at {:?}; if the holder dies, a waiter has the lease {:?} after that renewal at the latest",
            self.warning, self.loss, self.takeover,
        )
    }
}

/// Why a [`LeaseConfig`] was refused, and what to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The term is zero, or less than 1 ms.
    TermTooShort {
        /// The term asked for.
        term: Duration,
    },
    /// The term is more than 365 days.
    TermTooLong {
        /// The term asked for.
        term: Duration,
    },
    /// A bound of 100 % or more leaves no term to use.
    DriftTooLarge {
        /// The bound asked for.
        drift: Drift,
    },
    /// No time to answer.
    NoAttemptTimeout,
    /// The shortest pause is under 1 ms, or longer than the longest.
    PollPause {
        /// The shortest pause asked for.
        floor: Duration,
        /// The longest pause asked for.
        ceiling: Duration,
    },
    /// [`Waiting::Block`] with [`Assurance::Term`].
    BlockingNeedsSession,
    /// Two renewal attempts do not fit before `deadline − grace` (D7).
    NoRoomToRenew {
        /// A third of the term, two attempts, the pause between them, and the grace.
        needed: Duration,
        /// The term less drift, quantum and margin.
        available: Duration,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TermTooShort { term } => {
                write!(f, "a term of {term:?} is too short: ask for at least 1ms")
            }
            Self::TermTooLong { term } => {
                write!(f, "a term of {term:?} is too long: ask for at most 365 days")
            }
            Self::DriftTooLarge { drift } => {
                write!(f, "a drift bound of {drift} leaves no term: ask for less than 1000000 ppm")
            }
            Self::NoAttemptTimeout => {
                f.write_str("an attempt timeout of zero leaves no time to answer: ask for more")
            }
            Self::PollPause { floor, ceiling } => write!(
                f,
                "a poll pause between {floor:?} and {ceiling:?} is no range from 1ms up: \
                 the first must be at least 1ms and not above the second"
            ),
            Self::BlockingNeedsSession => f.write_str(
                "blocking in the store uses up the term that it grants: \
                 poll or queue at this store, or use a session",
            ),
            Self::NoRoomToRenew { needed, available } => write!(
                f,
                "two renewal attempts and the grace need {needed:?}, but only {available:?} of the \
                 term are usable: ask for a longer term, a shorter grace or a shorter attempt timeout"
            ),
        }
    }
}

impl error::Error for ConfigError {}
