//! What can be told without running anything: format, lints, docs, features, dependencies.

use std::{env, fs, path::PathBuf};

use anyhow::{Result, bail};

use crate::{
    invariants,
    report::Report,
    setup::{cargo_deny, cargo_hack},
    shell::{cargo, command, output, root, run},
};

/// Runs every check.
pub(crate) fn steps(report: &mut Report) {
    report.step("check: format", || run(&mut cargo(["fmt", "--all", "--check"])));
    report.step("check: lints", || {
        let scope = ["clippy", "--workspace", "--all-targets", "--all-features", "--locked"];
        run(cargo(scope).args(["--", "-D", "warnings"]))
    });
    report.step("check: docs", || {
        let scope = ["doc", "--workspace", "--lib", "--all-features", "--no-deps", "--locked"];
        run(cargo(scope).env("RUSTDOCFLAGS", "-D warnings"))
    });
    report.step("check: every set of features", every_set_of_features);
    report.step("check: the core stands alone", the_core_stands_alone);
    report.step("check: the invariants' tests", invariants::are_tested_where_the_docs_say);
    report.step("check: no file names a path of this machine", no_local_paths);
}

/// What `deny.toml` asks of the dependencies. Not among [`steps`]: it takes minutes to install, and
/// needs a list of advisories from the network.
pub(crate) fn dependencies(report: &mut Report) {
    report.step("check: licences, sources and advisories of the dependencies", || {
        run(command(cargo_deny()?).args(["deny", "--locked", "check"]))
    });
}

/// By clippy and not by `cargo check`, since it denies warnings without rebuilding dependencies.
fn every_set_of_features() -> Result<()> {
    let mut hack = command(cargo_hack()?);
    hack.args(["hack", "clippy", "--workspace", "--feature-powerset", "--keep-going", "--locked"]);
    run(hack.args(["--", "-D", "warnings"]))
}

fn the_core_stands_alone() -> Result<()> {
    let tree = ["tree", "-p", "tenure-core", "-e", "normal", "--no-default-features"];
    let tree = output(cargo(tree).args(["--prefix", "none", "--locked"]))?;
    if tree.lines().count() != 1 || !tree.starts_with("tenure-core v") {
        bail!("tenure-core has dependencies in its default build:\n{tree}");
    }
    Ok(())
}

/// A path that only exists on the machine where it was written helps nobody else.
fn no_local_paths() -> Result<()> {
    let home = env::var_os("HOME").map(PathBuf::from);
    let local = [Some(root().to_path_buf()), home];
    let local: Vec<String> = local
        .into_iter()
        .flatten()
        .filter(|path| path.components().count() > 1)
        .map(|path| path.display().to_string())
        .collect();
    let files = output(&mut git(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))?;
    let mut found = Vec::new();
    for file in files.split_terminator('\0') {
        // Deleted but not yet committed, or a binary file: neither names a path.
        let Ok(text) = fs::read_to_string(root().join(file)) else { continue };
        let lines = text.lines().enumerate();
        let hits = lines.filter(|(_, line)| local.iter().any(|path| names(line, path)));
        found.extend(hits.map(|(at, line)| format!("{file}:{}: {}", at + 1, line.trim())));
    }
    if !found.is_empty() {
        bail!("these lines name a path of this machine:\n{}", found.join("\n"));
    }
    Ok(())
}

/// Whether the line names the path or something below it, and not just a longer word.
fn names(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + path.len()..).and_then(|text| text.chars().next());
        let part_of_a_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        !before.is_some_and(part_of_a_word) && !after.is_some_and(part_of_a_word)
    })
}

fn git<'a>(args: impl IntoIterator<Item = &'a str>) -> std::process::Command {
    let mut git = command("git");
    git.args(args);
    git
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_path_is_found_alone_and_as_a_prefix() {
        assert!(names("see /srv/tenure", "/srv/tenure"));
        assert!(names("path = \"/srv/tenure/core\"", "/srv/tenure"));
    }

    #[test]
    fn longer_words_are_not_the_path() {
        assert!(!names("https://example.org/srv/tenure", "/srv/tenure"));
        assert!(!names("/srv/tenure-rs", "/srv/tenure"));
    }
}
