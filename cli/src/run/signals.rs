use std::{
    fs,
    future::poll_fn,
    io,
    task::{Context, Poll},
};

use nix::libc;
use tokio::signal::unix::{Signal, SignalKind, signal};

const PASSED_ON: [i32; 9] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// The signals that are meant for the command.
#[derive(Debug)]
pub(super) struct Signals {
    streams: Vec<(i32, Signal)>,
}

impl Signals {
    /// Catches them from now on, but for those that `tenure` was told to ignore (`nohup`): the
    /// command inherits that.
    pub(super) fn catch() -> io::Result<Self> {
        let ignored = ignored_signals();
        let streams = PASSED_ON
            .into_iter()
            .filter(|number| ignored & (1 << (number - 1)) == 0)
            .map(|number| Ok((number, signal(SignalKind::from_raw(number))?)))
            .collect::<io::Result<_>>()?;
        Ok(Self { streams })
    }

    /// The next signal's number. Cancel-safe.
    pub(super) async fn next(&mut self) -> i32 {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<i32> {
        for (number, stream) in &mut self.streams {
            if let Poll::Ready(Some(())) = stream.poll_recv(context) {
                return Poll::Ready(*number);
            }
        }
        Poll::Pending
    }
}

/// The mask of signals that this process ignores; none if the system does not tell.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
