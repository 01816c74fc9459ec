use std::{
    collections::BTreeMap,
    error, fmt,
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use crate::{
    clock::Micros,
    coverage::Coverage,
    html,
    scenario::{Kind, Scenario},
    settings::Settings,
    summary::Summary,
    trace::Trace,
    violation::Violation,
    world::World,
};

/// How much of what happened goes into a failure's message.
const LAST: usize = 30;

/// Seeds that a thread takes at once.
const CHUNK: u64 = 64;

/// Runs one seed.
///
/// # Errors
///
/// The first invariant that did not hold.
pub fn run(seed: u64, settings: Settings) -> Result<Coverage, Failure> {
    // Nothing is written down on the way. A seed that fails is run once more for its last events.
    let outcome = conclude(seed, settings, &mut build(seed, settings, 0));
    outcome.or_else(|_| conclude(seed, settings, &mut build(seed, settings, LAST)))
}

/// Runs `seeds` seeds, from `first` on, on as many threads as there are processors. What comes out
/// does not depend on how many there are.
///
/// # Errors
///
/// The failure of the lowest seed that failed.
pub fn run_all(first: u64, seeds: u64, settings: Settings) -> Result<Summary, Failure> {
    let (summary, failures) = run_each(first, seeds, settings, true);
    match failures.into_values().next() {
        Some(failure) => Err(failure),
        None => Ok(summary),
    }
}

/// Runs all of them, whether or not some fail: what those that passed came to, and the failures.
pub fn survey(first: u64, seeds: u64, settings: Settings) -> (Summary, BTreeMap<u64, Failure>) {
    run_each(first, seeds, settings, false)
}

/// Runs one seed, and tells everything that happened.
pub fn replay(seed: u64, settings: Settings) -> Replay {
    let mut world = build(seed, settings, usize::MAX);
    world.record();
    let outcome = conclude(seed, settings, &mut world);
    Replay { seed, settings, world, outcome }
}

/// All that happened in one run.
#[derive(Debug)]
pub struct Replay {
    seed: u64,
    settings: Settings,
    world: World,
    outcome: Result<Coverage, Failure>,
}

impl Replay {
    /// How it ended.
    ///
    /// # Errors
    ///
    /// The invariant that did not hold.
    pub fn outcome(&self) -> &Result<Coverage, Failure> {
        &self.outcome
    }

    /// Line by line.
    #[must_use]
    pub fn story(&self) -> String {
        format!("{:#?}\n{}", self.world.scenario, self.world.trace)
    }

    /// What every machine was told and said, for [`replay_trace`](crate::replay_trace).
    ///
    /// # Errors
    ///
    /// What `postcard` says.
    pub fn trace(&self) -> Result<Vec<u8>, postcard::Error> {
        self.world.recorder.as_ref().map_or(Ok(Vec::new()), |recorder| recorder.bytes())
    }

    /// A picture of the run: one page, complete in itself.
    #[must_use]
    pub fn html(&self) -> String {
        let failure = self.outcome.as_ref().err().map(|failure| failure.violation.to_string());
        html::page(self.seed, self.settings, &self.world, failure.as_deref())
    }
}

fn run_each(
    first: u64,
    seeds: u64,
    settings: Settings,
    stop: bool,
) -> (Summary, BTreeMap<u64, Failure>) {
    let end = first.saturating_add(seeds);
    let next = AtomicU64::new(first);
    // Seeds from here on are of no interest any more.
    let limit = AtomicU64::new(end);
    let work = || {
        let mut summary = Summary::default();
        let mut failures = BTreeMap::new();
        loop {
            let from = next.fetch_add(CHUNK, Ordering::Relaxed);
            if from >= limit.load(Ordering::Relaxed) {
                return (summary, failures);
            }
            for seed in from..end.min(from.saturating_add(CHUNK)) {
                match run(seed, settings) {
                    Ok(coverage) => summary.add(&coverage),
                    Err(failure) => {
                        failures.insert(seed, failure);
                        if stop {
                            limit.fetch_min(seed, Ordering::Relaxed);
                            break;
                        }
                    }
                }
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut all = (Summary::default(), BTreeMap::new());
        for worker in workers {
            let (summary, failures) = worker.join().expect("a world's panic is caught");
            all.0.merge(summary);
            all.1.extend(failures);
        }
        all
    })
}

fn build(seed: u64, settings: Settings, keep: usize) -> World {
    let (scenario, random) = Scenario::new(seed, settings);
    World::new(scenario, random, Trace::of_last(keep))
}

fn conclude(seed: u64, settings: Settings, world: &mut World) -> Result<Coverage, Failure> {
    // A machine that panics is a finding like any other, and its seed must be told.
    let outcome = catch_unwind(AssertUnwindSafe(|| world.run())).unwrap_or_else(|_| {
        Err(Violation { invariant: "panic", why: "see the message above".into() })
    });
    match outcome {
        Ok(()) => Ok(world.coverage.clone()),
        Err(violation) => Err(Failure {
            seed,
            settings,
            kind: world.scenario.kind,
            at: world.now,
            violation,
            trace: Box::new(world.trace.last(LAST)),
        }),
    }
}

/// An invariant that did not hold, and what led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    seed: u64,
    settings: Settings,
    kind: Kind,
    at: Micros,
    violation: Violation,
    trace: Box<Trace>,
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

    /// How long the world had run, in whole seconds, rounded up.
    pub(crate) fn seconds(&self) -> u64 {
        self.at.div_ceil(crate::clock::SECONDS)
    }

    /// The command that repeats it.
    #[must_use]
    pub fn command(&self) -> String {
        format!("cargo xtask sim --seed {}{}", self.seed, self.settings)
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
        write!(f, "replay it with: {}", self.command())
    }
}

impl error::Error for Failure {}
