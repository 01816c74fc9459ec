//! A store in a folder of its own, and the requests of a machine in short.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::{path::PathBuf, time::Duration};

use tempfile::TempDir;
use tenure_core::{Nonce, Promise, Reply, RequestKind};
use tenure_file::FileStore;
use tenure_store::{Call, Inspection, LockName, Notices, Store as _, StoreError};

pub(crate) const TERM: Duration = Duration::from_secs(30);

pub(crate) struct Fixture {
    pub(crate) store: FileStore,
    pub(crate) folder: TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { store: FileStore::open(folder.path()).unwrap(), folder }
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }
}

pub(crate) fn name(name: impl AsRef<[u8]>) -> LockName {
    LockName::new(name).unwrap()
}

pub(crate) fn nonce(number: u8) -> Nonce {
    Nonce::from_bytes([number; 16])
}

pub(crate) fn execute(
    store: &FileStore,
    lock: &str,
    request: RequestKind,
) -> Result<Reply, StoreError> {
    let notices = Notices::new(|_| {});
    let lock = name(lock);
    let call = Call { lock: &lock, request, time_left: None, notices: &notices };
    futures_lite::future::block_on(store.execute(call)).map(|answer| answer.reply)
}

pub(crate) fn acquire(store: &FileStore, lock: &str, number: u8) -> Result<Reply, StoreError> {
    let request = RequestKind::Acquire { nonce: nonce(number), term: TERM, block: false };
    execute(store, lock, request)
}

pub(crate) fn renew(store: &FileStore, lock: &str, number: u8) -> Result<Reply, StoreError> {
    execute(store, lock, RequestKind::Renew { nonce: nonce(number), term: TERM })
}

pub(crate) fn release(store: &FileStore, lock: &str, number: u8) -> Result<Reply, StoreError> {
    execute(store, lock, RequestKind::Release { nonce: nonce(number) })
}

pub(crate) fn disconnect(store: &FileStore, lock: &str, number: u8) -> Result<Reply, StoreError> {
    execute(store, lock, RequestKind::Disconnect { nonce: nonce(number) })
}

pub(crate) fn inspect(store: &FileStore, lock: &str) -> Inspection {
    let lock = name(lock);
    futures_lite::future::block_on(store.inspect(&lock)).unwrap()
}

/// The token of a grant to `number`; anything else fails the test.
#[track_caller]
pub(crate) fn token(reply: Result<Reply, StoreError>, number: u8) -> u64 {
    match reply {
        Ok(Reply::Granted { nonce: granted, token, promise }) => {
            assert_eq!((granted, promise), (nonce(number), Promise::Session));
            token.get()
        }
        other => panic!("not granted: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn assert_busy(reply: Result<Reply, StoreError>) {
    assert!(matches!(reply, Ok(Reply::Busy { .. })), "{reply:?}");
}

#[track_caller]
pub(crate) fn assert_reply(reply: Result<Reply, StoreError>, expected: Reply) {
    assert!(matches!(reply, Ok(reply) if reply == expected), "{reply:?}, not {expected:?}");
}
