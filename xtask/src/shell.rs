//! Running other programs, and saying which.

use std::{
    env,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};

use anyhow::{Context as _, Result, bail};

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// The folder that everything is built into.
pub(crate) fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// A command that runs in the root of the workspace.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// The cargo that runs us.
pub(crate) fn cargo<'a>(args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args);
    command
}

/// Whether a probe succeeds, in silence. A program that is not there does not.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Prints the command and runs it; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    announce(command);
    let status = command.status().with_context(|| cannot_start(command))?;
    success(command, status)
}

/// Runs the command and returns what it wrote to standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    announce(command);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| cannot_start(command))?;
    success(command, output.status)?;
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs the command, shows its standard output line by line as it comes, and hands each line on.
pub(crate) fn follow(command: &mut Command, mut line: impl FnMut(&str)) -> Result<ExitStatus> {
    announce(command);
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| cannot_start(command))?;
    if let Some(stdout) = child.stdout.take() {
        for text in BufReader::new(stdout).lines() {
            let text = text?;
            println!("{text}");
            line(&text);
        }
    }
    Ok(child.wait()?)
}

/// The error of a command that ran and failed.
pub(crate) fn success(command: &Command, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("{} ended with {status}", name(command));
    }
    Ok(())
}

fn announce(command: &Command) {
    let variables = command.get_envs().filter_map(|(key, value)| {
        value.map(|value| format!("{}='{}' ", key.display(), value.display()))
    });
    let args = command.get_args().map(|arg| format!(" {}", arg.display()));
    eprintln!("$ {}{}{}", variables.collect::<String>(), name(command), args.collect::<String>());
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start {}; `cargo xtask setup` installs what is missing", name(command))
}

fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    program.file_name().unwrap_or(program.as_os_str()).display().to_string()
}
