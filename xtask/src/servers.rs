//! Servers for hand-made trials.

use std::io;

use anyhow::Result;

use crate::{
    redis::Redis,
    shell::{self, command},
};

/// Starts the servers, prints where they are, and stops them at the end of standard input.
pub(crate) fn wait() -> Result<()> {
    let redis = Redis::start()?;
    println!("TENURE_STORE={}", redis.url());
    eprintln!("Enter stops it.");
    io::stdin().read_line(&mut String::new())?;
    Ok(())
}

/// Runs a command with `TENURE_STORE` set, and stops the servers after it.
pub(crate) fn run(program: &str, args: &[&str]) -> Result<()> {
    let redis = Redis::start()?;
    shell::run(command(program).args(args).env("TENURE_STORE", redis.url()))
}
