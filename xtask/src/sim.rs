//! The simulator.

use anyhow::Result;

use crate::{
    report::Report,
    shell::{cargo, run},
};

/// Passes the arguments on to it.
pub(crate) fn run_with(args: &[&str]) -> Result<()> {
    run(cargo(["run", "--quiet", "--package", "tenure-sim", "--"]).args(args))
}

/// Runs that many seeds; every invariant must hold in each.
pub(crate) fn step(report: &mut Report, seeds: u32) {
    report
        .step(&format!("simulation: {seeds} seeds"), || run_with(&["--seeds", &seeds.to_string()]));
}
