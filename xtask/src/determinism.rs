//! The same traces give the same bytes on every target (S30).

use std::process::Command;

use anyhow::{Result, bail};

use crate::{
    cross::Compiler,
    report::Report,
    shell::{command, output, run, target},
};

const PACKAGE: [&str; 4] = ["--package", "tenure-determinism", "--release", "--locked"];
const WASM: &str = "wasm32-unknown-unknown";
const THUMB: &str = "thumbv7m-none-eabi";

/// Replays the recorded traces natively, on wasm32 and on thumbv7m, and compares what came.
pub(crate) fn step(report: &mut Report, compiler: Compiler) {
    report.step("determinism: x86-64, wasm32 and thumbv7m", || same_everywhere(compiler));
}

fn same_everywhere(compiler: Compiler) -> Result<()> {
    let native = output(crate::shell::cargo(["run", "--quiet"]).args(PACKAGE))?;
    let traces = native.lines().count();
    if traces == 0 {
        bail!("no trace was replayed");
    }
    for (name, other) in [(WASM, on_wasm(compiler)?), (THUMB, on_thumb(compiler)?)] {
        if let Some((here, there)) = native.lines().zip(other.lines()).find(|(a, b)| a != b) {
            bail!("{name} differs: \"{there}\" where it is \"{here}\" natively");
        }
        if other.lines().count() != traces {
            bail!("{name} replayed {} of {traces} traces", other.lines().count());
        }
    }
    println!("{traces} traces gave the same bytes natively, on {WASM} and on {THUMB}");
    Ok(())
}

fn on_wasm(compiler: Compiler) -> Result<String> {
    run(cross(compiler, WASM).args(["--example", "wasm"]))?;
    let mut node = command("node");
    node.arg("tests/determinism/run.mjs").arg(built(WASM).join("examples/wasm.wasm"));
    output(&mut node)
}

fn on_thumb(compiler: Compiler) -> Result<String> {
    run(cross(compiler, THUMB).arg("--bin").arg("tenure-determinism"))?;
    let mut qemu = command("qemu-system-arm");
    qemu.args(["-machine", "mps2-an385", "-nographic", "-monitor", "none", "-serial", "none"]);
    qemu.args(["-semihosting-config", "enable=on,target=native", "-kernel"]);
    output(qemu.arg(built(THUMB).join("tenure-determinism")))
}

fn cross(compiler: Compiler, name: &str) -> Command {
    let mut cargo = compiler.cargo();
    cargo.args(PACKAGE).args(["--target", name]).env("CARGO_TARGET_DIR", folder());
    cargo
}

fn built(name: &str) -> std::path::PathBuf {
    folder().join(name).join("release")
}

fn folder() -> std::path::PathBuf {
    target().join("cross")
}
