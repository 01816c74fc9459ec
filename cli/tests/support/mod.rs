//! What the tests of the command share: a state folder of their own, and processes that are watched
//! by what they say.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    reason = "each test uses what it needs"
)]

pub mod redis;

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Read},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

/// A state folder that nobody else uses.
pub struct Home {
    pub folder: TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// `tenure` with these arguments.
    pub fn tenure<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command
            .env_remove("TENURE_STORE")
            .env("XDG_STATE_HOME", self.folder.path())
            .stdin(Stdio::null())
            .args(arguments);
        command
    }

    /// Runs it to its end.
    pub fn output<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Output {
        self.tenure(arguments).output().unwrap()
    }

    /// Starts it, with both outputs to be read.
    pub fn start<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Running {
        Running::of(&mut self.tenure(arguments))
    }
}

/// A `tenure` that runs. Killed when dropped, which ends its command too.
pub struct Running {
    pub child: Child,
    stdout: Heard,
    stderr: Heard,
}

impl Running {
    pub fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = Heard::from(child.stdout.take().unwrap());
        let stderr = Heard::from(child.stderr.take().unwrap());
        Self { child, stdout, stderr }
    }

    /// The command's next line.
    pub fn line(&mut self) -> String {
        self.next_line().expect("the command should go on")
    }

    /// The command's next line, if it has not ended.
    pub fn next_line(&mut self) -> Option<String> {
        self.stdout.next()
    }

    /// The rest of the command's lines, to the end.
    pub fn rest(&mut self) -> Vec<String> {
        self.stdout.by_ref().collect()
    }

    /// The next line of standard error that contains `text`.
    pub fn tells(&mut self, text: &str) -> String {
        let mut seen = Vec::new();
        for line in self.stderr.by_ref() {
            if line.contains(text) {
                return line;
            }
            seen.push(line);
        }
        panic!("it never told {text:?}, but {seen:#?}");
    }

    /// All that is left of standard error, to the end.
    pub fn rest_told(&mut self) -> Vec<String> {
        self.stderr.by_ref().collect()
    }

    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    pub fn code(&mut self) -> i32 {
        self.wait().code().expect("tenure should exit, and not be killed")
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

/// The lines of a pipe. A silence that no machine is slow enough for fails the test.
struct Heard(Receiver<String>);

impl Heard {
    fn from(pipe: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        thread::spawn(move || {
            for line in BufReader::new(pipe).lines() {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self(receiver)
    }
}

impl Iterator for Heard {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        match self.0.recv_timeout(Duration::from_secs(60)) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("nothing was heard for a minute"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _waited = self.child.wait();
    }
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Whether a process of that number is there, dead or alive.
pub fn exists(pid: &str) -> bool {
    kill(Pid::from_raw(pid.parse().unwrap()), None).is_ok()
}

/// Returns when the process of that number runs no more. Whoever inherited it may not have noticed.
pub fn until_gone(pid: &str) {
    let dead = |stat: String| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z"));
    while !std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, dead) {
        thread::sleep(Duration::from_millis(1));
    }
}

/// A reading of the clock that leases are timed by, in milliseconds.
pub fn boottime_ms() -> u64 {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_BOOTTIME).unwrap();
    time.tv_sec().unsigned_abs() * 1_000 + time.tv_nsec().unsigned_abs() / 1_000_000
}
