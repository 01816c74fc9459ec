//! The crates without `std`, built for targets that have none.

use std::process::Command;

use anyhow::Result;

use crate::{
    report::Report,
    shell::{cargo, command, run, succeeds, target},
};

const TARGETS: [&str; 2] = ["thumbv7m-none-eabi", "wasm32-unknown-unknown"];
const CRATES: [&str; 4] = ["-p", "tenure-core", "-p", "tenure-dialects"];

/// Whose compiler builds for a foreign target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compiler {
    /// The one in use, with the targets that rustup added.
    Rustup,
    /// A second one from Debian (`rustc-web`), which builds `core` from source.
    Distribution,
}

impl Compiler {
    /// rustup's if it can add the targets; there may be no rustup, or no network for it.
    pub(crate) fn find() -> Self {
        if succeeds(command("rustup").args(["target", "add"]).args(TARGETS)) {
            Self::Rustup
        } else {
            Self::Distribution
        }
    }

    pub(crate) fn cargo(self) -> Command {
        match self {
            Self::Rustup => cargo(["build"]),
            Self::Distribution => {
                let mut cargo = command("/usr/bin/cargo");
                // What rustup and the cargo that runs us put here belongs to another compiler.
                cargo.env_remove("LD_LIBRARY_PATH").env("RUSTC", "/usr/bin/rustc");
                // `-Zbuild-std` is unstable; a released compiler takes it only when told so.
                cargo.env("RUSTC_BOOTSTRAP", "1").args(["build", "-Zbuild-std=core"]);
                cargo
            }
        }
    }
}

/// Whether the distribution's compiler, and the source of its `core`, are installed.
pub(crate) fn distribution_has_compiler() -> bool {
    let library = "/usr/lib/rustlib/src/rust/library/core/Cargo.toml";
    succeeds(command("/usr/bin/cargo").arg("--version"))
        && succeeds(command("test").args(["-e", library]))
}

/// Builds for every target, without features and with all of them.
pub(crate) fn steps(report: &mut Report, compiler: Compiler) {
    for target in TARGETS {
        report.step(&format!("cross: {target}"), || {
            build(compiler, target, &[])?;
            build(compiler, target, &["--all-features"])
        });
    }
}

fn build(compiler: Compiler, name: &str, features: &[&str]) -> Result<()> {
    let mut cargo = compiler.cargo();
    cargo.args(CRATES).args(["--target", name, "--locked"]).args(features);
    run(cargo.env("CARGO_TARGET_DIR", target().join("cross")))
}
