use std::{
    fmt, future,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use tenure::{
    Failover, Fairness, Fencing, Guarantees, Inspection, Lock, LockBuilder, LockName, Store,
    StoreError, Tenancy, Token,
};
use tenure_core::{Assurance, Nonce, Promise, Reply, RequestKind, Waiting};
use tenure_store::{Answer, Call, Executing, Inspecting, Notices, Profile};
use tokio::{sync::Notify, time::Instant};

use crate::time::VirtualClock;

/// A store with one lock, and switches for everything that can go wrong.
#[derive(Clone)]
pub(crate) struct TestStore {
    profile: Profile,
    guarantees: Guarantees,
    state: Arc<Mutex<State>>,
    freed: Arc<Notify>,
}

/// How the store treats a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Executes it and answers.
    Well,
    /// Executes it, and the answer is lost.
    Mute,
    /// The request is lost.
    Deaf,
    /// Only renewals are lost.
    DeafToRenewals,
    /// Says so, for good.
    Refusing(&'static str),
    /// Cannot be reached.
    Unreachable(&'static str),
    /// Its future panics.
    Panicking,
}

struct State {
    mood: Mood,
    latency: Duration,
    holder: Option<Holder>,
    last_token: u64,
    watchers: Vec<(Nonce, Notices)>,
    requests: Vec<&'static str>,
    under_way: usize,
}

/// A request that the driver has not dropped.
struct UnderWay<'a>(&'a TestStore);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.state().under_way -= 1;
    }
}

struct Holder {
    nonce: Nonce,
    token: Token,
    until: Instant,
    notices: Notices,
}

impl TestStore {
    /// Polled, with terms.
    pub(crate) fn new() -> Self {
        Self::with(Waiting::Poll, Assurance::Term)
    }

    pub(crate) fn with(waiting: Waiting, assurance: Assurance) -> Self {
        Self {
            profile: Profile::new(waiting, assurance, Duration::from_millis(1)),
            guarantees: Guarantees::new(
                Fencing::LostWithData,
                Tenancy::Term,
                Failover::MayLose,
                Fairness::None,
            ),
            state: Arc::new(Mutex::new(State {
                mood: Mood::Well,
                latency: Duration::ZERO,
                holder: None,
                last_token: 0,
                watchers: Vec::new(),
                requests: Vec::new(),
                under_way: 0,
            })),
            freed: Arc::default(),
        }
    }

    /// A lock with a term of 10 s and a grace of 1 s.
    pub(crate) fn lock(&self, clock: &VirtualClock) -> Lock {
        self.builder(clock).build().unwrap()
    }

    pub(crate) fn builder(&self, clock: &VirtualClock) -> LockBuilder {
        Lock::builder(self.clone(), "lock")
            .term(Duration::from_secs(10))
            .grace(Duration::from_secs(1))
            .clock(clock.clone())
    }

    pub(crate) fn set_mood(&self, mood: Mood) {
        self.state().mood = mood;
    }

    pub(crate) fn set_latency(&self, latency: Duration) {
        self.state().latency = latency;
    }

    /// Loses all data.
    pub(crate) fn flush(&self) {
        let mut state = self.state();
        state.holder = None;
        state.last_token = 0;
    }

    pub(crate) fn end_session(&self) {
        let holder = self.state().holder.take().unwrap();
        holder.notices.session_lost(holder.nonce);
    }

    pub(crate) fn is_free(&self) -> bool {
        self.state().live_holder().is_none()
    }

    pub(crate) fn watchers(&self) -> usize {
        self.state().watchers.len()
    }

    /// The names of the requests so far.
    pub(crate) fn requests(&self) -> Vec<&'static str> {
        self.state().requests.clone()
    }

    /// How many requests the driver waits for.
    pub(crate) fn under_way(&self) -> usize {
        self.state().under_way
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    async fn answer(&self, call: Call<'_>) -> Result<Answer, StoreError> {
        let latency = {
            let mut state = self.state();
            state.requests.push(name(call.request));
            state.under_way += 1;
            state.latency
        };
        let _under_way = UnderWay(self);
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        let mood = self.state().mood;
        let deaf = match mood {
            Mood::Deaf => true,
            Mood::DeafToRenewals => matches!(call.request, RequestKind::Renew { .. }),
            Mood::Well | Mood::Mute => false,
            Mood::Refusing(text) => return Err(StoreError::refused(text)),
            Mood::Unreachable(text) => return Err(StoreError::not_sent(text)),
            Mood::Panicking => panic!("the store's client library has a fault"),
        };
        if deaf {
            return future::pending().await;
        }
        let session = self.profile.assurance == Assurance::Session;
        let blocks = matches!(call.request, RequestKind::Acquire { block: true, .. });
        let reply = loop {
            let freed = self.freed.notified();
            match self.state().execute(call, session) {
                Reply::Busy { .. } if blocks => {}
                reply => break reply,
            }
            freed.await;
        };
        if reply == Reply::Released {
            self.freed.notify_waiters();
        }
        if mood == Mood::Mute {
            return future::pending().await;
        }
        Ok(reply.into())
    }
}

impl Store for TestStore {
    fn profile(&self) -> Profile {
        self.profile
    }

    fn guarantees(&self) -> &Guarantees {
        &self.guarantees
    }

    fn execute<'a>(&'a self, call: Call<'a>) -> Executing<'a> {
        Box::pin(self.answer(call))
    }

    fn inspect<'a>(&'a self, _: &'a LockName) -> Inspecting<'a> {
        Box::pin(future::ready(Ok(Inspection::Free)))
    }
}

impl fmt::Debug for TestStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestStore").finish_non_exhaustive()
    }
}

impl State {
    fn live_holder(&mut self) -> Option<&mut Holder> {
        self.holder.take_if(|holder| holder.until <= Instant::now());
        self.holder.as_mut()
    }

    fn execute(&mut self, call: Call<'_>, session: bool) -> Reply {
        match call.request {
            RequestKind::Acquire { nonce, term, .. } => {
                if let Some(holder) = self.live_holder()
                    && holder.nonce != nonce
                {
                    let remaining = holder.until - Instant::now();
                    return Reply::Busy {
                        retry_after: Some(remaining),
                        holder: Some(holder.token),
                    };
                }
                if self.holder.is_none() {
                    self.last_token += 1;
                    self.holder = Some(Holder {
                        nonce,
                        token: Token::new(self.last_token).unwrap(),
                        until: Instant::now() + if session { FOREVER } else { term },
                        notices: call.notices.clone(),
                    });
                }
                let token = Token::new(self.last_token).unwrap();
                let promise = if session { Promise::Session } else { Promise::Term(term) };
                Reply::Granted { nonce, token, promise }
            }
            RequestKind::Renew { nonce, term } => match self.live_holder() {
                Some(holder) if holder.nonce == nonce => {
                    holder.until = Instant::now() + if session { FOREVER } else { term };
                    Reply::Renewed { term }
                }
                _ => Reply::Gone,
            },
            RequestKind::Release { nonce } | RequestKind::Disconnect { nonce } => {
                match self.live_holder() {
                    Some(holder) if holder.nonce == nonce => {
                        self.holder = None;
                        self.watchers.iter().for_each(|(_, notices)| notices.hint());
                        Reply::Released
                    }
                    _ => Reply::Gone,
                }
            }
            RequestKind::Watch { nonce } => {
                self.watchers.push((nonce, call.notices.clone()));
                Reply::Watching
            }
            RequestKind::Unwatch { nonce } => {
                self.watchers.retain(|(watcher, _)| *watcher != nonce);
                Reply::Released
            }
            other => panic!("not a request for this store: {other:?}"),
        }
    }
}

/// As long as a session lives.
const FOREVER: Duration = Duration::from_secs(1_000_000);

fn name(request: RequestKind) -> &'static str {
    match request {
        RequestKind::Acquire { .. } => "acquire",
        RequestKind::Renew { .. } => "renew",
        RequestKind::Release { .. } => "release",
        RequestKind::Disconnect { .. } => "disconnect",
        RequestKind::Watch { .. } => "watch",
        RequestKind::Unwatch { .. } => "unwatch",
        _ => "other",
    }
}
