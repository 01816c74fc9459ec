use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    ops::Range,
};

use tenure_core::{Event, Instant, Nonce, OpId, RequestKind, Token, Wait};

use crate::{
    app::{Action, Patience},
    client::Client,
    clock::{MILLIS, Micros, SECONDS},
    connections::Connections,
    coverage::{Coverage, Seen},
    faults::Fault,
    machine::{Ask, Said, Told},
    random::Random,
    record::Recorder,
    resource::{Resource, Verdict},
    scenario::Scenario,
    site::Site,
    store::{Arrival, Effects, Kept},
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
    pub(crate) sites: Vec<Site>,
    pub(crate) coverage: Coverage,
    pub(crate) trace: Trace,
    pub(crate) recorder: Option<Recorder>,
    /// A store has lost its memory, so nothing is promised about tokens, or about who holds.
    pub(crate) forgot: bool,
    /// A store has broken its contract: nothing is promised about time, but the fence holds.
    pub(crate) lied: bool,
    /// There is no higher token left.
    pub(crate) exhausted: bool,
    pub(crate) resource: Resource,
    /// Which client's machine has used a nonce, and in which of its lives and generations (S12).
    pub(crate) nonces: BTreeMap<Nonce, (usize, u32, u32)>,
    pub(crate) grants: BTreeMap<Nonce, Token>,
    /// Which nodes have accepted a token last for which attempt.
    pub(crate) tokens: BTreeMap<Token, Vec<(usize, Nonce)>>,
    /// Requests to take the lock that a store has executed.
    pub(crate) executed: BTreeSet<OpId>,
    /// What has had a site, and releases that came there before what they undo.
    pub(crate) taken: BTreeSet<(usize, Nonce)>,
    pub(crate) released_early: BTreeSet<(usize, Nonce)>,
    pub(crate) effects: Effects,
    highest_acquired: Option<Token>,
    next_life: u32,
    next_write: u64,
    queue: BinaryHeap<Reverse<Scheduled>>,
    /// What is scheduled, by slot, and the slots that are free.
    agenda: Vec<Happens>,
    free: Vec<usize>,
    scheduled: u64,
    winding_up: bool,
}

/// What happens at an instant. The number of its scheduling decides between equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Scheduled {
    at: Micros,
    number: u64,
    slot: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Happens {
    Alarm { client: usize, timer: u64 },
    Step { client: usize },
    Drain { client: usize },
    ToStore(Arrival),
    ToClient { client: usize, life: u32, told: Told },
    StoreAdvances(usize),
    SessionEnds(Nonce),
    Install { client: usize, life: u32, token: Token },
    Installed { client: usize, life: u32, token: Token, accepted: bool },
    Write { client: usize, token: Token, number: u64 },
    OperatorReads(usize),
    OperatorSeeds(usize, Token),
    FailsOver { site: usize, kept: Kept },
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
        let kind = scenario.kind;
        let plans = scenario.clients.iter().cloned().zip(1..);
        let clients: Vec<_> = plans.map(|(plan, life)| Client::new(plan, life, kind)).collect();
        let sites = scenario.sites.iter();
        let mut world = Self {
            now: 0,
            sites: sites.map(|plan| Site::new(kind, plan.store.clone(), &plan.clock)).collect(),
            random,
            next_life: clients.len() as u32 + 1,
            next_write: 1,
            clients,
            connections: Connections::default(),
            coverage: Coverage::NONE,
            trace,
            recorder: None,
            forgot: false,
            lied: false,
            exhausted: false,
            resource: Resource::default(),
            nonces: BTreeMap::new(),
            grants: BTreeMap::new(),
            tokens: BTreeMap::new(),
            executed: BTreeSet::new(),
            taken: BTreeSet::new(),
            released_early: BTreeSet::new(),
            effects: Effects::default(),
            highest_acquired: None,
            queue: BinaryHeap::new(),
            agenda: Vec::new(),
            free: Vec::new(),
            scheduled: 0,
            winding_up: false,
            scenario,
        };
        world.note_scenario();
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

    /// From now on all that machines are told and say is written down.
    pub(crate) fn record(&mut self) {
        let mut recorder = Recorder::default();
        for client in &self.clients {
            recorder.begins(self.scenario.kind, client.plan.config, client.life);
        }
        self.recorder = Some(recorder);
    }

    /// Runs until everybody has had the lock after the faults and the store is empty.
    pub(crate) fn run(&mut self) -> Result<(), Violation> {
        while let Some(Reverse(next)) = self.queue.pop() {
            self.now = next.at;
            self.coverage.steps += 1;
            require(self.coverage.steps < MOST_STEPS, "C6", || "it spins".into())?;
            let happens = self.agenda[next.slot];
            self.free.push(next.slot);
            if matches!(happens, Happens::Finish) {
                self.coverage.simulated += self.now;
                return if self.exhausted { Ok(()) } else { self.finish() };
            }
            self.happen(happens)?;
            self.check()?;
            let done =
                self.exhausted || self.is_calm() && self.clients.iter().all(Self::is_content);
            if done && !self.winding_up {
                self.winding_up = true;
                self.after(self.settling_time(), Happens::Finish);
            }
        }
        Ok(())
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.now >= self.scenario.calm_from
    }

    /// The clients that share its host, itself among them.
    pub(crate) fn on_host(&self, client: usize) -> Range<usize> {
        if self.scenario.same_host && client < 2 { 0..2 } else { client..client + 1 }
    }

    pub(crate) fn after(&mut self, delay: Micros, happens: Happens) {
        self.at(self.now.saturating_add(delay), happens);
    }

    pub(crate) fn at(&mut self, at: Micros, happens: Happens) {
        self.scheduled += 1;
        let slot = match self.free.pop() {
            Some(slot) => {
                self.agenda[slot] = happens;
                slot
            }
            None => {
                self.agenda.push(happens);
                self.agenda.len() - 1
            }
        };
        self.queue.push(Reverse(Scheduled { at, number: self.scheduled, slot }));
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
            Happens::Drain { client } => self.input(client, Told::Tick),
            Happens::ToStore(arrival) => self.arrives(arrival),
            Happens::ToClient { client, life, told } => self.delivered(client, life, told),
            Happens::StoreAdvances(site) => self.advance_store(site),
            Happens::SessionEnds(nonce) => self.end_session(nonce),
            Happens::Install { client, life, token } => {
                let accepted = self.resource.read(token, self.scenario.installs);
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
            Happens::Write { client, token, number } => self.write(client, token, number),
            Happens::OperatorReads(site) => {
                self.operator_reads(site);
                Ok(())
            }
            Happens::OperatorSeeds(site, token) => {
                self.operator_seeds(site, token);
                Ok(())
            }
            Happens::FailsOver { site, kept } => {
                self.failed_over(site, kept);
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
                let number = if self.scenario.kind.is_quorum() { "L6" } else { "L1" };
                require(self.winding_up, number, || {
                    format!("not everybody got the lock and closed after the faults: {waiting:?}")
                })
            }
            Happens::Finish => Ok(()),
        }
    }

    // The clients.

    fn alarm(&mut self, client: usize, timer: u64) -> Result<(), Violation> {
        let Client { clock, alarm, timer: current, .. } = &self.clients[client];
        let reading = clock.read(self.now);
        match *alarm {
            Some(alarm) if timer == *current && reading >= alarm => {
                if reading >= alarm + 100 * MILLIS {
                    self.coverage.note(Seen::WokeLate);
                }
                self.input(client, Told::Tick)
            }
            Some(_) | None => Ok(()),
        }
    }

    fn step(&mut self, client: usize) -> Result<(), Violation> {
        let calm = self.is_calm();
        let Client { plan, app, .. } = &mut self.clients[client];
        let action = app.step(self.now, &plan.app, calm, &mut self.random);
        let pause = if calm { plan.app.step.min(500 * MILLIS) } else { plan.app.step };
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
                self.input(client, Told::Acquire { entropy, wait })
            }
            Action::Release => self.input(client, Told::Release),
            Action::Cancel => self.input(client, Told::Cancel),
            Action::Write(token) => {
                let Client { plan, clock, machine, .. } = &self.clients[client];
                let held = machine.held(Instant::from_micros(clock.read(self.now)));
                if held.is_some_and(|held| held.token == token) {
                    let delay = self.random.between(1, plan.app.write_delay);
                    let number = self.next_write;
                    self.next_write += 1;
                    self.after(delay, Happens::Write { client, token, number });
                }
                Ok(())
            }
        }
    }

    fn write(&mut self, client: usize, token: Token, number: u64) -> Result<(), Violation> {
        let ordered = self.scenario.ordered;
        let written = self.resource.write(token, number, ordered, !self.forgot)?;
        let verdict = written.verdict;
        self.trace.note(self.now, What::Write { client, token, verdict });
        match verdict {
            Verdict::Applied => {}
            Verdict::Stale => self.coverage.note(Seen::StaleWriteRefused),
            Verdict::OutOfOrder => self.coverage.note(Seen::WriteOutOfOrder),
        }
        if written.overwritten {
            self.coverage.note(Seen::Overwritten);
        }
        if written.by_install_alone {
            self.coverage.note(Seen::RefusedByInstallAlone);
        }
        if !self.holds(client) {
            self.coverage.note(Seen::WroteAfterLoss);
        }
        Ok(())
    }

    fn delivered(&mut self, client: usize, life: u32, told: Told) -> Result<(), Violation> {
        // The new process has the old one's port: it may get the old one's answers.
        if life != self.clients[client].life && self.scenario.kind.is_session() {
            return Ok(());
        }
        self.coverage.messages += 1;
        if told == Told::Hint {
            self.coverage.note(Seen::Hinted);
            if self.sites[0].owner(self.now).is_some() {
                self.coverage.note(Seen::HintedInVain);
            }
        }
        self.input(client, told)
    }

    /// What a driver does: hand it over, drain, set the alarm.
    fn input(&mut self, client: usize, told: Told) -> Result<(), Violation> {
        let Client { clock, machine, ledger, undrained_until, holds, paused_holding, .. } =
            &mut self.clients[client];
        let now = clock.read(self.now);
        let instant = Instant::from_micros(now);
        self.trace.note(self.now, What::In(client, now, told));
        let before = ledger.before(now, &told, &**machine);
        machine.handle(instant, told);
        if let Some(recorder) = &mut self.recorder {
            recorder.told(ledger.instance(), instant, told);
        }
        let held = ledger.after(now, &told, &before, &**machine, &mut self.coverage)?;
        *holds = held.is_some();
        if std::mem::take(paused_holding) && held.is_none() {
            self.coverage.note(Seen::WokeUpLost);
        }
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
            let Client { machine, ledger, .. } = &mut self.clients[client];
            let said = machine.poll();
            self.trace.note(self.now, What::Out(client, said));
            if let Some(recorder) = &mut self.recorder {
                recorder.said(ledger.instance(), said);
            }
            ledger.said(&said, machine.held(instant), &mut self.coverage)?;
            match said {
                Said::Event { event, .. } => self.told(client, event)?,
                Said::Request { site, op, ask, respond_by } => {
                    self.name_nonce(client, op, ask)?;
                    self.send(client, site, op, ask, respond_by.saturating_since(instant));
                }
                Said::Wait(until) => {
                    let alarm = until.filter(|at| *at != Instant::NEVER);
                    self.clients[client].alarm = alarm.map(Instant::as_micros);
                    self.set_timer(client);
                    return Ok(());
                }
            }
        }
        require(false, "C6", || "`poll` does not come to an end".into())
    }

    fn told(&mut self, client: usize, event: Event) -> Result<(), Violation> {
        require(!self.scenario.faultless || !is_trouble(event), "L2", || {
            format!("{event:?}, though nothing went wrong")
        })?;
        let went_back = matches!(event, Event::TokenWentBack { .. });
        require(self.forgot || !went_back, "S13", || {
            format!("{event:?}, though the store has forgotten nothing")
        })?;
        self.note_event(client, event);
        let calm = self.is_calm();
        let Client { plan, app, .. } = &mut self.clients[client];
        match app.told(event, self.now, &plan.app, calm, &mut self.random) {
            Some(token) => self.acquired(client, token),
            None => Ok(()),
        }
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
        self.judge_token(client, token)?;
        self.highest_acquired = self.highest_acquired.max(Some(token));
        let life = self.clients[client].life;
        let delay = self.random.between(1, 5 * MILLIS);
        self.after(delay, Happens::Install { client, life, token });
        Ok(())
    }

    /// The token is the one that was granted, or that a majority of nodes accepted, and the highest.
    fn judge_token(&self, client: usize, token: Token) -> Result<(), Violation> {
        let Some(nonce) = self.clients[client].ledger.nonce().filter(|_| !self.forgot) else {
            return Ok(());
        };
        if self.scenario.kind.is_quorum() {
            let nodes = self.tokens.get(&token);
            let accepted =
                nodes.map_or(0, |nodes| nodes.iter().filter(|(_, n)| *n == nonce).count());
            require(accepted >= self.scenario.kind.majority(), "S25", || {
                format!("client {client} has token {token}, but only {accepted} nodes took it")
            })?;
        } else {
            let granted = self.grants.get(&nonce);
            require(granted == Some(&token), "S14", || {
                format!("client {client} has token {token}, but the store granted {granted:?}")
            })?;
        }
        let promised = !self.scenario.kind.is_session() && !self.lied;
        if promised && self.clients[client].ledger.is_trusted() {
            require(self.highest_acquired < Some(token), "S13", || {
                format!("token {token} after {:?}", self.highest_acquired)
            })?;
        }
        Ok(())
    }

    fn name_nonce(&mut self, client: usize, op: OpId, ask: Ask) -> Result<(), Violation> {
        let user = (client, op.instance, op.generation);
        let nonce = ask.nonce();
        if ask.takes() || matches!(ask, Ask::Store(RequestKind::Watch { .. })) {
            let known = *self.nonces.entry(nonce).or_insert(user);
            return require(known == user, "S12", || {
                format!("{user:?} reuses a nonce of {known:?}")
            });
        }
        let known = self.nonces.get(&nonce).map(|&(client, instance, _)| (client, instance));
        require(known == Some((client, op.instance)), "S8", || {
            format!("{ask:?} by client {client}, for a nonce of {known:?}")
        })
    }

    fn is_content(client: &Client) -> bool {
        client.app.is_content() && client.ledger.is_closed()
    }

    fn restart(&mut self, client: usize) {
        let life = self.next_life;
        self.next_life += 1;
        self.clients[client].restart(life, self.scenario.kind);
        if let Some(recorder) = &mut self.recorder {
            recorder.begins(self.scenario.kind, self.clients[client].plan.config, life);
        }
        if let Some(token) = self.resource.highest().filter(|_| self.random.coin()) {
            self.clients[client].machine.remember(token);
            if let Some(recorder) = &mut self.recorder {
                recorder.remembers(life, token);
            }
        }
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
            | Self::StoreAdvances(_)
            | Self::OperatorReads(_)
            | Self::OperatorSeeds(..)
            | Self::FailsOver { .. }
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
