use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::{invariants, shell::root};

/// The list, from the root of the workspace.
pub(super) const LIST: &str = "tests/sabotage/mutants.toml";

/// One mistake in the protocol.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mutant {
    /// Its place in the list, which is what a process is told to choose it by.
    #[serde(skip)]
    pub(super) number: usize,
    pub(super) name: String,
    /// Who made the mistake, or why one might.
    pub(super) why: String,
    /// Where it is made, from the root of the workspace.
    pub(super) file: PathBuf,
    /// What stands there: once in the file, or else the first time after `after`.
    pub(super) find: String,
    pub(super) after: Option<String>,
    /// What stands there instead. Of the same kind: an expression, or statements.
    pub(super) replace: String,
    /// The invariants that may kill it, by number.
    pub(super) killed_by: Vec<String>,
    /// Whether the simulator must not look at how deadlines were reckoned, only at what they do.
    #[serde(default)]
    pub(super) by_harm_alone: bool,
    /// The test of the core that kills it, as `file::name`; otherwise the simulator does.
    pub(super) test: Option<String>,
}

/// All of them, checked as far as that can be done without building anything.
pub(super) fn list() -> Result<Vec<Mutant>> {
    #[derive(Deserialize)]
    struct List {
        mutant: Vec<Mutant>,
    }
    let text = fs::read_to_string(root().join(LIST)).context(LIST)?;
    let List { mut mutant } = toml::from_str(&text).context(LIST)?;
    for (number, mutant) in mutant.iter_mut().enumerate() {
        mutant.number = number;
    }
    for one in &mutant {
        check(one, &mutant).with_context(|| format!("{LIST}: {}", one.name))?;
    }
    Ok(mutant)
}

fn check(one: &Mutant, all: &[Mutant]) -> Result<()> {
    if all.iter().any(|other| other.name == one.name && other.number != one.number) {
        bail!("two mutants have this name");
    }
    if one.why.is_empty() || one.killed_by.is_empty() {
        bail!("say why, and what kills it");
    }
    for number in &one.killed_by {
        if !invariants::is_documented(number)? {
            bail!("docs/invariants.md has no {number}");
        }
    }
    Ok(())
}
