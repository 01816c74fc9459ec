use super::*;

impl Lease {
    /// The machine as it stands relative to `now`: two machines that can do the same from here on
    /// are equal, and hash alike, whatever the clock and however many requests came before. For
    /// model checkers; time and sequence numbers in it mean nothing else.
    #[must_use]
    pub fn canonical(&self, now: Instant) -> Self {
        // The middle of the range, so that the past stays in it as well as the future.
        const ORIGIN: u64 = 1 << 63;
        let shift = |at: Instant| {
            if at == Instant::NEVER || at == Instant::ZERO {
                return at;
            }
            Instant::from_micros(at.as_micros().wrapping_sub(now.as_micros()).wrapping_add(ORIGIN))
        };
        let sequence = self.sequence;
        let relative = |mut slot: Slot| {
            match &mut slot {
                Slot::At(at) => *at = shift(*at),
                Slot::Flying { sequence: flying, sent, respond_by } => {
                    *flying = sequence.wrapping_sub(*flying);
                    *sent = shift(*sent);
                    *respond_by = shift(*respond_by);
                }
                Slot::Idle | Slot::Due => {}
            }
            slot
        };
        let mut relative_self = Self {
            generation: 0,
            sequence: 0,
            now: shift(self.now),
            establish: relative(self.establish),
            claim: relative(self.claim),
            watch: relative(self.watch),
            release: relative(self.release),
            ..*self
        };
        relative_self.debts.shift(shift);
        relative_self.events.shift(shift);
        match &mut relative_self.phase {
            Phase::Seeking(seeking) => seeking.shift(shift),
            Phase::Held(holding) => holding.shift(shift),
            Phase::Closed | Phase::Ending => {}
        }
        relative_self
    }
}
