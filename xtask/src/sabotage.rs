//! The simulator against a core that was broken on purpose. A check that cannot fail is a defect.

use anyhow::{Result, bail};

use crate::{
    report::Report,
    shell::{cargo, follow, success, target},
};

/// What `--cfg tenure_sabotage="…"` can break.
const MUTANTS: [&str; 4] =
    ["deadline-from-reply", "nonce-ignored", "no-drift-margin", "late-grant-held"];

/// Every mutant must be killed.
pub(crate) fn steps(report: &mut Report) {
    for mutant in MUTANTS {
        step(report, mutant);
    }
}

/// The simulation must fail with this mutant, and name the invariant that it broke.
pub(crate) fn step(report: &mut Report, mutant: &str) {
    report.step(&format!("sabotage: {mutant}"), || kill(mutant));
}

fn kill(mutant: &str) -> Result<()> {
    let mut sim = cargo(["run", "--quiet", "--package", "tenure-sim", "--", "--expect-failure"]);
    sim.env("RUSTFLAGS", format!("--cfg tenure_sabotage=\"{mutant}\""));
    sim.env("CARGO_TARGET_DIR", target().join("sabotage"));
    let mut named = false;
    let status = follow(&mut sim, |line| named |= names_an_invariant(line))?;
    success(&sim, status)?;
    if !named {
        bail!("the simulation failed, but named no invariant");
    }
    Ok(())
}

/// Whether a word of the line is an invariant's number, as in `S13`.
fn names_an_invariant(line: &str) -> bool {
    line.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
        word.strip_prefix(['S', 'L'])
            .is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::names_an_invariant;

    #[test]
    fn invariants_are_named_by_number() {
        assert!(names_an_invariant("seed 7: S13 broken: token 4 after 5"));
        assert!(names_an_invariant("killed by S1, at 3.2 s"));
        assert!(!names_an_invariant("Seed 7 failed after 13 s"));
    }
}
