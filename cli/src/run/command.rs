use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    process::{Child, Command},
    sync::Arc,
};

use nix::{
    sys::{
        prctl,
        signal::{SigSet, Signal},
    },
    unistd::getpid,
};

use super::terminal::Terminal;
use crate::exit::{self, Failure};

/// Starts the command as the leader of a process group of its own, in the terminal's foreground if
/// there is a terminal, with the signals `mask` blocked.
///
/// It dies with the thread that calls this, which must be the process's only one: the last resort if
/// `tenure run` and its watchdog are killed at the same moment.
pub(super) fn spawn(
    command: &[OsString],
    terminal: Option<Arc<Terminal>>,
    mask: SigSet,
) -> Result<Child, Failure> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Failure::usage("there is no command to run"));
    };
    let prepare = move || {
        if let Some(terminal) = &terminal {
            // Without the terminal the command can still run.
            let _background = terminal.give_to(getpid());
        }
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        mask.thread_set_mask()?;
        Ok(())
    };
    let mut command = Command::new(program);
    command.args(arguments).process_group(0);
    // SAFETY: `prepare` runs in the child between fork and exec; it only makes system calls
    // (getpid, tcgetpgrp, tcsetpgrp, prctl, pthread_sigmask), and neither allocates nor locks.
    unsafe { command.pre_exec(prepare) };
    command.spawn().map_err(|error| Failure {
        code: if error.kind() == io::ErrorKind::NotFound {
            exit::NOT_FOUND
        } else {
            exit::NOT_EXECUTABLE
        },
        text: format!("cannot run {program:?}: {error}"),
    })
}
