//! `tenure demo`: what a fencing token is for, played on a virtual clock.

mod client;
mod play;
mod store;

use std::{io::stdout, time::Duration};

use anstream::{AutoStream, ColorChoice, adapter::strip_str};
use tenure::{ConfigError, Fence};

use crate::{exit::Failure, manual};
use client::Who::{A, B};
use play::Play;

const INTRODUCTION: &str = "\
Two processes, A and B, add to an account that holds 100. A is to add 10 and B 30, so 140 is right.
A lock makes them take turns. Its term is 10 s, and A is paused for longer than that, just after it
has made sure that it holds the lock. Nothing that A looks at can prevent this: a pause may come
between any two of its instructions.
";

const CONCLUSION: &str = "\
So: let the resource refuse lower tokens than it has seen, and show it yours before you first read.
`tenure run` passes the token to its command in TENURE_TOKEN.
";

/// Prints the three scenes: the same text at every run.
pub(crate) fn main() -> Result<u8, Failure> {
    let text = text().map_err(Failure::system)?;
    if AutoStream::choice(&stdout()) == ColorChoice::Never {
        manual::print(strip_str(&text).to_string().as_bytes())
    } else {
        manual::print(text.as_bytes())
    }
}

fn text() -> Result<String, ConfigError> {
    let scenes = [without_fence()?, with_fence()?, with_late_fence()?];
    Ok(format!("{INTRODUCTION}\n{}\n{CONCLUSION}", scenes.join("\n")))
}

fn without_fence() -> Result<String, ConfigError> {
    let mut play = Play::new("1. Without a fence", None)?;
    a_pauses_and_b_takes_over(&mut play);
    play.read(B);
    play.pass(Duration::from_millis(400));
    play.write(B, 130);
    play.pass(Duration::from_millis(800));
    play.resume_writing(A, 110);
    play.ends(140, "B's 30 are gone, and nobody was told")
}

fn with_fence() -> Result<String, ConfigError> {
    let mut play =
        Play::new("2. With a fence, which B raises before it reads", Some(Fence::new()))?;
    a_pauses_and_b_takes_over(&mut play);
    play.install(B);
    play.read(B);
    play.pass(Duration::from_millis(400));
    play.resume_writing(A, 110);
    play.pass(Duration::from_millis(800));
    play.write(B, 130);
    play.ends(130, "A was told, and can add its 10 when it has the lock again")
}

fn with_late_fence() -> Result<String, ConfigError> {
    let mut play =
        Play::new("3. With a fence that first hears of B when B writes", Some(Fence::new()))?;
    a_pauses_and_b_takes_over(&mut play);
    play.read(B);
    play.pass(Duration::from_millis(400));
    play.resume_writing(A, 110);
    play.pass(Duration::from_millis(800));
    play.write(B, 130);
    play.ends(140, "A's 10 are gone, and nobody was told: B read before A wrote")
}

fn a_pauses_and_b_takes_over(play: &mut Play) {
    play.acquire(A);
    play.read(A);
    play.pass(Duration::from_millis(500));
    play.acquire(B);
    play.pass(Duration::from_millis(500));
    play.check_then_pause(A);
    play.pass_until_held(B);
}
