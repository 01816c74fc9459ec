//! Runs one target on one file: `cargo run -p tenure-fuzz-replay --example run lease FILE`.

use std::{env, fs};

fn main() -> std::io::Result<()> {
    let mut args = env::args().skip(1);
    let (Some(target), Some(file)) = (args.next(), args.next()) else {
        eprintln!("run TARGET FILE");
        std::process::exit(64);
    };
    tenure_fuzz_replay::run(&target, &fs::read(file)?);
    Ok(())
}
