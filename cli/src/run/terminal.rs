use std::{
    fs::{File, OpenOptions},
    io::{IsTerminal, stdin, stdout},
    os::fd::AsFd,
};

use nix::{
    errno::Errno,
    sys::{
        signal::{SigSet, Signal, killpg},
        stat::{SFlag, fstat},
    },
    unistd::{Pid, tcgetpgrp, tcsetpgrp},
};

/// The terminal that the command is to have, where `tenure` has it.
///
/// The caller blocks SIGTTOU, or it would be stopped for handing the terminal over from a background
/// process group.
#[derive(Debug)]
pub(super) struct Terminal {
    device: File,
    /// The process group of `tenure run`, as its shell knows it.
    home: Pid,
}

impl Terminal {
    /// `None` where the command cannot be an interactive one: without a terminal, or as a part of a
    /// pipeline, whose other processes need the terminal themselves.
    pub(super) fn of(home: Pid) -> Option<Self> {
        let pipe = fstat(stdout().as_fd()).is_ok_and(|stat| {
            SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits()) == SFlag::S_IFIFO
        });
        if !stdin().is_terminal() || pipe {
            return None;
        }
        let device = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        Some(Self { device, home })
    }

    /// Puts `group` into the foreground, if `tenure run` is there.
    pub(super) fn give_to(&self, group: Pid) -> nix::Result<()> {
        self.hand_over(self.home, group)
    }

    /// Puts `tenure run` back into the foreground, if `group` is there.
    pub(super) fn take_back_from(&self, group: Pid) -> nix::Result<()> {
        self.hand_over(group, self.home)
    }

    /// Puts `tenure run` back into the foreground, if the group that is there has gone.
    pub(super) fn reclaim(&self) -> nix::Result<()> {
        let group = tcgetpgrp(&self.device)?;
        if killpg(group, None) == Err(Errno::ESRCH) {
            SigSet::from(Signal::SIGTTOU).thread_block()?;
            tcsetpgrp(&self.device, self.home)?;
        }
        Ok(())
    }

    fn hand_over(&self, from: Pid, to: Pid) -> nix::Result<()> {
        if tcgetpgrp(&self.device)? == from { tcsetpgrp(&self.device, to) } else { Ok(()) }
    }
}
