use std::{future::pending, time::Duration};

use nix::sys::signal::{Signal, raise};
use tenure::{Basis, Clock, Guard, Instant, Status, SystemClock};
use tokio::time::sleep;

use super::{
    keeper::{End, Keeper},
    report::Report,
    signals::Signals,
    wire::{Limits, Note, Order},
};
use crate::exit::{self, Failure};

/// Feeds the watchdog until the command is gone. The exit code.
pub(super) async fn supervise(
    guard: &Guard,
    basis: Basis,
    plan: Plan,
    mut keeper: Keeper,
    mut signals: Signals,
    report: &Report,
) -> Result<u8, Failure> {
    let mut status = guard.status();
    let mut limits = plan.limits(basis);
    let mut standing = Standing::Held;
    let mut done = false;
    keeper.order(Order::Stop(limits)).await;
    loop {
        tokio::select! {
            biased;
            note = keeper.note() => match note {
                Some(Note::Stopping) => {
                    if standing != Standing::Ending {
                        report.stopping(guard.remaining().unwrap_or_default());
                    }
                    standing = Standing::Ending;
                }
                Some(Note::Suspended) => {
                    // Only now the shell can see that its job was suspended.
                    let _goes_on = raise(Signal::SIGSTOP);
                }
                Some(Note::Leftovers) => report.leftovers(),
                Some(Note::Done) => done = true,
                None => break,
            },
            Ok(()) = status.changed() => {
                let now = *status.borrow_and_update();
                match now {
                    Status::Held { basis } => {
                        limits = plan.limits(basis);
                        keeper.order(Order::Stop(limits)).await;
                        if standing == Standing::AtRisk {
                            standing = Standing::Held;
                            report.recovered(guard.remaining());
                        }
                    }
                    Status::AtRisk => {
                        standing = Standing::AtRisk;
                        report.at_risk(guard.remaining());
                    }
                    // The watchdog stops the command by itself, at the limits that it has.
                    Status::Stopping { .. } => {
                        if standing != Standing::Ending {
                            report.stopping(guard.remaining().unwrap_or_default());
                        }
                        standing = Standing::Ending;
                    }
                    Status::Lost { reason } => {
                        standing = Standing::Ending;
                        report.lost(reason);
                        let at_once = plan.at_once(SystemClock::default().now());
                        limits.term_at = at_once.term_at;
                        limits.kill_at = limits.kill_at.min(at_once.kill_at);
                        keeper.order(Order::Stop(limits)).await;
                    }
                    Status::Released | _ => {}
                }
            },
            signal = signals.next() => keeper.order(Order::Signal(signal)).await,
            () = plan.overdue(limits) => keeper.kill(),
        }
    }
    let end = keeper.finish(done).await.map_err(Failure::system)?;
    match (standing, end) {
        (Standing::Ending, _) => Ok(exit::LOST),
        (_, End::Exited(code)) => Ok(code),
        (_, End::WatchdogDied) => {
            Err(Failure::system("the watchdog has died, so the command was killed"))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Held,
    AtRisk,
    /// Lost, or about to be: the command is being stopped.
    Ending,
}

/// When a command is to be stopped, as its lease stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    grace: Duration,
}

impl Plan {
    pub(super) const fn new(grace: Duration) -> Self {
        Self { grace }
    }

    /// TERM when the grace begins; KILL early enough to be over by the deadline.
    fn limits(self, basis: Basis) -> Limits {
        match basis {
            Basis::Term { until } => {
                Limits { term_at: before(until, self.grace), kill_at: before(until, self.margin()) }
            }
            // A session ends without notice.
            Basis::Session { .. } | _ => Limits::NONE,
        }
    }

    /// TERM now, and KILL after no more than the grace.
    fn at_once(self, now: Instant) -> Limits {
        Limits { term_at: now, kill_at: now.checked_add(self.grace).unwrap_or(Instant::NEVER) }
    }

    /// How long before the deadline everything is killed.
    fn margin(self) -> Duration {
        (self.grace / 4).min(Duration::from_millis(200))
    }

    /// Resolves when the watchdog should have killed the command, and was late by half the margin.
    async fn overdue(self, limits: Limits) {
        if limits.kill_at == Instant::NEVER {
            return pending().await;
        }
        let left = limits.kill_at.saturating_since(SystemClock::default().now());
        sleep(left.saturating_add(self.margin() / 2)).await;
    }
}

fn before(instant: Instant, span: Duration) -> Instant {
    let span = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
    Instant::from_micros(instant.as_micros().saturating_sub(span))
}
