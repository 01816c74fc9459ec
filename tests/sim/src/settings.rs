use std::fmt;

use crate::{
    clock::SECONDS,
    scenario::{Faults, Scenario},
};

/// What kind of weather the worlds have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weather {
    /// Each seed has a random subset of the faults, at random rates; one in sixteen has none.
    #[default]
    Swarm,
    /// Clients' clocks are as slow as the configured bound allows, no margin hides it, and holders
    /// are cut off until they lose. The time theorem holds, but only just.
    DriftAtBound,
    /// The same, with clocks slower by one part per million: the theorem does not hold, and a
    /// simulation that cannot show it proves nothing.
    DriftBeyondBound,
    /// New holders read before they raise the fence. An older write gets through (S18).
    NoInstall,
    /// Nodes lose their data and vote on at once. Tokens repeat (S13).
    Amnesia,
    /// Nodes lose their data and stay away for longer than any term, which saves the lock, but not
    /// the tokens (S13).
    DelayedRestart,
    /// The resource loses its fence when it restarts (S17, S18).
    GateForgets,
}

impl Weather {
    /// The flags of the command line, and what they choose.
    pub const FLAGS: [(&str, Self); 6] = [
        ("--drift-at-bound", Self::DriftAtBound),
        ("--drift-beyond", Self::DriftBeyondBound),
        ("--no-install", Self::NoInstall),
        ("--amnesia", Self::Amnesia),
        ("--delayed-restart", Self::DelayedRestart),
        ("--gate-forgets", Self::GateForgets),
    ];
}

/// How worlds are made, and judged. Shown as the flags of the command line that choose them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// What goes wrong.
    pub weather: Weather,
    /// Judge deadlines by what the store keeps alone (S1, S2), not by how they were reckoned (S3): a
    /// wrong sum then passes until it does harm.
    pub by_harm_alone: bool,
    /// No more clients than this.
    pub clients: Option<usize>,
    /// Faults only for so many seconds.
    pub seconds: Option<u64>,
    /// Faults that are switched off.
    pub without: Without,
}

impl Settings {
    pub(crate) fn limit(self, scenario: &mut Scenario) {
        if let Some(clients) = self.clients {
            scenario.clients.truncate(clients.max(2));
        }
        if let Some(seconds) = self.seconds {
            scenario.calm_from = scenario.calm_from.min(seconds * SECONDS);
        }
        for (number, (_, switch_off)) in SWITCHES.iter().enumerate() {
            if self.without.has(number) {
                switch_off(&mut scenario.faults);
            }
        }
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (flag, weather) in Weather::FLAGS {
            if weather == self.weather {
                write!(f, " {flag}")?;
            }
        }
        if self.by_harm_alone {
            f.write_str(" --by-harm-alone")?;
        }
        if let Some(clients) = self.clients {
            write!(f, " --clients {clients}")?;
        }
        if let Some(seconds) = self.seconds {
            write!(f, " --seconds {seconds}")?;
        }
        if self.without != Without::default() {
            write!(f, " --without {}", self.without)?;
        }
        Ok(())
    }
}

/// A set of faults, written as their names with commas between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without(u32);

impl Without {
    /// One set for each fault there is.
    pub(crate) fn each() -> impl Iterator<Item = Self> {
        (0..SWITCHES.len()).map(|number| Self(1 << number))
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has(self, number: usize) -> bool {
        self.0 >> number & 1 == 1
    }

    /// Reads what [`Display`](fmt::Display) writes.
    ///
    /// # Errors
    ///
    /// A name that is no fault's; it says which there are.
    pub fn parse(names: &str) -> Result<Self, String> {
        names.split(',').try_fold(Self::default(), |set, name| {
            match SWITCHES.iter().position(|(known, _)| *known == name) {
                Some(number) => Ok(set.and(Self(1 << number))),
                None => {
                    let known: Vec<_> = SWITCHES.iter().map(|(name, _)| *name).collect();
                    Err(format!("no fault is called {name}; there are {}", known.join(", ")))
                }
            }
        })
    }
}

impl fmt::Display for Without {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = SWITCHES.iter().enumerate().filter(|(number, _)| self.has(*number));
        let names: Vec<_> = names.map(|(_, (name, _))| *name).collect();
        f.write_str(&names.join(","))
    }
}

type Switch = (&'static str, fn(&mut Faults));

/// How each fault is switched off.
const SWITCHES: [Switch; 27] = [
    ("loss", |faults| faults.loss = 0),
    ("duplicates", |faults| faults.duplicate = 0),
    ("delay", |faults| faults.slow = 0),
    ("hint-loss", |faults| faults.hint_loss = 0),
    ("not-sent", |faults| faults.not_sent = 0),
    ("refusals", |faults| faults.refused = 0),
    ("misdelivery", |faults| faults.misdelivered = 0),
    ("garbling", |faults| faults.garbled = 0),
    ("early-exchange", |faults| faults.early_exchange = 0),
    ("late-timers", |faults| faults.late_wake = 0),
    ("undrained", |faults| faults.undrained = 0),
    ("pauses", |faults| faults.pause_every = 0),
    ("stalls", |faults| faults.stall_every = 0),
    ("partitions", |faults| faults.partition_every = 0),
    ("crashes", |faults| faults.crash_every = 0),
    ("lock-outs", |faults| faults.locked_out_every = 0),
    ("clocks-back", |faults| faults.clock_back_every = 0),
    ("clocks-ahead", |faults| faults.clock_ahead_every = 0),
    ("rate-changes", |faults| faults.rate_change_every = 0),
    ("broken-connections", |faults| faults.break_every = 0),
    ("flushes", |faults| faults.flush_every = 0),
    ("spurious-hints", |faults| faults.spurious_hint_every = 0),
    ("term-changes", |faults| faults.term_change_every = 0),
    ("node-crashes", |faults| faults.node_crash_every = 0),
    ("amnesia", |faults| faults.amnesia_every = 0),
    ("failovers", |faults| faults.failover_every = 0),
    ("gate-restarts", |faults| faults.gate_restart_every = 0),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_faults_is_read_as_it_is_written() {
        for set in Without::each() {
            assert_eq!(Without::parse(&set.to_string()), Ok(set));
        }
        let all = Without::each().fold(Without::default(), Without::and);
        assert_eq!(Without::parse(&all.to_string()), Ok(all));
        assert!(Without::parse("weather").is_err());
    }
}
