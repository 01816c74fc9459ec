//! The machines, broken on purpose in one place at a time. A check that cannot fail is a defect.
//!
//! `tests/sabotage/mutants.toml` lists the mutants. All are woven into one copy of the core and the
//! simulator, each behind a choice at run time, so that the shipped core knows nothing of them and
//! one build serves all. Then each is chosen once, and must be killed by an invariant that its entry
//! names. With none chosen everything must pass.

mod copy;
mod hunt;
mod manifest;
mod mutant;
mod weave;

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{Context as _, Result, bail};

use self::{copy::Copy, hunt::Kill, mutant::Mutant};
use crate::report::Report;

/// Every mutant must be killed.
pub(crate) fn steps(report: &mut Report) {
    report.step("sabotage: every mutant is killed", || run(&[]));
}

/// The mutants of these names must be killed; all of them where none is named.
pub(crate) fn run(names: &[&str]) -> Result<()> {
    let mutants = mutant::list()?;
    let chosen = choose(&mutants, names)?;
    let copy = Copy::build(&mutants)?;
    hunt::control(&copy)?;
    let outcomes = side_by_side(&chosen, |mutant| {
        let outcome = hunt::kill(&copy, mutant);
        let end = if outcome.is_ok() { "killed" } else { "NOT KILLED" };
        eprintln!("{end} {}", mutant.name);
        outcome
    });
    report(&chosen, &outcomes)
}

fn choose<'a>(mutants: &'a [Mutant], names: &[&str]) -> Result<Vec<&'a Mutant>> {
    if names.is_empty() {
        return Ok(mutants.iter().collect());
    }
    let named = |name: &&str| {
        let found = mutants.iter().find(|mutant| mutant.name == *name);
        found.with_context(|| format!("{} has no mutant {name}", mutant::LIST))
    };
    names.iter().map(named).collect()
}

/// The outcome of each item, in their order. As many are worked on at once as there are processors.
fn side_by_side<T: Sync, R: Send + Sync>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let outcomes: Vec<OnceLock<R>> = items.iter().map(|_| OnceLock::new()).collect();
    let worker = || {
        let take = || {
            let at = next.fetch_add(1, Ordering::Relaxed);
            items.get(at).zip(outcomes.get(at))
        };
        while let Some((item, outcome)) = take() {
            outcome.get_or_init(|| work(item));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
    outcomes.into_iter().filter_map(OnceLock::into_inner).collect()
}

/// Prints how each came to its end. An error where one did not, or not by what it should.
fn report(mutants: &[&Mutant], outcomes: &[Result<Kill>]) -> Result<()> {
    let mut survivors = Vec::new();
    println!("\n| mutant | killed by | how |\n|---|---|---|");
    for (Mutant { name, .. }, outcome) in mutants.iter().zip(outcomes) {
        match outcome {
            Ok(Kill { invariant, how }) => println!("| {name} | {invariant} | {how} |"),
            Err(why) => survivors.push(format!("\n  {name}: {why:#}")),
        }
    }
    println!("\n{} mutants, {} survivors", mutants.len(), survivors.len());
    if !survivors.is_empty() {
        bail!("not killed, or not by what should kill them:{}", survivors.concat());
    }
    Ok(())
}
