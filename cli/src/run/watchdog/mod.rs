//! The watchdog: the process that starts the command, and that stops it when its time is over.
//!
//! It is small and has one thread, so that it does its work whatever happens to `tenure run`: that
//! feeds it the time to stop at, and may itself be killed, be stopped or hang. It is a process group
//! of its own, with every signal blocked. It keeps the file store's lock open, and ends only after the
//! command and everything that the command has started.
//!
//! What remains: if it is stopped or killed at the same moment as `tenure run`, nobody is left to stop
//! the command in time. Of a killed watchdog's command, the first process dies with it (the kernel
//! sees to that); its children do not. A stopped watchdog that goes on kills them all.

mod parent;
mod wakeup;

use std::{
    os::{
        fd::{AsFd, FromRawFd, OwnedFd, RawFd},
        unix::{net::UnixStream, process::ExitStatusExt},
    },
    process::{Child, ExitStatus},
    sync::Arc,
};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, FdFlag, fcntl},
    libc,
    sys::{
        prctl,
        signal::{SigSet, Signal, killpg},
        wait::{Id, WaitPidFlag, WaitStatus, waitid},
    },
    unistd::{Pid, getpgrp, setpgid},
};
use tenure::{Clock, SystemClock};

use super::{
    command, descendants, quiet_standard_streams,
    terminal::Terminal,
    wire::{Limits, Note, Order},
};
use crate::{
    args,
    exit::{self, Failure},
};
use parent::{Gone, Parent};
use wakeup::Wakeup;

/// Runs the watchdog until the command and all its descendants are gone. The command's exit code.
pub(crate) fn main(args: args::Watchdog) -> Result<u8, Failure> {
    // SAFETY: `tenure run` made both descriptors for this process, which has opened nothing yet.
    let adopt = |fd| unsafe { adopt(fd) };
    let control = UnixStream::from(adopt(args.control)?);
    let _held_until_exit = args.lock.map(adopt).transpose()?;

    let mask = SigSet::thread_get_mask().map_err(Failure::system)?;
    SigSet::all().thread_block().map_err(Failure::system)?;
    let terminal = Terminal::of(getpgrp()).map(Arc::new);
    setpgid(Pid::from_raw(0), Pid::from_raw(0)).map_err(Failure::system)?;
    prctl::set_child_subreaper(true).map_err(Failure::system)?;
    prctl::set_name(c"tenure-watchdog").map_err(Failure::system)?;

    let mut parent = Parent::new(control);
    // The command starts after the limits are known, and not at all if `tenure run` is gone.
    let limits = parent.first_limits()?;
    let wakeup = Wakeup::new().map_err(Failure::system)?;
    let child = match command::spawn(&args.command, terminal.clone(), mask) {
        Ok(child) => child,
        Err(failure) => {
            parent.tell(Note::Done);
            return Err(failure);
        }
    };
    quiet_standard_streams();
    let leader = Pid::from_raw(child.id().cast_signed());
    let watched = Watched { child, leader, terminal, limits, state: State::Running };
    watched.attend(parent, &wakeup).map_err(|error| {
        let _last_resort = descendants::kill_all(&[]);
        Failure::system(error)
    })
}

/// # Safety
///
/// Nothing else in this process may own `fd`.
unsafe fn adopt(fd: RawFd) -> Result<OwnedFd, Failure> {
    let usage = || Failure::usage("the watchdog is started by `tenure run`, not by hand");
    if fd <= libc::STDERR_FILENO {
        return Err(usage());
    }
    // SAFETY: passed on to the caller; that the descriptor is open is checked next.
    let owned = unsafe { OwnedFd::from_raw_fd(fd) };
    // The command must not inherit it.
    match fcntl(&owned, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)) {
        Ok(_) => Ok(owned),
        Err(_) => {
            std::mem::forget(owned);
            Err(usage())
        }
    }
}

struct Watched {
    child: Child,
    /// The command, and its process group. It is waited for last of all: until then nobody else can
    /// get its number, and a signal to the group reaches the group.
    leader: Pid,
    terminal: Option<Arc<Terminal>>,
    limits: Limits,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// The command itself has ended.
    Ended,
    /// Something was told to stop.
    Stopping,
}

impl Watched {
    fn attend(mut self, mut parent: Parent, wakeup: &Wakeup) -> std::io::Result<u8> {
        loop {
            let now = SystemClock::default().now();
            if now >= self.limits.term_at.min(self.limits.kill_at) && self.state != State::Stopping
            {
                self.state = State::Stopping;
                parent.tell(Note::Stopping);
                self.signal(Signal::SIGTERM);
                // A stopped process handles TERM only after it goes on.
                self.signal(Signal::SIGCONT);
            }
            if now >= self.limits.kill_at {
                break;
            }
            let next = match self.state {
                State::Stopping => self.limits.kill_at,
                State::Running | State::Ended => self.limits.term_at.min(self.limits.kill_at),
            };
            wakeup.wait(next, parent.as_fd())?;

            while let Some(order) = parent.next_order() {
                match order {
                    Ok(order) => self.obey(order),
                    Err(Gone) => return self.kill(),
                }
            }
            if self.reap(&mut parent)? {
                parent.tell(Note::Done);
                return self.finish();
            }
        }
        let code = self.kill()?;
        parent.tell(Note::Done);
        Ok(code)
    }

    fn obey(&mut self, order: Order) {
        match order {
            // What was told to stop gets no more time than it was promised.
            Order::Stop(limits) if self.state == State::Stopping => {
                self.limits.kill_at = self.limits.kill_at.min(limits.kill_at);
            }
            Order::Stop(limits) => self.limits = limits,
            Order::Signal(libc::SIGCONT) => {
                if let Some(terminal) = &self.terminal {
                    let _background = terminal.give_to(self.leader);
                }
                self.signal(Signal::SIGCONT);
            }
            Order::Signal(signal) => {
                if let Ok(signal) = Signal::try_from(signal) {
                    self.signal(signal);
                }
            }
        }
    }

    fn signal(&self, signal: Signal) {
        // EPERM: all of the group belongs to another user. Nothing can be done about that.
        let _beyond_us = killpg(self.leader, signal);
    }

    /// Looks at the processes that have changed. Whether all are gone but the command itself, which
    /// has ended.
    fn reap(&mut self, parent: &mut Parent) -> std::io::Result<bool> {
        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        let ended = match waitid(Id::Pid(self.leader), look) {
            Ok(WaitStatus::StillAlive) => false,
            // EINVAL: it has ended by a signal that has no name.
            Ok(_) | Err(Errno::EINVAL) => true,
            Err(error) => return Err(error.into()),
        };
        if !ended {
            self.notice_suspension(parent);
        }
        let left = descendants::reap_except(self.leader)?;
        if ended && left && self.state == State::Running {
            self.state = State::Ended;
            parent.tell(Note::Leftovers);
        }
        Ok(ended && !left)
    }

    /// The shell that started `tenure run` must see it stop when the command is stopped by ^Z.
    fn notice_suspension(&self, parent: &mut Parent) {
        let look = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
        let from_terminal = [Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU];
        if let Ok(WaitStatus::Stopped(_, signal)) = waitid(Id::Pid(self.leader), look)
            && from_terminal.contains(&signal)
        {
            self.take_terminal_back();
            parent.tell(Note::Suspended);
        }
    }

    fn kill(self) -> std::io::Result<u8> {
        self.signal(Signal::SIGKILL);
        let code = self.finish()?;
        descendants::kill_all(&[])?;
        Ok(code)
    }

    fn finish(mut self) -> std::io::Result<u8> {
        let status = self.child.wait()?;
        self.take_terminal_back();
        Ok(code_of(status))
    }

    fn take_terminal_back(&self) {
        if let Some(terminal) = &self.terminal {
            let _already_gone = terminal.take_back_from(self.leader);
        }
    }
}

fn code_of(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(u8::MAX),
        (None, signal) => exit::by_signal(signal.unwrap_or(0)),
    }
}
