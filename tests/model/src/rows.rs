//! The worlds that are explored, and what must come of each.

use std::fmt;

use tenure_core::{Lease, Quorum};

use crate::{
    naive::Naive,
    search::{Ending, Found, exhaust, shortest},
    store::{Memory, Rule},
    timed::{Fault, Rules, Timed},
    tokens::{TokenRules, Tokens},
};

/// One world, and what must come of it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Row {
    /// What is in it.
    pub name: &'static str,
    /// The invariant that must be found broken; `None`: everything must hold.
    pub breaks: Option<&'static str>,
    /// How many of its states the ordinary run sees at most; less than all of them is a slice of the
    /// deep run.
    pub short: u64,
    /// How many the deep run sees at most; 0: the ordinary run sees all.
    pub deep: u64,
    world: World,
}

impl Row {
    /// Explores it, up to `most` states.
    #[must_use]
    pub fn explore(&self, most: u64) -> Found {
        match (self.world, self.breaks) {
            (World::Naive, _) => shortest(Naive::first(), most),
            (World::Lease(rules), None) => exhaust(Timed::<Lease>::first(rules), most),
            (World::Lease(rules), Some(_)) => shortest(Timed::<Lease>::first(rules), most),
            (World::Quorum(rules), None) => exhaust(Timed::<Quorum<3>>::first(rules), most),
            (World::Quorum(rules), Some(_)) => shortest(Timed::<Quorum<3>>::first(rules), most),
            (World::Tokens(rules), None) => exhaust(Tokens::first(rules), most),
            (World::Tokens(rules), Some(_)) => shortest(Tokens::first(rules), most),
        }
    }

    /// Whether that is what must come of it.
    #[must_use]
    pub fn expects(&self, found: &Found) -> bool {
        match (&found.ending, self.breaks) {
            (Ending::Exhausted, None) => true,
            (Ending::Stopped, None) => self.deep > 0,
            (Ending::Broken { violation, .. }, Some(breaks)) => violation.invariant == breaks,
            (Ending::Exhausted | Ending::Stopped, Some(_)) | (Ending::Broken { .. }, None) => false,
        }
    }

    /// All that its world is made of.
    #[must_use]
    pub fn rules(&self) -> &dyn fmt::Debug {
        &self.world
    }
}

#[derive(Clone, Copy, Debug)]
enum World {
    Lease(&'static Rules),
    Quorum(&'static Rules),
    Tokens(&'static TokenRules),
    Naive,
}

/// Every world.
pub const ROWS: &[Row] = &[
    Row {
        name: "lease: 2 clients, a term of 5 ticks, clocks at the bound, any one fault",
        short: 600_000,
        deep: 110_000_000,
        ..well(World::Lease(&LEASE))
    },
    Row {
        name: "lease: 1 client, a term of 10 ticks, clocks at the bound, held over renewals",
        short: 1_200_000,
        deep: 20_000_000,
        ..well(World::Lease(&RENEWED))
    },
    Row {
        name: "lease: a clock 1 ppm beyond the bound",
        ..broken("S1", World::Lease(&BEYOND_THE_BOUND))
    },
    Row {
        name: "lease: a new holder that reads without `install`",
        ..broken("S18", World::Lease(&NO_INSTALL))
    },
    Row {
        name: "quorum: 1 client, clocks at the bound, held over renewals",
        short: 600_000,
        deep: 10_000_000,
        ..well(World::Quorum(&RENEWED_QUORUM))
    },
    Row {
        name: "quorum: 2 clients, clocks at the bound",
        short: 300_000,
        deep: 10_000_000,
        ..well(World::Quorum(&QUORUM))
    },
    Row {
        name: "quorum: the same, and any one fault, or a node that lost its data",
        short: 300_000,
        deep: 10_000_000,
        ..well(World::Quorum(&FAULTY_QUORUM))
    },
    Row {
        name: "tokens: one phase, the highest of what each node counts",
        ..broken("S13", World::Naive)
    },
    Row { name: "tokens: one round with a guess", ..well(World::Tokens(&GUESS)) },
    Row { name: "tokens: two phases", ..well(World::Tokens(&TWO_PHASES)) },
    Row {
        name: "tokens: two phases, whoever owns the key",
        ..well(World::Tokens(&NO_OWNER_CHECK))
    },
    Row {
        name: "tokens: two phases, time-outs, a message twice",
        short: 300_000,
        deep: 10_000_000,
        ..well(World::Tokens(&TIME_OUTS))
    },
    Row {
        name: "tokens: two phases, accept if equal",
        ..broken("S13", World::Tokens(&ACCEPTS_EQUAL))
    },
    Row { name: "tokens: a node loses its data", ..broken("S13", World::Tokens(&AMNESIA)) },
    Row {
        name: "tokens: a node loses its data, and returns when every lease is over",
        ..broken("S13", World::Tokens(&DELAYED_RESTART))
    },
    Row {
        name: "tokens: a node loses its data, and its sentinel says so",
        ..well(World::Tokens(&SENTINEL))
    },
];

const fn well(world: World) -> Row {
    Row { name: "", breaks: None, short: 20_000_000, deep: 0, world }
}

const fn broken(breaks: &'static str, world: World) -> Row {
    // What is searched breadth first is kept in memory: about 3 kB a state.
    Row { breaks: Some(breaks), short: 2_000_000, ..well(world) }
}

const LEASE: Rules = Rules {
    clients: 2,
    term: 5,
    rates: &[-200_000, 0, 200_000],
    attempts: 1,
    waits: &[0, 2],
    patience: 6,
    faults: 1,
    kinds: &[Fault::Loss, Fault::Double, Fault::Refusal, Fault::Crash, Fault::Late],
    packets: 3,
    uses: true,
    installs: true,
    unjudged: &[],
};

// A term long enough for a renewal to be asked for three times, and an application that needs the
// lease for longer than the first of them can give.
const RENEWED: Rules = Rules {
    clients: 1,
    term: 10,
    rates: &[-100_000, 0, 100_000],
    waits: &[0],
    patience: 16,
    faults: 0,
    packets: 2,
    uses: false,
    ..LEASE
};

// That a client outlives its term at the store is the cause; S1 is what comes of it.
const BEYOND_THE_BOUND: Rules =
    Rules { rates: &[-200_001, 0], faults: 0, waits: &[0], unjudged: &["S2"], ..LEASE };

const NO_INSTALL: Rules = Rules { rates: &[0], faults: 0, waits: &[0], installs: false, ..LEASE };

// The resource does not see how many stores there are.
const QUORUM: Rules = Rules { faults: 0, waits: &[0], packets: 9, uses: false, ..LEASE };

const RENEWED_QUORUM: Rules = Rules { clients: 1, patience: 8, packets: 6, ..QUORUM };

// What a node forgot is no breach of its contract: S1 must hold all the same.
const FAULTY_QUORUM: Rules = Rules {
    faults: 1,
    kinds: &[Fault::Loss, Fault::Double, Fault::Refusal, Fault::Crash, Fault::Late, Fault::Amnesia],
    unjudged: &["S2"],
    ..QUORUM
};

const GUESS: TokenRules = TokenRules {
    rule: Rule::RIGHT,
    counters: &[[0, 0, 0]],
    amnesia: Memory::Whole,
    wakes: 0,
    doubles: 0,
    highest: 4,
};

// Earlier holders have left counters behind that a first guess does not exceed.
const TWO_PHASES: TokenRules = TokenRules { counters: &[[1, 1, 1]], ..GUESS };

const NO_OWNER_CHECK: TokenRules =
    TokenRules { rule: Rule { asks_for_owner: false, ..Rule::RIGHT }, ..TWO_PHASES };

const TIME_OUTS: TokenRules =
    TokenRules { counters: &[[0, 0, 0], [1, 1, 1], [2, 1, 0]], wakes: 1, doubles: 1, ..GUESS };

// With the owner check it takes a copy of a first request to go wrong, and a world with copies is large.
const ACCEPTS_EQUAL: TokenRules =
    TokenRules { rule: Rule { accepts_equal: true, asks_for_owner: false }, ..TWO_PHASES };

const AMNESIA: TokenRules = TokenRules { amnesia: Memory::Lost, ..GUESS };

const DELAYED_RESTART: TokenRules = TokenRules { amnesia: Memory::Away, ..GUESS };

const SENTINEL: TokenRules = TokenRules { amnesia: Memory::LostAndKnown, ..GUESS };
