//! Acquire and release by Tenure and by the raw client, side by side, on the Redis of
//! `TENURE_STORE`: the ratio is what the fencing token, the renewals and the guard cost.

mod raw;

use std::{env, hint::black_box, time::Instant};

use anyhow::{Context as _, Result, bail};
use tenure::{Lock, redis::RedisStore};
use tokio::runtime::Builder;

use crate::raw::RawLock;

/// Odd, so that there is a median.
const ROUNDS: usize = 9;
const PAIRS_PER_ROUND: u32 = 2_000;

fn main() -> Result<()> {
    let url = env::var("TENURE_STORE").context("TENURE_STORE is not set")?;
    println!("on the current-thread runtime");
    Builder::new_current_thread().enable_all().build()?.block_on(compare(&url))?;
    println!("on the multi-thread runtime");
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    // On a worker, where an application's work is done.
    runtime.block_on(runtime.spawn(async move { compare(&url).await }))?
}

async fn compare(url: &str) -> Result<()> {
    let lock = Lock::new(RedisStore::connect(url).await?, "bench-tenure")?;
    let mut raw = RawLock::connect(url, "bench-raw").await?;

    // Connections, script caches and branch predictors settle before anything counts.
    by_tenure(&lock).await?;
    by_raw(&mut raw).await?;

    println!("acquire and release, pairs a second:");
    println!("{:>5} {:>9} {:>9} {:>7}", "round", "raw", "tenure", "ratio");
    let mut ratios = Vec::with_capacity(ROUNDS);
    for round in 1..=ROUNDS {
        // Each goes first in turn, so that a machine that slows down favours neither.
        let (ours, theirs) = if round % 2 == 0 {
            let ours = by_tenure(&lock).await?;
            (ours, by_raw(&mut raw).await?)
        } else {
            let theirs = by_raw(&mut raw).await?;
            (by_tenure(&lock).await?, theirs)
        };
        let ratio = ours / theirs;
        println!("{round:>5} {theirs:>9.0} {ours:>9.0} {ratio:>7.2}");
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ROUNDS / 2).context("no round")?;
    println!("median ratio to the raw client: {median:.2} (aim: 0.90)");
    Ok(())
}

async fn by_tenure(lock: &Lock) -> Result<f64> {
    let started = now();
    for _ in 0..PAIRS_PER_ROUND {
        let guard = lock.try_acquire().await?;
        black_box(guard.token());
        if !guard.release().await.confirmed {
            bail!("a release was not confirmed");
        }
    }
    Ok(rate(started))
}

async fn by_raw(lock: &mut RawLock) -> Result<f64> {
    let started = now();
    for _ in 0..PAIRS_PER_ROUND {
        lock.acquire().await?;
        lock.release().await?;
    }
    Ok(rate(started))
}

fn rate(started: Instant) -> f64 {
    f64::from(PAIRS_PER_ROUND) / started.elapsed().as_secs_f64()
}

#[expect(clippy::disallowed_methods, reason = "times a benchmark, not a lease")]
fn now() -> Instant {
    Instant::now()
}
