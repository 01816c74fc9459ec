//! Runs more seeds than the tests do, or tells, draws or shrinks one.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use tenure_sim::{
    Failure, Settings, Summary, Weather, Without, replay, run, run_all, shrink, survey,
};

const USAGE: &str = "\
usage: sim [--seeds N] [--first N] [--survey | --expect-failure] [WORLD]
       sim --seed N [--shrink] [--trace FILE] [--html FILE] [WORLD]

  --seeds N          how many seeds to run (10000)
  --first N          the first of them (0)
  --survey           do not stop at a failure; count them by invariant and kind of store
  --expect-failure   succeed only if an invariant breaks, and print which
  --seed N           run just this one, and print everything that happens
  --shrink           make its world smaller while it fails by the same invariant
  --trace FILE       store what every machine was told and said, with postcard
  --html FILE        draw it

the world:
  --drift-at-bound   clocks as slow as the bound allows, and nothing to hide it
  --drift-beyond     the same, one part per million slower: must break S1 or S2
  --no-install       holders read before they raise the fence: must break S18
  --amnesia          nodes lose their data and vote on: must break S13
  --delayed-restart  nodes lose their data and stay away for a term: must break S13
  --gate-forgets     the resource loses its fence: must break S17 or S18
  --clients N        at most so many clients
  --seconds N        faults only for so long
  --without A,B      without these faults
  --by-harm-alone    do not check how deadlines were reckoned, only what they do (S1, S2)";

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Ok(None) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(Some(options)) => options.run(),
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            ExitCode::from(64)
        }
    }
}

struct Options {
    seeds: u64,
    first: u64,
    seed: Option<u64>,
    expect_failure: bool,
    survey: bool,
    shrink: bool,
    trace: Option<PathBuf>,
    html: Option<PathBuf>,
    settings: Settings,
}

impl Options {
    /// `None`: only the usage is wanted.
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            seeds: 10_000,
            first: 0,
            seed: None,
            expect_failure: false,
            survey: false,
            shrink: false,
            trace: None,
            html: None,
            settings: Settings::default(),
        };
        while let Some(argument) = arguments.next() {
            if let Some((_, weather)) = Weather::FLAGS.iter().find(|(flag, _)| *flag == argument) {
                options.settings.weather = *weather;
                continue;
            }
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            let number = |value: String| {
                value.parse::<u64>().map_err(|_| format!("{argument} needs a number"))
            };
            match argument.as_str() {
                "--seeds" => options.seeds = number(value()?)?,
                "--first" => options.first = number(value()?)?,
                "--seed" => options.seed = Some(number(value()?)?),
                "--survey" => options.survey = true,
                "--expect-failure" => options.expect_failure = true,
                "--shrink" => options.shrink = true,
                "--trace" => options.trace = Some(value()?.into()),
                "--html" => options.html = Some(value()?.into()),
                "--by-harm-alone" => options.settings.by_harm_alone = true,
                "--clients" => options.settings.clients = Some(number(value()?)? as usize),
                "--seconds" => options.settings.seconds = Some(number(value()?)?),
                "--without" => options.settings.without = Without::parse(&value()?)?,
                "--help" | "-h" => return Ok(None),
                _ => return Err(format!("unknown argument {argument}")),
            }
        }
        if options.seed.is_none()
            && (options.shrink || options.trace.is_some() || options.html.is_some())
        {
            return Err("--shrink, --trace and --html need a --seed".into());
        }
        Ok(Some(options))
    }

    fn run(&self) -> ExitCode {
        match self.seed {
            Some(seed) if self.shrink => shrunk(seed, self.settings),
            Some(seed) => self.one(seed),
            None if self.survey => self.survey(),
            None if self.expect_failure => self.expect_failure(),
            None => self.all(),
        }
    }

    fn one(&self, seed: u64) -> ExitCode {
        let replay = replay(seed, self.settings);
        if let Some(path) = &self.html
            && let Err(problem) = fs::write(path, replay.html())
        {
            return cannot(path, &problem);
        }
        if let Some(path) = &self.trace {
            let written = replay.trace().map_err(io::Error::other);
            if let Err(problem) = written.and_then(|bytes| fs::write(path, bytes)) {
                return cannot(path, &problem);
            }
        }
        if self.html.is_none() && self.trace.is_none() {
            println!("{}", replay.story());
        }
        match replay.outcome() {
            Ok(coverage) => {
                println!("{coverage}\nevery invariant held");
                ExitCode::SUCCESS
            }
            Err(failure) => failed(failure),
        }
    }

    fn all(&self) -> ExitCode {
        let used = cpu_seconds();
        let summary = match run_all(self.first, self.seeds, self.settings) {
            Ok(summary) => summary,
            Err(failure) => return failed(&failure),
        };
        println!("{summary}");
        if let (Some(before), Some(after)) = (used, cpu_seconds()) {
            let years = summary.years_per_core_day(after - before);
            println!("{years:.0} simulated years a core-day, idle time not counted");
        }
        self.met(&summary)
    }

    /// A long run must have come by everything.
    fn met(&self, summary: &Summary) -> ExitCode {
        let missing = summary.coverage().missing();
        if missing.is_empty() || self.settings != Settings::default() || self.seeds < 5_000 {
            return ExitCode::SUCCESS;
        }
        eprintln!("never met: {}", missing.join(", "));
        ExitCode::FAILURE
    }

    fn survey(&self) -> ExitCode {
        let mut found: BTreeMap<_, (u64, String)> = BTreeMap::new();
        let (summary, failures) = survey(self.first, self.seeds, self.settings);
        println!("{summary}");
        for (seed, failure) in failures {
            let summary = failure.to_string().lines().next().unwrap_or_default().to_owned();
            let (count, _) = found
                .entry((failure.invariant(), failure.kind()))
                .or_insert_with(|| (0, format!("seed {seed}: {summary}")));
            *count += 1;
        }
        for ((_, kind), (count, first)) in &found {
            println!("{count:>6} {kind:?}, first at {first}");
        }
        if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn expect_failure(&self) -> ExitCode {
        let seeds = self.first..self.first.saturating_add(self.seeds);
        match seeds.map(|seed| run(seed, self.settings)).find_map(Result::err) {
            Some(failure) => {
                println!("{} broken by seed {}", failure.invariant(), failure.seed());
                ExitCode::SUCCESS
            }
            None => {
                eprintln!("{} seeds broke nothing, but one should have", self.seeds);
                ExitCode::FAILURE
            }
        }
    }
}

fn shrunk(seed: u64, settings: Settings) -> ExitCode {
    match shrink(seed, settings) {
        Some(failure) => failed(&failure),
        None => {
            println!("seed {seed} does not fail");
            ExitCode::SUCCESS
        }
    }
}

fn failed(failure: &Failure) -> ExitCode {
    eprintln!("{failure}");
    ExitCode::FAILURE
}

fn cannot(path: &Path, problem: &io::Error) -> ExitCode {
    eprintln!("cannot write {}: {problem}", path.display());
    ExitCode::FAILURE
}

/// What this process has used of all processors so far, where the system tells.
fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11);
    let user: f64 = times.next()?.parse().ok()?;
    let system: f64 = times.next()?.parse().ok()?;
    // Linux counts in hundredths wherever it runs.
    Some((user + system) / 100.0)
}
