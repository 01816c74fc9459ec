use std::fmt;

use crate::coverage::{Coverage, Seen};

/// What many seeds came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    coverage: Coverage,
    /// Simulated microseconds of worlds that held contention and at least one fault.
    counted: u64,
    /// How much of each happened in each seed, in no order.
    grants: Vec<u64>,
    losses: Vec<u64>,
    faults: Vec<u64>,
    messages: Vec<u64>,
}

impl Summary {
    pub(crate) fn add(&mut self, coverage: &Coverage) {
        self.coverage.add(coverage);
        if coverage.is_worth_something() {
            self.counted += coverage.simulated;
        }
        self.grants.push(coverage.times(Seen::Acquired));
        self.losses.push(coverage.losses());
        self.faults.push(coverage.faults);
        self.messages.push(coverage.messages);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.coverage.add(&other.coverage);
        self.counted += other.counted;
        self.grants.extend(other.grants);
        self.losses.extend(other.losses);
        self.faults.extend(other.faults);
        self.messages.extend(other.messages);
    }

    /// How often each thing was come by.
    #[must_use]
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Simulated years for each day of one processor, when all of it took so many processor-seconds.
    /// Only time that held contention and a fault counts.
    #[must_use]
    pub fn years_per_core_day(&self, seconds: f64) -> f64 {
        let years = self.counted as f64 / 1e6 / (365.25 * 86_400.0);
        years / (seconds / 86_400.0)
    }

    /// The seeds that were run and passed.
    #[must_use]
    pub fn seeds(&self) -> usize {
        self.grants.len()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.coverage)?;
        let hours = |micros: u64| micros as f64 / 3.6e9;
        writeln!(
            f,
            "\n{} seeds, {} steps; {:.1} hours simulated, of which {:.1} held contention and a fault",
            self.seeds(),
            self.coverage.steps,
            hours(self.coverage.simulated),
            hours(self.counted),
        )?;
        writeln!(f, "{:>10} {:>10} {:>10} {:>10} {:>12}", "a seed", "min", "median", "p99", "max")?;
        let figures = [
            ("grants", &self.grants),
            ("losses", &self.losses),
            ("faults", &self.faults),
            ("messages", &self.messages),
        ];
        for (name, figures) in figures {
            let mut sorted = figures.clone();
            sorted.sort_unstable();
            let at = |share: f64| {
                let last = sorted.len().saturating_sub(1);
                sorted.get((last as f64 * share) as usize).copied().unwrap_or(0)
            };
            writeln!(
                f,
                "{name:>10} {:>10} {:>10} {:>10} {:>12}",
                at(0.0),
                at(0.5),
                at(0.99),
                at(1.0)
            )?;
        }
        Ok(())
    }
}
