use std::{error::Error, fmt, io, path::Path};

use rustix::io::Errno;
use tenure_store::StoreError;

/// Why the file system kept a lock from being given. Nothing is held when it is told.
#[derive(Debug)]
pub(crate) struct Failure {
    text: String,
    permanent: bool,
}

impl Failure {
    /// A person must act before the lock can be given; `text` says how.
    pub(crate) const fn needs_repair(text: String) -> Self {
        Self { text, permanent: true }
    }

    /// It may go better the next time.
    pub(crate) const fn for_now(text: String) -> Self {
        Self { text, permanent: false }
    }

    fn io(doing: Doing, path: &Path, error: &io::Error) -> Self {
        let errno = Errno::from_io_error(error);
        let text =
            format!("cannot {doing} {}: {error}; {}", path.display(), errno.map_or(ELSE, remedy));
        Self { text, permanent: !errno.is_some_and(may_pass) }
    }
}

/// Does what may fail for the file system's sake.
pub(crate) fn attempt<T, E: Into<io::Error>>(
    doing: Doing,
    path: &Path,
    call: impl FnOnce() -> Result<T, E>,
) -> Result<T, Failure> {
    #[cfg(test)]
    if let Some(errno) = fault::due(doing) {
        return Err(Failure::io(doing, path, &errno.into()));
    }
    call().map_err(|error| Failure::io(doing, path, &error.into()))
}

/// What was attempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    Create,
    Open,
    Look,
    Lock,
    Read,
    Write,
    Sync,
    Replace,
    SyncFolder,
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Open => "open",
            Self::Look => "look at",
            Self::Lock => "lock",
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync | Self::SyncFolder => "make durable",
            Self::Replace => "replace",
        })
    }
}

/// Whether the error may go away without a person, so that a waiter may go on waiting.
fn may_pass(errno: Errno) -> bool {
    [
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::NOLCK,
        Errno::INTR,
        Errno::AGAIN,
    ]
    .contains(&errno)
}

fn remedy(errno: Errno) -> &'static str {
    match errno {
        Errno::NOSPC => "free some space there",
        Errno::DQUOT => "free some space there, or raise the quota",
        Errno::FBIG => "raise the limit of a file's size (ulimit -f)",
        Errno::MFILE | Errno::NFILE => "raise the limit of open files (ulimit -n)",
        Errno::ROFS => "the file system is read-only: use another folder",
        Errno::ACCESS | Errno::PERM => "give this user access, or use another folder",
        Errno::IO => "the disk has failed: check it, or use another folder",
        Errno::LOOP => "symbolic links are not followed: use the real path",
        Errno::NOTDIR => {
            "it is no folder, or a symbolic link to one: use the real path of a folder"
        }
        Errno::NOENT => "it was removed while in use: open the store again",
        _ => ELSE,
    }
}

const ELSE: &str = "use another folder";

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Failure {}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        if failure.permanent { Self::refused(failure) } else { Self::refused_for_now(failure) }
    }
}

/// Makes the file system fail, for the thread of one test.
#[cfg(test)]
pub(crate) mod fault {
    use std::cell::Cell;

    use super::{Doing, Errno};

    thread_local! {
        static NEXT: Cell<Option<(Doing, Errno)>> = const { Cell::new(None) };
    }

    /// The next time that this is done, it fails.
    pub(crate) fn inject(doing: Doing, errno: Errno) {
        NEXT.set(Some((doing, errno)));
    }

    /// Whether an injected fault has not happened yet.
    pub(crate) fn is_pending() -> bool {
        NEXT.get().is_some()
    }

    pub(super) fn due(doing: Doing) -> Option<Errno> {
        let (at, errno) = NEXT.get()?;
        (at == doing).then(|| {
            NEXT.set(None);
            errno
        })
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::Failure as Class;

    use super::*;

    #[test]
    fn each_error_says_what_to_do_and_whether_waiting_helps() {
        for (errno, permanent, remedy) in [
            (Errno::NOSPC, false, "free some space there"),
            (Errno::DQUOT, false, "raise the quota"),
            (Errno::MFILE, false, "ulimit -n"),
            (Errno::FBIG, true, "ulimit -f"),
            (Errno::IO, true, "the disk has failed"),
            (Errno::ROFS, true, "read-only"),
            (Errno::ACCESS, true, "give this user access"),
            (Errno::LOOP, true, "symbolic links are not followed"),
            (Errno::NXIO, true, "use another folder"),
        ] {
            let failed = || Err::<(), _>(errno);
            let failure = attempt(Doing::Write, Path::new("/srv/x.token"), failed).unwrap_err();
            let text = failure.to_string();
            assert!(text.starts_with("cannot write /srv/x.token: "), "{text}");
            assert!(text.contains(remedy), "{text}");
            let class = StoreError::from(failure).failure();
            assert_eq!(class, Class::Refused { permanent, retry_after: None }, "{text}");
        }
    }
}
