//! The fuzz targets. The ordinary test run only replays what they found: see tests/fuzz-replay.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File},
    path::PathBuf,
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::{
    report::{self, Report},
    setup,
    shell::{command, root, run, success, target},
};

const TARGETS: [&str; 7] =
    ["lease", "quorum", "fence", "config", "resp", "redis_conversation", "snapshot"];

/// What a target may keep in the repository.
const CORPUS: usize = 40;
const CORPUS_BYTES: u64 = 100_000;

const FIGURES: &str = "docs/fuzz-figures.txt";

/// `--seconds N [TARGET]`, or `--minimise`.
pub(crate) fn run_with(args: &[&str]) -> Result<()> {
    match *args {
        ["--seconds", seconds] => {
            let seconds = seconds.parse()?;
            report::of(|report| steps(report, seconds))
        }
        ["--seconds", seconds, target] => {
            let seconds = seconds.parse()?;
            report::of(|report| step(report, target, seconds))
        }
        ["--minimise"] => report::of(|report| {
            for target in TARGETS {
                report.step(&format!("fuzz: the corpus of {target}"), || merge(target));
            }
        }),
        _ => bail!("say `fuzz --seconds N [TARGET]` or `fuzz --minimise`"),
    }
}

/// Runs the targets, each for its share of `seconds`. An input that fails is kept among those that
/// the tests replay.
pub(crate) fn steps(report: &mut Report, seconds: u64) {
    for target in TARGETS {
        step(report, target, seconds.div_ceil(TARGETS.len() as u64));
    }
}

fn step(report: &mut Report, target: &str, seconds: u64) {
    report.step(&format!("fuzz: {target}, {seconds} s"), || fuzz(target, seconds));
}

fn fuzz(target: &str, seconds: u64) -> Result<()> {
    if !TARGETS.contains(&target) {
        bail!("no such target; there are {}", TARGETS.join(", "));
    }
    let log = folder().join(format!("{target}.log"));
    let crashes = root().join("fuzz/crashes").join(target);
    for needed in [&corpus(target), &found(target), &crashes] {
        fs::create_dir_all(needed)?;
    }
    run(cargo_fuzz("build")?.arg(target))?;
    let mut fuzz = Command::new(program(target));
    fuzz.arg(found(target)).arg(corpus(target)).arg(longest_input(target));
    fuzz.arg(format!("-max_total_time={seconds}")).arg("-print_final_stats=1");
    fuzz.arg(format!("-artifact_prefix={}/", crashes.display()));
    let status = fuzz.stderr(File::create(&log)?).status()?;
    let log = fs::read(&log)?;
    let log = String::from_utf8_lossy(&log);
    if !status.success() {
        let last = log.lines().rev().take(40).collect::<Vec<_>>();
        for line in last.into_iter().rev() {
            eprintln!("{line}");
        }
        success(&fuzz, status)?;
    }
    let executions =
        log.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let executions = executions.context("libFuzzer printed no figures")?.trim().parse()?;
    println!("{target}: {executions} executions");
    note(target, executions, seconds)
}

/// Adds to the figures of all runs so far.
fn note(target: &str, executions: u64, seconds: u64) -> Result<()> {
    let figures = fs::read_to_string(root().join(FIGURES)).unwrap_or_default();
    let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for line in figures.lines().filter(|line| !line.starts_with('#')) {
        if let [name, executions, seconds] = line.split_whitespace().collect::<Vec<_>>()[..]
            && TARGETS.contains(&name)
        {
            sums.insert(name, (executions.parse()?, seconds.parse()?));
        }
    }
    let sum = sums.entry(target).or_default();
    *sum = (sum.0 + executions, sum.1 + seconds);

    let mut text = String::from(
        "# Executions of each fuzz target without an open finding, and the seconds that they took.\n\
         # Written by `cargo xtask fuzz`, which adds what it ran.\n",
    );
    for (name, (executions, seconds)) in &sums {
        writeln!(text, "{name:<20} {executions:>12} {seconds:>8}")?;
    }
    let (executions, seconds) =
        sums.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    writeln!(text, "{:<20} {executions:>12} {seconds:>8}", "total")?;
    Ok(fs::write(root().join(FIGURES), text)?)
}

/// Puts the best of what was found in the place of the committed corpus.
fn merge(target: &str) -> Result<()> {
    let merged = folder().join("merged").join(target);
    if merged.exists() {
        fs::remove_dir_all(&merged)?;
    }
    fs::create_dir_all(&merged)?;
    fs::create_dir_all(found(target))?;
    fs::create_dir_all(corpus(target))?;
    run(cargo_fuzz("build")?.arg(target))?;
    let mut merge = Command::new(program(target));
    merge.args(["-set_cover_merge=1", longest_input(target)]).arg(&merged);
    merge.arg(found(target)).arg(corpus(target));
    let status =
        merge.stderr(File::create(folder().join(format!("{target}.merge.log")))?).status()?;
    success(&merge, status)?;

    let mut inputs: Vec<(u64, PathBuf)> = Vec::new();
    for input in fs::read_dir(&merged)? {
        let input = input?;
        inputs.push((input.metadata()?.len(), input.path()));
    }
    if inputs.is_empty() {
        bail!("nothing was found yet: run `cargo xtask fuzz --seconds N {target}` first");
    }
    inputs.sort();
    fs::remove_dir_all(corpus(target))?;
    fs::create_dir_all(corpus(target))?;
    // Of every size some, the long ones only as far as there is room.
    let every = inputs.len().div_ceil(CORPUS);
    let mut room = CORPUS_BYTES;
    for (size, input) in inputs.into_iter().step_by(every) {
        let Some(left) = room.checked_sub(size) else { break };
        room = left;
        let name = input.file_name().context("an input has a name")?;
        fs::copy(&input, corpus(target).join(name))?;
    }
    Ok(())
}

/// Without a sanitiser: nothing here is `unsafe`, and what else they find costs half the speed.
fn cargo_fuzz(subcommand: &str) -> Result<Command> {
    let mut fuzz = command(setup::cargo_fuzz()?);
    fuzz.args([subcommand, "--fuzz-dir", "fuzz", "--sanitizer", "none"]);
    // libFuzzer's instrumentation is unstable; a released compiler takes it only when told so.
    fuzz.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", folder());
    Ok(fuzz)
}

fn program(name: &str) -> PathBuf {
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    folder().join(host).join("release").join(name)
}

/// Longer inputs find nothing that shorter ones do not, and take longer.
fn longest_input(target: &str) -> &'static str {
    match target {
        "lease" | "quorum" => "-max_len=2048",
        "config" => "-max_len=128",
        _ => "-max_len=512",
    }
}

fn folder() -> PathBuf {
    target().join("fuzz")
}

fn corpus(target: &str) -> PathBuf {
    root().join("fuzz/corpus").join(target)
}

/// What runs on this machine found, of which [`merge`] keeps the best.
fn found(target: &str) -> PathBuf {
    folder().join("found").join(target)
}
