//! `cargo xtask …`: every step of the project's set-up, checks and tests.

mod bench;
mod check;
mod cross;
mod determinism;
mod fuzz;
mod interop;
mod invariants;
mod model;
mod readme;
mod redis;
mod report;
mod sabotage;
mod servers;
mod setup;
mod shell;
mod sim;
mod suites;

use std::{env, process::ExitCode};

const USAGE: &str = "\
cargo xtask COMMAND

  test                    everything that must pass
  soak                    the same at full length, and the benchmarks
  check                   format, lints, docs, every set of features
  cross                   the no_std crates for thumbv7m and wasm32; `--distribution`
                          to use the distribution's compiler and not rustup's
  sim [ARGS]              the simulator (`sim --help` lists its arguments)
  sabotage [NAME…]        the machines with these mistakes in them (or each of the list) must fail
  model [ARGS]            the machines in every state of small worlds (`model --help`)
  fuzz --seconds N [TARGET]
                          all fuzz targets for N seconds together, or this one alone;
                          `fuzz --minimise` commits the best of what they found
  determinism             the recorded traces natively, on wasm32 and on thumbv7m
  interop                 other libraries' clients on the same lock
  servers [-- COMMAND]    start a Redis, run COMMAND with its URL in TENURE_STORE, stop it
  bench                   ratio to a raw client, instructions for one renewal
  setup                   install what the above need and is missing
";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args.as_slice() {
        ["test"] => suites::run(suites::Length::Short),
        ["soak"] => suites::run(suites::Length::Full),
        ["check"] => report::of(check::steps),
        ["cross"] => report::of(|report| cross::steps(report, cross::Compiler::find())),
        ["cross", "--distribution"] => {
            report::of(|report| cross::steps(report, cross::Compiler::Distribution))
        }
        ["sim", args @ ..] => sim::run_with(args),
        ["sabotage", names @ ..] => sabotage::run(names),
        ["model", args @ ..] => model::run_with(args),
        ["fuzz", args @ ..] => fuzz::run_with(args),
        ["determinism"] => report::of(|report| determinism::step(report, cross::Compiler::find())),
        ["interop"] => report::of(interop::steps),
        ["servers"] => servers::wait(),
        ["servers", "--", command, args @ ..] => servers::run(command, args),
        ["bench"] => report::of(bench::steps),
        ["setup"] => setup::run(),
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(64);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
