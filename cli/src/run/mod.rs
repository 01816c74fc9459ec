//! `tenure run`.

mod command;
mod descendants;
mod keeper;
mod report;
mod signals;
mod supervision;
mod terminal;
mod waiting;
pub(crate) mod watchdog;
mod wire;

pub(crate) use report::{held_by, holder_fields, say};

use std::{ffi::OsString, fs::OpenOptions, sync::Arc, time::Duration};

use nix::unistd::{dup2_stdin, dup2_stdout};
use tenure::{AcquireError, Guard, Lock};
use tokio::{sync::Notify, time::timeout};

use crate::{
    args,
    exit::{self, Failure},
    state::SeenToken,
    store::{self, Address, Opened},
};
use keeper::{Grant, Keeper};
use report::Report;
use signals::Signals;
use supervision::Plan;
use waiting::{Outcome, Patience};

/// Runs the command under the lock. The exit code.
pub(crate) async fn main(args: args::Run) -> Result<u8, Failure> {
    let report = Report { name: args.name.clone(), json: args.json, quiet: args.quiet };
    run(args, &report).await.or_else(|failure| report.failed(failure))
}

async fn run(args: args::Run, report: &Report) -> Result<u8, Failure> {
    let args::Run { store, ttl, wait, no_wait, grace, conflict_exit_code, .. } = args;
    let name = store::lock_name(&report.name)?;
    let address = Address::of(store)?;
    let mut signals = Signals::catch().map_err(Failure::system)?;
    let opened = tokio::select! {
        opened = address.open() => opened?,
        signal = waiting::fatal(&mut signals) => return Ok(exit::by_signal(signal)),
    };

    let contended = Arc::new(Notify::new());
    let notify = Arc::clone(&contended);
    let mut lock = Lock::builder(opened.store(), name.as_bytes())
        .term(ttl)
        .on_contended(move |_| notify.notify_one());
    if matches!(opened, Opened::File(_)) {
        // A look at a file costs little, and nothing else tells that it was let go of.
        lock = lock.poll_pause(Duration::from_millis(20), Duration::from_millis(100));
    }
    if let Some(grace) = grace {
        lock = lock.grace(grace);
    }
    let lock = lock.build().map_err(Failure::usage)?;
    let seen = address.identity().and_then(|identity| SeenToken::of(&identity, &name));
    if let Some(token) = seen.as_ref().and_then(SeenToken::recall) {
        lock.remember(token);
    }

    let patience = match wait {
        Some(limit) => Patience::AtMost(limit),
        None if no_wait => Patience::None,
        None => Patience::Endless,
    };
    match waiting::acquire(&lock, patience, &contended, &mut signals, report).await {
        Outcome::Granted(guard) => {
            if let Some(seen) = &seen {
                seen.keep(guard.token());
            }
            hold(&opened, &lock, guard, &args.command, signals, report).await
        }
        Outcome::Denied(AcquireError::Busy(_)) => {
            report.busy(&waiting::look(&lock).await);
            Ok(conflict_exit_code)
        }
        Outcome::Denied(error @ (AcquireError::ClockWentBack | AcquireError::Entropy(_))) => {
            Err(Failure::system(error))
        }
        Outcome::Denied(error) => Err(Failure::unavailable(error)),
        Outcome::Interrupted { signal } => Ok(exit::by_signal(signal)),
    }
}

async fn hold(
    opened: &Opened,
    lock: &Lock,
    guard: Guard,
    command: &[OsString],
    signals: Signals,
    report: &Report,
) -> Result<u8, Failure> {
    report.acquired(guard.token(), guard.remaining());
    if let Some(went_back) = guard.token_went_back() {
        report.token_went_back(went_back);
    }
    let Some(held) = guard.held() else {
        report.lost(guard.lost().await);
        return Ok(exit::LOST);
    };
    let grant =
        Grant { name: &report.name, token: guard.token(), lock: opened.descriptor(lock.name())? };
    let result = match Keeper::start(command, grant) {
        Ok(keeper) => {
            quiet_standard_streams();
            let plan = Plan::new(lock.config().grace());
            supervision::supervise(&guard, held.basis, plan, keeper, signals, report).await
        }
        Err(error) => Err(Failure::system(format_args!("cannot start the watchdog: {error}"))),
    };
    // Nothing of the command runs any more. A store that does not answer is not waited for: the
    // lease ends by its term.
    let released = timeout(lock.config().attempt_timeout(), guard.release()).await;
    report.released(released.is_ok_and(|released| released.confirmed));
    result
}

/// Lets go of standard input and output, which are the command's: whoever reads or writes at the
/// other end must not have to wait for us.
fn quiet_standard_streams() {
    if let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _kept = dup2_stdin(&null).and_then(|()| dup2_stdout(&null));
    }
}
