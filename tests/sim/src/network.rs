//! The way between clients and the store.

use std::time::Duration;

use tenure_core::{Failure, Input, Nonce, OpId, Reply, RequestKind};

use crate::{
    clock::{MILLIS, Micros, SECONDS},
    coverage::Seen,
    random::Ppm,
    store::Arrival,
    trace::What,
    world::{Happens, World},
};

/// How long a dead connection may go unnoticed by the store: its keep-alive.
const KEEP_ALIVE: Micros = 8 * SECONDS;

impl World {
    /// What a driver does with a request.
    pub(crate) fn send(&mut self, client: usize, op: OpId, kind: RequestKind, patience: Duration) {
        let patience = Micros::try_from(patience.as_micros()).unwrap_or(Micros::MAX);
        let arrival = Arrival { client, op, kind, patience };
        if self.scenario.kind.is_session() {
            self.send_pinned(arrival);
        } else if self.struck(self.scenario.faults.not_sent) {
            self.fail(client, op, Failure::NotSent);
        } else {
            let cut = self.now < self.clients[client].cut_to_store;
            let copies = if cut { Vec::new() } else { self.copies() };
            if copies.is_empty() && self.struck(self.scenario.faults.reports) {
                self.fail(client, op, Failure::Unknown);
            }
            for delay in copies {
                self.after(delay, Happens::ToStore(arrival));
            }
        }
    }

    /// Brings an answer from the store.
    pub(crate) fn answer(&mut self, client: usize, op: OpId, input: Input) {
        if self.scenario.kind.is_session() {
            self.answer_pinned(client, op, input);
            return;
        }
        let life = op.instance;
        let cut = self.now < self.clients[client].cut_from_store;
        let copies = if cut { Vec::new() } else { self.copies() };
        if copies.is_empty() && self.struck(self.scenario.faults.reports) {
            self.fail(client, op, Failure::Unknown);
        }
        if copies.iter().any(|delay| *delay > self.scenario.faults.latency) {
            self.coverage.note(Seen::Slowed);
        }
        for delay in copies {
            self.after(delay, Happens::ToClient { client, life, input });
        }
        if self.struck(self.scenario.faults.misdelivered) {
            self.coverage.note(Seen::Misdelivered);
            let other = self.random.between(0, self.clients.len() as u64 - 1) as usize;
            let delay = self.delay();
            self.after(delay, Happens::ToClient { client: other, life, input });
        }
    }

    pub(crate) fn hint(&mut self, client: usize) {
        let cut = self.now < self.clients[client].cut_from_store;
        if cut || self.struck(self.scenario.faults.hint_loss) {
            self.coverage.note(Seen::HintLost);
            return;
        }
        let life = self.clients[client].life;
        for delay in self.copies() {
            self.after(delay, Happens::ToClient { client, life, input: Input::Hint });
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
        let input = Input::SessionLost { nonce };
        self.after(told_after, Happens::ToClient { client, life, input });
    }

    /// The store ends a session by itself, as when an administrator terminates it.
    pub(crate) fn kill_session(&mut self, nonce: Nonce) {
        let told_after = self.random.between(0, SECONDS);
        let Some(connection) = self.connections.get(nonce) else { return };
        connection.dead = true;
        let client = connection.client;
        let life = self.clients[client].life;
        self.after(0, Happens::SessionEnds(nonce));
        let input = Input::SessionLost { nonce };
        self.after(told_after, Happens::ToClient { client, life, input });
    }

    /// A process dies: its host closes what it had open, unless nobody can hear it.
    pub(crate) fn close_connections(&mut self, client: usize) {
        for nonce in self.connections.in_use(client) {
            let silent = self.now < self.clients[client].cut_to_store;
            let after = if silent { KEEP_ALIVE } else { self.delay() };
            let connection = self.connections.of(nonce, client);
            connection.dead = true;
            connection.open = false;
            self.after(after, Happens::SessionEnds(nonce));
        }
    }

    fn send_pinned(&mut self, arrival: Arrival) {
        let Arrival { client, op, kind, .. } = arrival;
        let nonce = kind.nonce();
        let cut = self.now < self.clients[client].cut_to_store;
        let lost = cut || self.struck(self.scenario.faults.loss);
        let delay = self.delay();
        if let RequestKind::Disconnect { .. } = kind {
            let connection = self.connections.of(nonce, client);
            connection.open = false;
            connection.dead = true;
            let at = connection.reaches_store(self.now + delay);
            let noticed = if lost { self.random.between(0, KEEP_ALIVE) } else { at - self.now };
            self.after(noticed, Happens::SessionEnds(nonce));
            let life = self.clients[client].life;
            let input = Input::Reply { op, reply: Reply::Released, as_of: None };
            self.after(MILLIS, Happens::ToClient { client, life, input });
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

    fn answer_pinned(&mut self, client: usize, op: OpId, input: Input) {
        let Some(nonce) = self.connections.carrying(op) else { return };
        if self.now < self.clients[client].cut_from_store || self.struck(self.scenario.faults.loss)
        {
            self.break_connection(nonce);
        }
        let delay = self.delay();
        let connection = self.connections.of(nonce, client);
        if connection.dead || !connection.open {
            return;
        }
        let at = connection.reaches_client(self.now + delay);
        self.after(at - self.now, Happens::ToClient { client, life: op.instance, input });
    }

    fn fail(&mut self, client: usize, op: OpId, failure: Failure) {
        if failure == Failure::NotSent {
            self.coverage.note(Seen::NotSent);
        }
        let delay = match failure {
            Failure::NotSent => self.random.between(0, 5 * MILLIS),
            _ => self.delay(),
        };
        let life = op.instance;
        self.after(delay, Happens::ToClient { client, life, input: Input::Failed { op, failure } });
    }

    /// The delays of each copy that arrives: none, one or two.
    fn copies(&mut self) -> Vec<Micros> {
        if self.struck(self.scenario.faults.loss) {
            self.trace.note(self.now, What::Fault("loses a message", None, 0));
            return Vec::new();
        }
        let mut copies = vec![self.delay()];
        if self.struck(self.scenario.faults.duplicate) {
            copies.push(self.delay());
        }
        copies
    }

    fn delay(&mut self) -> Micros {
        if self.struck(self.scenario.faults.slow) {
            return self.random.between(MILLIS, self.scenario.faults.slow_by);
        }
        self.random.between(1, self.scenario.faults.latency)
    }

    fn struck(&mut self, ppm: Ppm) -> bool {
        !self.is_calm() && self.random.chance(ppm)
    }
}
