use std::{fmt, time::Duration};

use nix::time::{ClockId, clock_getres, clock_gettime};
use serde_json::json;
use tenure::{Clock, Finding, LockName, Store, SystemClock};
use tokio::time::sleep;

use crate::{args, exit::Failure, manual::print, store::Address};

/// Looks at this name to measure the round trip. Looking creates nothing.
const PROBE: &str = "tenure-doctor";
const ROUND_TRIPS: usize = 15;
/// Long enough to see a clock that is being slewed or was set; short enough to wait for.
const CLOCK_WATCH: Duration = Duration::from_millis(250);

/// Says what a lock in a store is worth.
pub(crate) async fn main(args: args::Doctor) -> Result<u8, Failure> {
    let address = Address::of_url(args.store)?;
    let store = address.open().await?.store();
    let round_trip = round_trip(&*store).await.map_err(Failure::unavailable)?;
    let clock = ClockReading::take().await.map_err(Failure::system)?;
    let guarantees = store.guarantees();
    let text = if args.json {
        let findings: Vec<String> = guarantees.findings.iter().map(Finding::to_string).collect();
        let object = json!({
            "store": address.to_string(),
            "fencing": guarantees.fencing.to_string(),
            "tenancy": guarantees.tenancy.to_string(),
            "failover": guarantees.failover.to_string(),
            "fairness": guarantees.fairness.to_string(),
            "findings": findings,
            "round_trip_us": micros(round_trip),
            "clock": {
                "resolution_ns": clock.resolution.as_nanos(),
                "suspended_ms": clock.suspended.as_millis(),
                "wall_ppm": clock.wall_ppm,
            },
        });
        format!("{object}\n")
    } else {
        let round_trip = micros(round_trip);
        format!(
            "store:    {address}\n{guarantees}\n\
             look:     {round_trip} µs (median of {ROUND_TRIPS})\nclock:    {clock}\n"
        )
    };
    print(text.as_bytes())
}

async fn round_trip(store: &dyn Store) -> Result<Duration, Box<dyn std::error::Error>> {
    let name = LockName::new(PROBE)?;
    let clock = SystemClock::default();
    let mut times = Vec::with_capacity(ROUND_TRIPS);
    for _ in 0..ROUND_TRIPS {
        let sent = clock.now();
        store.inspect(&name).await?;
        times.push(clock.now().saturating_since(sent));
    }
    times.sort_unstable();
    Ok(times.get(ROUND_TRIPS / 2).copied().unwrap_or_default())
}

/// How the clock that leases are timed by behaves.
struct ClockReading {
    resolution: Duration,
    /// How long this machine was suspended since it was started, which that clock counts.
    suspended: Duration,
    /// How much faster the wall clock went meanwhile, in parts per million.
    wall_ppm: i64,
}

impl ClockReading {
    async fn take() -> nix::Result<Self> {
        let read = |clock| clock_gettime(clock).map(Duration::from);
        let pair = || {
            Ok::<_, nix::Error>((read(ClockId::CLOCK_BOOTTIME)?, read(ClockId::CLOCK_REALTIME)?))
        };
        let suspended =
            read(ClockId::CLOCK_BOOTTIME)?.saturating_sub(read(ClockId::CLOCK_MONOTONIC)?);
        let (boot, wall) = pair()?;
        sleep(CLOCK_WATCH).await;
        let (boot_after, wall_after) = pair()?;
        let boot_nanos = nanos(boot_after) - nanos(boot);
        let wall_nanos = nanos(wall_after) - nanos(wall);
        let ppm = (wall_nanos - boot_nanos) * 1_000_000 / boot_nanos.max(1);
        Ok(Self {
            resolution: clock_getres(ClockId::CLOCK_BOOTTIME)?.into(),
            // Two readings are never of the same instant.
            suspended: if suspended > Duration::from_millis(1) {
                suspended
            } else {
                Duration::ZERO
            },
            wall_ppm: i64::try_from(ppm).unwrap_or(i64::MAX),
        })
    }
}

impl fmt::Display for ClockReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resolution, suspended, wall_ppm } = self;
        let suspended = suspended.as_secs();
        write!(
            f,
            "CLOCK_BOOTTIME, counts suspend ({suspended} s so far), resolution {resolution:?}; "
        )?;
        write!(f, "the wall clock goes {wall_ppm:+} ppm beside it")
    }
}

fn nanos(duration: Duration) -> i128 {
    i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
