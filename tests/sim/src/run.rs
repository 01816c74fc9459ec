use std::{
    error, fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::{
    clock::Micros,
    coverage::Coverage,
    scenario::{Kind, Scenario, Settings},
    trace::Trace,
    violation::Violation,
    world::World,
};

/// How much of what happened goes into a failure's message.
const LAST: usize = 30;

/// Runs one seed.
///
/// # Errors
///
/// The first invariant that did not hold.
pub fn run(seed: u64, settings: Settings) -> Result<Coverage, Failure> {
    let mut world = build(seed, settings, LAST);
    conclude(seed, &mut world)
}

/// Runs `seeds` seeds, from `first` on.
///
/// # Errors
///
/// The first failure.
pub fn run_all(first: u64, seeds: u64, settings: Settings) -> Result<Coverage, Failure> {
    let mut coverage = Coverage::NONE;
    for seed in first..first.saturating_add(seeds) {
        coverage.add(&run(seed, settings)?);
    }
    Ok(coverage)
}

/// Runs one seed, and tells everything that happened, line by line.
pub fn replay(seed: u64, settings: Settings) -> (String, Result<Coverage, Failure>) {
    let mut world = build(seed, settings, usize::MAX);
    let outcome = conclude(seed, &mut world);
    (format!("{:#?}\n{}", world.scenario, world.trace), outcome)
}

fn build(seed: u64, settings: Settings, keep: usize) -> World {
    let (scenario, random) = Scenario::new(seed, settings);
    World::new(scenario, random, Trace::of_last(keep))
}

fn conclude(seed: u64, world: &mut World) -> Result<Coverage, Failure> {
    // A machine that panics is a finding like any other, and its seed must be told.
    let outcome = catch_unwind(AssertUnwindSafe(|| world.run())).unwrap_or_else(|_| {
        Err(Violation { invariant: "panic", why: "see the message above".into() })
    });
    match outcome {
        Ok(()) => Ok(world.coverage.clone()),
        Err(violation) => Err(Failure {
            seed,
            kind: world.scenario.kind,
            at: world.now,
            violation,
            trace: world.trace.last(LAST),
        }),
    }
}

/// An invariant that did not hold, and what led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    seed: u64,
    kind: Kind,
    at: Micros,
    violation: Violation,
    trace: Trace,
}

impl Failure {
    /// The name of the invariant, as in the documentation: `S1`, `L2`, …
    #[must_use]
    pub fn invariant(&self) -> &'static str {
        self.violation.invariant
    }

    /// The kind of store that it was with.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The seed that broke it.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, kind, at, violation, .. } = self;
        let seconds = *at as f64 / 1e6;
        writeln!(
            f,
            "{violation}\nseed {seed} ({kind:?} store), after {seconds:.6} s; the last events:"
        )?;
        writeln!(f, "{}", self.trace)?;
        write!(f, "replay it with: cargo run -p tenure-sim -- --seed {seed}")
    }
}

impl error::Error for Failure {}
