use std::{
    os::fd::{AsFd, BorrowedFd},
    time::Duration,
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
        time::TimeSpec,
        timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
    },
};
use tenure::Instant;

/// What wakes the watchdog besides its parent.
pub(super) struct Wakeup {
    children: SignalFd,
    timer: TimerFd,
}

impl Wakeup {
    pub(super) fn new() -> nix::Result<Self> {
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let children = SignalFd::with_flags(&SigSet::from(Signal::SIGCHLD), flags)?;
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(ClockId::CLOCK_BOOTTIME, flags)?;
        Ok(Self { children, timer })
    }

    /// Returns at `until`, or when a child or the parent has something to say.
    pub(super) fn wait(&self, until: Instant, parent: BorrowedFd<'_>) -> nix::Result<()> {
        // Setting it also forgets that it went off before.
        if until == Instant::NEVER {
            self.timer.unset()?;
        } else {
            // Zero would switch it off.
            let at = Duration::from_micros(until.as_micros().max(1));
            let at = Expiration::OneShot(TimeSpec::from_duration(at));
            self.timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        }
        let mut fds = [self.children.as_fd(), self.timer.as_fd(), parent]
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
        while self.children.read_signal()?.is_some() {}
        Ok(())
    }
}
