//! The way between clients and the store.

use std::time::Duration;

use tenure_core::{Failure, Nonce, OpId, Reply, RequestKind};

use crate::{
    clock::{MILLIS, Micros, SECONDS},
    coverage::Seen,
    machine::{Answer, Ask, Told},
    random::Ppm,
    store::Arrival,
    trace::What,
    world::{Happens, World},
};

/// How long a dead connection may go unnoticed by the store: its keep-alive.
const KEEP_ALIVE: Micros = 40 * SECONDS;

impl World {
    /// What a driver does with a request.
    pub(crate) fn send(
        &mut self,
        client: usize,
        site: usize,
        op: OpId,
        ask: Ask,
        patience: Duration,
    ) {
        let patience = Micros::try_from(patience.as_micros()).unwrap_or(Micros::MAX);
        let arrival = Arrival { client, site, op, ask, patience };
        if self.scenario.kind.is_session() {
            self.send_pinned(arrival);
        } else if self.struck(self.scenario.faults.not_sent) {
            self.fail(client, op, Failure::NotSent);
        } else {
            let cut = self.now < self.clients[client].cut_to[site];
            let copies = if cut { self.cut_off() } else { self.copies() };
            if copies[0].is_none() && self.struck(self.scenario.faults.reports) {
                self.fail(client, op, Failure::Unknown);
            }
            for delay in copies.into_iter().flatten() {
                self.after(delay, Happens::ToStore(arrival));
            }
        }
    }

    /// Brings an answer from the store.
    pub(crate) fn answer(&mut self, client: usize, site: usize, op: OpId, told: Told) {
        if self.scenario.kind.is_session() {
            self.answer_pinned(client, op, told);
            return;
        }
        let life = op.instance;
        let cut = self.now < self.clients[client].cut_from[site];
        let copies = if cut { self.cut_off() } else { self.copies() };
        if copies[0].is_none() && self.struck(self.scenario.faults.reports) {
            self.fail(client, op, Failure::Unknown);
        }
        if copies.iter().flatten().any(|delay| *delay > self.scenario.faults.latency) {
            self.coverage.note(Seen::Slowed);
        }
        for delay in copies.into_iter().flatten() {
            self.after(delay, Happens::ToClient { client, life, told });
        }
        if self.struck(self.scenario.faults.misdelivered) {
            self.coverage.note(Seen::Misdelivered);
            let other = self.random.between(0, self.clients.len() as u64 - 1) as usize;
            let delay = self.delay();
            self.after(delay, Happens::ToClient { client: other, life, told });
        }
    }

    pub(crate) fn hint(&mut self, client: usize) {
        let cut = self.now < self.clients[client].cut_from[0];
        if cut || self.struck(self.scenario.faults.hint_loss) {
            self.coverage.note(Seen::HintLost);
            return;
        }
        let life = self.clients[client].life;
        for delay in self.copies().into_iter().flatten() {
            self.after(delay, Happens::ToClient { client, life, told: Told::Hint });
        }
    }

    /// The connection of `nonce` is cut; each end finds out by its own keep-alive.
    pub(crate) fn break_connection(&mut self, nonce: Nonce) {
        let noticed = self.random.between(0, KEEP_ALIVE);
        let told_after = self.random.between(0, 2 * KEEP_ALIVE);
        let Some(connection) = self.connections.get(nonce) else { return };
        if std::mem::replace(&mut connection.dead, true) {
            return;
        }
        let client = connection.client;
        let life = self.clients[client].life;
        self.after(noticed, Happens::SessionEnds(nonce));
        let told = Told::SessionLost { nonce };
        self.after(told_after, Happens::ToClient { client, life, told });
    }

    /// The store ends a session by itself, as when an administrator terminates it.
    pub(crate) fn kill_session(&mut self, nonce: Nonce) {
        let told_after = self.random.between(0, SECONDS);
        let Some(connection) = self.connections.get(nonce) else { return };
        connection.dead = true;
        let client = connection.client;
        let life = self.clients[client].life;
        self.after(0, Happens::SessionEnds(nonce));
        let told = Told::SessionLost { nonce };
        self.after(told_after, Happens::ToClient { client, life, told });
    }

    /// A process dies: its host closes what it had open, unless nobody can hear it.
    pub(crate) fn close_connections(&mut self, client: usize) {
        for nonce in self.connections.in_use(client) {
            let silent = self.now < self.clients[client].cut_to[0];
            let after = if silent { KEEP_ALIVE } else { self.delay() };
            let connection = self.connections.of(nonce, client);
            connection.dead = true;
            connection.open = false;
            self.after(after, Happens::SessionEnds(nonce));
        }
    }

    fn send_pinned(&mut self, arrival: Arrival) {
        let Arrival { client, op, ask, .. } = arrival;
        let nonce = ask.nonce();
        let cut = self.now < self.clients[client].cut_to[0];
        let lost = cut || self.struck(self.scenario.faults.loss);
        let delay = self.delay();
        if let Ask::Store(RequestKind::Disconnect { .. }) = ask {
            let connection = self.connections.of(nonce, client);
            connection.open = false;
            connection.dead = true;
            let at = connection.reaches_store(self.now + delay);
            let noticed = if lost { self.random.between(0, KEEP_ALIVE) } else { at - self.now };
            self.after(noticed, Happens::SessionEnds(nonce));
            let life = self.clients[client].life;
            let answer = Answer::Store { reply: Reply::Released, as_of: None };
            let told = Told::Answered { op, answer };
            self.after(MILLIS, Happens::ToClient { client, life, told });
            return;
        }
        if self.struck(self.scenario.faults.not_sent) || !self.connections.of(nonce, client).open {
            self.fail(client, op, Failure::NotSent);
            return;
        }
        if lost {
            self.break_connection(nonce);
        }
        self.connections.carry(op, nonce);
        let connection = self.connections.of(nonce, client);
        let dead = connection.dead;
        let at = connection.reaches_store(self.now + delay);
        if !dead {
            self.after(at - self.now, Happens::ToStore(arrival));
        } else if self.struck(self.scenario.faults.reports) {
            self.fail(client, op, Failure::Unknown);
        }
    }

    fn answer_pinned(&mut self, client: usize, op: OpId, told: Told) {
        let Some(nonce) = self.connections.carrying(op) else { return };
        if self.now < self.clients[client].cut_from[0] || self.struck(self.scenario.faults.loss) {
            self.break_connection(nonce);
        }
        let delay = self.delay();
        let connection = self.connections.of(nonce, client);
        if connection.dead || !connection.open {
            return;
        }
        let at = connection.reaches_client(self.now + delay);
        self.after(at - self.now, Happens::ToClient { client, life: op.instance, told });
    }

    pub(crate) fn fail(&mut self, client: usize, op: OpId, failure: Failure) {
        if failure == Failure::NotSent {
            self.coverage.note(Seen::NotSent);
        }
        let delay = match failure {
            Failure::NotSent => self.random.between(0, 5 * MILLIS),
            _ => self.delay(),
        };
        let life = op.instance;
        self.after(delay, Happens::ToClient { client, life, told: Told::Failed { op, failure } });
    }

    /// The delays of each copy that arrives: none, one or two.
    fn copies(&mut self) -> [Option<Micros>; 2] {
        if self.struck(self.scenario.faults.loss) {
            self.trace.note(self.now, What::Fault("loses a message", None, 0));
            return [None; 2];
        }
        let first = self.delay();
        let second = self.struck(self.scenario.faults.duplicate).then(|| self.delay());
        [Some(first), second]
    }

    fn cut_off(&mut self) -> [Option<Micros>; 2] {
        self.coverage.faults += 1;
        [None; 2]
    }

    pub(crate) fn delay(&mut self) -> Micros {
        if self.struck(self.scenario.faults.slow) {
            return self.random.between(MILLIS, self.scenario.faults.slow_by);
        }
        self.random.between(1, self.scenario.faults.latency)
    }

    /// Whether something that goes wrong at this rate does so now.
    pub(crate) fn struck(&mut self, ppm: Ppm) -> bool {
        let struck = ppm > 0 && !self.is_calm() && self.random.chance(ppm);
        self.coverage.faults += u64::from(struck);
        struck
    }
}
