//! Short ways to ask a store.

use std::time::Duration;

use tenure_core::{Failure, Input, Nonce, Promise, Reply, RequestKind, Token};
use tenure_redis::RedisStore;
use tenure_store::{Call, LockName, Notices, Store as _, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

pub(crate) const TERM: Duration = Duration::from_secs(30);
pub(crate) const NOT_SENT: Failure = Failure::NotSent;
pub(crate) const UNKNOWN: Failure = Failure::Unknown;
pub(crate) const REFUSED: Failure = Failure::Refused { permanent: true, retry_after: None };
pub(crate) const REFUSED_FOR_NOW: Failure =
    Failure::Refused { permanent: false, retry_after: None };

pub(crate) fn name(name: impl AsRef<[u8]>) -> LockName {
    LockName::new(name).unwrap()
}

pub(crate) const fn nonce(byte: u8) -> Nonce {
    Nonce::from_bytes([byte; 16])
}

pub(crate) const fn acquire(byte: u8) -> RequestKind {
    RequestKind::Acquire { nonce: nonce(byte), term: TERM, block: false }
}

pub(crate) const fn renew(byte: u8) -> RequestKind {
    RequestKind::Renew { nonce: nonce(byte), term: TERM }
}

pub(crate) const fn release(byte: u8) -> RequestKind {
    RequestKind::Release { nonce: nonce(byte) }
}

pub(crate) const fn watch(byte: u8) -> RequestKind {
    RequestKind::Watch { nonce: nonce(byte) }
}

pub(crate) const fn unwatch(byte: u8) -> RequestKind {
    RequestKind::Unwatch { nonce: nonce(byte) }
}

pub(crate) fn granted(byte: u8, token: u64) -> Reply {
    let token = Token::new(token).unwrap();
    Reply::Granted { nonce: nonce(byte), token, promise: Promise::Term(TERM) }
}

pub(crate) fn deaf() -> Notices {
    Notices::new(|_| {})
}

/// Notices, and where the hints among them arrive.
pub(crate) fn hints() -> (Notices, UnboundedReceiver<()>) {
    let (sender, receiver) = unbounded_channel();
    let notices = Notices::new(move |input| {
        if input == Input::Hint {
            let _ = sender.send(());
        }
    });
    (notices, receiver)
}

/// The next hint, which must come.
pub(crate) async fn hinted(hints: &mut UnboundedReceiver<()>) {
    let hint = tokio::time::timeout(Duration::from_secs(20), hints.recv()).await;
    hint.expect("a hint must come").unwrap();
}

/// One request, with a generous limit.
pub(crate) async fn ask(
    store: &RedisStore,
    lock: &LockName,
    request: RequestKind,
) -> Result<Reply, StoreError> {
    ask_within(store, lock, request, Duration::from_secs(20)).await
}

/// One request, dropped when its time is up, as a driver does.
pub(crate) async fn ask_within(
    store: &RedisStore,
    lock: &LockName,
    request: RequestKind,
    time_left: Duration,
) -> Result<Reply, StoreError> {
    let notices = deaf();
    let call = Call { lock, request, time_left: Some(time_left), notices: &notices };
    match tokio::time::timeout(time_left, store.execute(call)).await {
        Ok(answer) => answer.map(|answer| answer.reply),
        Err(_) => Err(StoreError::unknown("dropped")),
    }
}

pub(crate) async fn failure(store: &RedisStore, lock: &LockName, request: RequestKind) -> Failure {
    ask(store, lock, request).await.unwrap_err().failure()
}
