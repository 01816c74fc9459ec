//! Explores the worlds and says what came of each: `--help` lists the arguments.

use std::{
    env,
    process::ExitCode,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use tenure_model::{Ending, Found, ROWS, Row};

const USAGE: &str = "\
tenure-model [--deep] [--states N] [--row TEXT] [--story]

  --deep      the large worlds as far as they go, instead of a slice of them beside the small ones
  --states N  at most so many states of each world
  --row TEXT  only the worlds with TEXT in their name
  --story     tell the way to what must break, too
";

struct Options {
    deep: bool,
    states: u64,
    row: String,
    story: bool,
}

fn main() -> ExitCode {
    let Some(options) = options(env::args().skip(1)) else {
        eprint!("{USAGE}");
        return ExitCode::from(64);
    };
    let chosen = ROWS
        .iter()
        .filter(|row| row.name.contains(&options.row) && (!options.deep || row.deep > 0));
    let queue = Mutex::new(chosen);
    let results = Mutex::new((0, true));
    println!("{:>12} {:>6} {:>8}  world", "states", "depth", "seconds");
    let work = || {
        loop {
            let Some(row) = locked(&queue).next() else { break };
            let started = now();
            let found =
                row.explore(options.states.min(if options.deep { row.deep } else { row.short }));
            let took = started.elapsed();
            let mut results = locked(&results);
            results.0 += found.states;
            results.1 &= row.expects(&found);
            report(row, &found, took, &options);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let (states, well) = *locked(&results);
    println!("{states:>12}                  in all");
    if well && states > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options(mut args: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options { deep: false, states: u64::MAX, row: String::new(), story: false };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--deep" => options.deep = true,
            "--states" => options.states = args.next()?.parse().ok()?,
            "--row" => options.row = args.next()?,
            "--story" => options.story = true,
            _ => return None,
        }
    }
    Some(options)
}

fn report(row: &Row, found: &Found, took: Duration, options: &Options) {
    let Found { states, depth, ending, .. } = found;
    println!("{states:>12} {depth:>6} {:>8.1}  {}", took.as_secs_f64(), row.name);
    let well = row.expects(found);
    let verdict = if well { "" } else { "NOT AS IT MUST: " };
    match ending {
        Ending::Exhausted => println!("{:30}{verdict}that is all; everything holds", ""),
        Ending::Stopped => println!("{:30}{verdict}there is more; so far everything holds", ""),
        Ending::Broken { violation, story } => {
            println!("{:30}{verdict}{violation}", "");
            if options.story || !well {
                print!("{story}");
            }
        }
        _ => {}
    }
    if options.deep {
        println!("{:30}{:?}", "", row.rules());
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "times a search, not a lease")]
fn now() -> Instant {
    Instant::now()
}
