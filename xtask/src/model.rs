//! The model checker.

use std::fs;

use anyhow::Result;

use crate::{
    report::Report,
    shell::{cargo, follow, root, run, success},
};

const LOG: &str = "docs/model-deep.log";

/// Passes the arguments on to it. What it finds in the large world is kept in docs/.
pub(crate) fn run_with(args: &[&str]) -> Result<()> {
    let mut explore = cargo(["run", "--quiet", "--package", "tenure-model", "--"]);
    explore.args(args);
    if !args.contains(&"--deep") {
        return run(&mut explore);
    }
    let mut log = String::new();
    let status = follow(&mut explore, |line| {
        log.push_str(line);
        log.push('\n');
    })?;
    success(&explore, status)?;
    fs::write(root().join(LOG), log)?;
    Ok(())
}

/// Every world of the ordinary run.
pub(crate) fn step(report: &mut Report) {
    report.step("model: every world", || run_with(&[]));
}
