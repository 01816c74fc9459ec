use std::{
    convert::Infallible,
    future::pending,
    io::{IsTerminal, Write, stderr},
    time::Duration,
};

use nix::{
    libc,
    sys::signal::{Signal, raise},
};
use tenure::{AcquireError, Guard, Inspection, Lock};
use terminal_size::{Width, terminal_size_of};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use super::{report::Report, signals::Signals};

/// How long to go on asking.
#[derive(Clone, Copy, Debug)]
pub(super) enum Patience {
    None,
    AtMost(Duration),
    Endless,
}

/// How the waiting ended.
pub(super) enum Outcome {
    Granted(Guard),
    Denied(AcquireError),
    Interrupted { signal: i32 },
}

/// Acquires, and meanwhile says who has the lock. `contended` is told whenever the store answers that
/// somebody else has it.
pub(super) async fn acquire(
    lock: &Lock,
    patience: Patience,
    contended: &Notify,
    signals: &mut Signals,
    report: &Report,
) -> Outcome {
    let acquire = async {
        match patience {
            Patience::None => lock.try_acquire().await,
            Patience::AtMost(limit) => lock.acquire_timeout(limit).await,
            Patience::Endless => lock.acquire().await,
        }
    };
    tokio::select! {
        biased;
        result = acquire => result.map_or_else(Outcome::Denied, Outcome::Granted),
        signal = fatal(signals) => Outcome::Interrupted { signal },
        never = narrate(lock, contended, report) => match never {},
    }
}

async fn narrate(lock: &Lock, contended: &Notify, report: &Report) -> Infallible {
    contended.notified().await;
    if report.json || report.quiet || !stderr().is_terminal() {
        report.waiting(&look(lock).await);
        return pending().await;
    }
    let mut line = StatusLine::default();
    loop {
        line.show(&report.waiting_line(&look(lock).await));
        sleep(Duration::from_secs(1)).await;
    }
}

/// What the store shows of the lock; as good as free if it does not answer.
pub(super) async fn look(lock: &Lock) -> Inspection {
    let look = lock.store().inspect(lock.name());
    match timeout(lock.config().attempt_timeout(), look).await {
        Ok(Ok(seen)) => seen,
        Ok(Err(_)) | Err(_) => Inspection::Free,
    }
}

/// The next signal that ends the waiting.
pub(super) async fn fatal(signals: &mut Signals) -> i32 {
    loop {
        match signals.next().await {
            libc::SIGTSTP => {
                let _goes_on = raise(Signal::SIGSTOP);
            }
            signal @ (libc::SIGHUP | libc::SIGINT | libc::SIGQUIT | libc::SIGTERM) => {
                return signal;
            }
            _ => {}
        }
    }
}

/// One line of a terminal, written over and over, and erased in the end.
#[derive(Debug, Default)]
struct StatusLine {
    shown: bool,
}

impl StatusLine {
    fn show(&mut self, text: &str) {
        let width = terminal_size_of(stderr()).map_or(80, |(Width(width), _)| usize::from(width));
        // The last column stays free: a terminal that wraps there would leave lines behind.
        let text: String = text.chars().take(width.saturating_sub(1)).collect();
        self.shown = true;
        let _gone = write!(stderr(), "\r\x1b[K{text}");
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        if self.shown {
            let _gone = write!(stderr(), "\r\x1b[K");
        }
    }
}
