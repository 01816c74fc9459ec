//! What goes wrong now and then, beyond what goes wrong with single messages.

use crate::{
    clock::{MILLIS, Micros, SECONDS},
    coverage::Seen,
    scenario::Amnesia,
    store::{Kept, Store},
    trace::What,
    violation::Violation,
    world::{Happens, World},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Pause,
    Stall,
    Partition,
    Crash,
    LockedOut,
    ClockBack,
    ClockAhead,
    RateChange,
    BreakConnection,
    Flush,
    SpuriousHint,
    TermChange,
    NodeCrash,
    Amnesia,
    Failover,
    GateRestart,
}

impl Fault {
    pub(crate) const ALL: [Self; 16] = [
        Self::Pause,
        Self::Stall,
        Self::Partition,
        Self::Crash,
        Self::LockedOut,
        Self::ClockBack,
        Self::ClockAhead,
        Self::RateChange,
        Self::BreakConnection,
        Self::Flush,
        Self::SpuriousHint,
        Self::TermChange,
        Self::NodeCrash,
        Self::Amnesia,
        Self::Failover,
        Self::GateRestart,
    ];
}

impl World {
    pub(crate) fn plan_fault(&mut self, fault: Fault) {
        let faults = &self.scenario.faults;
        let every = match fault {
            Fault::Pause => faults.pause_every,
            Fault::Stall => faults.stall_every,
            Fault::Partition => faults.partition_every,
            Fault::Crash => faults.crash_every,
            Fault::LockedOut => faults.locked_out_every,
            Fault::ClockBack => faults.clock_back_every,
            Fault::ClockAhead => faults.clock_ahead_every,
            Fault::RateChange => faults.rate_change_every,
            Fault::BreakConnection => faults.break_every,
            Fault::Flush => faults.flush_every,
            Fault::SpuriousHint => faults.spurious_hint_every,
            Fault::TermChange => faults.term_change_every,
            Fault::NodeCrash => faults.node_crash_every,
            Fault::Amnesia => faults.amnesia_every,
            Fault::Failover => faults.failover_every,
            Fault::GateRestart => faults.gate_restart_every,
        };
        if every > 0 {
            let next = self.random.between(1, 2 * every);
            self.after(next, Happens::Fault(fault));
        }
    }

    pub(crate) fn strike(&mut self, fault: Fault) -> Result<(), Violation> {
        if self.is_calm() {
            return Ok(());
        }
        self.plan_fault(fault);
        self.coverage.faults += 1;
        let client = self.random.between(0, self.clients.len() as u64 - 1) as usize;
        let site = self.random.between(0, self.sites.len() as u64 - 1) as usize;
        match fault {
            Fault::Pause => {
                let span = self.random.between(1, self.scenario.faults.pause_for);
                for client in self.on_host(client) {
                    self.clients[client].paused_until = self.now + span;
                    self.clients[client].paused_holding = self.holds(client);
                }
                if span > self.scenario.longest_term() {
                    self.coverage.note(Seen::PausedBeyondTerm);
                }
                self.tell("stops client", Some(client), span);
            }
            Fault::Stall => {
                let span = self.random.between(1, self.scenario.faults.stall_for);
                self.sites[site].stalled_until = self.now + span;
                self.coverage.note(Seen::StoreStalled);
                self.tell("stalls store", Some(site), span);
            }
            Fault::Partition => self.partition(client),
            Fault::Crash => self.crash(client),
            Fault::LockedOut => {
                let span = self.random.between(1, 25 * SECONDS);
                self.clients[client].locked_out_until = self.now + span;
                self.tell("locks out client", Some(client), span);
            }
            Fault::ClockBack => {
                let by = self.random.between(1, 50 * SECONDS);
                self.tell("sets back the clock of client", Some(client), by);
                for client in self.on_host(client) {
                    self.clients[client].clock.jump_back(self.now, by);
                    self.clients[client].ledger.distrust();
                    self.set_timer(client);
                }
            }
            Fault::ClockAhead => {
                let by = self.random.between(1, 50 * SECONDS);
                self.coverage.note(Seen::ClockAhead);
                self.tell("advances the clock of client", Some(client), by);
                for client in self.on_host(client) {
                    let held = self.holds(client);
                    self.clients[client].clock.jump_forward(self.now, by);
                    if held && !self.holds(client) {
                        self.coverage.note(Seen::SuspendedBeyondDeadline);
                    }
                    self.set_timer(client);
                }
            }
            Fault::RateChange => {
                let rate = self.random.pick(&self.clients[client].plan.clock.rates);
                for client in self.on_host(client) {
                    self.clients[client].clock.set_rate(self.now, rate);
                    self.set_timer(client);
                }
                let rate = self.random.pick(&self.scenario.sites[site].clock.rates);
                self.sites[site].clock.set_rate(self.now, rate);
                self.expect_store(site);
            }
            Fault::BreakConnection => {
                for nonce in self.connections.in_use(client) {
                    self.tell("breaks the connection of client", Some(client), 0);
                    if self.random.coin() {
                        self.kill_session(nonce);
                    } else {
                        self.break_connection(nonce);
                    }
                }
            }
            Fault::Flush => {
                self.sites[0].store.flush();
                self.forgot = true;
                self.coverage.note(Seen::Flushed);
                self.tell("flushes store", Some(0), 0);
            }
            Fault::SpuriousHint => {
                self.tell("wakes in vain client", Some(client), 0);
                self.hint(client);
            }
            Fault::TermChange => {
                let useless = self.random.between(0, 3) == 0;
                let most = if useless {
                    self.random.between(0, MILLIS)
                } else {
                    self.random.between(5 * SECONDS, self.scenario.longest_term())
                };
                self.sites[site].store.limit_terms(most);
                self.tell("limits the terms of store", Some(site), 0);
            }
            Fault::NodeCrash => {
                let span = self.random.between(1, 30 * SECONDS);
                self.take_down(site, span);
            }
            Fault::Amnesia => self.lose_data(site),
            Fault::Failover => self.fail_over(site),
            Fault::GateRestart => {
                self.resource.restart(self.scenario.gate_forgets);
                self.coverage.note(Seen::GateRestarted);
                self.tell("restarts the resource", None, 0);
            }
        }
        Ok(())
    }

    /// The driver is busy elsewhere: it hands on what happens, but does not poll for a while.
    pub(crate) fn neglect(&mut self, client: usize) {
        let span = self.random.between(1, 2 * self.scenario.longest_term());
        self.clients[client].undrained_until = self.now + span;
        self.after(span, Happens::Drain { client });
        self.coverage.note(Seen::Undrained);
        self.tell("does not drain client", Some(client), span);
    }

    fn partition(&mut self, client: usize) {
        let span = self.random.between(500 * MILLIS, self.scenario.faults.partition_for);
        let until = self.now + span;
        let (to, from) = (self.random.coin(), self.random.coin());
        // All of its way to the stores, or to one of them.
        let all = self.random.coin();
        let one = self.random.between(0, self.sites.len() as u64 - 1) as usize;
        let cut = &mut self.clients[client];
        for site in (0..self.sites.len()).filter(|site| all || *site == one) {
            if to || !from {
                cut.cut_to[site] = until;
            }
            if from || !to {
                cut.cut_from[site] = until;
            }
        }
        if to != from {
            self.coverage.note(Seen::PartitionedOneWay);
        }
        self.tell("cuts off client", Some(client), span);
    }

    fn crash(&mut self, client: usize) {
        if self.clients[client].down {
            return;
        }
        self.coverage.note(Seen::Crashed);
        if self.clients[client].ledger.believes() {
            self.coverage.note(Seen::CrashedWhileHolding);
        } else if self.owns_unknowingly(client) {
            self.coverage.note(Seen::CrashedBeforeTold);
        }
        let span = self.random.between(1, 25 * SECONDS);
        self.clients[client].down = true;
        self.close_connections(client);
        self.after(span, Happens::Restart { client });
        self.tell("crashes client", Some(client), span);
    }

    /// A node is gone for a while, and comes back with what it had.
    fn take_down(&mut self, site: usize, span: Micros) {
        let down = self.sites[site].down_until.max(self.now + span);
        self.sites[site].down_until = down;
        self.tell("takes down node", Some(site), span);
    }

    /// A node comes back with nothing. With a sentinel it knows, and an operator seeds it; without
    /// one it votes at once.
    fn lose_data(&mut self, number: usize) {
        let longest = self.scenario.longest_wait();
        let amnesia = self.scenario.amnesia;
        let Store::Node(node) = &self.sites[number].store else { return };
        let others = self
            .sites
            .iter()
            .filter(|site| matches!(&site.store, Store::Node(node) if !node.votes()));
        // Of more than a minority nobody could seed the rest.
        if !node.votes() || others.count() >= self.sites.len() - self.scenario.kind.majority() {
            return;
        }
        self.coverage.note(Seen::Amnesia);
        let span = match amnesia {
            Amnesia::Delayed => longest + self.random.between(1, SECONDS),
            Amnesia::Sentinel | Amnesia::Unnoticed => self.random.between(1, 15 * SECONDS),
        };
        let down = self.sites[number].down_until.max(self.now + span);
        self.sites[number].down_until = down;
        if let Store::Node(node) = &mut self.sites[number].store {
            node.forget(amnesia == Amnesia::Sentinel);
        }
        self.tell("empties node", Some(number), span);
        match amnesia {
            Amnesia::Sentinel => self.at(down + longest, Happens::OperatorReads(number)),
            Amnesia::Delayed => self.coverage.note(Seen::ForgotAfterTerm),
            Amnesia::Unnoticed => {}
        }
        self.forgot |= self.scenario.may_regress;
    }

    /// A replica inside a node takes over that has not seen the last of its writes.
    fn fail_over(&mut self, site: usize) {
        let Store::Node(node) = &self.sites[site].store else { return };
        let kept = node.kept();
        let lag = self.random.between(1, 15 * SECONDS);
        self.after(lag, Happens::FailsOver { site, kept });
    }

    pub(crate) fn failed_over(&mut self, site: usize, kept: Kept) {
        if let Store::Node(node) = &mut self.sites[site].store
            && node.votes()
        {
            node.fall_back_to(kept);
            self.forgot = true;
            self.coverage.note(Seen::FailedOver);
            self.tell("fails over node", Some(site), 0);
            self.expect_store(site);
        }
    }

    fn tell(&mut self, name: &'static str, client: Option<usize>, by: Micros) {
        self.trace.note(self.now, What::Fault(name, client, by));
    }
}
