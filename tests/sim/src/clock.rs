/// True time, which only the world sees, in microseconds.
pub(crate) type Micros = u64;

pub(crate) const MILLIS: Micros = 1_000;
pub(crate) const SECONDS: Micros = 1_000_000;

/// One actor's clock: piecewise linear in true time.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    since: Micros,
    reading: Micros,
    /// How much faster than true time it runs.
    rate: i32,
}

impl Clock {
    /// A clock that shows `reading` at true time zero and runs `rate` parts per million fast.
    pub(crate) fn new(reading: Micros, rate: i32) -> Self {
        Self { since: 0, reading, rate }
    }

    pub(crate) fn read(&self, now: Micros) -> Micros {
        self.reading + (now - self.since) * self.speed() / MILLION
    }

    /// The first true instant, from `now` on, at which the clock shows `reading` or more.
    pub(crate) fn when(&self, now: Micros, reading: Micros) -> Micros {
        let ahead = reading.saturating_sub(self.reading);
        // Beyond the end of any run where the product does not fit.
        let elapsed = ahead.saturating_mul(MILLION).div_ceil(self.speed());
        self.since.saturating_add(elapsed).max(now)
    }

    pub(crate) fn set_rate(&mut self, now: Micros, rate: i32) {
        *self = Self { since: now, reading: self.read(now), rate };
    }

    pub(crate) fn jump_forward(&mut self, now: Micros, by: Micros) {
        *self = Self { since: now, reading: self.read(now) + by, ..*self };
    }

    pub(crate) fn jump_back(&mut self, now: Micros, by: Micros) {
        *self = Self { since: now, reading: self.read(now).saturating_sub(by), ..*self };
    }

    fn speed(&self) -> u64 {
        MILLION.saturating_add_signed(self.rate.into())
    }
}

const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_is_the_first_instant_that_shows_the_reading() {
        for rate in [-200_000, -1, 0, 1, 137, 200_000] {
            let mut clock = Clock::new(77, 0);
            clock.set_rate(1_003, rate);
            for reading in [78, 5_000, 1_234_567] {
                let at = clock.when(1_003, reading);
                assert!(clock.read(at) >= reading, "{rate} {reading}");
                assert!(at == 1_003 || clock.read(at - 1) < reading, "{rate} {reading}");
            }
        }
    }
}
