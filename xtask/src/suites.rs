//! Everything that must pass, at two lengths.

use anyhow::Result;

use crate::{
    bench, check,
    cross::{self, Compiler},
    determinism, fuzz, interop, model, readme,
    report::{self, Report},
    sabotage, setup,
    shell::cargo,
    sim,
};

/// How long the suites run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// For every change: within 35 minutes on two cores.
    Short,
    /// For a night.
    Full,
}

/// Installs what is missing, then runs everything.
pub(crate) fn run(length: Length) -> Result<()> {
    setup::run()?;
    report::of(|report| steps(report, length))
}

fn steps(report: &mut Report, length: Length) {
    check::steps(report);
    cross::steps(report, Compiler::find());
    readme::steps(report);
    let workspace = ["test", "--workspace", "--all-features", "--no-fail-fast", "--locked"];
    report.tests("tests: the workspace", &mut cargo(workspace));
    let core = ["test", "--package", "tenure-core", "--no-default-features", "--locked"];
    report.tests("tests: the core without features", &mut cargo(core));
    sim::step(report, if length == Length::Full { 1_000_000 } else { 10_000 });
    sabotage::steps(report);
    model::step(report);
    determinism::step(report, Compiler::find());
    interop::steps(report);
    if length == Length::Full {
        check::dependencies(report);
        fuzz::steps(report, 1_800);
        bench::steps(report);
    }
}
