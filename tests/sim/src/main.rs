//! Runs more seeds than the tests do, or tells one seed's whole story.

use std::{collections::BTreeMap, process::ExitCode};

use tenure_sim::{Settings, Weather, replay, run, run_all};

const USAGE: &str = "\
usage: tenure-sim [--seeds N] [--first N] [--expect-failure]
       tenure-sim --seed N

  --seeds N          how many seeds to run (10000)
  --first N          the first of them (0)
  --seed N           run just this one, and print everything that happens
  --survey           do not stop at a failure; count them by invariant and kind of store
  --expect-failure   succeed only if an invariant breaks, and print which
  --by-harm-alone    do not check how deadlines were reckoned, only what they do (S1, S2)
  --drift-beyond     worlds whose clocks drift more than the machines were told";

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options.run(),
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
    settings: Settings,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            seeds: 10_000,
            first: 0,
            seed: None,
            expect_failure: false,
            survey: false,
            settings: Settings::default(),
        };
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let number = arguments.next().and_then(|number| number.parse().ok());
                number.ok_or_else(|| format!("{argument} needs a number"))
            };
            match argument.as_str() {
                "--seeds" => options.seeds = number()?,
                "--first" => options.first = number()?,
                "--seed" => options.seed = Some(number()?),
                "--survey" => options.survey = true,
                "--expect-failure" => options.expect_failure = true,
                "--by-harm-alone" => options.settings.by_harm_alone = true,
                "--drift-beyond" => options.settings.weather = Weather::DriftBeyondBound,
                _ => return Err(format!("unknown argument {argument}")),
            }
        }
        Ok(options)
    }

    fn run(&self) -> ExitCode {
        if let Some(seed) = self.seed {
            let (story, outcome) = replay(seed, self.settings);
            println!("{story}");
            return report(&outcome.map(|coverage| coverage.to_string()));
        }
        if self.survey {
            return self.survey();
        }
        if self.expect_failure {
            return self.expect_failure();
        }
        report(&run_all(self.first, self.seeds, self.settings).map(|coverage| coverage.to_string()))
    }

    fn survey(&self) -> ExitCode {
        let mut found: BTreeMap<_, (u64, String)> = BTreeMap::new();
        for failure in self.range().filter_map(|seed| run(seed, self.settings).err()) {
            let summary = failure.to_string().lines().next().unwrap_or_default().to_owned();
            let (count, _) = found
                .entry((failure.invariant(), failure.kind()))
                .or_insert_with(|| (0, format!("seed {}: {summary}", failure.seed())));
            *count += 1;
        }
        for ((_, kind), (count, first)) in &found {
            println!("{count:>6} {kind:?}, first at {first}");
        }
        if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn range(&self) -> std::ops::Range<u64> {
        self.first..self.first.saturating_add(self.seeds)
    }

    fn expect_failure(&self) -> ExitCode {
        match self.range().map(|seed| run(seed, self.settings)).find_map(Result::err) {
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

fn report(outcome: &Result<String, tenure_sim::Failure>) -> ExitCode {
    match outcome {
        Ok(coverage) => {
            println!("{coverage}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}
