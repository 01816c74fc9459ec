use std::time::Duration;

use tenure_core::{Assurance, ConfigError, Drift, LeaseConfig, Token, Waiting};

use crate::{
    clock::{MILLIS, Micros, SECONDS},
    random::{Ppm, Random},
    settings::{Settings, Weather},
    store::StorePlan,
};

/// Which kind of store a world has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// A term, asked for again and again.
    Polled,
    /// The same, with wake-ups.
    Hinted,
    /// A queue of places.
    Queue,
    /// A session, asked for again and again.
    Session,
    /// A session whose store holds the answer back until the lock is free.
    Blocking,
    /// Three nodes, of which two decide.
    Quorum3,
    /// Four nodes, of which three decide: a tie is possible.
    Quorum4,
    /// Five nodes, of which three decide.
    Quorum5,
}

impl Kind {
    /// Every kind; seed `n` gets the one at `n` modulo their number.
    pub const ALL: [Self; 8] = [
        Self::Polled,
        Self::Hinted,
        Self::Queue,
        Self::Session,
        Self::Blocking,
        Self::Quorum3,
        Self::Quorum4,
        Self::Quorum5,
    ];

    pub(crate) fn is_session(self) -> bool {
        matches!(self, Self::Session | Self::Blocking)
    }

    pub(crate) fn is_quorum(self) -> bool {
        self.sites() > 1
    }

    /// How many stores hold the lock together.
    pub(crate) fn sites(self) -> usize {
        match self {
            Self::Polled | Self::Hinted | Self::Queue | Self::Session | Self::Blocking => 1,
            Self::Quorum3 => 3,
            Self::Quorum4 => 4,
            Self::Quorum5 => 5,
        }
    }

    pub(crate) fn majority(self) -> usize {
        self.sites() / 2 + 1
    }
}

/// Everything about a run that is decided before it starts.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) kind: Kind,
    /// The bound on the drift of a client's clock and a store's, and the stores' share in it.
    pub(crate) bound: i32,
    pub(crate) bound_of_store: i32,
    pub(crate) clients: Vec<ClientPlan>,
    pub(crate) sites: Vec<SitePlan>,
    pub(crate) faults: Faults,
    /// Nothing at all goes wrong in it.
    pub(crate) faultless: bool,
    /// The first two clients share a host, hence its clock and its pauses.
    pub(crate) same_host: bool,
    /// Writes carry a number, and come in order within one token.
    pub(crate) ordered: bool,
    /// A holder raises the fence before it first reads.
    pub(crate) installs: bool,
    /// The resource loses its fence when it restarts.
    pub(crate) gate_forgets: bool,
    pub(crate) amnesia: Amnesia,
    /// Nodes may lose their counters, so nobody expects that tokens rise.
    pub(crate) may_regress: bool,
    /// From here on nothing goes wrong any more, and everybody must get the lock.
    pub(crate) calm_from: Micros,
}

/// A store, or one node.
#[derive(Clone, Debug)]
pub(crate) struct SitePlan {
    pub(crate) store: StorePlan,
    pub(crate) clock: ClockPlan,
}

/// What a node does that comes back without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amnesia {
    /// It misses its sentinel, and refuses to vote until an operator has seeded it.
    Sentinel,
    /// It votes at once.
    Unnoticed,
    /// It stays away for longer than any term, and votes then.
    Delayed,
}

#[derive(Clone, Debug)]
pub(crate) struct ClientPlan {
    pub(crate) config: LeaseConfig,
    /// How D1 reckons, by the simulation's own arithmetic.
    pub(crate) deductions: Deductions,
    pub(crate) clock: ClockPlan,
    pub(crate) app: AppPlan,
    pub(crate) by_harm_alone: bool,
}

/// What comes off a term before it may be relied on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deductions {
    pub(crate) drift: Ppm,
    pub(crate) quantum: Micros,
    pub(crate) margin: Micros,
}

impl Deductions {
    /// D1: ρ, the store's tick and a margin come off what was granted.
    pub(crate) fn usable(&self, term: Duration) -> Micros {
        let term = term.as_micros();
        let drift = (term * u128::from(self.drift)).div_ceil(1_000_000);
        let off = drift + u128::from(self.quantum + self.margin);
        term.saturating_sub(off) as Micros
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ClockPlan {
    pub(crate) reading: Micros,
    /// The clock's rate is one of these, in parts per million off true time.
    pub(crate) rates: [i32; 2],
}

/// What an application does with its lease.
#[derive(Clone, Debug)]
pub(crate) struct AppPlan {
    pub(crate) think: Micros,
    pub(crate) hold: Micros,
    pub(crate) step: Micros,
    /// How likely it is, at each step, to stop waiting.
    pub(crate) impatience: Ppm,
    /// How likely it is to ask for a lease that it already has or waits for.
    pub(crate) greed: Ppm,
    /// How late a write may reach the resource after the check that the lease is held.
    pub(crate) write_delay: Micros,
}

/// What goes wrong, and how often. Zero is never. `*_every` are mean distances in time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) latency: Micros,
    pub(crate) loss: Ppm,
    pub(crate) duplicate: Ppm,
    pub(crate) slow: Ppm,
    pub(crate) slow_by: Micros,
    pub(crate) hint_loss: Ppm,
    pub(crate) not_sent: Ppm,
    pub(crate) refused: Ppm,
    /// The share of lost requests that the driver reports as `Unknown`, rather than keep silent.
    pub(crate) reports: Ppm,
    pub(crate) misdelivered: Ppm,
    /// Answers that belong to another kind of request.
    pub(crate) garbled: Ppm,
    pub(crate) early_exchange: Ppm,
    pub(crate) late_wake: Micros,
    /// How likely a driver is to leave the machine alone for a while after it has drained it.
    pub(crate) undrained: Ppm,
    pub(crate) pause_every: Micros,
    pub(crate) pause_for: Micros,
    pub(crate) stall_every: Micros,
    pub(crate) stall_for: Micros,
    pub(crate) partition_every: Micros,
    pub(crate) partition_for: Micros,
    pub(crate) crash_every: Micros,
    pub(crate) locked_out_every: Micros,
    pub(crate) clock_back_every: Micros,
    pub(crate) clock_ahead_every: Micros,
    pub(crate) rate_change_every: Micros,
    pub(crate) break_every: Micros,
    pub(crate) flush_every: Micros,
    pub(crate) spurious_hint_every: Micros,
    pub(crate) term_change_every: Micros,
    pub(crate) node_crash_every: Micros,
    pub(crate) amnesia_every: Micros,
    pub(crate) failover_every: Micros,
    pub(crate) gate_restart_every: Micros,
}

impl Scenario {
    pub(crate) fn new(seed: u64, settings: Settings) -> (Self, Random) {
        let mut random = Random::new(seed);
        let mut scenario = match settings.weather {
            Weather::DriftAtBound => Self::of_drift(seed, &mut random, 0),
            Weather::DriftBeyondBound => Self::of_drift(seed, &mut random, 1),
            weather => Self::swarm(seed, &mut random, weather),
        };
        for client in &mut scenario.clients {
            client.by_harm_alone = settings.by_harm_alone;
        }
        settings.limit(&mut scenario);
        (scenario, random)
    }

    fn swarm(seed: u64, random: &mut Random, weather: Weather) -> Self {
        let nodes = [Kind::Quorum3, Kind::Quorum4, Kind::Quorum5];
        let kinds = match weather {
            Weather::Amnesia | Weather::DelayedRestart => &nodes[..],
            _ => &Kind::ALL[..],
        };
        let kind = kinds[(seed % kinds.len() as u64) as usize];
        let bound: i32 = random.pick(&[1_000, 1_000, 20_000, 100_000, 150_000]);
        let some = random.between(0, bound as u64) as i32;
        let at_store = random.pick(&[0, bound / 2, bound, some]);
        let tick = random.pick(&[1, MILLIS, MILLIS, 100 * MILLIS]);
        let base_term = random.between(10, 50) * SECONDS;
        let sites = (0..kind.sites())
            .map(|_| SitePlan {
                store: StorePlan::new(random, kind, tick, base_term),
                clock: ClockPlan::new(random, at_store),
            })
            .collect();
        let deductions = Deductions { drift: bound as Ppm, quantum: tick, margin: MILLIS };
        let mut clients: Vec<_> = (0..random.between(2, 5))
            .map(|_| {
                let clock = ClockPlan::new(random, bound - at_store);
                ClientPlan::new(random, kind, base_term, deductions, clock)
            })
            .collect();
        let same_host = random.between(0, 3) == 0;
        if same_host {
            clients[1].clock = clients[0].clock.clone();
        }
        let faultless = weather == Weather::Swarm && random.between(0, 15) == 0;
        let may_regress = kind.is_quorum() && random.between(0, 3) == 0;
        let mut faults =
            if faultless { Faults::none(random) } else { Faults::swarm(random, kind, may_regress) };
        let amnesia = if may_regress {
            random.pick(&[Amnesia::Unnoticed, Amnesia::Delayed])
        } else {
            Amnesia::Sentinel
        };
        let mut scenario = Self {
            kind,
            bound,
            bound_of_store: at_store,
            clients,
            sites,
            faultless,
            same_host,
            ordered: random.coin(),
            installs: weather != Weather::NoInstall,
            gate_forgets: weather == Weather::GateForgets,
            amnesia,
            may_regress,
            calm_from: random.between(200, 500) * SECONDS,
            faults: Faults::default(),
        };
        if let Weather::Amnesia | Weather::DelayedRestart = weather {
            // The same, but nobody was told to expect it.
            faults.amnesia_every = random.between(25, 100) * SECONDS;
            scenario.may_regress = false;
            let delayed = weather == Weather::DelayedRestart;
            scenario.amnesia = if delayed { Amnesia::Delayed } else { Amnesia::Unnoticed };
        }
        if weather == Weather::GateForgets {
            faults.gate_restart_every = random.between(5, 25) * SECONDS;
        }
        scenario.faults = faults;
        scenario
    }

    /// Clients as slow as allowed, or `excess` parts per million slower, cut off until they lose. No
    /// margin and next to no delay hides the difference.
    fn of_drift(seed: u64, random: &mut Random, excess: i32) -> Self {
        let kinds = [Kind::Polled, Kind::Queue, Kind::Quorum3];
        let kind = kinds[(seed % kinds.len() as u64) as usize];
        let bound: i32 = random.pick(&[100, 1_000, 20_000, 100_000]);
        let base_term = random.between(30, 60) * SECONDS;
        let sites = (0..kind.sites())
            .map(|_| SitePlan {
                store: StorePlan::plain(1),
                clock: ClockPlan { reading: random.between(0, SECONDS), rates: [0, 0] },
            })
            .collect();
        let deductions = Deductions { drift: bound as Ppm, quantum: 1, margin: 0 };
        let clients = (0..2)
            .map(|_| {
                let rate = -(bound + excess);
                let clock = ClockPlan { reading: random.between(0, SECONDS), rates: [rate, rate] };
                let plan = ClientPlan::new(random, kind, base_term, deductions, clock);
                let app = AppPlan { hold: 4 * base_term, impatience: 0, greed: 0, ..plan.app };
                ClientPlan { app, ..plan }
            })
            .collect();
        Self {
            kind,
            bound,
            bound_of_store: 0,
            clients,
            sites,
            faults: Faults {
                latency: 3,
                reports: 1_000_000,
                partition_every: 20 * SECONDS,
                partition_for: 2 * base_term,
                ..Faults::default()
            },
            faultless: false,
            same_host: false,
            ordered: true,
            installs: true,
            gate_forgets: false,
            amnesia: Amnesia::Sentinel,
            may_regress: false,
            calm_from: 600 * SECONDS,
        }
    }

    /// How long an operator waits until nothing of an attempt can be under way any more.
    pub(crate) fn longest_wait(&self) -> Micros {
        2 * self.longest_term()
    }

    pub(crate) fn longest_term(&self) -> Micros {
        let asked = self.clients.iter().map(|plan| plan.config.term().as_micros() as Micros).max();
        let granted = self.sites.iter().map(|site| site.store.terms.0).max();
        asked.max(granted).unwrap_or(0)
    }
}

impl StorePlan {
    fn new(random: &mut Random, kind: Kind, tick: Micros, base_term: Micros) -> Self {
        let terms = match random.between(0, 7) {
            0 => (base_term * 5 / 2, Micros::MAX),
            1 => (0, base_term * 9 / 10),
            _ => (0, Micros::MAX),
        };
        Self {
            tick,
            terms,
            tells_rest: random.coin(),
            tells_holder: random.coin(),
            queue_grants: random.coin(),
            renews_exactly: random.coin(),
            counts_from: match random.between(0, 39) {
                0 if matches!(kind, Kind::Polled | Kind::Hinted | Kind::Queue) => {
                    Token::MAX.get() - random.between(1, 20)
                }
                _ => 0,
            },
            lies: matches!(kind, Kind::Polled | Kind::Hinted) && random.between(0, 15) == 0,
        }
    }

    /// One without whims.
    fn plain(tick: Micros) -> Self {
        Self {
            tick,
            terms: (0, Micros::MAX),
            tells_rest: false,
            tells_holder: false,
            queue_grants: true,
            renews_exactly: false,
            counts_from: 0,
            lies: false,
        }
    }
}

impl ClientPlan {
    fn new(
        random: &mut Random,
        kind: Kind,
        base_term: Micros,
        deductions: Deductions,
        clock: ClockPlan,
    ) -> Self {
        // Not every client asks for the same: half a fleet may have been upgraded.
        let term = base_term * random.pick(&[100, 100, 100, 80, 130]) / 100;
        let floor = random.between(25, 250) * MILLIS;
        let waiting = match kind {
            Kind::Polled | Kind::Session | Kind::Quorum3 | Kind::Quorum4 | Kind::Quorum5 => {
                Waiting::Poll
            }
            Kind::Hinted => Waiting::PollAndWatch,
            Kind::Queue => Waiting::Queue,
            Kind::Blocking => Waiting::Block,
        };
        let builder = LeaseConfig::builder()
            .term(Duration::from_micros(term))
            .drift(Drift::from_ppm(deductions.drift))
            .quantum(Duration::from_micros(deductions.quantum))
            .margin(Duration::from_micros(deductions.margin))
            .attempt_timeout(Duration::from_micros(term / random.between(8, 16)))
            .poll_pause(
                Duration::from_micros(floor),
                Duration::from_micros(floor * random.between(4, 30)),
            )
            .waiting(waiting)
            .assurance(if kind.is_session() { Assurance::Session } else { Assurance::Term });
        let no_room = builder.attempt_timeout(Duration::from_micros(term * 2 / 5)).build();
        assert!(matches!(no_room, Err(ConfigError::NoRoomToRenew { .. })), "{no_room:?}");
        Self {
            config: builder.build().expect("the terms drawn leave room for two renewals"),
            deductions,
            clock,
            app: AppPlan::new(random, term),
            by_harm_alone: false,
        }
    }
}

impl ClockPlan {
    /// Within ±`bound`, and often at its very edge.
    fn new(random: &mut Random, bound: i32) -> Self {
        let within = random.between(0, 2 * bound as u64) as i32 - bound;
        let rates = random.pick(&[[-bound, -bound], [bound, bound], [-bound, bound], [0, within]]);
        Self { reading: random.between(0, 1_000 * SECONDS), rates }
    }
}

impl AppPlan {
    fn new(random: &mut Random, term: Micros) -> Self {
        Self {
            think: random.between(1, 15_000) * MILLIS,
            hold: term * random.between(1, 30) / 10,
            step: random.between(250, 4_000) * MILLIS,
            impatience: random.pick(&[0, 10_000, 100_000]),
            greed: random.pick(&[0, 0, 20_000]),
            write_delay: random.pick(&[10 * MILLIS, SECONDS, 2 * term]),
        }
    }
}

impl Faults {
    fn none(random: &mut Random) -> Self {
        Self { latency: random.between(1, 20) * MILLIS, ..Self::default() }
    }

    fn swarm(random: &mut Random, kind: Kind, may_regress: bool) -> Self {
        let mut faults = Self::none(random);
        let on = |random: &mut Random| random.between(0, 2) == 0;
        let rate = |random: &mut Random, most: Ppm| {
            if on(random) { random.between(1, u64::from(most)) as Ppm } else { 0 }
        };
        faults.loss = rate(random, 200_000);
        faults.duplicate = rate(random, 200_000);
        faults.slow = rate(random, 200_000);
        faults.hint_loss = rate(random, 1_000_000);
        if random.between(0, 7) == 0 {
            faults.hint_loss = 1_000_000;
        }
        faults.garbled = rate(random, 50_000);
        faults.partition_for = 75 * SECONDS;
        faults.not_sent = rate(random, 200_000);
        faults.refused = rate(random, 200_000);
        faults.misdelivered = rate(random, 100_000);
        faults.undrained = rate(random, 30_000);
        faults.early_exchange = rate(random, 500_000);
        faults.reports = random.pick(&[0, 500_000, 1_000_000]);
        faults.slow_by = random.pick(&[3 * SECONDS, 15 * SECONDS, 75 * SECONDS]);
        faults.late_wake = random.pick(&[0, 0, 30 * MILLIS, 2_500 * MILLIS]);
        faults.pause_for = random.pick(&[5 * SECONDS, 25 * SECONDS, 125 * SECONDS]);
        faults.stall_for = random.pick(&[5 * SECONDS, 40 * SECONDS]);
        let every = |random: &mut Random, least: u64| {
            if on(random) { random.between(5 * least, 200) * SECONDS } else { 0 }
        };
        faults.pause_every = every(random, 3);
        faults.stall_every = every(random, 5);
        faults.partition_every = every(random, 4);
        faults.crash_every = every(random, 5);
        faults.spurious_hint_every = every(random, 1);
        faults.rate_change_every = every(random, 1);
        faults.clock_ahead_every = every(random, 5);
        faults.locked_out_every = if random.coin() { every(random, 10) } else { 0 };
        faults.clock_back_every = if random.coin() { every(random, 8) } else { 0 };
        faults.break_every = if kind.is_session() { every(random, 4) } else { 0 };
        let flushed = !kind.is_quorum() && random.between(0, 3) == 0;
        faults.flush_every = if flushed { every(random, 15) } else { 0 };
        faults.node_crash_every = if kind.is_quorum() { every(random, 2) } else { 0 };
        faults.amnesia_every = if kind.is_quorum() { every(random, 5) } else { 0 };
        faults.failover_every = if may_regress { every(random, 5) } else { 0 };
        faults.gate_restart_every = every(random, 5);
        faults.term_change_every = if random.coin() { every(random, 10) } else { 0 };
        faults
    }
}
