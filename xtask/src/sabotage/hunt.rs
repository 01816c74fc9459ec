use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
};

use anyhow::{Result, bail};

use super::{copy::Copy, mutant::Mutant};
use crate::shell::run;

/// Seeds that a mutant may take.
const SEEDS: u64 = 20_000;

/// Seeds that must pass with no mutant chosen.
const CONTROL: u64 = 2_000;

/// Seeds that may break something else before the hunt is called off.
const ASTRAY: usize = 100;

/// How a mutant came to its end.
pub(super) struct Kill {
    pub(super) invariant: String,
    pub(super) how: String,
}

/// With no mutant chosen everything passes.
pub(super) fn control(copy: &Copy) -> Result<()> {
    run(copy.sim().args(["--seeds", &CONTROL.to_string()]))?;
    run(copy.tests().arg("--quiet"))
}

/// The mutant breaks an invariant that its entry names; or else why it is not killed.
pub(super) fn kill(copy: &Copy, mutant: &Mutant) -> Result<Kill> {
    match &mutant.test {
        Some(test) => by_test(copy, mutant, test),
        None => by_simulation(copy, mutant),
    }
}

/// Goes on after a seed that broke another invariant: what a mutant breaks first may change with
/// every change of the simulator.
fn by_simulation(copy: &Copy, mutant: &Mutant) -> Result<Kill> {
    let mut others = BTreeSet::new();
    let mut astray = 0;
    let mut first = 0;
    while let Some((invariant, seed)) = next_failure(copy, mutant, first)? {
        if mutant.killed_by.contains(&invariant) {
            return Ok(Kill { invariant, how: format!("seed {seed}") });
        }
        others.insert(invariant);
        astray += 1;
        first = seed + 1;
        if astray == ASTRAY {
            break;
        }
    }
    let by = mutant.killed_by.join(" or ");
    if others.is_empty() {
        bail!("{SEEDS} seeds broke nothing; {by} was to be broken");
    }
    bail!("{astray} seeds broke {others:?}; {by} was to be broken")
}

fn next_failure(copy: &Copy, mutant: &Mutant, first: u64) -> Result<Option<(String, u64)>> {
    let seeds = SEEDS.saturating_sub(first);
    let mut sim = copy.sim();
    sim.args(["--expect-failure", "--first", &first.to_string(), "--seeds", &seeds.to_string()]);
    if mutant.by_harm_alone {
        sim.arg("--by-harm-alone");
    }
    let (code, told) = told(&mut sim, mutant)?;
    let failure = told.lines().find_map(|line| line.split_once(" broken by seed "));
    match (code, failure) {
        (Some(0), Some((invariant, seed))) => Ok(Some((invariant.to_owned(), seed.parse()?))),
        (Some(1), None) => Ok(None),
        _ => bail!("the simulator itself failed ({code:?}), from seed {first} on"),
    }
}

fn by_test(copy: &Copy, mutant: &Mutant, test: &str) -> Result<Kill> {
    let Some((file, name)) = test.split_once("::") else { bail!("{test} is not `file::name`") };
    let mut tests = copy.tests();
    tests.args(["--quiet", "--test", file, "--", "--exact", name]);
    let (_, told) = told(&mut tests, mutant)?;
    if told.contains("test result: FAILED. 0 passed; 1 failed") {
        let invariant = mutant.killed_by.join(", ");
        return Ok(Kill { invariant, how: format!("`{test}`") });
    }
    if told.contains("test result: ok. 1 passed") {
        bail!("the test {test} passes");
    }
    bail!("the test {test} does not exist, or does not end");
}

/// How the command ends with this mutant chosen, and what it writes to standard output.
fn told(command: &mut Command, mutant: &Mutant) -> Result<(Option<i32>, String)> {
    command.env("TENURE_SABOTAGE", mutant.number.to_string());
    let output = command.stdin(Stdio::null()).output()?;
    Ok((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()))
}
