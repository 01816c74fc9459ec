use std::{
    fs::{File, TryLockError},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::FileExt,
    },
    path::PathBuf,
    thread,
    time::Duration,
};

use rustix::fs::OFlags;
use tenure_core::Token;
use tenure_store::LockName;

use crate::{
    failure::{Doing, Failure, attempt},
    file_name::FileName,
    folder::{Folder, names},
    record::Record,
};

/// The file that the operating system locks, opened for one attempt. The lock belongs to this
/// opening, and ends when the last descriptor of it is closed.
#[derive(Debug)]
pub(crate) struct LockFile {
    file: File,
    path: PathBuf,
}

/// What a lock file says about the last grant.
#[derive(Debug)]
pub(crate) enum LastGrant {
    Never,
    Unreadable,
    Known(Record),
}

impl LastGrant {
    pub(crate) fn token(&self) -> Option<Token> {
        match self {
            Self::Known(record) => Some(record.token),
            Self::Never | Self::Unreadable => None,
        }
    }
}

impl LockFile {
    pub(crate) fn open(folder: &Folder, name: &FileName) -> Result<Self, Failure> {
        let name = name.lock();
        let file = folder.open_file(&name, OFlags::RDWR | OFlags::CREATE)?;
        Ok(Self { file, path: folder.path_of(&name) })
    }

    /// Opens it for [`is_locked`](Self::is_locked); `None` if nobody ever asked for the lock.
    pub(crate) fn look(folder: &Folder, name: &FileName) -> Result<Option<Self>, Failure> {
        let name = name.lock();
        let file = folder.open_existing(&name, OFlags::RDONLY)?;
        Ok(file.map(|file| Self { file, path: folder.path_of(&name) }))
    }

    /// Takes the lock, or tells that somebody has it.
    pub(crate) fn try_lock(&self) -> Result<bool, Failure> {
        self.try_lock_past_looks(|| thread::sleep(Duration::from_millis(1)))
    }

    /// A holder's lock is exclusive. One that can be shared is an instant's look (`is_locked`), which
    /// must not pass for a holder; unless it is stopped in that very instant.
    fn try_lock_past_looks(&self, mut pause: impl FnMut()) -> Result<bool, Failure> {
        const LOOKS: u32 = 100;
        for _ in 0..LOOKS {
            if attempt(Doing::Lock, &self.path, || granted(self.file.try_lock()))? {
                return Ok(true);
            }
            if self.is_locked()? {
                return Ok(false);
            }
            pause();
        }
        Ok(false)
    }

    /// Whether somebody has the lock. If nobody has, this takes a shared lock for an instant.
    pub(crate) fn is_locked(&self) -> Result<bool, Failure> {
        attempt(Doing::Lock, &self.path, || {
            let free = granted(self.file.try_lock_shared())?;
            if free {
                self.file.unlock()?;
            }
            Ok::<_, io::Error>(!free)
        })
    }

    /// Whether the lock is still worth something: others lock the file that the path names, and a
    /// network file system that lost the lock fails to read.
    pub(crate) fn is_in_force(&self) -> Result<bool, Failure> {
        attempt(Doing::Read, &self.path, || self.file.read_at(&mut [0], 0))?;
        names(&self.path, &self.file)
    }

    pub(crate) fn last_grant(&self) -> Result<LastGrant, Failure> {
        let mut bytes = [0; Record::MAX_LEN];
        let len = attempt(Doing::Read, &self.path, || self.file.read_at(&mut bytes, 0))?;
        Ok(match bytes.get(..len) {
            None | Some([]) => LastGrant::Never,
            Some(bytes) => Record::decode(bytes).map_or(LastGrant::Unreadable, LastGrant::Known),
        })
    }

    pub(crate) fn write(&self, record: &Record, lock: &LockName) -> Result<(), Failure> {
        let text = record.encode(lock);
        attempt(Doing::Write, &self.path, || {
            self.file.write_all_at(text.as_bytes(), 0)?;
            self.file.set_len(text.len() as u64)
        })
    }

    /// How long ago the record was written, by the wall clock, for a person.
    pub(crate) fn age(&self) -> Option<Duration> {
        self.file.metadata().ok()?.modified().ok()?.elapsed().ok()
    }

    /// Lets go of the lock, also for those who inherited it.
    pub(crate) fn unlock(&self) -> Result<(), Failure> {
        attempt(Doing::Lock, &self.path, || self.file.unlock())
    }

    /// Another descriptor of the same opening: while it is open, the lock is held.
    pub(crate) fn descriptor(&self) -> io::Result<OwnedFd> {
        self.file.as_fd().try_clone_to_owned()
    }
}

fn granted(outcome: Result<(), TryLockError>) -> io::Result<bool> {
    match outcome {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_does_not_pass_for_a_holder() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap();
        let folder = Folder::open(&path).unwrap();
        let name = FileName::of(&LockName::new("nightly").unwrap());
        let file = LockFile::open(&folder, &name).unwrap();

        let look = File::open(folder.path_of(&name.lock())).unwrap();
        look.lock_shared().unwrap();
        assert!(file.try_lock_past_looks(|| look.unlock().unwrap()).unwrap());

        let other = LockFile::open(&folder, &name).unwrap();
        assert!(!other.try_lock_past_looks(|| panic!("a holder was taken for a look")).unwrap());
    }
}
