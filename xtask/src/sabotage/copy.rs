use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use super::{
    manifest,
    mutant::Mutant,
    weave::{at_run_time, weave},
};
use crate::shell::{cargo, root, run, target};

/// What is copied: the machines and what judges them.
const MEMBERS: [&str; 2] = ["core", "tests/sim"];

/// A small workspace with every mutant in it, built.
pub(super) struct Copy {
    folder: PathBuf,
}

impl Copy {
    pub(super) fn build(mutants: &[Mutant]) -> Result<Self> {
        let copy = Self { folder: target().join("sabotage") };
        copy.write(mutants)?;
        run(&mut copy.cargo(["build", "--quiet", "--package", "tenure-sim"]))?;
        run(copy.tests().args(["--quiet", "--no-run"]))?;
        Ok(copy)
    }

    /// The simulator, for more arguments.
    pub(super) fn sim(&self) -> Command {
        Command::new(self.folder.join("target/debug/tenure-sim"))
    }

    /// The core's own tests, for more arguments.
    pub(super) fn tests(&self) -> Command {
        self.cargo(["test", "--package", "tenure-core", "--all-features", "--tests"])
    }

    fn cargo<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut cargo = cargo(args);
        cargo.current_dir(&self.folder).env("CARGO_TARGET_DIR", self.folder.join("target"));
        // What was woven in need not be pretty.
        cargo.env("RUSTFLAGS", "--cap-lints=allow");
        cargo
    }

    fn write(&self, mutants: &[Mutant]) -> Result<()> {
        let mut files = Vec::new();
        for member in MEMBERS {
            files_below(root(), Path::new(member), &mut files)?;
            self.remove_what_is_gone(Path::new(member))?;
        }
        if let Some(lost) = mutants.iter().find(|one| !files.contains(&one.file)) {
            bail!("mutant {}: {} is not a file that is copied", lost.name, lost.file.display());
        }
        for file in &files {
            let text = fs::read_to_string(root().join(file))
                .with_context(|| file.display().to_string())?;
            let here: Vec<_> = mutants.iter().filter(|one| one.file == *file).collect();
            let text = weave(&text, &here)?;
            let text = if file.starts_with("core/src") { at_run_time(&text) } else { text };
            let manifest = file.ends_with("Cargo.toml");
            self.put(file, &if manifest { manifest::with_switch(&text)? } else { text })?;
        }
        let workspace = fs::read_to_string(root().join("Cargo.toml"))?;
        self.put(Path::new("Cargo.toml"), &manifest::of_workspace(&workspace, &MEMBERS)?)?;
        self.put(Path::new("Cargo.lock"), &fs::read_to_string(root().join("Cargo.lock"))?)?;
        self.put(&Path::new(manifest::SWITCH).join("Cargo.toml"), manifest::OF_SWITCH)?;
        let switch = include_str!("../../../tests/sabotage/switch.rs");
        self.put(&Path::new(manifest::SWITCH).join("src/lib.rs"), switch)
    }

    /// Writes what is not there already, so that only what changed is built again.
    fn put(&self, file: &Path, text: &str) -> Result<()> {
        let file = self.folder.join(file);
        if fs::read_to_string(&file).is_ok_and(|there| there == text) {
            return Ok(());
        }
        fs::create_dir_all(file.parent().context("a file lies in a folder")?)?;
        Ok(fs::write(file, text)?)
    }

    fn remove_what_is_gone(&self, member: &Path) -> Result<()> {
        let mut files = Vec::new();
        if self.folder.join(member).exists() {
            files_below(&self.folder, member, &mut files)?;
        }
        for gone in files.iter().filter(|file| !root().join(file).exists()) {
            fs::remove_file(self.folder.join(gone))?;
        }
        Ok(())
    }
}

/// Every file below a folder, from `base`.
fn files_below(base: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(base.join(folder)).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            files_below(base, &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
