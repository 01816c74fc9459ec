//! The simulation's share of the test run.

use tenure_sim::{Settings, Weather, replay, run, run_all};

/// How many seeds; `TENURE_SIM_SEEDS` asks for more.
fn seeds() -> u64 {
    let asked = std::env::var("TENURE_SIM_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    asked.unwrap_or(10_000)
}

#[test]
fn every_invariant_holds_and_everything_worth_seeing_is_seen() {
    let coverage = match run_all(0, seeds(), Settings::default()) {
        Ok(coverage) => coverage,
        Err(failure) => panic!("{failure}"),
    };
    println!("{coverage}");
    assert_eq!(coverage.missing(), [""; 0], "the seeds never came by these");
}

#[test]
fn drift_beyond_the_bound_breaks_the_time_theorem() {
    let mut beyond = Settings::default();
    beyond.weather = Weather::DriftBeyondBound;
    let broken = (0..4_000)
        .filter_map(|seed| run(seed, beyond).err())
        .find(|failure| ["S1", "S2"].contains(&failure.invariant()));
    assert!(broken.is_some(), "nobody noticed clocks that drift more than the machines were told");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..50 {
        let settings = Settings::default();
        assert_eq!(replay(seed, settings), replay(seed, settings), "seed {seed}");
    }
}
