use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    time::Duration,
};

use tenure_core::{
    Basis, Event, Failure, Input, Instant, Nonce, OpId, Output, Reply, RequestKind, Token, Wait,
};

use crate::{
    app::{Action, Patience},
    client::Client,
    clock::{Clock, MILLIS, Micros, SECONDS},
    connections::Connections,
    coverage::{Coverage, Seen},
    faults::Fault,
    random::Random,
    resource::Resource,
    scenario::Scenario,
    store::{Arrival, Effects, Store},
    trace::{Trace, What},
    violation::{Violation, require},
};

/// Clients, a store, a resource and what lies between them, in true time. Deterministic: everything
/// follows from the scenario and the generator.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: Micros,
    pub(crate) scenario: Scenario,
    pub(crate) random: Random,
    pub(crate) clients: Vec<Client>,
    pub(crate) connections: Connections,
    pub(crate) store: Store,
    pub(crate) store_clock: Clock,
    pub(crate) store_stalled_until: Micros,
    pub(crate) coverage: Coverage,
    pub(crate) trace: Trace,
    pub(crate) flushed: bool,
    next_life: u32,
    resource: Resource,
    /// Which client's machine has used a nonce, and in which of its lives and generations (S12).
    nonces: BTreeMap<Nonce, (usize, u32, u32)>,
    grants: BTreeMap<Nonce, Token>,
    /// Requests that the store has executed, and releases that came before what they undo.
    executed: BTreeMap<OpId, u32>,
    released_early: BTreeSet<Nonce>,
    highest_acquired: Option<Token>,
    /// The earliest wake-up that the store has coming.
    store_alarm: Micros,
    queue: BinaryHeap<Reverse<Scheduled>>,
    scheduled: u64,
    winding_up: bool,
}

/// What happens at an instant. The number of its scheduling decides between equals.
#[derive(Debug)]
struct Scheduled {
    at: Micros,
    number: u64,
    happens: Happens,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Happens {
    Alarm { client: usize, timer: u64 },
    Step { client: usize },
    Drain { client: usize },
    ToStore(Arrival),
    ToClient { client: usize, life: u32, input: Input },
    StoreAdvances,
    SessionEnds(Nonce),
    Install { client: usize, life: u32, token: Token },
    Installed { client: usize, life: u32, token: Token, accepted: bool },
    Write { client: usize, token: Token },
    Fault(Fault),
    Restart { client: usize },
    Calm,
    TooLate,
    Finish,
}

/// More outputs than this in one drain, and it never ends.
const LONGEST_DRAIN: u32 = 64;

/// More steps than this, and something spins.
const MOST_STEPS: u64 = 1_000_000;

impl World {
    pub(crate) fn new(scenario: Scenario, random: Random, trace: Trace) -> Self {
        let store_clock = Clock::new(scenario.store_clock.reading, scenario.store_clock.rates[0]);
        let session = scenario.kind.is_session();
        let plans = scenario.clients.iter().cloned().zip(1..);
        let clients =
            plans.map(|(plan, life)| Client::new(plan, life, session)).collect::<Vec<_>>();
        let mut world = Self {
            now: 0,
            store: scenario.store(),
            random,
            next_life: clients.len() as u32 + 1,
            clients,
            connections: Connections::default(),
            store_clock,
            store_stalled_until: 0,
            coverage: Coverage::NONE,
            trace,
            flushed: false,
            resource: Resource::default(),
            nonces: BTreeMap::new(),
            grants: BTreeMap::new(),
            executed: BTreeMap::new(),
            released_early: BTreeSet::new(),
            highest_acquired: None,
            store_alarm: Micros::MAX,
            queue: BinaryHeap::new(),
            scheduled: 0,
            winding_up: false,
            scenario,
        };
        for client in 0..world.clients.len() {
            let think = world.random.between(0, world.clients[client].plan.app.think);
            world.after(think, Happens::Step { client });
        }
        for fault in Fault::ALL {
            world.plan_fault(fault);
        }
        world.after(world.scenario.calm_from, Happens::Calm);
        world
    }

    /// Runs until everybody has had the lock after the faults and the store is empty.
    pub(crate) fn run(&mut self) -> Result<(), Violation> {
        while let Some(Reverse(next)) = self.queue.pop() {
            self.now = next.at;
            self.coverage.steps += 1;
            require(self.coverage.steps < MOST_STEPS, "C6", || "it spins".into())?;
            if matches!(next.happens, Happens::Finish) {
                self.coverage.simulated += self.now;
                return self.finish();
            }
            self.happen(next.happens)?;
            self.check()?;
            if !self.winding_up && self.is_calm() && self.clients.iter().all(Self::is_content) {
                self.winding_up = true;
                self.after(self.settling_time(), Happens::Finish);
            }
        }
        Ok(())
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.now >= self.scenario.calm_from
    }

    pub(crate) fn after(&mut self, delay: Micros, happens: Happens) {
        self.at(self.now.saturating_add(delay), happens);
    }

    fn at(&mut self, at: Micros, happens: Happens) {
        self.scheduled += 1;
        self.queue.push(Reverse(Scheduled { at, number: self.scheduled, happens }));
    }

    fn happen(&mut self, happens: Happens) -> Result<(), Violation> {
        if let Some(client) = happens.at_client() {
            let Client { down, paused_until, .. } = self.clients[client];
            if down {
                if let Happens::Step { .. } = happens {
                    self.after(SECONDS, happens);
                }
                return Ok(());
            }
            if self.now < paused_until {
                self.at(paused_until, happens);
                return Ok(());
            }
        }
        match happens {
            Happens::Alarm { client, timer } => self.alarm(client, timer),
            Happens::Step { client } => self.step(client),
            Happens::Drain { client } => self.input(client, Input::Tick),
            Happens::ToStore(arrival) => self.arrives(arrival),
            Happens::ToClient { client, life, input } => self.delivered(client, life, input),
            Happens::StoreAdvances => self.advance_store(),
            Happens::SessionEnds(nonce) => self.end_session(nonce),
            Happens::Install { client, life, token } => {
                let accepted = self.resource.install(token);
                self.trace.note(self.now, What::Install { client, token, accepted });
                if !accepted {
                    self.coverage.note(Seen::StaleInstallRefused);
                }
                let back = self.random.between(1, 5 * MILLIS);
                self.after(back, Happens::Installed { client, life, token, accepted });
                Ok(())
            }
            Happens::Installed { client, life, token, accepted } => {
                if self.clients[client].life != life {
                    return Ok(());
                }
                let action = self.clients[client].app.installed(token, accepted);
                self.act(client, action)
            }
            Happens::Write { client, token } => {
                let written = self.resource.write(token, !self.flushed)?;
                let accepted = written.accepted;
                self.trace.note(self.now, What::Write { client, token, accepted });
                if !accepted {
                    self.coverage.note(Seen::StaleWriteRefused);
                }
                if written.overwritten {
                    self.coverage.note(Seen::Overwritten);
                }
                Ok(())
            }
            Happens::Fault(fault) => self.strike(fault),
            Happens::Restart { client } => {
                self.restart(client);
                Ok(())
            }
            Happens::Calm => self.calm(),
            Happens::TooLate => {
                let waiting: Vec<_> = self.clients.iter().map(|client| client.app).collect();
                require(self.winding_up, "L1", || {
                    format!("not everybody got the lock and closed after the faults: {waiting:?}")
                })
            }
            Happens::Finish => Ok(()),
        }
    }

    // The clients.

    fn alarm(&mut self, client: usize, timer: u64) -> Result<(), Violation> {
        let Client { clock, alarm, timer: current, .. } = &self.clients[client];
        match alarm {
            Some(alarm) if timer == *current && clock.read(self.now) >= *alarm => {
                self.input(client, Input::Tick)
            }
            Some(_) | None => Ok(()),
        }
    }

    fn step(&mut self, client: usize) -> Result<(), Violation> {
        let calm = self.is_calm();
        let Client { plan, app, .. } = &mut self.clients[client];
        let action = app.step(self.now, &plan.app, calm, &mut self.random);
        let pause = if calm { plan.app.step.min(100 * MILLIS) } else { plan.app.step };
        let pause = self.random.between(pause / 2, pause);
        self.act(client, action)?;
        if !self.winding_up {
            self.after(pause, Happens::Step { client });
        }
        Ok(())
    }

    fn act(&mut self, client: usize, action: Action) -> Result<(), Violation> {
        match action {
            Action::Nothing => Ok(()),
            Action::Acquire(patience) => {
                let now = self.clients[client].clock.read(self.now);
                let wait = match patience {
                    Patience::Once => Wait::Once,
                    Patience::For(span) => Wait::Until(Instant::from_micros(now + span)),
                    Patience::Forever => Wait::Forever,
                };
                let entropy = self.random.bytes();
                self.input(client, Input::Acquire { entropy, wait })
            }
            Action::Release => self.input(client, Input::Release),
            Action::Cancel => self.input(client, Input::Cancel),
            Action::Write(token) => {
                let Client { plan, clock, lease, .. } = &self.clients[client];
                let held = lease.held(Instant::from_micros(clock.read(self.now)));
                if held.is_some_and(|held| held.token == token) {
                    let delay = self.random.between(1, plan.app.write_delay);
                    self.after(delay, Happens::Write { client, token });
                }
                Ok(())
            }
        }
    }

    fn delivered(&mut self, client: usize, life: u32, input: Input) -> Result<(), Violation> {
        // The new process has the old one's port: it may get the old one's answers.
        if life != self.clients[client].life && self.scenario.kind.is_session() {
            return Ok(());
        }
        self.coverage.messages += 1;
        if input == Input::Hint {
            self.coverage.note(Seen::Hinted);
        }
        self.input(client, input)
    }

    /// What a driver does: hand it over, drain, set the alarm.
    fn input(&mut self, client: usize, input: Input) -> Result<(), Violation> {
        let Client { clock, lease, ledger, undrained_until, .. } = &mut self.clients[client];
        let now = clock.read(self.now);
        let instant = Instant::from_micros(now);
        self.trace.note(self.now, What::In(client, now, input));
        let before = ledger.before(now, &input, lease);
        lease.handle(instant, input);
        ledger.after(now, &input, &before, lease, &mut self.coverage)?;
        if self.now < *undrained_until {
            return Ok(());
        }
        self.drain(client, instant)?;
        if !self.is_calm() && self.random.chance(self.scenario.faults.undrained) {
            self.neglect(client);
        }
        Ok(())
    }

    fn drain(&mut self, client: usize, instant: Instant) -> Result<(), Violation> {
        self.clients[client].ledger.drain_begins();
        for _ in 0..LONGEST_DRAIN {
            let Client { lease, ledger, .. } = &mut self.clients[client];
            let output = lease.poll();
            self.trace.note(self.now, What::Out(client, output));
            ledger.said(&output, lease.held(instant), &mut self.coverage)?;
            match output {
                Output::Event { event, .. } => {
                    require(!self.scenario.faultless || !is_trouble(event), "L2", || {
                        format!("{event:?}, though nothing went wrong")
                    })?;
                    let went_back = matches!(event, Event::TokenWentBack { .. });
                    require(self.flushed || !went_back, "S13", || {
                        format!("{event:?}, though the store has forgotten nothing")
                    })?;
                    let calm = self.is_calm();
                    let Client { plan, app, .. } = &mut self.clients[client];
                    if let Some(token) =
                        app.told(event, self.now, &plan.app, calm, &mut self.random)
                    {
                        self.acquired(client, token)?;
                    }
                }
                Output::Request { op, kind, respond_by } => {
                    self.name_nonce(client, op, kind)?;
                    self.send(client, op, kind, respond_by.saturating_since(instant));
                }
                Output::Wait(until) => {
                    let alarm = until.filter(|at| *at != Instant::NEVER);
                    self.clients[client].alarm = alarm.map(Instant::as_micros);
                    self.set_timer(client);
                    return Ok(());
                }
            }
        }
        require(false, "C6", || "`poll` does not come to an end".into())
    }

    pub(crate) fn set_timer(&mut self, client: usize) {
        let Client { alarm, timer, .. } = &mut self.clients[client];
        *timer += 1;
        let (Some(alarm), timer) = (*alarm, *timer) else { return };
        let late = match self.scenario.faults.late_wake {
            most if most > 0 && !self.is_calm() => self.random.between(0, most),
            _ => 0,
        };
        let at = self.clients[client].clock.when(self.now, alarm).saturating_add(late);
        self.at(at, Happens::Alarm { client, timer });
    }

    fn acquired(&mut self, client: usize, token: Token) -> Result<(), Violation> {
        let nonce = self.clients[client].ledger.nonce();
        let granted = nonce.and_then(|nonce| self.grants.get(&nonce));
        if !self.flushed {
            require(granted == Some(&token), "S14", || {
                format!("client {client} has token {token}, but the store granted {granted:?}")
            })?;
            if !self.scenario.kind.is_session() && self.clients[client].ledger.is_trusted() {
                require(self.highest_acquired < Some(token), "S13", || {
                    format!("token {token} after {:?}", self.highest_acquired)
                })?;
            }
        }
        self.highest_acquired = self.highest_acquired.max(Some(token));
        let life = self.clients[client].life;
        let delay = self.random.between(1, 5 * MILLIS);
        self.after(delay, Happens::Install { client, life, token });
        Ok(())
    }

    fn name_nonce(&mut self, client: usize, op: OpId, kind: RequestKind) -> Result<(), Violation> {
        let user = (client, op.instance, op.generation);
        let nonce = kind.nonce();
        let introduces = matches!(
            kind,
            RequestKind::Acquire { .. } | RequestKind::Enqueue { .. } | RequestKind::Watch { .. }
        );
        if introduces {
            let known = *self.nonces.entry(nonce).or_insert(user);
            return require(known == user, "S12", || {
                format!("{user:?} reuses a nonce of {known:?}")
            });
        }
        let known = self.nonces.get(&nonce).map(|&(client, instance, _)| (client, instance));
        require(known == Some((client, op.instance)), "S8", || {
            format!("{kind:?} by client {client}, for a nonce of {known:?}")
        })
    }

    fn is_content(client: &Client) -> bool {
        client.app.is_content() && client.ledger.is_closed()
    }

    fn restart(&mut self, client: usize) {
        let life = self.next_life;
        self.next_life += 1;
        self.clients[client].restart(life, self.scenario.kind.is_session());
        if let Some(token) = self.resource.highest().filter(|_| self.random.coin()) {
            self.clients[client].lease.remember(token);
        }
    }

    // The store.

    fn arrives(&mut self, arrival: Arrival) -> Result<(), Violation> {
        if self.now < self.store_stalled_until {
            self.at(self.store_stalled_until, Happens::ToStore(arrival));
            return Ok(());
        }
        let nonce = arrival.kind.nonce();
        if self.scenario.kind.is_session() && self.connections.get(nonce).is_none_or(|c| c.dead) {
            return Ok(());
        }
        self.coverage.messages += 1;
        if let Some(failure) = self.refusal(arrival.client) {
            self.answer(arrival.client, arrival.op, Input::Failed { op: arrival.op, failure });
            return Ok(());
        }
        let runs = self.executed.entry(arrival.op).or_insert(0);
        *runs += 1;
        if *runs == 2 {
            self.coverage.note(Seen::DuplicateExecuted);
        }
        self.trace.note(self.now, What::Executed(arrival.client, arrival.kind));
        let mut effects = Effects::default();
        let now = self.store_clock.read(self.now);
        self.store.execute(now, &arrival, &mut effects);
        match arrival.kind {
            RequestKind::Release { .. } if !self.grants.contains_key(&nonce) => {
                self.released_early.insert(nonce);
            }
            RequestKind::Acquire { block: true, .. } if effects.answers.is_empty() => {
                self.coverage.note(Seen::Blocked);
            }
            _ => {}
        }
        if let (RequestKind::Release { .. }, Some(connection)) =
            (arrival.kind, self.connections.get(nonce))
        {
            connection.idle = true;
        }
        self.take_effect(effects)
    }

    fn refusal(&mut self, client: usize) -> Option<Failure> {
        if self.now < self.clients[client].locked_out_until {
            self.coverage.note(Seen::RefusedForGood);
            return Some(Failure::Refused { permanent: true, retry_after: None });
        }
        if self.is_calm() || !self.random.chance(self.scenario.faults.refused) {
            return None;
        }
        self.coverage.note(Seen::Refused);
        let pause = Duration::from_micros(self.random.between(1, 500 * MILLIS));
        let retry_after = Some(pause).filter(|_| self.random.coin());
        Some(Failure::Refused { permanent: false, retry_after })
    }

    fn advance_store(&mut self) -> Result<(), Violation> {
        if self.store_alarm == self.now {
            self.store_alarm = Micros::MAX;
        }
        let mut effects = Effects::default();
        let now = self.store_clock.read(self.now);
        self.store.advance(now, &mut effects);
        self.take_effect(effects)
    }

    fn end_session(&mut self, nonce: Nonce) -> Result<(), Violation> {
        if let Some(connection) = self.connections.get(nonce) {
            connection.dead = true;
        }
        let mut effects = Effects::default();
        self.store.end_session(nonce, &mut effects);
        self.take_effect(effects)
    }

    fn take_effect(&mut self, effects: Effects) -> Result<(), Violation> {
        for grant in effects.granted {
            self.trace.note(self.now, What::Granted(grant.token));
            self.resource.granted(grant.token);
            self.grants.insert(grant.nonce, grant.token);
            if self.released_early.contains(&grant.nonce) {
                self.coverage.note(Seen::ReleaseOvertookAcquire);
            }
        }
        if effects.lapsed > 0 {
            self.trace.note(self.now, What::Lapsed);
            self.coverage.note(Seen::TermRanOut);
        }
        if let Some(nonce) = effects.released {
            self.require_not_held(nonce)?;
        }
        for (client, op, reply) in effects.answers {
            self.trace.note(self.now, What::Answered(client, reply));
            let as_of = self.early_exchange(client, reply);
            self.answer(client, op, Input::Reply { op, reply, as_of });
        }
        for client in effects.hints {
            self.hint(client);
        }
        self.expect_store();
        Ok(())
    }

    /// A release has freed `nonce`: nobody may still rely on it (S8, S29).
    fn require_not_held(&self, nonce: Nonce) -> Result<(), Violation> {
        if self.flushed {
            return Ok(());
        }
        for (number, client) in self.clients.iter().enumerate() {
            let now = Instant::from_micros(client.clock.read(self.now));
            let holds = !client.down
                && client.ledger.is_trusted()
                && client.ledger.nonce() == Some(nonce)
                && client.lease.held(now).is_some();
            require(!holds, "S8", || format!("a release freed what client {number} holds"))?;
        }
        Ok(())
    }

    /// Wakes the store at its next expiry, at that very instant.
    pub(crate) fn expect_store(&mut self) {
        if let Some(next) = self.store.next() {
            let at = self.store_clock.when(self.now, next);
            if at < self.store_alarm {
                self.store_alarm = at;
                self.at(at, Happens::StoreAdvances);
            }
        }
    }

    fn early_exchange(&mut self, client: usize, reply: Reply) -> Option<Instant> {
        let shared = matches!(reply, Reply::Renewed { .. });
        if !shared || !self.random.chance(self.scenario.faults.early_exchange) {
            return None;
        }
        // Mostly before the request. A later one must not count.
        let ago = self.random.between(0, 3 * SECONDS);
        let now = self.clients[client].clock.read(self.now);
        Some(Instant::from_micros(now.saturating_sub(ago)))
    }

    // The oracles that need to see everybody.

    fn check(&self) -> Result<(), Violation> {
        let mut holder = None;
        let owner = self.store.owner(self.store_clock.read(self.now));
        for (number, client) in self.clients.iter().enumerate().filter(|(_, client)| !client.down) {
            let now = client.clock.read(self.now);
            let Some(held) = client.lease.held(Instant::from_micros(now)) else { continue };
            let timed = matches!(held.basis, Basis::Term { .. }) && client.ledger.is_trusted();
            if timed && !self.flushed {
                require(holder.is_none(), "S1", || {
                    format!("client {number} and client {holder:?} hold at once")
                })?;
                holder = Some(number);
                require(owner.map(|owner| owner.nonce) == client.ledger.nonce(), "S2", || {
                    format!("client {number} holds {held:?}, but the store has {owner:?}")
                })?;
            }
            client.ledger.claims(now, Some(held))?;
        }
        Ok(())
    }

    /// How long after the last message everything must have sorted itself out.
    fn settling_time(&self) -> Micros {
        self.scenario.faults.slow_by + 4 * self.scenario.longest_term() + 20 * SECONDS
    }

    fn calm(&mut self) -> Result<(), Violation> {
        self.coverage.note(Seen::Calm);
        self.store_stalled_until = 0;
        self.store.limit_terms(self.scenario.store.terms.1);
        for client in 0..self.clients.len() {
            let Client { cut_to_store, cut_from_store, locked_out_until, paused_until, .. } =
                &mut self.clients[client];
            *cut_to_store = 0;
            *cut_from_store = 0;
            *locked_out_until = 0;
            *paused_until = 0;
            self.clients[client].undrained_until = 0;
            self.after(0, Happens::Drain { client });
        }
        let each = 3 * self.scenario.longest_term() + 10 * SECONDS;
        let bound = self.settling_time()
            + self.scenario.faults.pause_for
            + each * self.clients.len() as u64;
        self.after(bound, Happens::TooLate);
        Ok(())
    }

    fn finish(&self) -> Result<(), Violation> {
        let now = self.store_clock.read(self.now);
        require(self.store.is_empty(now), "S7", || {
            format!("everybody is done, but the store still has {:?}", self.store)
        })
    }
}

fn is_trouble(event: Event) -> bool {
    matches!(
        event,
        Event::AtRisk | Event::Stopping { .. } | Event::Lost { .. } | Event::TokenWentBack { .. }
    )
}

impl Happens {
    /// The process that must be running for it to happen.
    fn at_client(&self) -> Option<usize> {
        match *self {
            Self::Alarm { client, .. }
            | Self::Step { client }
            | Self::Drain { client }
            | Self::ToClient { client, .. }
            | Self::Installed { client, .. } => Some(client),
            Self::ToStore(_)
            | Self::StoreAdvances
            | Self::SessionEnds(_)
            | Self::Install { .. }
            | Self::Write { .. }
            | Self::Fault(_)
            | Self::Restart { .. }
            | Self::Calm
            | Self::TooLate
            | Self::Finish => None,
        }
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
