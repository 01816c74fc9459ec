use tenure_core::Instant;

/// The clock that a driver times leases by, and that an adapter reads for
/// [`Answer::as_of`](crate::Answer::as_of). See [`Instant`] for what it must keep.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Instant;
}

/// The host's monotonic clock, the one that counts suspend.
///
/// Linux and Android: `CLOCK_BOOTTIME`. Elsewhere `CLOCK_MONOTONIC`, which counts suspend on macOS
/// and OpenBSD but not on FreeBSD.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;
        let time = rustix::time::clock_gettime(CLOCK);
        let micros = time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_nsec.unsigned_abs() / 1_000;
        Instant::from_micros(micros)
    }
}
