use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use tenure_core::{Assurance, Instant, Nonce, Promise, Reply, RequestKind, Token, Waiting};
use tenure_store::{LockName, Notices};

/// What a store of this kind does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) waiting: Waiting,
    pub(crate) assurance: Assurance,
    pub(crate) max_term: Option<Duration>,
}

/// All that the store knows. No clock, no locks, no waiting: each call is one step in time.
#[derive(Debug, Default)]
pub(crate) struct State {
    locks: BTreeMap<LockName, Lock>,
    /// Sessions under way, and where to tell of their end.
    sessions: BTreeMap<Nonce, Notices>,
    /// Sessions that have ended. Nothing more is done for them, however late it arrives.
    ended: BTreeSet<Nonce>,
}

/// A request, as it arrives.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) lock: LockName,
    pub(crate) request: RequestKind,
    pub(crate) notices: Notices,
}

/// How much of a grant is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    /// The lease is taken. It has no token yet.
    First,
    /// It has one.
    All,
}

/// What came of a request.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) reply: Result<Reply, Refusal>,
    /// Whom to tell that the lease may be theirs now; `None` if nothing changed.
    pub(crate) freed: Option<Vec<Notices>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A store of this kind does not know the request.
    NotOfferedHere,
    /// The session has ended.
    SessionEnded,
    /// The lease is taken, and has no token yet.
    StoppedHalfway,
}

#[derive(Debug, Default)]
struct Lock {
    last_token: Option<Token>,
    lease: Option<Lease>,
    queue: VecDeque<Place>,
    watchers: BTreeMap<Nonce, Notices>,
}

#[derive(Debug)]
struct Lease {
    place: Place,
    promise: Promise,
    token: Option<Token>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    nonce: Nonce,
    term: Duration,
    /// The first instant at which it is over.
    until: Instant,
}

impl State {
    pub(crate) fn execute(
        &mut self,
        rules: Rules,
        now: Instant,
        ask: &Ask,
        steps: Steps,
    ) -> Outcome {
        let nonce = ask.request.nonce();
        if self.ended.contains(&nonce) {
            return Outcome { reply: after_the_end(ask.request), freed: None };
        }
        let lock = self.locks.entry(ask.lock.clone()).or_default();
        let turn = lock.turn();
        lock.expire(now);
        let reply = match ask.request {
            RequestKind::Acquire { term, .. } => {
                self.sessions.insert(nonce, ask.notices.clone());
                lock.acquire(rules, now, rules.place(now, nonce, term), steps)
            }
            RequestKind::Enqueue { term, .. } if rules.has_queue() => {
                self.sessions.insert(nonce, ask.notices.clone());
                lock.enqueue(rules, rules.place(now, nonce, term), steps)
            }
            RequestKind::Claim { .. } if rules.has_queue() => lock.claim(rules, nonce, steps),
            RequestKind::Renew { term, .. } => Ok(lock.renew(rules.place(now, nonce, term))),
            RequestKind::Release { .. } => Ok(lock.release(nonce)),
            RequestKind::Disconnect { .. } => {
                lock.watchers.remove(&nonce);
                if rules.has_sessions() {
                    lock.release(nonce);
                    self.ended.insert(nonce);
                }
                Ok(Reply::Released)
            }
            RequestKind::Watch { .. } if rules.has_hints() => {
                lock.watchers.insert(nonce, ask.notices.clone());
                Ok(Reply::Watching)
            }
            RequestKind::Unwatch { .. } if rules.has_hints() => {
                lock.watchers.remove(&nonce);
                Ok(Reply::Released)
            }
            RequestKind::Enqueue { .. }
            | RequestKind::Claim { .. }
            | RequestKind::Watch { .. }
            | RequestKind::Unwatch { .. }
            | _ => Err(Refusal::NotOfferedHere),
        };
        if matches!(reply, Ok(Reply::Busy { .. } | Reply::Released | Reply::Gone)) {
            self.sessions.remove(&nonce);
        }
        Outcome { reply, freed: lock.freed_since(turn) }
    }

    /// Ends the session of `nonce`, and what lived in it. Returns where to tell of it, and whom to hint.
    pub(crate) fn end_session(&mut self, nonce: Nonce) -> (Option<Notices>, Vec<Notices>) {
        self.ended.insert(nonce);
        let mut freed = Vec::new();
        for lock in self.locks.values_mut() {
            let turn = lock.turn();
            lock.watchers.remove(&nonce);
            lock.release(nonce);
            freed.extend(lock.freed_since(turn).into_iter().flatten());
        }
        (self.sessions.remove(&nonce), freed)
    }

    /// Takes the lease away from whoever has it.
    pub(crate) fn break_lease(&mut self, lock: &LockName) -> Option<Nonce> {
        Some(self.locks.get_mut(lock)?.lease.take()?.place.nonce)
    }

    /// Forgets everything but who is connected.
    pub(crate) fn flush(&mut self) {
        for lock in self.locks.values_mut() {
            *lock = Lock { watchers: std::mem::take(&mut lock.watchers), ..Lock::default() };
        }
    }

    /// The holder, its token unless the grant stopped half way, and when its term is over.
    pub(crate) fn holder(
        &mut self,
        now: Instant,
        lock: &LockName,
    ) -> Option<(Nonce, Option<Token>, Instant)> {
        let lock = self.locks.get_mut(lock)?;
        lock.expire(now);
        let lease = lock.lease.as_ref()?;
        Some((lease.place.nonce, lease.token, lease.place.until))
    }

    pub(crate) fn is_empty(&mut self, now: Instant) -> bool {
        self.locks.values_mut().all(|lock| {
            lock.expire(now);
            lock.lease.is_none() && lock.queue.is_empty() && lock.watchers.is_empty()
        })
    }
}

impl Lock {
    fn acquire(
        &mut self,
        rules: Rules,
        now: Instant,
        place: Place,
        steps: Steps,
    ) -> Result<Reply, Refusal> {
        match &self.lease {
            Some(lease) if lease.place.nonce == place.nonce => self.granted(steps),
            Some(lease) => Ok(Reply::Busy {
                retry_after: (!rules.has_sessions())
                    .then(|| lease.place.until.saturating_since(now)),
                holder: lease.token,
            }),
            None if self.queue.is_empty() => self.grant(place, rules.promise(place.term), steps),
            None => Ok(Reply::Busy { retry_after: None, holder: None }),
        }
    }

    fn enqueue(&mut self, rules: Rules, place: Place, steps: Steps) -> Result<Reply, Refusal> {
        if self.holds(place.nonce) {
            return self.granted(steps);
        }
        if let Some(place) = self.queue.iter().find(|other| other.nonce == place.nonce) {
            return Ok(Reply::Enqueued { nonce: place.nonce, term: place.term });
        }
        if self.lease.is_none() && self.queue.is_empty() {
            return self.grant(place, rules.promise(place.term), steps);
        }
        self.queue.push_back(place);
        Ok(Reply::Enqueued { nonce: place.nonce, term: place.term })
    }

    fn claim(&mut self, rules: Rules, nonce: Nonce, steps: Steps) -> Result<Reply, Refusal> {
        if self.holds(nonce) {
            return self.granted(steps);
        }
        match self.queue.iter().position(|place| place.nonce == nonce) {
            None => Ok(Reply::Gone),
            Some(0) if self.lease.is_none() => match self.queue.pop_front() {
                Some(place) => self.grant(place, rules.promise_of_place(), steps),
                None => Ok(Reply::Gone),
            },
            Some(_) => Ok(Reply::NotYet),
        }
    }

    fn renew(&mut self, renewed: Place) -> Reply {
        let held = self.lease.iter_mut().map(|lease| &mut lease.place);
        match held.chain(&mut self.queue).find(|place| place.nonce == renewed.nonce) {
            Some(place) => {
                *place = renewed;
                Reply::Renewed { term: renewed.term }
            }
            None => Reply::Gone,
        }
    }

    fn release(&mut self, nonce: Nonce) -> Reply {
        let places = self.queue.len();
        self.queue.retain(|place| place.nonce != nonce);
        let held = self.lease.take_if(|lease| lease.place.nonce == nonce);
        if held.is_some() || self.queue.len() < places { Reply::Released } else { Reply::Gone }
    }

    fn grant(&mut self, place: Place, promise: Promise, steps: Steps) -> Result<Reply, Refusal> {
        self.lease = Some(Lease { place, promise, token: None });
        self.granted(steps)
    }

    /// The second step of a grant, and the answer to one. Asked again, it answers the same.
    fn granted(&mut self, steps: Steps) -> Result<Reply, Refusal> {
        let next = self.last_token.map_or(1, |last| last.get() + 1);
        match &mut self.lease {
            Some(Lease { place, promise, token }) if steps == Steps::All => {
                let token = *token.get_or_insert_with(|| Token::new(next).unwrap_or(Token::MAX));
                self.last_token = self.last_token.max(Some(token));
                Ok(Reply::Granted { nonce: place.nonce, token, promise: *promise })
            }
            Some(_) | None => Err(Refusal::StoppedHalfway),
        }
    }

    fn holds(&self, nonce: Nonce) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.place.nonce == nonce)
    }

    fn expire(&mut self, now: Instant) {
        self.lease.take_if(|lease| lease.place.until <= now);
        self.queue.retain(|place| place.until > now);
    }

    /// Who has the lease, and whose turn it is.
    fn turn(&self) -> (Option<Nonce>, Option<Nonce>) {
        let holder = self.lease.as_ref().map(|lease| lease.place.nonce);
        (holder, self.queue.front().map(|place| place.nonce))
    }

    fn freed_since(&self, turn: (Option<Nonce>, Option<Nonce>)) -> Option<Vec<Notices>> {
        (self.lease.is_none() && self.turn() != turn)
            .then(|| self.watchers.values().cloned().collect())
    }
}

impl Rules {
    fn place(self, now: Instant, nonce: Nonce, term: Duration) -> Place {
        let term = self.max_term.map_or(term, |most| most.min(term));
        let until = if self.has_sessions() { None } else { now.checked_add(term) };
        Place { nonce, term, until: until.unwrap_or(Instant::NEVER) }
    }

    fn promise(self, term: Duration) -> Promise {
        if self.has_sessions() { Promise::Session } else { Promise::Term(term) }
    }

    fn promise_of_place(self) -> Promise {
        if self.has_sessions() { Promise::Session } else { Promise::Place }
    }

    pub(crate) fn has_sessions(self) -> bool {
        self.assurance == Assurance::Session
    }

    pub(crate) fn has_queue(self) -> bool {
        self.waiting == Waiting::Queue
    }

    fn has_hints(self) -> bool {
        matches!(self.waiting, Waiting::Queue | Waiting::PollAndWatch)
    }
}

fn after_the_end(request: RequestKind) -> Result<Reply, Refusal> {
    match request {
        RequestKind::Disconnect { .. } => Ok(Reply::Released),
        RequestKind::Renew { .. } | RequestKind::Release { .. } | RequestKind::Claim { .. } => {
            Ok(Reply::Gone)
        }
        RequestKind::Acquire { .. }
        | RequestKind::Enqueue { .. }
        | RequestKind::Watch { .. }
        | RequestKind::Unwatch { .. }
        | _ => Err(Refusal::SessionEnded),
    }
}
