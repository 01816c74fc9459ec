//! A store on a clock that the test moves, and the requests of a machine in short.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use tenure_core::{Input, Instant, Nonce, Reply, RequestKind};
use tenure_memory::MemoryStore;
use tenure_store::{Call, Clock, LockName, Notices, Store as _, StoreError};

pub(crate) const TERM: Duration = Duration::from_secs(12);

#[derive(Clone, Default)]
pub(crate) struct TestClock(Arc<AtomicU64>);

impl TestClock {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_micros().try_into().unwrap(), Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Instant {
        Instant::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// One driver of the lock "nightly": what it was told, and what it asks.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) store: MemoryStore,
    pub(crate) nonce: Nonce,
    told: Arc<Mutex<Vec<Input>>>,
}

impl Client {
    pub(crate) fn new(store: &MemoryStore, number: u8) -> Self {
        let nonce = Nonce::from_bytes([number; 16]);
        Self { store: store.clone(), nonce, told: Arc::default() }
    }

    pub(crate) async fn execute(self, request: RequestKind) -> Result<Reply, StoreError> {
        let told = Arc::clone(&self.told);
        let notices = Notices::new(move |input| told.lock().unwrap().push(input));
        let call = Call { lock: &nightly(), request, time_left: None, notices: &notices };
        Ok(self.store.execute(call).await?.reply)
    }

    /// The request is sent, and its answer waited for by whoever polls.
    pub(crate) fn begin(&self, request: RequestKind) -> Asking {
        let mut asking: Asking = Box::pin(self.clone().execute(request));
        assert!(poll(&mut asking).is_none(), "answered already");
        asking
    }

    pub(crate) fn ask(&self, request: RequestKind) -> Result<Reply, StoreError> {
        futures_lite::future::block_on(self.clone().execute(request))
    }

    pub(crate) fn acquire(&self) -> Result<Reply, StoreError> {
        self.ask(self.acquire_request())
    }

    pub(crate) const fn acquire_request(&self) -> RequestKind {
        RequestKind::Acquire { nonce: self.nonce, term: TERM, block: true }
    }

    pub(crate) fn enqueue(&self) -> Result<Reply, StoreError> {
        self.ask(RequestKind::Enqueue { nonce: self.nonce, term: TERM })
    }

    pub(crate) fn claim(&self) -> Result<Reply, StoreError> {
        self.ask(RequestKind::Claim { nonce: self.nonce })
    }

    pub(crate) fn renew(&self) -> Result<Reply, StoreError> {
        self.ask(RequestKind::Renew { nonce: self.nonce, term: TERM })
    }

    pub(crate) fn release(&self) -> Result<Reply, StoreError> {
        self.ask(RequestKind::Release { nonce: self.nonce })
    }

    pub(crate) fn disconnect(&self) -> Result<Reply, StoreError> {
        self.ask(RequestKind::Disconnect { nonce: self.nonce })
    }

    pub(crate) fn watch(&self) -> Result<Reply, StoreError> {
        self.ask(RequestKind::Watch { nonce: self.nonce })
    }

    pub(crate) fn unwatch(&self) -> Result<Reply, StoreError> {
        self.ask(RequestKind::Unwatch { nonce: self.nonce })
    }

    /// What it was told since it was last asked.
    pub(crate) fn told(&self) -> Vec<Input> {
        std::mem::take(&mut self.told.lock().unwrap())
    }
}

pub(crate) type Asking = Pin<Box<dyn Future<Output = Result<Reply, StoreError>>>>;

pub(crate) fn poll(asking: &mut Asking) -> Option<Result<Reply, StoreError>> {
    match asking.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(reply) => Some(reply),
        Poll::Pending => None,
    }
}

pub(crate) fn nightly() -> LockName {
    LockName::new("nightly").unwrap()
}

/// The token of a grant; anything else fails the test.
#[track_caller]
pub(crate) fn token(reply: Result<Reply, StoreError>) -> u64 {
    match reply {
        Ok(Reply::Granted { token, .. }) => token.get(),
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
