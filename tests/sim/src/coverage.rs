use std::fmt;

use crate::obligations;

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
    /// Somebody who had held was stopped for so long that it had lost when it woke.
    WokeUpLost,
    /// A write reached the resource after its writer had lost the lease.
    WroteAfterLoss,
    /// An older holder's write was refused although the successor had only installed its token yet.
    RefusedByInstallAlone,
    GrantedTooLate,
    ExecutedAfterGivenUp,
    BlockedByOwnNonce,
    RenewalOvertaken,
    RenewalsReordered,
    RenewedAfterLoss,
    ReleasedAfterSuccessor,
    SuspendedBeyondDeadline,
    NothingLeftOfTerm,
    AcquiredWithNodesDown,
    MajorityDown,
    SplitVote,
    Amnesia,
    AmnesiacRefused,
    /// A node came back without its data and voted at once, later than any lock can last.
    ForgotAfterTerm,
    Seeded,
    FailedOver,
    TokenOvertaken,
    RenewedByMinority,
    CancelledInFlight,
    LostWhileOnlyAnswersFail,
    /// Renewals failed and succeeded again, twice or more under one grant.
    Flapped,
    DriftAtBound,
    AllWoken,
    AcquiredWithoutHints,
    HintedInVain,
    SameHost,
    TokensExhausted,
    GateRestarted,
    WriteOutOfOrder,
    CrashedBeforeTold,
    FalseRenewal,
    WokeLate,
    GaveBack,
    Garbled,
    TermLonger,
    TermShorter,
    ReleasedDuringRenewal,
    ConfigRefused,
    Calm,
}

/// How often each thing was come by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    seen: [u64; NAMES.len()],
    /// Messages that reached a store or a client.
    pub(crate) messages: u64,
    /// Things that went wrong, counting each message.
    pub(crate) faults: u64,
    /// Steps of the worlds.
    pub(crate) steps: u64,
    /// Simulated microseconds.
    pub(crate) simulated: u64,
}

impl Coverage {
    pub(crate) const NONE: Self =
        Self { seen: [0; NAMES.len()], messages: 0, faults: 0, steps: 0, simulated: 0 };

    pub(crate) fn note(&mut self, what: Seen) {
        self.seen[what as usize] += 1;
    }

    pub(crate) fn times(&self, what: Seen) -> u64 {
        self.seen[what as usize]
    }

    pub(crate) fn losses(&self) -> u64 {
        [
            Seen::LostExpired,
            Seen::LostGone,
            Seen::LostSession,
            Seen::LostSessionUnknown,
            Seen::LostClockWentBack,
        ]
        .map(|loss| self.times(loss))
        .iter()
        .sum()
    }

    /// Somebody wanted what another had, and something went wrong: no idle time.
    pub(crate) fn is_worth_something(&self) -> bool {
        let contended = [Seen::Contended, Seen::NotYet, Seen::Blocked].map(|seen| self.times(seen));
        self.faults > 0 && contended.iter().any(|times| *times > 0)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.seen.iter_mut().zip(other.seen) {
            *mine += theirs;
        }
        self.messages += other.messages;
        self.faults += other.faults;
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
        obligations::print(self, f)?;
        writeln!(f, "\nwhat was come by:")?;
        for (line, names) in NAMES.chunks(4).enumerate() {
            for (column, name) in names.iter().enumerate() {
                write!(f, "{:>10} {name:<24}", self.seen[line * 4 + column])?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Default for Coverage {
    fn default() -> Self {
        Self::NONE
    }
}
