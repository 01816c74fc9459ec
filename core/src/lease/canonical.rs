use super::*;

/// `at` counted from `now`. Instants that stand for "always" and "never" stay what they are.
pub(crate) const fn relative(at: Instant, now: Instant) -> Instant {
    // The middle of the range, so that the past stays in it as well as the future.
    const ORIGIN: u64 = 1 << 63;
    match at.as_micros() {
        0 | u64::MAX => at,
        micros => Instant::from_micros(micros.wrapping_sub(now.as_micros()).wrapping_add(ORIGIN)),
    }
}

impl Lease {
    /// The machine as it stands relative to `now`: two machines that can do the same from here on
    /// are equal, and hash alike, whatever the clock and however many requests came before. For
    /// model checkers; time and sequence numbers in it mean nothing else.
    #[must_use]
    pub fn canonical(&self, now: Instant) -> Self {
        let shift = |at| relative(at, now);
        let slot = |slot: Slot| slot.relative(self.sequence, now);
        let mut canonical = Self {
            generation: 0,
            sequence: 0,
            now: shift(self.now),
            establish: slot(self.establish),
            claim: slot(self.claim),
            watch: slot(self.watch),
            release: slot(self.release),
            ..self.clone()
        };
        canonical.debts.shift(shift);
        canonical.events.shift(shift);
        match &mut canonical.phase {
            Phase::Seeking(seeking) => seeking.shift(shift),
            Phase::Held(holding) => holding.shift(shift),
            Phase::Closed | Phase::Ending => {}
        }
        canonical
    }
}
