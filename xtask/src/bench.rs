//! What a lock costs.

use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::{
    redis::Redis,
    report::Report,
    shell::{cargo, command, output, run, target},
};

/// Runs every benchmark.
pub(crate) fn steps(report: &mut Report) {
    report.step("bench: Redis, ratio to a raw client", redis);
    report.step("bench: instructions for one renewal", renewal);
}

/// Acquire and release against `SET NX PX` and a compare-and-delete, by the same client library.
fn redis() -> Result<()> {
    let redis = Redis::start()?;
    let bench = ["run", "--release", "--quiet", "--locked", "--package", "tenure-bench"];
    run(cargo(bench).env("TENURE_STORE", redis.url()))
}

/// Two runs that differ only in the number of renewals; start-up and exit cancel out.
fn renewal() -> Result<()> {
    const RENEWALS: u64 = 100_000;
    const AIM: u64 = 1_000;
    let example = ["build", "--release", "--quiet", "--locked", "--package", "tenure-core"];
    run(cargo(example).args(["--example", "renewals"]))?;
    let few = instructions(1)?;
    let many = instructions(1 + RENEWALS)?;
    let each = many.saturating_sub(few) / RENEWALS;
    println!("{each} instructions for one renewal (aim: under {AIM})");
    if each >= AIM {
        bail!("{each} instructions for one renewal; the aim is under {AIM}");
    }
    Ok(())
}

fn instructions(renewals: u64) -> Result<u64> {
    let profile = target().join("renewals.callgrind");
    let mut valgrind = command("valgrind");
    valgrind.args(["--quiet", "--tool=callgrind"]);
    valgrind.arg(format!("--callgrind-out-file={}", profile.display()));
    valgrind.arg(target().join("release/examples/renewals")).arg(renewals.to_string());
    output(&mut valgrind)?;
    let profile = fs::read_to_string(profile)?;
    let total = profile.lines().find_map(|line| line.strip_prefix("totals: "));
    Ok(total.context("callgrind wrote no totals")?.trim().parse()?)
}
