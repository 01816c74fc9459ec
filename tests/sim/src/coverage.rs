use std::fmt;

/// Declares what a run may come by; each is counted, and each must be met.
macro_rules! sightings {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Something worth having come by.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Seen { $($(#[$doc])* $name,)* }

        const NAMES: &[&str] = &[$(stringify!($name),)*];
    };
}

sightings! {
    Acquired,
    Renewed,
    Contended,
    AtRisk,
    Recovered,
    Stopping,
    LostExpired,
    LostGone,
    LostSession,
    LostSessionUnknown,
    LostClockWentBack,
    /// `Lost` took the place of an `Acquired` that nobody had polled.
    LostBeforeTold,
    ReleasedConfirmed,
    ReleasedUnconfirmed,
    DeniedBusy,
    DeniedFailed,
    DeniedCancelled,
    DeniedInUse,
    TokenWentBack,
    SecondGeneration,
    /// A grant came for a request that nobody waited for any more.
    LateGrant,
    DuplicateGrant,
    DuplicateExecuted,
    /// An acquire whose answer was lost, asked again with the same nonce and granted.
    LostReplyResolved,
    /// A renewal was answered after at least one that was not.
    RenewalRetried,
    /// The store executed a release before the acquire that it undoes.
    ReleaseOvertookAcquire,
    Slowed,
    Misdelivered,
    HintLost,
    Hinted,
    Enqueued,
    NotYet,
    PlaceLost,
    Blocked,
    NotSent,
    Refused,
    RefusedForGood,
    Crashed,
    CrashedWhileHolding,
    PausedBeyondTerm,
    PartitionedOneWay,
    StoreStalled,
    Undrained,
    ClockAhead,
    Flushed,
    TermShortened,
    TermRanOut,
    StaleWriteRefused,
    StaleInstallRefused,
    /// Without a fence, an older holder's write replaced a newer one's.
    Overwritten,
    Calm,
}

/// How often each thing was come by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    seen: [u64; NAMES.len()],
    /// Messages that reached a store or a client.
    pub(crate) messages: u64,
    /// Steps of the worlds.
    pub(crate) steps: u64,
    /// Simulated microseconds.
    pub(crate) simulated: u64,
}

impl Coverage {
    pub(crate) const NONE: Self =
        Self { seen: [0; NAMES.len()], messages: 0, steps: 0, simulated: 0 };

    pub(crate) fn note(&mut self, what: Seen) {
        self.seen[what as usize] += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.seen.iter_mut().zip(other.seen) {
            *mine += theirs;
        }
        self.messages += other.messages;
        self.steps += other.steps;
        self.simulated += other.simulated;
    }

    /// What was never come by.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        NAMES
            .iter()
            .zip(self.seen)
            .filter(|(_, times)| *times == 0)
            .map(|(name, _)| *name)
            .collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.simulated as f64 / 3.6e9;
        writeln!(
            f,
            "{hours:.1} hours simulated, {} steps, {} messages",
            self.steps, self.messages
        )?;
        for (line, names) in NAMES.chunks(4).enumerate() {
            for (column, name) in names.iter().enumerate() {
                write!(f, "{:>10} {name:<23}", self.seen[line * 4 + column])?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
