use std::{
    ffi::{OsStr, OsString},
    io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, Command},
};

use nix::{
    fcntl::{FcntlArg, FdFlag, fcntl},
    sys::prctl,
    unistd::{Pid, getpgrp},
};
use tenure::Token;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    task::spawn_blocking,
};

use super::{
    descendants,
    terminal::Terminal,
    wire::{Note, Order},
};
use crate::{args::WATCHDOG, store};

/// What was granted: what the command is told of it, and what keeps it.
#[derive(Debug)]
pub(super) struct Grant<'a> {
    pub(super) name: &'a OsStr,
    pub(super) token: Token,
    /// Keeps the lock while it is open, where the lock is a file's.
    pub(super) lock: Option<OwnedFd>,
}

/// The watchdog process, as `tenure run` has it.
#[derive(Debug)]
pub(super) struct Keeper {
    watchdog: Child,
    control: UnixStream,
    /// Children that this process had before it became `tenure`.
    spared: Vec<Pid>,
    terminal: Option<Terminal>,
}

/// How it all ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Exited(u8),
    /// The watchdog was killed; then everything that it had started was.
    WatchdogDied,
}

impl Keeper {
    /// Starts the watchdog, which starts the command after its first order.
    pub(super) fn start(command: &[OsString], grant: Grant<'_>) -> io::Result<Self> {
        let spared = descendants::children()?;
        // If the watchdog dies, what it had started becomes ours to kill.
        prctl::set_child_subreaper(true)?;
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let mut watchdog = Command::new("/proc/self/exe");
        watchdog.arg0(WATCHDOG).arg("--control").arg(inherited(&theirs)?);
        if let Some(lock) = &grant.lock {
            watchdog.arg("--lock").arg(inherited(lock)?);
        }
        watchdog
            .arg("--")
            .args(command)
            .env_remove(store::VARIABLE)
            .env("TENURE_NAME", grant.name)
            .env("TENURE_TOKEN", grant.token.to_string());
        let watchdog = watchdog.spawn()?;
        ours.set_nonblocking(true)?;
        let control = UnixStream::from_std(ours)?;
        Ok(Self { watchdog, control, spared, terminal: Terminal::of(getpgrp()) })
    }

    /// A watchdog that is not there any more is noticed by [`note`](Self::note).
    pub(super) async fn order(&mut self, order: Order) {
        let _gone = self.control.write_all(&order.encode()).await;
    }

    /// What the watchdog has to say next; `None` if it is gone. Cancel-safe.
    pub(super) async fn note(&mut self) -> Option<Note> {
        let mut byte = [0];
        match self.control.read(&mut byte).await {
            Ok(1) => Note::decode(byte[0]),
            Ok(_) | Err(_) => None,
        }
    }

    /// Kills a watchdog that does not do its work.
    pub(super) fn kill(&mut self) {
        // An error means that it is gone.
        let _gone = self.watchdog.kill();
    }

    /// After the last note: waits until the watchdog and all that it had started are gone.
    pub(super) async fn finish(self, done: bool) -> io::Result<End> {
        let Self { mut watchdog, spared, terminal, control } = self;
        drop(control);
        spawn_blocking(move || {
            if done && let Some(code) = watchdog.wait()?.code() {
                return Ok(End::Exited(u8::try_from(code).unwrap_or(u8::MAX)));
            }
            watchdog.kill()?;
            watchdog.wait()?;
            descendants::kill_all(&spared)?;
            if let Some(terminal) = terminal {
                let _background = terminal.reclaim();
            }
            Ok(End::WatchdogDied)
        })
        .await?
    }
}

/// Has `fd` survive an exec, under this number. Nothing but the watchdog is ever started.
fn inherited(fd: &impl AsFd) -> io::Result<String> {
    let fd = fd.as_fd();
    fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty()))?;
    Ok(fd.as_raw_fd().to_string())
}
