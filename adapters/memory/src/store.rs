use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use event_listener::Event;
use tenure_core::{Assurance, Instant, Nonce, Reply, RequestKind, Token, Waiting};
use tenure_store::{
    Answer, Call, Clock, Executing, Failover, Fairness, Fencing, Guarantees, Inspecting,
    Inspection, LockName, Notices, Profile, Store, StoreError, SystemClock, Tenancy,
};

use crate::{
    Fault, Gate, Kind,
    state::{Ask, Outcome, Refusal, Rules, State, Steps},
};

/// A store in memory, for tests. Clones are the same store.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

impl MemoryStore {
    /// A polled store that grants terms, on the system's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts from what [`new`](Self::new) makes.
    pub fn builder() -> MemoryStoreBuilder {
        MemoryStoreBuilder {
            rules: Rules { waiting: Waiting::Poll, assurance: Assurance::Term, max_term: None },
            clock: Arc::new(SystemClock::default()),
        }
    }

    /// The next request without a fault of its own fails like this. Faults are used up in the order given.
    pub fn fail_next(&self, fault: Fault) {
        self.script().faults.push_back((None, fault));
    }

    /// The next request of this kind fails like this.
    pub fn fail_next_of(&self, kind: Kind, fault: Fault) {
        self.script().faults.push_back((Some(kind), fault));
    }

    /// From now on every request that has no fault of its own fails like this; `None` ends it.
    pub fn fail_all(&self, fault: Option<Fault>) {
        self.script().standing = fault;
    }

    /// How many requests of this kind were made, failed ones included.
    #[must_use]
    pub fn requests(&self, kind: Kind) -> u64 {
        self.script().counts.get(&kind).copied().unwrap_or_default()
    }

    /// Who holds the lease now. The token is `None` if the grant stopped half way.
    #[must_use]
    pub fn holder(&self, lock: &LockName) -> Option<(Nonce, Option<Token>)> {
        let (mut state, now) = self.shared.state();
        state.holder(now, lock).map(|(nonce, token, _)| (nonce, token))
    }

    /// Whether nobody left anything here: no lease, no place in a queue, no watch. What a term still
    /// keeps counts; what it does not keep any more does not.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let (mut state, now) = self.shared.state();
        state.is_empty(now)
    }

    /// Takes the lease from whoever has it, as an administrator would, or a term that ran out. The holder
    /// is not told; its nonce is returned.
    pub fn break_lease(&self, lock: &LockName) -> Option<Nonce> {
        let broken = self.shared.state().0.break_lease(lock);
        self.shared.changed.notify(usize::MAX);
        broken
    }

    /// Ends the session of `nonce`: what it held is free, and its driver is told.
    pub fn end_session(&self, nonce: Nonce) {
        let (notices, freed) = self.shared.state().0.end_session(nonce);
        if let Some(notices) = notices {
            notices.session_lost(nonce);
        }
        self.shared.hint(&freed);
    }

    /// Forgets all data, token counters included. Nobody is told.
    pub fn flush(&self) {
        self.shared.state().0.flush();
        self.shared.changed.notify(usize::MAX);
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.shared.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

/// Chooses the kind of a [`MemoryStore`].
#[derive(Clone)]
#[must_use = "does nothing until `build`"]
pub struct MemoryStoreBuilder {
    rules: Rules,
    clock: Arc<dyn Clock>,
}

impl MemoryStoreBuilder {
    /// How one waits there. [`Waiting::Block`] needs [`Assurance::Session`]. Default: [`Waiting::Poll`].
    pub const fn waiting(mut self, waiting: Waiting) -> Self {
        self.rules.waiting = waiting;
        self
    }

    /// What a grant rests on. Default: [`Assurance::Term`].
    pub const fn assurance(mut self, assurance: Assurance) -> Self {
        self.rules.assurance = assurance;
        self
    }

    /// Grants no longer terms than this, whatever is asked for.
    pub const fn max_term(mut self, term: Duration) -> Self {
        self.rules.max_term = Some(term);
        self
    }

    /// The store's own clock, by which terms end. Default: the system's.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// The store.
    #[must_use]
    pub fn build(self) -> MemoryStore {
        let Self { rules, clock } = self;
        let tenancy = if rules.has_sessions() { Tenancy::Session } else { Tenancy::Term };
        let fairness = if rules.has_queue() { Fairness::Fifo } else { Fairness::None };
        MemoryStore {
            shared: Arc::new(Shared {
                rules,
                clock,
                guarantees: Guarantees::new(
                    Fencing::LostWithData,
                    tenancy,
                    Failover::Impossible,
                    fairness,
                ),
                state: Mutex::default(),
                script: Mutex::default(),
                changed: Event::new(),
            }),
        }
    }
}

impl fmt::Debug for MemoryStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStoreBuilder").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("rules", &self.shared.rules)
            .field("state", &self.shared.state().0)
            .finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    fn profile(&self) -> Profile {
        // The clock is read to the microsecond, and terms are kept to it.
        Profile::new(self.shared.rules.waiting, self.shared.rules.assurance, Duration::ZERO)
    }

    fn guarantees(&self) -> &Guarantees {
        &self.shared.guarantees
    }

    fn execute<'a>(&'a self, call: Call<'a>) -> Executing<'a> {
        Box::pin(async move {
            let fault = self.script().next(call.request.into());
            let ask = Ask {
                lock: call.lock.clone(),
                request: call.request,
                notices: call.notices.clone(),
            };
            let reply = match fault {
                None => self.shared.attempt_to_the_end(&ask).await?,
                Some(Fault::NotSent) => return Err(StoreError::not_sent("told to send nothing")),
                Some(Fault::Refuse { permanent, retry_after }) => {
                    let refused = tenure_core::Failure::Refused { permanent, retry_after };
                    return Err(StoreError::new(refused, "told to refuse"));
                }
                Some(Fault::LoseRequest) => return Err(StoreError::unknown("told to lose it")),
                Some(Fault::StopHalfway) => {
                    let _ = self.shared.attempt(&ask, Steps::First);
                    return Err(StoreError::unknown("told to stop half way"));
                }
                Some(Fault::LoseAnswer) => {
                    let _ = self.shared.attempt_to_the_end(&ask).await;
                    return Err(StoreError::unknown("told to lose the answer"));
                }
                Some(Fault::HoldRequest(gate)) => self.shared.attempt_later(ask, &gate).await?,
                Some(Fault::HoldAnswer(gate)) => {
                    let reply = self.shared.attempt_to_the_end(&ask).await;
                    gate.defer(|| {});
                    gate.pass().await;
                    reply?
                }
            };
            Ok(Answer::from(reply))
        })
    }

    fn inspect<'a>(&'a self, lock: &'a LockName) -> Inspecting<'a> {
        Box::pin(async move {
            let (mut state, now) = self.shared.state();
            Ok(match state.holder(now, lock) {
                None => Inspection::Free,
                Some((nonce, token, until)) => Inspection::Held {
                    token,
                    remaining: (until != Instant::NEVER).then(|| until.saturating_since(now)),
                    holder: Some(nonce.to_string()),
                },
            })
        })
    }
}

struct Shared {
    rules: Rules,
    clock: Arc<dyn Clock>,
    guarantees: Guarantees,
    state: Mutex<State>,
    script: Mutex<Script>,
    /// A lease may have become free, for those who block.
    changed: Event,
}

impl Shared {
    fn attempt(&self, ask: &Ask, steps: Steps) -> Result<Reply, StoreError> {
        let Outcome { reply, freed } = {
            let (mut state, now) = self.state();
            state.execute(self.rules, now, ask, steps)
        };
        if let Some(freed) = freed {
            self.hint(&freed);
        }
        reply.map_err(|refusal| match refusal {
            Refusal::NotOfferedHere => StoreError::refused(format!(
                "a store with {:?} does not know {:?}; set the machine up by the store's profile",
                self.rules.waiting, ask.request
            )),
            Refusal::SessionEnded => StoreError::unknown("the session has ended"),
            Refusal::StoppedHalfway => StoreError::unknown("told to stop half way"),
        })
    }

    /// The same, and waits where the store blocks.
    async fn attempt_to_the_end(&self, ask: &Ask) -> Result<Reply, StoreError> {
        loop {
            let changed = self.changed.listen();
            match self.attempt(ask, Steps::All) {
                Ok(Reply::Busy { .. }) if self.blocks(ask) => changed.await,
                reply => return reply,
            }
        }
    }

    /// The request arrives when the gate opens, even if this future is dropped until then.
    async fn attempt_later(self: &Arc<Self>, ask: Ask, gate: &Gate) -> Result<Reply, StoreError> {
        let reply = Arc::new(Mutex::new(None));
        gate.defer({
            let (shared, ask, reply) = (Arc::clone(self), ask.clone(), Arc::clone(&reply));
            move || {
                let outcome = shared.attempt(&ask, Steps::All);
                *reply.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            }
        });
        gate.pass().await;
        let reply = reply.lock().unwrap_or_else(PoisonError::into_inner).take();
        match reply {
            Some(Ok(Reply::Busy { .. })) if self.blocks(&ask) => {
                self.attempt_to_the_end(&ask).await
            }
            Some(reply) => reply,
            None => Err(StoreError::unknown("the gate was opened by another request")),
        }
    }

    fn blocks(&self, ask: &Ask) -> bool {
        self.rules.waiting == Waiting::Block
            && matches!(ask.request, RequestKind::Acquire { block: true, .. })
    }

    fn hint(&self, freed: &[Notices]) {
        freed.iter().for_each(Notices::hint);
        self.changed.notify(usize::MAX);
    }

    /// The clock is read under the lock: what happens later in the state happens later in time.
    fn state(&self) -> (MutexGuard<'_, State>, Instant) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state, self.clock.now())
    }
}

/// What a test has ordered, and what it can ask about.
#[derive(Debug, Default)]
struct Script {
    faults: VecDeque<(Option<Kind>, Fault)>,
    standing: Option<Fault>,
    counts: BTreeMap<Kind, u64>,
}

impl Script {
    fn next(&mut self, kind: Kind) -> Option<Fault> {
        *self.counts.entry(kind).or_default() += 1;
        let fits = |(wanted, _): &(Option<Kind>, Fault)| wanted.is_none_or(|wanted| wanted == kind);
        match self.faults.iter().position(fits) {
            Some(position) => self.faults.remove(position).map(|(_, fault)| fault),
            None => self.standing.clone(),
        }
    }
}
