//! The README's first commands, as a newcomer would run them.

use std::fs;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::{
    report::Report,
    shell::{command, output, root},
};

/// Runs what the README promises. Its second command is the one that runs this.
pub(crate) fn steps(report: &mut Report) {
    report.step("readme: the first command", first_command);
}

fn first_command() -> Result<()> {
    let readme = fs::read_to_string(root().join("README.md"))?;
    let command_line = first_of_two(&readme)?;
    // Neither a lock that the user holds nor a store that the user chose has a part in this.
    let state = TempDir::new()?;
    let mut shell = command("sh");
    shell.args(["-c", command_line]).env("XDG_STATE_HOME", state.path());
    let said = output(shell.env_remove("TENURE_STORE"))?;
    if said != "only one of me\n" {
        bail!("`{command_line}` wrote {said:?}");
    }
    Ok(())
}

/// The first of the two commands for a fresh machine; the other must be the one that tests.
fn first_of_two(readme: &str) -> Result<&str> {
    let block = readme.split("```").nth(1).and_then(|block| block.strip_prefix("sh\n"));
    let block = block.context("the README's first block of code is not a shell's")?;
    let mut lines = block.lines();
    match (lines.next(), lines.next(), lines.next()) {
        (Some(first), Some("cargo xtask test"), None) => Ok(first),
        _ => bail!("the README must start with two commands, and the second must test:\n{block}"),
    }
}
