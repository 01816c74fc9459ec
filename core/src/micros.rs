use core::time::Duration;

/// A span in whole microseconds: what the machines reckon in. A `Duration` is twice the size and
/// many times the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Micros(pub(crate) u64);

impl Micros {
    pub(crate) const ZERO: Self = Self(0);

    /// What is left of a microsecond is dropped: towards an earlier end.
    pub(crate) const fn of(span: Duration) -> Self {
        let micros = span.as_secs().saturating_mul(1_000_000);
        Self(micros.saturating_add(span.subsec_micros() as u64))
    }

    /// What is begun of a microsecond counts whole: for what is taken off a term.
    pub(crate) const fn at_least(span: Duration) -> Self {
        let whole = Self::of(span);
        let begun = !span.subsec_nanos().is_multiple_of(1_000);
        whole.plus(Self(begun as u64))
    }

    pub(crate) const fn get(self) -> Duration {
        Duration::from_micros(self.0)
    }

    pub(crate) const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub(crate) const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    pub(crate) const fn times(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// One part of `parts`; all of it for zero parts.
    pub(crate) const fn part(self, parts: u64) -> Self {
        match self.0.checked_div(parts) {
            Some(part) => Self(part),
            None => self,
        }
    }
}
