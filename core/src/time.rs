use core::{fmt, time::Duration};

use crate::micros::Micros;

/// A reading of the host's clock, in whole microseconds since an origin of the host's choice.
///
/// The core never reads a clock; every call is given one. The host's clock must
///
/// - never go back ([`Lease`](crate::Lease) ends with [`LossReason::ClockWentBack`](crate::LossReason::ClockWentBack)
///   if it does, S23);
/// - keep counting while the machine is suspended (Linux: `CLOCK_BOOTTIME`; not `std::time::Instant`);
/// - have one origin for the whole life of one machine.
///
/// Synchronisation with other hosts is not needed: only the clock's *rate* matters, see [`Drift`].
///
/// All arithmetic saturates towards an earlier instant (S24).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Instant {
    micros: u64,
}

impl Instant {
    /// The host's origin.
    pub const ZERO: Self = Self { micros: 0 };

    /// An instant that no clock reaches: "no limit" where an `Instant` is required.
    pub const NEVER: Self = Self { micros: u64::MAX };

    /// The instant `micros` microseconds after the origin.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self { micros }
    }

    /// Microseconds since the origin.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.micros
    }

    /// `self + span`, or `None` where a `u64` of microseconds cannot hold it.
    #[must_use]
    pub fn checked_add(self, span: Duration) -> Option<Self> {
        Some(Self { micros: self.micros.checked_add(Micros::of(span).0)? })
    }

    /// For deadlines: one that overflows ends at once.
    pub(crate) const fn deadline_after(self, span: Micros) -> Self {
        match self.micros.checked_add(span.0) {
            Some(micros) => Self { micros },
            None => self,
        }
    }

    /// For timers: an alarm that overflows never rings.
    pub(crate) const fn alarm_after(self, span: Micros) -> Self {
        Self { micros: self.micros.saturating_add(span.0) }
    }

    pub(crate) const fn before(self, span: Micros) -> Self {
        Self { micros: self.micros.saturating_sub(span.0) }
    }

    pub(crate) const fn since(self, earlier: Self) -> Micros {
        Micros(self.micros.saturating_sub(earlier.micros))
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        self.since(earlier).get()
    }
}

/// The bound on how far two clocks' *rates* may differ: client plus store, in parts per million.
///
/// The first of Tenure's two theorems (T1: no two clients are locally valid at once) holds while the
/// real difference stays within this bound. Quartz is within 100 ppm; a clock that NTP slews is
/// within 500 ppm, so the default allows for two slewed clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Drift {
    ppm: u32,
}

impl Drift {
    /// 1,000 ppm: both clocks slewed by NTP's 500 ppm in opposite directions.
    pub const DEFAULT: Self = Self::from_ppm(1_000);

    /// A bound of `ppm` parts per million. At 1,000,000 and above no term is left to use, and
    /// [`LeaseConfig`](crate::LeaseConfig) refuses it.
    #[must_use]
    pub const fn from_ppm(ppm: u32) -> Self {
        Self { ppm }
    }

    /// The bound, in parts per million.
    #[must_use]
    pub const fn ppm(self) -> u32 {
        self.ppm
    }

    /// ⌈span · ρ⌉: what the bound may take off a span, or add to it.
    #[must_use]
    pub const fn of(self, span: Duration) -> Duration {
        self.of_micros(Micros::of(span)).get()
    }

    pub(crate) const fn of_micros(self, span: Micros) -> Micros {
        // In two parts, so that no product exceeds 64 bits for any term.
        let (ppm, million) = (self.ppm as u64, Micros(1_000_000));
        let whole = span.part(million.0);
        let rest = span.less(whole.times(million.0));
        whole.times(ppm).plus(Micros(rest.0.saturating_mul(ppm).div_ceil(million.0)))
    }
}

impl Default for Drift {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ppm", self.ppm)
    }
}
