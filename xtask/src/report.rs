//! What each step came to, and how long it took.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use crate::shell;

/// Runs steps one after another, then lists them. An error when one of them failed.
pub(crate) fn of(steps: impl FnOnce(&mut Report)) -> Result<()> {
    let mut report = Report::default();
    steps(&mut report);
    report.finish()
}

/// The steps so far. A step that fails does not keep the next from running.
#[derive(Default)]
pub(crate) struct Report {
    steps: Vec<Step>,
}

impl Report {
    /// A step that passes or fails as one.
    pub(crate) fn step(&mut self, name: &str, step: impl FnOnce() -> Result<()>) {
        self.counted(name, |count| {
            step()?;
            count.passed = 1;
            Ok(())
        });
    }

    /// A step that runs tests, which are counted one by one.
    pub(crate) fn tests(&mut self, name: &str, command: &mut Command) {
        self.counted(name, |count| {
            let status = shell::follow(command, |line| count.add_summary(line))?;
            shell::success(command, status)?;
            if count.passed == 0 {
                bail!("no test ran");
            }
            Ok(())
        });
    }

    /// Lists the steps; the last line counts what passed and what failed.
    pub(crate) fn finish(self) -> Result<()> {
        println!();
        for step in &self.steps {
            let outcome = if step.error.is_some() { "FAILED" } else { "ok" };
            println!("{outcome:>6} {:>7.1} s  {}", step.took.as_secs_f64(), step.name);
            if let Some(error) = &step.error {
                println!("{:18}{error:#}", "");
            }
        }
        let passed: u32 = self.steps.iter().map(|step| step.count.passed).sum();
        let failed: u32 = self.steps.iter().map(|step| step.count.failed).sum();
        println!("\n{passed} passed, {failed} failed");
        if failed > 0 {
            bail!("{failed} failed");
        }
        Ok(())
    }

    fn counted(&mut self, name: &str, step: impl FnOnce(&mut Count) -> Result<()>) {
        eprintln!("\n== {name}");
        let started = now();
        let mut count = Count::default();
        let error = step(&mut count).err();
        if error.is_some() {
            count.failed = count.failed.max(1);
        }
        self.steps.push(Step { name: name.to_owned(), took: started.elapsed(), count, error });
    }
}

struct Step {
    name: String,
    took: Duration,
    count: Count,
    error: Option<anyhow::Error>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    passed: u32,
    failed: u32,
}

impl Count {
    /// Adds a line like `test result: ok. 3 passed; 0 failed; 0 ignored; …`; others count nothing.
    fn add_summary(&mut self, line: &str) {
        let Some(summary) = line.strip_prefix("test result: ") else { return };
        let words: Vec<&str> = summary.split_whitespace().collect();
        let before = |label: &str| -> Result<u32> {
            let at = words.iter().position(|word| *word == label).context("no such label")?;
            let number = at.checked_sub(1).and_then(|at| words.get(at)).context("no number")?;
            Ok(number.parse()?)
        };
        self.passed += before("passed;").unwrap_or(0);
        // A summary that cannot be read must not pass for one without failures.
        self.failed += before("failed;").unwrap_or(1);
    }
}

#[expect(clippy::disallowed_methods, reason = "times a build step, not a lease")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_add_up_and_other_lines_do_not_count() {
        let mut count = Count::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
        ] {
            count.add_summary(line);
        }
        assert_eq!(count, Count { passed: 4, failed: 2 });
    }

    #[test]
    fn a_summary_that_cannot_be_read_counts_as_a_failure() {
        let mut count = Count::default();
        count.add_summary("test result: something new");
        assert_eq!(count, Count { passed: 0, failed: 1 });
    }

    #[test]
    fn one_failed_step_fails_the_whole() {
        let mut ran = 0;
        let outcome = of(|report| {
            report.step("first", || bail!("broken"));
            report.step("second", || {
                ran += 1;
                Ok(())
            });
        });
        assert!(outcome.is_err());
        assert_eq!(ran, 1);
    }
}
