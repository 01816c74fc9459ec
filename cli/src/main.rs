//! The command `tenure`: runs a command under a lock that ends on time.

mod args;
mod demo;
mod doctor;
mod duration;
mod exit;
mod manual;
mod notes;
mod run;
mod state;
mod status;
mod store;

use std::{env, process::ExitCode};

use clap::Parser;

use args::{Cli, Command};
use exit::Failure;

fn main() -> ExitCode {
    let code = if env::args_os().next().is_some_and(|name| name == args::WATCHDOG) {
        perform(run::watchdog::main)
    } else {
        perform(obey)
    };
    ExitCode::from(code)
}

fn perform<A: Parser>(work: impl FnOnce(A) -> Result<u8, Failure>) -> u8 {
    match A::try_parse().map(work) {
        Ok(Ok(code)) => code,
        Ok(Err(Failure { code, text })) => {
            run::say(&text);
            code
        }
        Err(error) => {
            let _nobody_reads = error.print();
            // Help that was asked for goes to standard output, and is no error.
            if error.use_stderr() { exit::USAGE } else { 0 }
        }
    }
}

fn obey(cli: Cli) -> Result<u8, Failure> {
    match cli.command {
        Command::Run(args) => block_on(run::main(args)),
        Command::Status(args) => block_on(status::main(args)),
        Command::Doctor(args) => block_on(doctor::main(args)),
        Command::Demo => demo::main(),
        Command::Man { command } => manual::man(command.as_deref()),
        Command::Completions { shell } => manual::completions(shell),
    }
}

fn block_on(work: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::system)?;
    let result = runtime.block_on(work);
    // A store's call that hangs in a thread must not keep the process.
    runtime.shutdown_background();
    result
}
