use tenure_core::{Event, Token};

use crate::{clock::Micros, random::Random, scenario::AppPlan};

/// The application behind one machine: it wants the lease, works under it, gives it back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct App {
    stage: Stage,
    /// It has had the lease since the weather became calm, and wants no more.
    pub(crate) served: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Idle,
    Waiting,
    Holding {
        token: Token,
        /// The fence was raised, so writing may begin.
        installed: bool,
        until: Micros,
    },
    /// Given back or lost; something may still be owed.
    Ending,
}

/// What it does at one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Nothing,
    Acquire(Patience),
    Release,
    Cancel,
    Write(Token),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Once,
    For(Micros),
    Forever,
}

impl App {
    pub(crate) fn step(
        &mut self,
        now: Micros,
        plan: &AppPlan,
        calm: bool,
        random: &mut Random,
    ) -> Action {
        if !calm && self.stage != Stage::Idle && random.chance(plan.greed) {
            return Action::Acquire(Patience::Forever);
        }
        match self.stage {
            Stage::Idle if calm && self.served => Action::Nothing,
            Stage::Idle => {
                self.stage = Stage::Waiting;
                Action::Acquire(match random.between(0, 3) {
                    _ if calm => Patience::Forever,
                    0 => Patience::Once,
                    1 => Patience::For(random.between(1, 40_000_000)),
                    _ => Patience::Forever,
                })
            }
            Stage::Waiting if !calm && random.chance(plan.impatience) => give_up(random),
            Stage::Waiting | Stage::Ending => Action::Nothing,
            Stage::Holding { until, .. } if now >= until => give_up(random),
            Stage::Holding { token, installed: true, .. } => Action::Write(token),
            Stage::Holding { installed: false, .. } => Action::Nothing,
        }
    }

    /// Returns the token to install, where there is one.
    pub(crate) fn told(
        &mut self,
        event: Event,
        now: Micros,
        plan: &AppPlan,
        calm: bool,
        random: &mut Random,
    ) -> Option<Token> {
        match event {
            Event::Acquired { token, .. } => {
                let hold = random.between(1, if calm { plan.hold / 4 } else { plan.hold });
                self.stage = Stage::Holding { token, installed: false, until: now + hold };
                self.served |= calm;
                return Some(token);
            }
            Event::Denied { reason: tenure_core::DenyReason::InUse } => {}
            Event::Lost { .. } | Event::Denied { .. } | Event::Released { .. } => {
                self.stage = Stage::Ending;
            }
            Event::Closed => self.stage = Stage::Idle,
            // A careless application: it works on until the lease is gone.
            _ => {}
        }
        None
    }

    /// The resource has answered the holder of `token`. A refused one has nothing to do here.
    pub(crate) fn installed(&mut self, offered: Token, accepted: bool) -> Action {
        match &mut self.stage {
            Stage::Holding { token, installed, .. } if *token == offered => {
                *installed = accepted;
                if accepted { Action::Nothing } else { Action::Release }
            }
            Stage::Holding { .. } | Stage::Idle | Stage::Waiting | Stage::Ending => Action::Nothing,
        }
    }

    /// The same application in a new process.
    pub(crate) fn restarted(&self) -> Self {
        Self { served: self.served, ..Self::default() }
    }

    pub(crate) fn is_content(&self) -> bool {
        self.served && self.stage == Stage::Idle
    }
}

/// `Release` while waiting and `Cancel` while holding are to do what was meant.
fn give_up(random: &mut Random) -> Action {
    if random.coin() { Action::Release } else { Action::Cancel }
}
