//! What a machine tells its application, and for how long it may sleep.

use super::*;
use tenure_core::{DenyReason, Event, LossReason};

use crate::machine::Said;

impl Ledger {
    pub(crate) fn drain_begins(&mut self) {
        self.first_of_drain = true;
    }

    /// Judges one output. `held`: the claim at the instant of the last `handle`.
    pub(crate) fn said(
        &mut self,
        said: &Said,
        held: Option<Held>,
        coverage: &mut Coverage,
    ) -> Result<(), Violation> {
        let first = std::mem::take(&mut self.first_of_drain);
        match *said {
            Said::Event { generation, event } => {
                require(generation == self.generation, "C1", || {
                    format!("{event:?} of generation {generation} in {}", self.generation)
                })?;
                self.told(event, first, held, coverage)
            }
            Said::Request { site, op, ask, respond_by } => {
                self.requested(site, op, ask, respond_by.as_micros(), held)
            }
            Said::Wait(until) => {
                require(until.is_none_or(|at| at.as_micros() > self.now), "C4", || {
                    format!("told to wait until {until:?} at {}", self.now)
                })?;
                self.alarm = until.map(Instant::as_micros);
                self.kill_switch(until, held)?;
                if self.stage == Stage::Closed && until.is_none() {
                    self.close_dues()?;
                }
                require(held.is_none() || self.regressed.is_none(), "S13", || {
                    format!("that token {:?} went back was not told", self.regressed)
                })?;
                let waiting = self.stage == Stage::Waiting && self.grant.is_none();
                let oversleeps =
                    until.is_none_or(|wakes| Some(wakes.as_micros()) > self.gave_up_at);
                require(!waiting || self.gave_up_at.is_none() || !oversleeps, "C5", || {
                    format!("sleeps until {until:?}, though told to stop at {:?}", self.gave_up_at)
                })?;
                let expired = self.gave_up_at.is_some_and(|at| at <= self.now);
                require(
                    !expired || self.stage != Stage::Waiting || self.grant.is_some(),
                    "C5",
                    || {
                        format!(
                            "waits on at {} though told to stop at {:?}",
                            self.now, self.gave_up_at
                        )
                    },
                )
            }
        }
    }

    /// Whoever was told that it holds is told in time that it must stop, and that it has lost.
    fn kill_switch(&self, wakes: Option<Instant>, held: Option<Held>) -> Result<(), Violation> {
        if !matches!(self.stage, Stage::Acquired | Stage::AtRisk | Stage::Stopping)
            || self.gave_back
        {
            return Ok(());
        }
        require(held.is_some(), "S21", || "the loss was not told".into())?;
        let Some(Held { basis: Basis::Term { until }, .. }) = held else { return Ok(()) };
        let until = until.as_micros();
        let next =
            if self.stage == Stage::Stopping { until } else { until.saturating_sub(self.grace) };
        require(self.now < next, "S21", || {
            format!("no `Stopping` at {}, {next} or later", self.now)
        })?;
        require(wakes.is_some_and(|at| at.as_micros() <= next), "S21", || {
            format!("sleeps until {wakes:?}, beyond {next}")
        })
    }

    fn told(
        &mut self,
        event: Event,
        first: bool,
        held: Option<Held>,
        coverage: &mut Coverage,
    ) -> Result<(), Violation> {
        use Stage::{Acquired, AtRisk, Closed, Over, Stopping, Waiting};
        let stage = self.stage;
        let out_of_order = || require(false, "C1", || format!("{event:?} while {stage:?}"));
        match (event, stage) {
            (Event::Denied { reason: DenyReason::InUse }, _) => coverage.note(Seen::DeniedInUse),
            (Event::Acquired { token, .. }, Waiting) => {
                self.stage = Acquired;
                coverage.note(Seen::Acquired);
                if self.generation > 1 {
                    coverage.note(Seen::SecondGeneration);
                }
                let claimed = held.map(|held| held.token);
                require(self.gave_back || claimed == Some(token), "S21", || {
                    format!("told of token {token}, but what is held is {held:?}")
                })?;
            }
            (Event::AtRisk, Acquired | AtRisk) => {
                self.stage = AtRisk;
                coverage.note(Seen::AtRisk);
            }
            (Event::Recovered { .. }, AtRisk) => {
                self.stage = Acquired;
                coverage.note(Seen::Recovered);
                self.recoveries += 1;
                if self.recoveries == 2 {
                    coverage.note(Seen::Flapped);
                }
            }
            (Event::Stopping { until }, Acquired | AtRisk) => {
                self.stage = Stopping;
                coverage.note(Seen::Stopping);
                require(self.probes.is_none_or(|probes| probes > 1), "L2", || {
                    format!("told to stop after {:?} attempts to renew", self.probes)
                })?;
                let claimed = held.map(|held| held.basis);
                require(self.session || claimed == Some(Basis::Term { until }), "S21", || {
                    format!("told to stop by {until:?}, but the holding is {claimed:?}")
                })?;
            }
            (Event::Lost { reason }, Waiting | Acquired | AtRisk | Stopping) => {
                require(first, "C1", || format!("{event:?} after other outputs"))?;
                require(!self.gave_back, "C1", || format!("{event:?} after the release"))?;
                require(self.grant.is_some(), "C1", || format!("{event:?} without a grant"))?;
                if stage == Waiting {
                    coverage.note(Seen::LostBeforeTold);
                }
                coverage.note(match reason {
                    LossReason::Expired => Seen::LostExpired,
                    LossReason::Gone => Seen::LostGone,
                    LossReason::SessionLost => Seen::LostSession,
                    LossReason::SessionUnknown => Seen::LostSessionUnknown,
                    LossReason::ClockWentBack => Seen::LostClockWentBack,
                    _ => return out_of_order(),
                });
                self.stage = Over;
            }
            (Event::Released { confirmed }, Waiting | Acquired | AtRisk | Stopping) => {
                require(self.gave_back, "C1", || format!("{event:?} that nobody asked for"))?;
                coverage.note(if confirmed {
                    Seen::ReleasedConfirmed
                } else {
                    Seen::ReleasedUnconfirmed
                });
                self.stage = Over;
            }
            (Event::Denied { reason }, Waiting) => {
                require(!self.gave_back, "C1", || format!("{event:?} of a lease that was held"))?;
                coverage.note(match reason {
                    DenyReason::Busy => Seen::DeniedBusy,
                    DenyReason::Cancelled => Seen::DeniedCancelled,
                    _ => Seen::DeniedFailed,
                });
                self.stage = Over;
            }
            (Event::TokenWentBack { seen, got }, Waiting | Acquired | AtRisk | Stopping | Over) => {
                coverage.note(Seen::TokenWentBack);
                self.regressed = None;
                require(got <= seen, "S13", || format!("{event:?}, though the token rose"))?;
            }
            (Event::Closed, Over) => {
                self.stage = Closed;
                self.close_dues()?;
            }
            _ => return out_of_order(),
        }
        Ok(())
    }
}
