use tenure_core::{Event, Instant, LeaseConfig, OpId, Token, Wait};

use crate::{
    machine::{Machine, News, Said},
    search::fingerprint,
    story::Story,
    tokens_told::TokensTold,
    violation::{Violation, ensure},
};

/// A process with one machine, its clock, and what its application was told.
#[derive(Clone, Debug)]
pub(crate) struct Client<M: Machine> {
    pub(crate) number: usize,
    machine: M,
    pub(crate) now: Instant,
    pub(crate) alarm: Option<Instant>,
    /// What the application knows.
    pub(crate) told: Told,
    /// The token that it was told.
    pub(crate) token: Option<Token>,
    /// The highest token of a grant that was complete when this attempt began (S13).
    floor: Option<Token>,
    /// It asked for the end.
    pub(crate) gave_up: bool,
    /// How often the process was restarted.
    life: u8,
    /// Generations of this life.
    generation: u8,
    /// Requests of this life.
    asked: u32,
    /// What is under way between this process and the stores.
    pub(crate) packets: Vec<Packet<M::Ask, M::Answer>>,
}

/// Where the application stands in its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Told {
    Closed,
    Seeking,
    Held,
    Stopping,
    /// How it ended; `Closed` is still to come.
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packet<K, A> {
    pub(crate) store: usize,
    pub(crate) op: OpId,
    /// The request's place among all of its process's life.
    pub(crate) number: u32,
    pub(crate) load: Load<K, A>,
}

#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub(crate) enum Load<K, A> {
    Ask(K),
    Answer(A),
    Refusal,
}

impl<M: Machine> Client<M> {
    pub(crate) fn new(number: usize, config: LeaseConfig) -> Self {
        Self {
            number,
            machine: M::build(config, 0),
            now: Instant::from_micros(1_000_000_000),
            alarm: None,
            told: Told::Closed,
            token: None,
            floor: None,
            gave_up: false,
            life: 0,
            generation: 0,
            asked: 0,
            packets: Vec::new(),
        }
    }

    pub(crate) fn pass(&mut self, micros: u64) {
        self.now = Instant::from_micros(self.now.as_micros() + micros);
    }

    /// Its clock jumps to its next alarm.
    pub(crate) fn sleep(&mut self) {
        self.now = self.alarm.map_or(self.now, |alarm| self.now.max(alarm));
    }

    /// It has asked for nothing yet.
    pub(crate) const fn fresh(&self) -> bool {
        self.generation == 0
    }

    pub(crate) fn due(&self) -> bool {
        self.alarm.is_some_and(|alarm| alarm <= self.now)
    }

    /// The token of the lease, if it is held now.
    pub(crate) fn held(&self) -> Option<Token> {
        self.machine.holds(self.now).map(|held| held.token)
    }

    pub(crate) fn mine(&self, op: OpId) -> bool {
        op.instance == u32::from(self.life)
    }

    /// The process ends, and another takes its place. What was sent to the stores is still under way.
    pub(crate) fn restart(&mut self, config: LeaseConfig) {
        self.life += 1;
        self.machine = M::build(config, self.life.into());
        self.alarm = None;
        self.told = Told::Closed;
        self.token = None;
        self.floor = None;
        self.gave_up = false;
        self.generation = 0;
        self.asked = 0;
        self.packets.retain(|packet| matches!(packet.load, Load::Ask(_)));
    }

    pub(crate) fn acquire(
        &mut self,
        wait: Wait,
        tokens: &mut TokensTold,
        story: &mut Story,
    ) -> Result<(), Violation> {
        self.generation += 1;
        self.told = Told::Seeking;
        self.token = None;
        self.gave_up = false;
        self.floor = tokens.highest();
        let mut entropy = [0; 16];
        for (byte, part) in
            entropy.iter_mut().zip([self.number as u8 + 1, self.life + 1, self.generation])
        {
            *byte = part;
        }
        self.hear(News::Acquire { entropy, wait }, tokens, story)
    }

    pub(crate) fn give_up(
        &mut self,
        tokens: &mut TokensTold,
        story: &mut Story,
    ) -> Result<(), Violation> {
        self.hear(News::Release, tokens, story)?;
        // Unless it was over by then, which the machine finds out first.
        self.gave_up = !matches!(self.told, Told::Closed | Told::Ended);
        ensure(self.held().is_none(), "S5", || {
            format!("client {} gave the lease back, and holds it", self.number)
        })
    }

    /// One `handle`, all that the machine says after it, and what of that must not be.
    pub(crate) fn hear(
        &mut self,
        news: News<M::Answer>,
        tokens: &mut TokensTold,
        story: &mut Story,
    ) -> Result<(), Violation> {
        self.machine.tell(self.now, news);
        loop {
            let said = self.machine.say();
            story.tell(|| {
                format!("     client {} at {}: {said:?}", self.number, self.now.as_micros())
            });
            match said {
                Said::Event { generation, event } => {
                    ensure(generation == u32::from(self.generation), "S6", || {
                        format!("an event of generation {generation} in {}", self.generation)
                    })?;
                    self.told(event, tokens)?;
                }
                Said::Ask { store, op, ask } => {
                    self.asked += 1;
                    self.packets.push(Packet {
                        store,
                        op,
                        number: self.asked,
                        load: Load::Ask(ask),
                    });
                }
                Said::Wait(alarm) => {
                    self.alarm = alarm;
                    break;
                }
            }
        }
        if let News::Answer { answer, .. } = news
            && let Some(nonce) = M::granted(&answer)
        {
            // A closed machine waits for nothing but the end of a release.
            let keeps = self.told == Told::Closed && self.alarm.is_none();
            ensure(!keeps, "S7", || {
                format!("client {} is closed, was given {nonce}, and keeps it", self.number)
            })?;
        }
        let over = self.gave_up || !matches!(self.told, Told::Held | Told::Stopping);
        ensure(!over || self.held().is_none(), "S5", || {
            format!("client {} holds the lease, but was told {:?}", self.number, self.told)
        })?;
        if let Some(held) = self.held() {
            ensure(self.token == Some(held), "S14", || {
                format!("told {:?}, but held {held}", self.token)
            })?;
        }
        Ok(())
    }

    /// Alike for clients with equal futures: instants and op ids count from now.
    pub(crate) fn fingerprint(&self) -> u64 {
        let alarm = self.alarm.map(|alarm| alarm.as_micros().wrapping_sub(self.now.as_micros()));
        let told = (self.told, self.token, self.floor, self.gave_up, self.life, self.generation);
        fingerprint((self.machine.relative(self.now), alarm, told, self.under_way()))
    }

    /// As `fingerprint`, of a client whose machine is of no interest any more.
    pub(crate) fn requests_fingerprint(&self) -> u64 {
        fingerprint((self.under_way(), self.told))
    }

    fn under_way(&self) -> u64 {
        // The order of packets means nothing: any may arrive next.
        self.packets.iter().fold(0_u64, |sum, packet| {
            let age = self.mine(packet.op).then(|| self.asked - packet.number);
            sum.wrapping_add(fingerprint((packet.store, age, packet.load)))
        })
    }

    fn told(&mut self, event: Event, tokens: &mut TokensTold) -> Result<(), Violation> {
        let (before, number) = (self.told, self.number);
        let in_order = |holds: bool| {
            ensure(holds, "order of events", || format!("client {number}: {event:?} in {before:?}"))
        };
        match event {
            Event::Acquired { token, .. } => {
                in_order(before == Told::Seeking)?;
                self.told = Told::Held;
                self.token = Some(token);
                tokens.told(token, self.floor)?;
            }
            Event::AtRisk | Event::Recovered { .. } => in_order(before == Told::Held)?,
            Event::Stopping { .. } => {
                in_order(before == Told::Held)?;
                self.told = Told::Stopping;
            }
            Event::Lost { .. } => {
                in_order(matches!(before, Told::Seeking | Told::Held | Told::Stopping))?;
                in_order(!self.gave_up)?;
                self.told = Told::Ended;
            }
            // Alone, where the lease was given up before `Acquired` was told.
            Event::Released { .. } => {
                in_order(self.gave_up && before != Told::Ended && before != Told::Closed)?;
                self.told = Told::Ended;
            }
            Event::Denied { .. } => {
                in_order(before == Told::Seeking)?;
                self.told = Told::Ended;
            }
            Event::Closed => {
                in_order(before == Told::Ended)?;
                self.told = Told::Closed;
            }
            Event::TokenWentBack { .. } => {}
            _ => in_order(false)?,
        }
        Ok(())
    }
}
