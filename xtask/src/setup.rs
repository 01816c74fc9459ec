//! What the other commands need, installed if it is missing.

use std::{path::PathBuf, process::Command};

use anyhow::{Result, bail};

use crate::{
    cross::{self, Compiler},
    shell::{self, cargo, command, output, root, succeeds, target},
};

/// Installs what is missing: from the distribution's packages, or into the target folder.
pub(crate) fn run() -> Result<()> {
    let missing = missing_packages();
    if !missing.is_empty() {
        install(&missing)?;
    }
    cargo_hack()?;
    python()?;
    Ok(())
}

/// cargo-hack, which runs a command for every set of features.
pub(crate) fn cargo_hack() -> Result<PathBuf> {
    cargo_tool("cargo-hack", "hack", "0.6.46")
}

/// cargo-deny, which checks the dependencies against `deny.toml`.
pub(crate) fn cargo_deny() -> Result<PathBuf> {
    cargo_tool("cargo-deny", "deny", "0.20.2")
}

/// cargo-fuzz, which builds the fuzz targets.
pub(crate) fn cargo_fuzz() -> Result<PathBuf> {
    cargo_tool("cargo-fuzz", "fuzz", "0.13.2")
}

/// A Python with the clients of `tests/interop/requirements.txt`.
pub(crate) fn python() -> Result<PathBuf> {
    let environment = tools().join("python");
    let python = environment.join("bin/python");
    if !succeeds(command(&python).args(["-m", "pip", "--version"])) {
        shell::run(command("python3").args(["-m", "venv", "--clear"]).arg(environment))?;
    }
    let mut install = command(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    shell::run(install.arg("--requirement").arg(root().join("tests/interop/requirements.txt")))?;
    Ok(python)
}

/// A subcommand of cargo in exactly this version, built into the target folder.
fn cargo_tool(name: &str, subcommand: &str, version: &str) -> Result<PathBuf> {
    let tools = tools();
    let program = tools.join("bin").join(name);
    let present = program.exists()
        && output(command(&program).args([subcommand, "--version"]))?.contains(version);
    if !present {
        let mut install = cargo(["install", "--locked", "--version", version, name]);
        install.env("CARGO_TARGET_DIR", tools.join("build"));
        shell::run(install.arg("--root").arg(tools))?;
    }
    Ok(program)
}

fn tools() -> PathBuf {
    target().join("tools")
}

/// Debian's names of the packages that are not there.
fn missing_packages() -> Vec<&'static str> {
    let mut missing = Vec::new();
    if !succeeds(command("redis-server").arg("--version")) {
        missing.push("redis-server");
    }
    if !succeeds(command("valgrind").arg("--version")) {
        missing.push("valgrind");
    }
    if !succeeds(command("qemu-system-arm").arg("--version")) {
        missing.push("qemu-system-arm");
    }
    if !succeeds(command("node").arg("--version")) {
        missing.push("nodejs");
    }
    if !succeeds(command("python3").args(["-c", "import ensurepip, venv"])) {
        missing.extend(["python3", "python3-venv"]);
    }
    if Compiler::find() == Compiler::Distribution && !cross::distribution_has_compiler() {
        missing.extend(["rustc-web", "cargo-web", "rust-web-src"]);
    }
    missing
}

fn install(packages: &[&str]) -> Result<()> {
    let wanted = packages.join(" ");
    if !succeeds(command("apt-get").arg("--version")) {
        bail!("install these first (Debian's names): {wanted}");
    }
    shell::run(privileged("apt-get")?.arg("update"))?;
    let mut apt = privileged("env")?;
    // At run level 1 sysvinit starts no service of a package; systemd may. Tests start their own
    // servers on ports of their own, and never use the system's.
    apt.args(["DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1", "apt-get", "install", "--yes"]);
    shell::run(apt.arg("--no-install-recommends").args(packages))
}

fn privileged(program: &str) -> Result<Command> {
    if output(command("id").arg("-u"))?.trim() == "0" {
        return Ok(command(program));
    }
    let mut sudo = command("sudo");
    sudo.arg(program);
    Ok(sudo)
}
