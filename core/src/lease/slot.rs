use super::relative;
use crate::{Instant, OpId};

/// One kind of request: nothing to do, planned, to be sent at the next poll, or under way. There is
/// one slot for each kind, which is what bounds the requests in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
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
pub(crate) struct Flight {
    /// Alone names the request: no machine uses a number twice.
    pub(crate) sequence: u32,
    /// The last `handle` before it was polled, hence not later than its bytes left.
    pub(crate) sent: Instant,
    pub(crate) respond_by: Instant,
}

impl Flight {
    pub(crate) const fn answers_to(&self, op: OpId) -> bool {
        self.sequence == op.sequence
    }
}

impl Slot {
    pub(crate) fn ripen(&mut self, now: Instant) {
        if let Self::At(at) = *self
            && at <= now
        {
            *self = Self::Due;
        }
    }

    /// The flight whose time for an answer is over.
    pub(crate) fn overdue(&self, now: Instant) -> bool {
        matches!(*self, Self::Flying { respond_by, .. } if respond_by <= now)
    }

    /// Ends the flight that `op` names.
    pub(crate) fn land(&mut self, op: OpId) -> Option<Flight> {
        let Self::Flying { sequence, sent, respond_by } = *self else { return None };
        let flight = Flight { sequence, sent, respond_by };
        if !flight.answers_to(op) {
            return None;
        }
        *self = Self::Idle;
        Some(flight)
    }

    pub(crate) const fn is_flying(&self) -> bool {
        matches!(self, Self::Flying { .. })
    }

    pub(crate) const fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    pub(crate) const fn alarm(&self) -> Instant {
        match *self {
            Self::At(at) => at,
            Self::Flying { respond_by, .. } => respond_by,
            Self::Idle | Self::Due => Instant::NEVER,
        }
    }

    /// See [`canonical`](crate::Lease::canonical).
    pub(crate) const fn relative(self, sequence: u32, now: Instant) -> Self {
        match self {
            Self::At(at) => Self::At(relative(at, now)),
            Self::Flying { sequence: flying, sent, respond_by } => Self::Flying {
                sequence: sequence.wrapping_sub(flying),
                sent: relative(sent, now),
                respond_by: relative(respond_by, now),
            },
            Self::Idle | Self::Due => self,
        }
    }

    /// Makes it due now, unless it is under way.
    pub(crate) const fn hurry(&mut self) {
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
