use std::time::Duration;

use tenure_core::{Assurance, Drift, LeaseConfig, Waiting};

use crate::{
    clock::{MILLIS, Micros, SECONDS},
    random::{Ppm, Random},
    store::{Store, StorePlan},
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
}

impl Kind {
    /// Every kind; seed `n` gets the one at `n` modulo their number.
    pub const ALL: [Self; 5] =
        [Self::Polled, Self::Hinted, Self::Queue, Self::Session, Self::Blocking];

    pub(crate) fn is_session(self) -> bool {
        matches!(self, Self::Session | Self::Blocking)
    }
}

/// What kind of weather the worlds have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weather {
    /// Each seed has a random subset of the faults, at random rates; one in sixteen has none.
    #[default]
    Swarm,
    /// The same, but clients' clocks may run a little slower than the configured bound allows, and no
    /// margin hides it. The time theorem does not hold there, and a simulation that cannot show it
    /// proves nothing.
    DriftBeyondBound,
}

/// How worlds are made, and judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// What goes wrong.
    pub weather: Weather,
    /// Judge deadlines by what the store keeps alone (S1, S2), not by how they were reckoned (S3): a
    /// wrong sum then passes until it does harm.
    pub by_harm_alone: bool,
}

/// Everything about a run that is decided before it starts.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) kind: Kind,
    pub(crate) clients: Vec<ClientPlan>,
    pub(crate) store: StorePlan,
    pub(crate) store_clock: ClockPlan,
    pub(crate) faults: Faults,
    /// Nothing at all goes wrong in it.
    pub(crate) faultless: bool,
    /// From here on nothing goes wrong any more, and everybody must get the lock.
    pub(crate) calm_from: Micros,
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
    pub(crate) early_exchange: Ppm,
    pub(crate) late_wake: Micros,
    /// How likely a driver is to leave the machine alone for a while after it has drained it.
    pub(crate) undrained: Ppm,
    pub(crate) pause_every: Micros,
    pub(crate) pause_for: Micros,
    pub(crate) stall_every: Micros,
    pub(crate) stall_for: Micros,
    pub(crate) partition_every: Micros,
    pub(crate) crash_every: Micros,
    pub(crate) locked_out_every: Micros,
    pub(crate) clock_back_every: Micros,
    pub(crate) clock_ahead_every: Micros,
    pub(crate) rate_change_every: Micros,
    pub(crate) break_every: Micros,
    pub(crate) flush_every: Micros,
    pub(crate) spurious_hint_every: Micros,
    pub(crate) term_change_every: Micros,
}

/// Parts per million by which clocks exceed the bound where they are to.
const EXCESS: i32 = 10;

impl Scenario {
    pub(crate) fn new(seed: u64, settings: Settings) -> (Self, Random) {
        let weather = settings.weather;
        let mut random = Random::new(seed);
        let kind = match weather {
            Weather::Swarm => Kind::ALL[(seed % Kind::ALL.len() as u64) as usize],
            Weather::DriftBeyondBound => random.pick(&[Kind::Polled, Kind::Hinted, Kind::Queue]),
        };
        let bound: i32 = random.pick(&[1_000, 1_000, 20_000, 100_000, 150_000]);
        let (at_store, at_clients, tick, margin) = match weather {
            Weather::Swarm => {
                let some = random.between(0, bound as u64) as i32;
                let at_store = random.pick(&[0, bound / 2, bound, some]);
                let tick = random.pick(&[1, MILLIS, MILLIS, 100 * MILLIS]);
                (at_store, bound - at_store, tick, MILLIS)
            }
            Weather::DriftBeyondBound => (0, bound + EXCESS, 1, 0),
        };
        let base_term = random.between(2_000, 10_000) * MILLIS;
        let store = StorePlan::new(&mut random, tick, base_term);
        let store_clock = ClockPlan::new(&mut random, at_store);
        let deductions = Deductions { drift: bound as Ppm, quantum: tick, margin };
        let clients = (0..random.between(2, 5))
            .map(|_| {
                let clock = ClockPlan::new(&mut random, at_clients);
                let plan = ClientPlan::new(&mut random, kind, base_term, deductions, clock);
                ClientPlan { by_harm_alone: settings.by_harm_alone, ..plan }
            })
            .collect();
        let faultless = weather == Weather::Swarm && random.between(0, 15) == 0;
        let faults =
            if faultless { Faults::none(&mut random) } else { Faults::swarm(&mut random, kind) };
        let calm_from = random.between(40, 100) * SECONDS;
        (Self { kind, clients, store, store_clock, faults, faultless, calm_from }, random)
    }

    pub(crate) fn store(&self) -> Store {
        match self.kind {
            Kind::Polled | Kind::Hinted => Store::term(self.store.clone()),
            Kind::Queue => Store::queue(self.store.clone()),
            Kind::Session | Kind::Blocking => Store::session(self.store.clone()),
        }
    }

    pub(crate) fn longest_term(&self) -> Micros {
        let asked = self.clients.iter().map(|plan| plan.config.term().as_micros() as Micros).max();
        asked.unwrap_or(0).max(self.store.terms.0)
    }
}

impl StorePlan {
    fn new(random: &mut Random, tick: Micros, base_term: Micros) -> Self {
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
        let floor = random.between(5, 50) * MILLIS;
        let waiting = match kind {
            Kind::Polled | Kind::Session => Waiting::Poll,
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
            think: random.between(1, 3_000) * MILLIS,
            hold: term * random.between(1, 30) / 10,
            step: random.between(50, 800) * MILLIS,
            impatience: random.pick(&[0, 10_000, 100_000]),
            greed: random.pick(&[0, 0, 20_000]),
            write_delay: random.pick(&[10 * MILLIS, 200 * MILLIS, 2 * term]),
        }
    }
}

impl Faults {
    fn none(random: &mut Random) -> Self {
        Self { latency: random.between(1, 20) * MILLIS, ..Self::default() }
    }

    fn swarm(random: &mut Random, kind: Kind) -> Self {
        let mut faults = Self::none(random);
        let on = |random: &mut Random| random.between(0, 2) == 0;
        let rate = |random: &mut Random, most: Ppm| {
            if on(random) { random.between(1, u64::from(most)) as Ppm } else { 0 }
        };
        faults.loss = rate(random, 200_000);
        faults.duplicate = rate(random, 200_000);
        faults.slow = rate(random, 200_000);
        faults.hint_loss = rate(random, 1_000_000);
        faults.not_sent = rate(random, 200_000);
        faults.refused = rate(random, 200_000);
        faults.misdelivered = rate(random, 100_000);
        faults.undrained = rate(random, 30_000);
        faults.early_exchange = rate(random, 500_000);
        faults.reports = random.pick(&[0, 500_000, 1_000_000]);
        faults.slow_by = random.pick(&[SECONDS, 3 * SECONDS, 15 * SECONDS]);
        faults.late_wake = random.pick(&[0, 0, 30 * MILLIS, 500 * MILLIS]);
        faults.pause_for = random.pick(&[SECONDS, 5 * SECONDS, 25 * SECONDS]);
        faults.stall_for = random.pick(&[SECONDS, 8 * SECONDS]);
        let every = |random: &mut Random, least: u64| {
            if on(random) { random.between(least, 40) * SECONDS } else { 0 }
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
        faults.flush_every = if random.between(0, 3) == 0 { every(random, 15) } else { 0 };
        faults.term_change_every = if random.coin() { every(random, 10) } else { 0 };
        faults
    }
}
