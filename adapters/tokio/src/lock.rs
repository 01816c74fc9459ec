use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{Drift, Instant, LeaseConfig, LeaseConfigBuilder, Token, Wait};
use tenure_store::{Clock, LockName, Requirements, Store, SystemClock};
use tracing::Instrument;

use crate::{AcquireError, Guard, LockError, driver::Driver, engine::Engine};

/// A lock: a name in a store.
///
/// Cheap to clone, and usable by many tasks at once. Every acquire stands for itself: two of them by
/// the same process exclude each other like two processes.
#[derive(Clone)]
pub struct Lock {
    setup: Arc<Setup>,
}

impl Lock {
    /// The lock `name` (any bytes, at least one) in `store`, with the defaults of [`LockBuilder`].
    ///
    /// # Errors
    ///
    /// [`LockError::Name`] for an empty name, and [`LockError::Config`] where the store's clock is
    /// too coarse for the default term.
    pub fn new(store: impl Store, name: impl AsRef<[u8]>) -> Result<Self, LockError> {
        Self::builder(store, name).build()
    }

    /// Starts from the defaults.
    pub fn builder(store: impl Store, name: impl AsRef<[u8]>) -> LockBuilder {
        LockBuilder {
            store: Arc::new(store),
            name: name.as_ref().to_vec(),
            config: LeaseConfig::builder(),
            required: Requirements::default(),
            clock: Arc::new(SystemClock::default()),
            on_contended: None,
        }
    }

    /// Waits until the lease is granted, for ever if need be. Waits out a store that cannot be
    /// reached, too.
    ///
    /// Cancel-safe: a future that is dropped leaves nothing behind. What the store may have granted
    /// meanwhile is released in the background.
    ///
    /// # Errors
    ///
    /// Any [`AcquireError`] but `Busy`.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with time enabled.
    pub async fn acquire(&self) -> Result<Guard, AcquireError> {
        self.acquire_while(Wait::Forever).await
    }

    /// Asks once. Cancel-safe, as [`acquire`](Self::acquire) is.
    ///
    /// # Errors
    ///
    /// Any [`AcquireError`]; [`AcquireError::Busy`] if somebody else has the lease.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with time enabled.
    pub async fn try_acquire(&self) -> Result<Guard, AcquireError> {
        self.acquire_while(Wait::Once).await
    }

    /// Waits until the lease is granted, but no longer than `timeout`. Cancel-safe, as
    /// [`acquire`](Self::acquire) is.
    ///
    /// # Errors
    ///
    /// Any [`AcquireError`]; [`AcquireError::Busy`] if somebody else has the lease all the while.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with time enabled.
    pub async fn acquire_timeout(&self, timeout: Duration) -> Result<Guard, AcquireError> {
        let wait = self.setup.clock.now().checked_add(timeout).map_or(Wait::Forever, Wait::Until);
        self.acquire_while(wait).await
    }

    /// Tells the lock of a token that was seen for it elsewhere, so that a store which lost its
    /// memory is noticed ([`Guard::token_went_back`]).
    pub fn remember(&self, token: Token) {
        self.setup.remember(token);
    }

    /// The highest token seen for this lock, by this `Lock` and its clones.
    #[must_use]
    pub fn highest_token(&self) -> Option<Token> {
        self.setup.highest_token()
    }

    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &LockName {
        &self.setup.name
    }

    /// How leases of this lock behave; [`LeaseConfig::worst_case`] puts it in a sentence.
    #[must_use]
    pub fn config(&self) -> &LeaseConfig {
        &self.setup.config
    }

    /// The store. Its [`guarantees`](Store::guarantees) say what a lease there is worth.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.setup.store
    }

    async fn acquire_while(&self, wait: Wait) -> Result<Guard, AcquireError> {
        let mut entropy = [0; 16];
        getrandom::fill(&mut entropy).map_err(|error| AcquireError::Entropy(error.into()))?;
        let span = tracing::debug_span!("acquire", lock = %self.setup.name);
        let mut driver = Driver::new(self.engine(entropy, wait));
        match driver.inline(Engine::take_outcome).instrument(span).await {
            Ok(token) => Ok(Guard::new(driver, token)),
            Err(reason) => Err(driver.engine().explain(reason)),
        }
    }

    pub(crate) fn engine(&self, entropy: [u8; 16], wait: Wait) -> Engine {
        Engine::new(Arc::clone(&self.setup), entropy, wait)
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("name", &self.setup.name)
            .field("store", &self.setup.store)
            .finish_non_exhaustive()
    }
}

/// Builds a [`Lock`]. Each setter says its default.
#[must_use = "does nothing until `build`"]
pub struct LockBuilder {
    store: Arc<dyn Store>,
    name: Vec<u8>,
    config: LeaseConfigBuilder,
    required: Requirements,
    clock: Arc<dyn Clock>,
    on_contended: Option<OnContended>,
}

impl LockBuilder {
    /// The term to ask the store for, from 1 ms to 365 days. A holder that dies is replaced after
    /// about this long. Default 30 s.
    pub fn term(mut self, term: Duration) -> Self {
        self.config = self.config.term(term);
        self
    }

    /// How long before the deadline [`Guard::stopping`] resolves: at least what the protected work
    /// needs to stop. Default a tenth of the term, but 100 ms to 5 s.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.config = self.config.grace(grace);
        self
    }

    /// The bound on the difference of the clocks' rates, this host's plus the store's. Default
    /// 1,000 ppm.
    pub fn drift(mut self, drift: Drift) -> Self {
        self.config = self.config.drift(drift);
        self
    }

    /// How long to wait for one answer of the store. Default a sixth of the term, at most 5 s.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.config = self.config.attempt_timeout(timeout);
        self
    }

    /// The shortest and the longest pause between two polls while waiting. Default 20 ms and 1 s.
    pub fn poll_pause(mut self, floor: Duration, ceiling: Duration) -> Self {
        self.config = self.config.poll_pause(floor, ceiling);
        self
    }

    /// What the store's [`Guarantees`](crate::Guarantees) must be at least, or
    /// [`build`](Self::build) refuses it: `require(Fencing::Durable)`. May be called once for each
    /// guarantee. Default: nothing.
    pub fn require(mut self, required: impl Into<Requirements>) -> Self {
        self.required = self.required.and(required.into());
        self
    }

    /// Called whenever the store answers that somebody else has the lease, by the task that waits.
    /// It must not block. Default: nothing.
    pub fn on_contended(mut self, callback: impl Fn(Contended) + Send + Sync + 'static) -> Self {
        self.on_contended = Some(Box::new(callback));
        self
    }

    /// The clock that leases are timed by. Default [`SystemClock`], which counts suspend.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Checks the whole. Nothing is sent to the store.
    ///
    /// # Errors
    ///
    /// Any [`LockError`]; each says what to change.
    pub fn build(self) -> Result<Lock, LockError> {
        let name = LockName::new(&self.name).map_err(LockError::Name)?;
        self.store.guarantees().meet(&self.required).map_err(LockError::Unmet)?;
        let profile = self.store.profile();
        let config = self
            .config
            .waiting(profile.waiting)
            .assurance(profile.assurance)
            .quantum(profile.quantum)
            .build()
            .map_err(LockError::Config)?;
        let setup = Setup {
            store: self.store,
            name,
            config,
            clock: self.clock,
            on_contended: self.on_contended,
            highest_token: AtomicU64::new(0),
        };
        Ok(Lock { setup: Arc::new(setup) })
    }
}

impl fmt::Debug for LockBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockBuilder")
            .field("name", &self.name.escape_ascii().to_string())
            .field("store", &self.store)
            .field("config", &self.config)
            .field("required", &self.required)
            .finish_non_exhaustive()
    }
}

/// Somebody else has the lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contended {
    /// The holder's token, where the store tells.
    pub holder: Option<Token>,
    /// How much of the holder's term is left unless it is renewed, where the store tells.
    pub remaining: Option<Duration>,
}

impl fmt::Display for Contended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("somebody else has the lease")?;
        if let Some(token) = self.holder {
            write!(f, ", with token {token}")?;
        }
        if let Some(remaining) = self.remaining {
            write!(f, ", for another {remaining:?} unless it is renewed")?;
        }
        Ok(())
    }
}

type OnContended = Box<dyn Fn(Contended) + Send + Sync>;

/// What all acquires of one lock share.
pub(crate) struct Setup {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) name: LockName,
    pub(crate) config: LeaseConfig,
    clock: Arc<dyn Clock>,
    on_contended: Option<OnContended>,
    /// 0 before the first.
    highest_token: AtomicU64,
}

impl Setup {
    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(crate) fn remember(&self, token: Token) {
        self.highest_token.fetch_max(token.get(), Ordering::Relaxed);
    }

    pub(crate) fn highest_token(&self) -> Option<Token> {
        Token::new(self.highest_token.load(Ordering::Relaxed))
    }

    pub(crate) fn contended(&self, contended: Contended) {
        if let Some(callback) = &self.on_contended {
            callback(contended);
        }
    }
}
