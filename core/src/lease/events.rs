use crate::{Basis, DenyReason, Event, Instant, LossReason, Token};

/// What the application has not been told yet: a slot for each event, since within a generation the
/// order of events is fixed. Bounded however rarely it is drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Events {
    /// Whether any of the others may be set: there is nothing to tell at most polls.
    any: bool,
    lost: Option<LossReason>,
    went_back: Option<(Token, Token)>,
    acquired: Option<(Token, Basis)>,
    risk: Option<Risk>,
    stopping: bool,
    released: Option<bool>,
    denied: Option<DenyReason>,
    closed: bool,
    in_use: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Risk {
    AtRisk,
    Recovered,
}

impl Events {
    pub(super) const NONE: Self = Self {
        any: false,
        lost: None,
        went_back: None,
        acquired: None,
        risk: None,
        stopping: false,
        released: None,
        denied: None,
        closed: false,
        in_use: false,
    };

    /// `Lost` first; the others in the order in which they can happen. What concerns the holding is
    /// told from the holding as it is now: its basis and deadline.
    pub(super) fn next(&mut self, holding: Option<(Basis, Instant)>) -> Option<Event> {
        let event = self.take_first(holding);
        self.any = event.is_some();
        event
    }

    fn take_first(&mut self, holding: Option<(Basis, Instant)>) -> Option<Event> {
        if let Some(reason) = self.lost.take() {
            return Some(Event::Lost { reason });
        }
        if let Some((seen, got)) = self.went_back.take() {
            return Some(Event::TokenWentBack { seen, got });
        }
        if let Some((token, basis)) = self.acquired.take() {
            return Some(Event::Acquired { token, basis });
        }
        if let Some((basis, until)) = holding {
            match self.risk.take() {
                Some(Risk::AtRisk) => return Some(Event::AtRisk),
                Some(Risk::Recovered) => return Some(Event::Recovered { basis }),
                None => {}
            }
            if core::mem::take(&mut self.stopping) {
                return Some(Event::Stopping { until });
            }
        }
        if let Some(confirmed) = self.released.take() {
            return Some(Event::Released { confirmed });
        }
        if let Some(reason) = self.denied.take() {
            return Some(Event::Denied { reason });
        }
        if core::mem::take(&mut self.closed) {
            return Some(Event::Closed);
        }
        if core::mem::take(&mut self.in_use) {
            return Some(Event::Denied { reason: DenyReason::InUse });
        }
        None
    }

    pub(super) const fn lost(&mut self, reason: LossReason) {
        self.lost = Some(reason);
        self.any = true;
    }

    /// Nothing about the holding is news any more. An `Acquired` that nobody has polled yet was never
    /// true for the application.
    pub(super) const fn holding_over(&mut self) {
        self.acquired = None;
        self.risk = None;
        self.stopping = false;
    }

    pub(super) const fn token_went_back(&mut self, seen: Token, got: Token) {
        self.went_back = Some((seen, got));
        self.any = true;
    }

    pub(super) const fn acquired(&mut self, token: Token, basis: Basis) {
        self.acquired = Some((token, basis));
        self.any = true;
    }

    pub(super) const fn at_risk(&mut self) {
        self.risk = Some(Risk::AtRisk);
        self.any = true;
    }

    /// An `AtRisk` that nobody has polled is over before it was told.
    pub(super) const fn recovered(&mut self) {
        self.any = true;
        self.risk = match self.risk {
            Some(Risk::AtRisk) => None,
            Some(Risk::Recovered) | None => Some(Risk::Recovered),
        };
    }

    pub(super) const fn stopping(&mut self) {
        self.stopping = true;
        self.any = true;
    }

    pub(super) const fn released(&mut self, confirmed: bool) {
        self.released = Some(confirmed);
        self.any = true;
    }

    pub(super) const fn denied(&mut self, reason: DenyReason) {
        self.denied = Some(reason);
        self.any = true;
    }

    pub(super) const fn closed(&mut self) {
        self.closed = true;
        self.any = true;
    }

    pub(super) const fn in_use(&mut self) {
        self.in_use = true;
        self.any = true;
    }

    pub(super) const fn any(&self) -> bool {
        self.any
    }

    /// Whether `Closed` is still to be told: until then the generation is live.
    pub(super) const fn closing(&self) -> bool {
        self.closed
    }

    pub(super) fn shift(&mut self, shift: impl Fn(Instant) -> Instant) {
        if let Some((_, basis)) = &mut self.acquired {
            *basis = basis.shifted(&shift);
        }
    }
}

impl Basis {
    fn shifted(self, shift: impl Fn(Instant) -> Instant) -> Self {
        match self {
            Self::Term { until } => Self::Term { until: shift(until) },
            Self::Session { last_ok } => Self::Session { last_ok: shift(last_ok) },
        }
    }
}
