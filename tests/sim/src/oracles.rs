//! What must hold of the whole world, and what is only noted of it.

use tenure_core::{Basis, Event, Instant, LossReason, Nonce};

use crate::{
    client::Client,
    clock::{Micros, SECONDS},
    coverage::Seen,
    store::Store,
    violation::{Violation, require},
    world::{Happens, World},
};

impl World {
    /// After every step: no two hold at once (S1), and nobody for longer than the store does (S2).
    pub(crate) fn check(&self) -> Result<(), Violation> {
        let mut holder = None;
        for (number, client) in self.clients.iter().enumerate() {
            if !client.holds || client.down {
                continue;
            }
            let now = client.clock.read(self.now);
            let Some(held) = client.machine.held(Instant::from_micros(now)) else { continue };
            let timed = matches!(held.basis, Basis::Term { .. }) && client.ledger.is_trusted();
            if timed && !self.forgot && !self.lied {
                require(holder.is_none(), "S1", || {
                    format!("client {number} and client {holder:?} hold at once")
                })?;
                holder = Some(number);
                let kept = client.ledger.nonce().map_or(0, |nonce| self.keeping(nonce));
                require(kept >= self.scenario.kind.majority(), "S2", || {
                    format!("client {number} holds {held:?}, which {kept} stores keep for it")
                })?;
            }
            client.ledger.claims(now, Some(held))?;
        }
        Ok(())
    }

    /// How many stores keep the lock for `nonce`.
    fn keeping(&self, nonce: Nonce) -> usize {
        self.sites.iter().filter(|site| site.keeps(nonce, self.now)).count()
    }

    /// A release has freed `nonce`: nobody may still rely on it (S8, S29).
    pub(crate) fn require_not_held(&self, nonce: Nonce) -> Result<(), Violation> {
        if self.forgot {
            return Ok(());
        }
        for (number, client) in self.clients.iter().enumerate() {
            let holds = client.ledger.is_trusted()
                && client.ledger.nonce() == Some(nonce)
                && self.holds(number);
            require(!holds, "S8", || format!("a release freed what client {number} holds"))?;
        }
        Ok(())
    }

    /// Whether the client believes right now that it holds.
    pub(crate) fn holds(&self, client: usize) -> bool {
        let Client { machine, clock, down, .. } = &self.clients[client];
        !down && machine.held(Instant::from_micros(clock.read(self.now))).is_some()
    }

    /// A store has given it the lock, and it does not know yet.
    pub(crate) fn owns_unknowingly(&self, client: usize) -> bool {
        let life = self.clients[client].life;
        let mine = |nonce| self.nonces.get(&nonce).is_some_and(|(_, owner, _)| *owner == life);
        self.sites.iter().any(|site| site.owner(self.now).is_some_and(mine))
    }

    /// What the world is made of.
    pub(crate) fn note_scenario(&mut self) {
        for client in &self.clients {
            self.coverage.note(Seen::ConfigRefused);
            let bound = self.scenario.bound;
            let at_bound = |rates: [i32; 2], sign: i32, of: i32| of > 0 && rates[0] == sign * of;
            let slow = at_bound(client.plan.clock.rates, -1, bound - self.scenario.bound_of_store);
            if slow || bound == self.scenario.bound_of_store {
                self.coverage.note(Seen::DriftAtBound);
            }
        }
        if self.scenario.same_host {
            self.coverage.note(Seen::SameHost);
        }
    }

    pub(crate) fn note_event(&mut self, client: usize, event: Event) {
        let down = self.sites.iter().filter(|site| site.is_down(self.now)).count();
        let majority_down = self.sites.len() - down < self.scenario.kind.majority();
        match event {
            Event::Acquired { .. } => {
                if down > 0 {
                    self.coverage.note(Seen::AcquiredWithNodesDown);
                }
                if self.scenario.faults.hint_loss == 1_000_000 {
                    self.coverage.note(Seen::AcquiredWithoutHints);
                }
            }
            Event::Denied { .. } if majority_down => self.coverage.note(Seen::MajorityDown),
            Event::Lost { reason: LossReason::Expired } => {
                let Client { cut_to, cut_from, .. } = &self.clients[client];
                if cut_from[0] > self.now && cut_to[0] <= self.now {
                    self.coverage.note(Seen::LostWhileOnlyAnswersFail);
                }
            }
            _ => {}
        }
    }

    /// How long after the last message everything must have sorted itself out.
    pub(crate) fn settling_time(&self) -> Micros {
        self.scenario.faults.slow_by + 4 * self.scenario.longest_term() + 100 * SECONDS
    }

    /// From here on nothing goes wrong any more.
    pub(crate) fn calm(&mut self) -> Result<(), Violation> {
        self.coverage.note(Seen::Calm);
        for (site, plan) in self.sites.iter_mut().zip(&self.scenario.sites) {
            site.stalled_until = 0;
            site.store.limit_terms(plan.store.terms.1);
        }
        for client in 0..self.clients.len() {
            let state = &mut self.clients[client];
            state.cut_to.fill(0);
            state.cut_from.fill(0);
            state.locked_out_until = 0;
            state.paused_until = 0;
            state.undrained_until = 0;
            self.after(0, Happens::Drain { client });
        }
        let each = 3 * self.scenario.longest_term() + 50 * SECONDS;
        let bound = self.settling_time()
            + self.scenario.longest_wait()
            + self.scenario.faults.pause_for
            + each * self.clients.len() as u64;
        self.after(bound, Happens::TooLate);
        Ok(())
    }

    /// Everybody is done, so nothing may be left.
    pub(crate) fn finish(&self) -> Result<(), Violation> {
        let empty = self.sites.iter().all(|site| site.is_empty(self.now));
        require(empty, "S7", || {
            let stores: Vec<&Store> = self.sites.iter().map(|site| &site.store).collect();
            format!("everybody is done, but the stores still have {stores:?}")
        })
    }
}
