//! What `tenure` exits with when it is not the command's own code: the numbers of sysexits.h, where
//! those have one.

use std::fmt;

/// The command line makes no sense (EX_USAGE).
pub(crate) const USAGE: u8 = 64;
/// The store cannot be reached, or will not serve us (EX_UNAVAILABLE).
pub(crate) const UNAVAILABLE: u8 = 69;
/// The lease was lost, and the command stopped (EX_SOFTWARE).
pub(crate) const LOST: u8 = 70;
/// This machine lacks what `tenure` needs to run the command safely (EX_OSERR).
pub(crate) const SYSTEM: u8 = 71;
/// Somebody else has the lock (EX_TEMPFAIL).
pub(crate) const BUSY: u8 = 75;
/// The command was found and cannot be executed, as in a shell.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// The command was not found, as in a shell.
pub(crate) const NOT_FOUND: u8 = 127;

/// What a shell makes of an end by a signal.
pub(crate) fn by_signal(signal: i32) -> u8 {
    u8::try_from(signal.saturating_add(128)).unwrap_or(u8::MAX)
}

/// Why `tenure` ends without success, in words and as an exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn usage(text: impl fmt::Display) -> Self {
        Self { code: USAGE, text: text.to_string() }
    }

    pub(crate) fn unavailable(text: impl fmt::Display) -> Self {
        Self { code: UNAVAILABLE, text: text.to_string() }
    }

    pub(crate) fn system(text: impl fmt::Display) -> Self {
        Self { code: SYSTEM, text: text.to_string() }
    }
}
