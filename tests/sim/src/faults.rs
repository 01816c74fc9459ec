//! What goes wrong now and then, beyond what goes wrong with single messages.

use crate::{
    clock::{MILLIS, Micros, SECONDS},
    coverage::Seen,
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
}

impl Fault {
    pub(crate) const ALL: [Self; 12] = [
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
        let client = self.random.between(0, self.clients.len() as u64 - 1) as usize;
        match fault {
            Fault::Pause => {
                let span = self.random.between(1, self.scenario.faults.pause_for);
                self.clients[client].paused_until = self.now + span;
                if span > self.scenario.longest_term() {
                    self.coverage.note(Seen::PausedBeyondTerm);
                }
                self.tell("pauses", Some(client), span);
            }
            Fault::Stall => {
                let span = self.random.between(1, self.scenario.faults.stall_for);
                self.store_stalled_until = self.now + span;
                self.coverage.note(Seen::StoreStalled);
                self.tell("stalls the store", None, span);
            }
            Fault::Partition => self.partition(client),
            Fault::Crash => self.crash(client),
            Fault::LockedOut => {
                let span = self.random.between(1, 5 * SECONDS);
                self.clients[client].locked_out_until = self.now + span;
                self.tell("locks out", Some(client), span);
            }
            Fault::ClockBack => {
                let by = self.random.between(1, 10 * SECONDS);
                self.clients[client].clock.jump_back(self.now, by);
                self.clients[client].ledger.distrust();
                self.tell("sets back the clock of", Some(client), by);
                self.set_timer(client);
            }
            Fault::ClockAhead => {
                let by = self.random.between(1, 10 * SECONDS);
                self.clients[client].clock.jump_forward(self.now, by);
                self.coverage.note(Seen::ClockAhead);
                self.tell("advances the clock of", Some(client), by);
                self.set_timer(client);
            }
            Fault::RateChange => {
                let rate = self.random.pick(&self.clients[client].plan.clock.rates);
                self.clients[client].clock.set_rate(self.now, rate);
                self.set_timer(client);
                let rate = self.random.pick(&self.scenario.store_clock.rates);
                self.store_clock.set_rate(self.now, rate);
                self.expect_store();
            }
            Fault::BreakConnection => {
                for nonce in self.connections.in_use(client) {
                    self.tell("breaks the connection of", Some(client), 0);
                    if self.random.coin() {
                        self.kill_session(nonce);
                    } else {
                        self.break_connection(nonce);
                    }
                }
            }
            Fault::Flush => {
                self.store.flush();
                self.flushed = true;
                self.coverage.note(Seen::Flushed);
                self.tell("flushes the store", None, 0);
            }
            Fault::SpuriousHint => self.hint(client),
            Fault::TermChange => {
                let most = self.random.between(SECONDS, self.scenario.longest_term());
                self.store.limit_terms(most);
                self.tell("limits terms", None, most);
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
        self.tell("does not drain", Some(client), span);
    }

    fn partition(&mut self, client: usize) {
        let span = self.random.between(500 * MILLIS, 15 * SECONDS);
        let until = self.now + span;
        let (to, from) = (self.random.coin(), self.random.coin());
        let cut = &mut self.clients[client];
        if to || !from {
            cut.cut_to_store = until;
        }
        if from || !to {
            cut.cut_from_store = until;
        }
        if to != from {
            self.coverage.note(Seen::PartitionedOneWay);
        }
        self.tell("cuts off", Some(client), span);
    }

    fn crash(&mut self, client: usize) {
        if self.clients[client].down {
            return;
        }
        self.coverage.note(Seen::Crashed);
        if self.clients[client].ledger.nonce().is_some() && !self.clients[client].ledger.is_closed()
        {
            self.coverage.note(Seen::CrashedWhileHolding);
        }
        let span = self.random.between(1, 5 * SECONDS);
        self.clients[client].down = true;
        self.close_connections(client);
        self.after(span, Happens::Restart { client });
        self.tell("crashes", Some(client), span);
    }

    fn tell(&mut self, name: &'static str, client: Option<usize>, by: Micros) {
        self.trace.note(self.now, What::Fault(name, client, by));
    }
}
