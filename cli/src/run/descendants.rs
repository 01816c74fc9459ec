//! The processes below this one. A process that is a child subreaper inherits whatever its
//! descendants leave behind, so nothing that a command has started can hide from it.
//!
//! A process id stays taken until its parent has waited for it; since only this process waits for its
//! children, none of the ids here can be somebody else's by the time a signal is sent.

use std::{fs, io};

use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, waitpid},
    },
    unistd::{Pid, getpid},
};

/// This process's children, those included that have ended and were not waited for.
pub(super) fn children() -> io::Result<Vec<Pid>> {
    let parent = getpid();
    let pids = fs::read_dir("/proc")?.filter_map(|entry| {
        let pid = entry.ok()?.file_name().to_str()?.parse().ok().map(Pid::from_raw)?;
        (parent_of(pid)? == parent).then_some(pid)
    });
    Ok(pids.collect())
}

/// Waits for the children that have ended, but not for `spared`. Whether any other is left.
pub(super) fn reap_except(spared: Pid) -> io::Result<bool> {
    let mut left = false;
    for child in children()? {
        if child != spared {
            left |= waitpid(child, Some(WaitPidFlag::WNOHANG))
                .is_ok_and(|status| status.pid().is_none());
        }
    }
    Ok(left)
}

/// Kills everything below this process, and returns when it is gone. Children `spared` may live.
pub(super) fn kill_all(spared: &[Pid]) -> io::Result<()> {
    loop {
        let mut doomed = children()?;
        doomed.retain(|child| !spared.contains(child));
        if doomed.is_empty() {
            return Ok(());
        }
        for child in doomed {
            // EPERM: a process of another user. It is waited for all the same.
            let _cannot_be_killed = kill(child, Signal::SIGKILL);
        }
        // Whichever dies first may leave children behind, which are ours then: look again.
        match waitpid(None, None) {
            Ok(_) | Err(Errno::EINTR | Errno::ECHILD | Errno::EINVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn parent_of(pid: Pid) -> Option<Pid> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // "pid (name) state ppid …", where the name may hold anything.
    let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let parent = stat.get(after_name..)?.split(|&byte| byte == b' ').nth(2)?;
    str::from_utf8(parent).ok()?.parse().ok().map(Pid::from_raw)
}
