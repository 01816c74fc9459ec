use tenure_core::{Failure, Fence, Instant, Token, Wait};

use crate::{
    client::{Client, Load, Packet, Told},
    config::{TICK, config},
    machine::{Machine, News},
    search::{World, fingerprint},
    store::{Memory, Rule, Store},
    story::Story,
    tokens_told::TokensTold,
    violation::{Violation, ensure},
};

/// A world with time: clients whose clocks run at rates of their own, relative to that of the stores
/// (nothing else about rates can be told from inside), and one resource behind a fence.
///
/// Messages take any time and any order. Everything else that goes wrong costs one of `faults`, so a
/// world holds every combination of so many.
#[derive(Clone, Debug)]
pub(crate) struct Timed<M: Machine> {
    rules: &'static Rules,
    clients: Vec<Client<M>>,
    /// How far each client's clock comes in a tick of the stores', in microseconds.
    rates: Vec<u64>,
    apps: Vec<App>,
    stores: Vec<Store>,
    fence: Fence,
    /// The highest token whose holder has read from the resource.
    read: Option<Token>,
    /// The highest token that wrote to it.
    written: Option<Token>,
    /// Writes under way: one bit a token.
    writes: u64,
    tokens: TokensTold,
    faults: u8,
}

/// What may happen in a world, and how often.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) clients: usize,
    /// In ticks.
    pub(crate) term: u32,
    /// What a client's clock may gain in a tick of the store's, in parts per million.
    pub(crate) rates: &'static [i64],
    /// How many leases each client asks for.
    pub(crate) attempts: u8,
    /// How many ticks an application is willing to wait for a lease; 0: it asks once.
    pub(crate) waits: &'static [u8],
    /// How many ticks an application needs it at most.
    pub(crate) patience: u8,
    pub(crate) faults: u8,
    pub(crate) kinds: &'static [Fault],
    /// Messages under way for one client; more are lost.
    pub(crate) packets: usize,
    /// Holders use the resource.
    pub(crate) uses: bool,
    /// New holders raise the fence before they read.
    pub(crate) installs: bool,
    /// What is broken on purpose, so that what follows from it is found.
    pub(crate) unjudged: &'static [&'static str],
}

/// What costs a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A message is lost.
    Loss,
    /// A message arrives, and will arrive again.
    Double,
    /// A store says no.
    Refusal,
    /// A process dies and starts anew.
    Crash,
    /// A process sleeps past its alarm.
    Late,
    /// A store loses its data, and its sentinel says so.
    Amnesia,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct App {
    attempts: u8,
    patience: u8,
    /// It has read from the resource under the token that it holds.
    entered: bool,
    wrote: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Acquire {
        client: usize,
        wait: u8,
    },
    /// The application gives up, or gives back.
    Release {
        client: usize,
    },
    /// A new holder reads from the resource.
    Enter {
        client: usize,
    },
    /// It sends a write.
    Write {
        client: usize,
    },
    /// The write arrives.
    Arrive {
        token: u64,
    },
    Deliver {
        client: usize,
        packet: usize,
    },
    Lose {
        client: usize,
        packet: usize,
    },
    Double {
        client: usize,
        packet: usize,
    },
    Refuse {
        client: usize,
        packet: usize,
    },
    /// An alarm rings.
    Wake {
        client: usize,
    },
    Crash {
        client: usize,
    },
    Forget {
        store: usize,
    },
    /// One tick of the stores' clock.
    Pass,
}

impl<M: Machine> Timed<M> {
    /// The first states of the world: one for every choice of the clients' rates.
    pub(crate) fn first(rules: &'static Rules) -> Vec<Self> {
        let one_more = |chosen: Vec<Vec<u64>>, _| {
            let with = |some: Vec<u64>| {
                rules.rates.iter().map(move |ppm| {
                    let rate = TICK.saturating_add_signed(ppm * TICK.cast_signed() / 1_000_000);
                    [some.as_slice(), &[rate]].concat()
                })
            };
            chosen.into_iter().flat_map(with).collect()
        };
        let rates = (0..rules.clients).fold(vec![Vec::new()], one_more);
        rates.into_iter().map(|rates| Self::new(rules, rates)).collect()
    }

    fn new(rules: &'static Rules, rates: Vec<u64>) -> Self {
        let app = App { attempts: rules.attempts, patience: 0, entered: false, wrote: false };
        let client = |number| Client::new(number, config(rules.term));
        Self {
            rules,
            clients: (0..rules.clients).map(client).collect(),
            rates,
            apps: vec![app; rules.clients],
            stores: vec![Store::default(); M::STORES],
            fence: Fence::new(),
            read: None,
            written: None,
            writes: 0,
            tokens: TokensTold::default(),
            faults: rules.faults,
        }
    }

    fn may(&self, fault: Fault) -> bool {
        self.faults > 0 && self.rules.kinds.contains(&fault)
    }

    /// An alarm that has rung, or an application that is through with its lease.
    fn due(&self) -> usize {
        let impatient = |(client, app): (&Client<M>, &App)| {
            app.patience == 0
                && matches!(client.told, Told::Held | Told::Stopping)
                && !client.gave_up
        };
        let due = |both: &(&Client<M>, &App)| both.0.due() || impatient(*both);
        self.clients.iter().zip(&self.apps).filter(due).count()
    }

    /// Nothing depends on time.
    fn timeless(&self) -> bool {
        self.clients.iter().all(|client| client.told == Told::Closed && client.alarm.is_none())
            && self.stores.iter().all(|store| store.record.is_none())
    }

    fn may_pass(&self) -> bool {
        let due = self.due();
        let slept = if self.may(Fault::Late) { self.faults.into() } else { 0 };
        !self.timeless() && due <= slept
    }

    fn pass(&mut self) {
        self.faults -= u8::try_from(self.due()).unwrap_or(self.faults);
        for store in &mut self.stores {
            store.tick();
        }
        for (client, rate) in self.clients.iter_mut().zip(&self.rates) {
            client.pass(*rate);
        }
        for app in &mut self.apps {
            app.patience = app.patience.saturating_sub(1);
        }
    }

    fn hear(
        &mut self,
        client: usize,
        news: News<M::Answer>,
        story: &mut Story,
    ) -> Result<(), Violation> {
        let heard = self.clients[client].hear(news, &mut self.tokens, story);
        self.settle(client);
        heard
    }

    /// What the application and the network make of what the machine said.
    fn settle(&mut self, number: usize) {
        let (client, app) = (&mut self.clients[number], &mut self.apps[number]);
        client.packets.truncate(self.rules.packets);
        if !matches!(client.told, Told::Held | Told::Stopping) || client.gave_up {
            (app.entered, app.wrote, app.patience) = (false, false, self.rules.patience);
        }
    }

    fn acquire(&mut self, number: usize, wait: u8, story: &mut Story) -> Result<(), Violation> {
        let client = &mut self.clients[number];
        let limit = client.now.as_micros() + u64::from(wait) * TICK;
        let wait = if wait == 0 { Wait::Once } else { Wait::Until(Instant::from_micros(limit)) };
        self.apps[number].attempts -= 1;
        let heard = client.acquire(wait, &mut self.tokens, story);
        self.settle(number);
        heard
    }

    fn enter(&mut self, number: usize, story: &mut Story) -> Result<(), Violation> {
        let Some(token) = self.clients[number].held() else { return Ok(()) };
        if self.rules.installs
            && let Err(stale) = self.fence.install(token)
        {
            story.tell(|| format!("     client {number}: {stale}"));
            let gave_up = self.clients[number].give_up(&mut self.tokens, story);
            self.settle(number);
            return gave_up;
        }
        self.read = self.read.max(Some(token));
        self.apps[number].entered = true;
        Ok(())
    }

    fn arrive(&mut self, token: u64, story: &mut Story) -> Result<(), Violation> {
        self.writes &= !(1 << token);
        let Some(token) = Token::new(token) else { return Ok(()) };
        let admitted = self.fence.admit(token);
        story.tell(|| format!("     resource: {admitted:?}"));
        if admitted.is_ok() {
            ensure(self.written <= Some(token), "S17", || {
                format!("a write under {token} was applied after one under {:?}", self.written)
            })?;
            ensure(self.read <= Some(token), "S18", || {
                format!("a write under {token} was applied after {:?} had read", self.read)
            })?;
            self.written = Some(token);
        }
        Ok(())
    }

    fn deliver(
        &mut self,
        client: usize,
        packet: usize,
        story: &mut Story,
    ) -> Result<(), Violation> {
        let packet = self.clients[client].packets.remove(packet);
        self.arrived(client, packet, story)
    }

    fn arrived(
        &mut self,
        number: usize,
        packet: Packet<M::Ask, M::Answer>,
        story: &mut Story,
    ) -> Result<(), Violation> {
        let Packet { store, op, load, .. } = packet;
        match load {
            Load::Ask(ask) => {
                let owner = self.stores[store].record;
                let answer = M::serve(&mut self.stores[store], number, ask, Rule::RIGHT);
                story.tell(|| format!("     store {store}: {ask:?} -> {answer:?}"));
                let freed = owner.is_some() && self.stores[store].record.is_none();
                ensure(!freed || owner.is_some_and(|owner| owner.client == number), "S8", || {
                    format!("client {number} freed what was not its own: {owner:?}")
                })?;
                let client = &mut self.clients[number];
                if client.mine(op) {
                    let load = answer.map_or(Load::Refusal, Load::Answer);
                    client.packets.push(Packet { load, ..packet });
                }
                Ok(())
            }
            Load::Answer(answer) => self.hear(number, News::Answer { op, answer }, story),
            Load::Refusal => {
                let failure = Failure::Refused { permanent: false, retry_after: None };
                self.hear(number, News::Failed { op, failure }, story)
            }
        }
    }

    /// S1 and S2.
    fn check(&self) -> Result<(), Violation> {
        let mut holder = None;
        for client in &self.clients {
            let Some(token) = client.held() else { continue };
            let number = client.number;
            if let Some(other) = holder.replace(number) {
                let why = format!("clients {other} and {number} both hold the lease");
                self.judged(Violation::new("S1", why))?;
            }
            let keeps = |store: &&Store| {
                store.record.is_some_and(|record| {
                    record.client == number && record.token.is_none_or(|kept| kept == token)
                })
            };
            let keeping = self.stores.iter().filter(keeps).count();
            if keeping <= M::STORES / 2 {
                let why = format!("client {number} holds what {keeping} stores keep for it");
                self.judged(Violation::new("S2", why))?;
            }
        }
        Ok(())
    }

    fn judged(&self, violation: Violation) -> Result<(), Violation> {
        if self.rules.unjudged.contains(&violation.invariant) { Ok(()) } else { Err(violation) }
    }
}

impl<M: Machine> World for Timed<M> {
    type Action = Action;

    fn actions(&self, into: &mut Vec<Action>) {
        for (number, (client, app)) in self.clients.iter().zip(&self.apps).enumerate() {
            let held = client.held().is_some();
            if client.due() {
                into.push(Action::Wake { client: number });
            }
            if client.told == Told::Closed && app.attempts > 0 {
                let acquire = |&wait| Action::Acquire { client: number, wait };
                into.extend(self.rules.waits.iter().map(acquire));
            }
            if matches!(client.told, Told::Seeking | Told::Held | Told::Stopping) && !client.gave_up
            {
                into.push(Action::Release { client: number });
            }
            if self.rules.uses && held && !app.entered {
                into.push(Action::Enter { client: number });
            }
            if held && app.entered && !app.wrote {
                into.push(Action::Write { client: number });
            }
            if self.may(Fault::Crash) && client.told != Told::Closed {
                into.push(Action::Crash { client: number });
            }
            for (packet, content) in client.packets.iter().enumerate() {
                // One of equals stands for all.
                if client.packets[..packet].contains(content) {
                    continue;
                }
                into.push(Action::Deliver { client: number, packet });
                if self.may(Fault::Loss) {
                    into.push(Action::Lose { client: number, packet });
                }
                if self.may(Fault::Double) {
                    into.push(Action::Double { client: number, packet });
                }
                if self.may(Fault::Refusal) && matches!(content.load, Load::Ask(_)) {
                    into.push(Action::Refuse { client: number, packet });
                }
            }
        }
        let written = |token: &u64| self.writes & (1 << token) != 0;
        into.extend((0..64).filter(written).map(|token| Action::Arrive { token }));
        if self.may(Fault::Amnesia) {
            let whole = |&store: &usize| self.stores[store].memory == Memory::Whole;
            let forget = |store| Action::Forget { store };
            into.extend((0..self.stores.len()).filter(whole).map(forget));
        }
        if self.may_pass() {
            into.push(Action::Pass);
        }
    }

    fn take(&mut self, action: Action, story: &mut Story) -> Result<(), Violation> {
        match action {
            Action::Acquire { client, wait } => self.acquire(client, wait, story)?,
            Action::Release { client } => {
                self.clients[client].give_up(&mut self.tokens, story)?;
                self.settle(client);
            }
            Action::Enter { client } => self.enter(client, story)?,
            Action::Write { client } => {
                self.apps[client].wrote = true;
                self.writes |= self.clients[client].held().map_or(0, |token| 1 << token.get());
            }
            Action::Arrive { token } => self.arrive(token, story)?,
            Action::Deliver { client, packet } => self.deliver(client, packet, story)?,
            Action::Lose { client, packet } => {
                self.faults -= 1;
                self.clients[client].packets.remove(packet);
            }
            Action::Double { client, packet } => {
                self.faults -= 1;
                let packet = self.clients[client].packets[packet];
                self.arrived(client, packet, story)?;
            }
            Action::Refuse { client, packet } => {
                self.faults -= 1;
                self.clients[client].packets[packet].load = Load::Refusal;
            }
            Action::Wake { client } => self.hear(client, News::Tick, story)?,
            Action::Crash { client } => {
                self.faults -= 1;
                self.clients[client].restart(config(self.rules.term));
                self.settle(client);
            }
            Action::Forget { store } => {
                self.faults -= 1;
                self.stores[store].forget(Memory::LostAndKnown);
            }
            Action::Pass => self.pass(),
        }
        self.check()
    }

    fn fingerprint(&self) -> u64 {
        let mut clients = [0; 4];
        for (place, client) in clients.iter_mut().zip(&self.clients) {
            *place = client.fingerprint();
        }
        let resource = (self.fence, self.read, self.written, self.writes);
        let rest = (&self.rates, &self.apps, &self.stores, self.tokens, self.faults);
        fingerprint((clients, rest, resource))
    }

    fn at_rest(&self) -> bool {
        self.timeless()
            && self.writes == 0
            && self.apps.iter().all(|app| app.attempts == 0)
            && self.clients.iter().all(|client| client.packets.is_empty())
    }
}
