use std::{
    fmt,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tenure_core::{Assurance, Promise, Reply, RequestKind, Waiting};
use tenure_store::{
    Answer, Call, ConnectError, Executing, Failover, Fairness, Fencing, Finding, Guarantees,
    Inspecting, Inspection, LockName, Profile, Store, StoreError, Tenancy,
};

use crate::{
    counter,
    failure::Failure,
    file_name::FileName,
    finish::finish,
    folder::{Folder, absolute},
    holdings::{Holding, Holdings, Key, Taking},
    lock_file::{LastGrant, LockFile},
    medium::Medium,
    record::{Holder, Record},
};

/// Locks on the files of one folder. Cheap to clone; clones share what they hold.
///
/// When the last clone is dropped, or the process ends in whatever way, every lock is let go of,
/// except where another process inherited it (see [`descriptor`](Self::descriptor)).
#[derive(Clone)]
pub struct FileStore {
    inner: Arc<Inner>,
}

impl FileStore {
    /// The store in `folder`, which is made (mode 0700) if it is missing. Blocks for a moment of
    /// disk I/O.
    ///
    /// # Errors
    ///
    /// [`ConnectError`]: the folder cannot be made or opened, is or was replaced by a symbolic link,
    /// belongs to another user, can be written to by others, or lies on a network file system.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, ConnectError> {
        Self::builder().open(folder)
    }

    /// Starts from what [`open`](Self::open) does.
    pub const fn builder() -> FileStoreBuilder {
        FileStoreBuilder { allow_network: false }
    }

    /// The folder, as an absolute path.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.inner.folder
    }

    /// Another descriptor of the lock that this store holds by this name; `None` if it holds none, or
    /// the process may open no more files.
    ///
    /// As long as the descriptor, or a copy of it in another process, is open, the lock stays held,
    /// even if this process is killed. Only `Release` ends it for all. The descriptor is closed on
    /// exec.
    #[must_use]
    pub fn descriptor(&self, lock: &LockName) -> Option<OwnedFd> {
        self.inner.holdings.of(lock)?.file.descriptor().ok()
    }
}

/// How to open a [`FileStore`].
#[derive(Clone, Copy, Debug)]
#[must_use = "does nothing until `open`"]
pub struct FileStoreBuilder {
    allow_network: bool,
}

impl FileStoreBuilder {
    /// Accepts a network file system: one whose locks are known to work between all of its clients,
    /// and are not forgotten by its server. The guarantees are lower there. Default: refused.
    pub const fn allow_network(mut self, allow: bool) -> Self {
        self.allow_network = allow;
        self
    }

    /// The store in `folder`; see [`FileStore::open`].
    ///
    /// # Errors
    ///
    /// As for [`FileStore::open`].
    pub fn open(self, folder: impl AsRef<Path>) -> Result<FileStore, ConnectError> {
        let given = folder.as_ref();
        let path = absolute(given)
            .map_err(|_| ConnectError::Invalid("the file store needs a folder's path".into()))?;
        let unreachable = |failure: Failure| ConnectError::Unreachable(failure.into());
        Folder::create(&path).map_err(unreachable)?;
        let folder = Folder::open(&path).map_err(unreachable)?;
        if let Some(why) = folder.unfit().map_err(unreachable)? {
            return Err(ConnectError::Unsafe(why));
        }
        let guarantees = self.guarantees(&path, folder.medium().map_err(unreachable)?)?;
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let holdings = Arc::default();
        Ok(FileStore { inner: Arc::new(Inner { folder: path, host, guarantees, holdings }) })
    }

    fn guarantees(self, path: &Path, medium: Medium) -> Result<Guarantees, ConnectError> {
        let path = path.display();
        let mut guarantees = Guarantees::new(
            Fencing::Durable,
            Tenancy::Session,
            Failover::Impossible,
            Fairness::None,
        );
        match medium {
            Medium::Local => {}
            Medium::Memory => {
                guarantees.fencing = Fencing::LostWithData;
                guarantees.findings.push(Finding::new(format!(
                    "{path} is in memory: its token counters end with the next boot; \
                     use a folder on a disk if tokens must go on rising"
                )));
            }
            Medium::Network(kind) if self.allow_network => {
                guarantees.failover = Failover::MayLose;
                guarantees.findings.push(Finding::new(format!(
                    "{path} is on {kind}: a server that restarts may forget a lock that is held; \
                     use a folder on a local disk, or a store made for many machines"
                )));
            }
            Medium::Network(kind) => {
                return Err(ConnectError::Unsafe(format!(
                    "{path} is on {kind}, where locks may be kept to one machine or forgotten; use a \
                     folder on a local disk, a store made for many machines, or allow network file \
                     systems if this one's locks are known to work"
                )));
            }
        }
        Ok(guarantees)
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore").field("folder", &self.inner.folder).finish_non_exhaustive()
    }
}

impl Store for FileStore {
    fn profile(&self) -> Profile {
        Profile::new(Waiting::Poll, Assurance::Session, Duration::from_millis(1))
    }

    fn guarantees(&self) -> &Guarantees {
        &self.inner.guarantees
    }

    fn execute<'a>(&'a self, call: Call<'a>) -> Executing<'a> {
        let inner = Arc::clone(&self.inner);
        let request = call.request;
        let key = Key { lock: call.lock.clone(), nonce: request.nonce() };
        Box::pin(async move {
            let reply = match request {
                RequestKind::Acquire { .. } => {
                    // Known from the first poll on, so that a release that overtakes it waits for it.
                    let taking = inner.holdings.begin(&key);
                    finish(move || inner.acquire(&key, taking)).await
                }
                RequestKind::Renew { term, .. } => finish(move || inner.renew(&key, term)).await,
                RequestKind::Release { .. } => finish(move || Ok(inner.release(&key))).await,
                RequestKind::Disconnect { .. } => finish(move || Ok(inner.disconnect(&key))).await,
                RequestKind::Enqueue { .. }
                | RequestKind::Claim { .. }
                | RequestKind::Watch { .. }
                | RequestKind::Unwatch { .. }
                | _ => Err(StoreError::refused(format!(
                    "a file store has no queue and no watch, so it cannot do {request:?}; \
                     set the machine up by the store's profile"
                ))),
            };
            reply.map(Answer::from)
        })
    }

    fn inspect<'a>(&'a self, lock: &'a LockName) -> Inspecting<'a> {
        let inner = Arc::clone(&self.inner);
        let lock = lock.clone();
        Box::pin(async move { Ok(finish(move || inner.inspect(&lock)).await?) })
    }
}

/// The store without its futures. Everything here may block.
struct Inner {
    folder: PathBuf,
    host: String,
    guarantees: Guarantees,
    holdings: Arc<Holdings>,
}

impl Inner {
    /// `taking` is `None` if this nonce's attempt had begun before: its answer was lost.
    fn acquire(&self, key: &Key, taking: Option<Taking>) -> Result<Reply, StoreError> {
        let taking = match taking {
            Some(taking) => taking,
            None => loop {
                match self.holdings.get(key) {
                    Some(holding) if in_force(&holding)? => return Ok(granted(key, &holding)),
                    Some(_) => drop(self.holdings.remove(key)),
                    None => {}
                }
                if let Some(taking) = self.holdings.begin(key) {
                    break taking;
                }
            },
        };
        Ok(match self.take(&key.lock)? {
            Taken::Busy { last } => Reply::Busy { retry_after: None, holder: last.token() },
            Taken::Granted(holding) => {
                let reply = granted(key, &holding);
                taking.hold(holding);
                reply
            }
        })
    }

    fn renew(&self, key: &Key, term: Duration) -> Result<Reply, StoreError> {
        let Some(holding) = self.holdings.get(key) else { return Ok(Reply::Gone) };
        if in_force(&holding)? {
            return Ok(Reply::Renewed { term });
        }
        drop(self.holdings.remove(key));
        Ok(Reply::Gone)
    }

    fn release(&self, key: &Key) -> Reply {
        let Some(holding) = self.holdings.remove(key) else { return Reply::Gone };
        // Says less than the lock itself, which is let go of whether this is written or not.
        let _ = holding.file.write(&Record { token: holding.token, holder: None }, &key.lock);
        // Closing, which follows, lets go as well, unless the lock was inherited.
        let _ = holding.file.unlock();
        Reply::Released
    }

    /// Closes, and no more: whoever inherited the lock keeps it.
    fn disconnect(&self, key: &Key) -> Reply {
        drop(self.holdings.remove(key));
        Reply::Released
    }

    /// Looks with the least disturbance. A lock that was released says so in its file, and one that
    /// is held refuses the look's shared lock. Only where a holder died without a word does the look
    /// have that lock for an instant, and `try_lock` knows not to take it for a holder.
    fn inspect(&self, lock: &LockName) -> Result<Inspection, Failure> {
        let folder = self.open_folder()?;
        let Some(file) = LockFile::look(&folder, &FileName::of(lock))? else {
            return Ok(Inspection::Free);
        };
        let (token, holder) = match file.last_grant()? {
            LastGrant::Never | LastGrant::Known(Record { holder: None, .. }) => {
                return Ok(Inspection::Free);
            }
            LastGrant::Known(Record { token, holder }) => (Some(token), holder),
            LastGrant::Unreadable => (None, None),
        };
        if !file.is_locked()? {
            return Ok(Inspection::Free);
        }
        let holder = holder.map(|holder| match file.age() {
            Some(age) => format!("{holder}, for {} s", age.as_secs()),
            None => holder.to_string(),
        });
        Ok(Inspection::Held { token, remaining: None, holder })
    }

    fn take(&self, lock: &LockName) -> Result<Taken, Failure> {
        let folder = self.open_folder()?;
        let name = FileName::of(lock);
        let file = LockFile::open(&folder, &name)?;
        if file.try_lock()? {
            self.grant(lock, &folder, &name, file).map(Taken::Granted)
        } else {
            Ok(Taken::Busy { last: file.last_grant()? })
        }
    }

    /// Gives a token to whoever has the lock. On every way out but the last the lock is let go of,
    /// since the file is closed.
    fn grant(
        &self,
        lock: &LockName,
        folder: &Folder,
        name: &FileName,
        file: LockFile,
    ) -> Result<Holding, Failure> {
        if !file.is_in_force()? {
            let path = folder.path_of(&name.lock());
            return Err(Failure::for_now(format!(
                "{} was replaced while it was being locked; leave lock files where they are",
                path.display()
            )));
        }
        let token = counter::next(folder, name, &file.last_grant()?)?;
        let holder = Holder { pid: std::process::id(), host: self.host.clone() };
        file.write(&Record { token, holder: Some(holder) }, lock)?;
        Ok(Holding { file, token })
    }

    fn open_folder(&self) -> Result<Folder, Failure> {
        let folder = Folder::open(&self.folder)?;
        match folder.unfit()? {
            Some(why) => Err(Failure::needs_repair(why)),
            None => Ok(folder),
        }
    }
}

enum Taken {
    Granted(Holding),
    Busy { last: LastGrant },
}

const fn granted(key: &Key, holding: &Holding) -> Reply {
    Reply::Granted { nonce: key.nonce, token: holding.token, promise: Promise::Session }
}

/// A check that fails says nothing about the lock, so it must not pass for a refusal.
fn in_force(holding: &Holding) -> Result<bool, StoreError> {
    holding.file.is_in_force().map_err(StoreError::unknown)
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;
    use tenure_core::Failure as Class;

    use super::*;
    use crate::failure::{Doing, fault};

    fn grant(store: &FileStore, lock: &LockName) -> u64 {
        match store.inner.take(lock) {
            Ok(Taken::Granted(holding)) => holding.token.get(),
            Ok(Taken::Busy { .. }) => panic!("busy"),
            Err(failure) => panic!("{failure}"),
        }
    }

    /// Whatever fails on the way: nothing is granted, nothing stays locked, the error names a path
    /// and a remedy, and the next token is above the last.
    #[test]
    fn a_disk_that_fails_grants_nothing() {
        let steps = [
            Doing::Open,
            Doing::Look,
            Doing::Lock,
            Doing::Read,
            Doing::Write,
            Doing::Sync,
            Doing::Replace,
            Doing::SyncFolder,
        ];
        let errors = [(Errno::NOSPC, false, "free some space"), (Errno::ROFS, true, "read-only")];
        let folder = tempfile::tempdir().unwrap();
        let store = FileStore::open(folder.path()).unwrap();
        let lock = LockName::new("nightly").unwrap();
        let mut last = grant(&store, &lock);
        for step in steps {
            for (errno, permanent, remedy) in errors {
                fault::inject(step, errno);
                let Err(failure) = store.inner.take(&lock) else {
                    panic!("{step:?} failed with {errno:?}, and the lock was granted")
                };
                assert!(!fault::is_pending());
                let error = StoreError::from(failure);
                assert_eq!(error.failure(), Class::Refused { permanent, retry_after: None });
                let text = error.to_string();
                assert!(text.contains(remedy), "{text}");
                assert!(text.contains(&*folder.path().to_string_lossy()), "{text}");

                let next = grant(&store, &lock);
                assert!(next > last, "{step:?} {errno:?}: {next} after {last}");
                last = next;
            }
        }
    }

    /// The folder's own sync is the last thing that can fail before a token may be told.
    #[test]
    fn a_token_is_durable_before_it_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let store = FileStore::open(folder.path()).unwrap();
        let lock = LockName::new("nightly").unwrap();
        assert_eq!(grant(&store, &lock), 1);
        fault::inject(Doing::SyncFolder, Errno::IO);
        assert!(store.inner.take(&lock).is_err());
        assert_eq!(grant(&store, &lock), 3, "2 may be on the disk, or not: it is skipped");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_unreachable() {
        let parent = tempfile::tempdir().unwrap();
        fault::inject(Doing::Create, Errno::ROFS);
        let error = FileStore::open(parent.path().join("locks")).unwrap_err();
        assert!(matches!(error, ConnectError::Unreachable(_)), "{error:?}");
        assert!(error.to_string().contains("read-only"), "{error}");
    }

    /// Whoever opened the old file must not use the counter of whoever opens the new one.
    #[test]
    fn a_lock_file_that_is_replaced_before_it_is_locked_is_not_granted() {
        let store_folder = tempfile::tempdir().unwrap();
        let store = FileStore::open(store_folder.path()).unwrap();
        let lock = LockName::new("nightly").unwrap();
        let name = FileName::of(&lock);
        let folder = store.inner.open_folder().unwrap();
        let old = LockFile::open(&folder, &name).unwrap();
        std::fs::remove_file(folder.path_of(&name.lock())).unwrap();
        assert!(old.try_lock().unwrap());
        let failure = store.inner.grant(&lock, &folder, &name, old).unwrap_err();
        assert!(failure.to_string().contains("was replaced"), "{failure}");
        assert_eq!(grant(&store, &lock), 1);
    }

    /// A check that fails must not pass for a loss, nor for a renewal.
    #[test]
    fn a_renewal_that_cannot_be_checked_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let store = FileStore::open(folder.path()).unwrap();
        let key = Key {
            lock: LockName::new("nightly").unwrap(),
            nonce: tenure_core::Nonce::from_bytes([7; 16]),
        };
        let taking = store.inner.holdings.begin(&key);
        assert!(matches!(store.inner.acquire(&key, taking), Ok(Reply::Granted { .. })));
        fault::inject(Doing::Read, Errno::IO);
        let error = store.inner.renew(&key, Duration::from_secs(1)).unwrap_err();
        assert_eq!(error.failure(), Class::Unknown);
    }

    #[test]
    fn a_network_file_system_must_be_allowed() {
        let path = Path::new("/srv/locks");
        let refused = FileStore::builder().guarantees(path, Medium::Network("NFS")).unwrap_err();
        assert!(matches!(refused, ConnectError::Unsafe(_)));
        assert!(refused.to_string().contains("/srv/locks is on NFS"), "{refused}");

        let allowed = FileStore::builder().allow_network(true);
        let guarantees = allowed.guarantees(path, Medium::Network("NFS")).unwrap();
        assert_eq!(guarantees.failover, Failover::MayLose);
        assert_eq!(guarantees.findings.len(), 1);
    }

    #[test]
    fn counters_in_memory_are_not_called_durable() {
        let path = Path::new("/dev/shm/locks");
        let builder = FileStore::builder();
        let on_disk = builder.guarantees(path, Medium::Local).unwrap();
        assert_eq!((on_disk.fencing, on_disk.tenancy), (Fencing::Durable, Tenancy::Session));
        assert_eq!(on_disk.findings, []);
        let in_memory = builder.guarantees(path, Medium::Memory).unwrap();
        assert_eq!(in_memory.fencing, Fencing::LostWithData);
        assert_eq!(in_memory.findings.len(), 1);
    }
}
