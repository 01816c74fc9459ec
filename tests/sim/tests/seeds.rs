//! The simulation's share of the test run.

use tenure_sim::{Settings, replay, replay_trace, run_all};

/// How many seeds; `TENURE_SIM_SEEDS` asks for more.
fn seeds() -> u64 {
    let asked = std::env::var("TENURE_SIM_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    asked.unwrap_or(10_000)
}

#[test]
fn every_invariant_holds_and_everything_worth_seeing_is_seen() {
    let summary = match run_all(0, seeds(), Settings::default()) {
        Ok(summary) => summary,
        Err(failure) => panic!("{failure}"),
    };
    println!("{summary}");
    assert_eq!(summary.coverage().missing(), [""; 0], "the seeds never came by these");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..64 {
        let settings = Settings::default();
        let (one, other) = (replay(seed, settings), replay(seed, settings));
        assert_eq!(one.story(), other.story(), "seed {seed}");
        assert_eq!(one.trace(), other.trace(), "seed {seed}");
    }
}

#[test]
fn what_machines_were_told_makes_them_say_the_same_again() {
    for seed in 0..16 {
        let bytes = replay(seed, Settings::default()).trace().unwrap();
        assert!(replay_trace(&bytes).unwrap() > 100, "seed {seed}");
    }
}

#[test]
fn a_trace_that_was_tampered_with_does_not_replay() {
    let mut bytes = replay(0, Settings::default()).trace().unwrap();
    let last = bytes.len() - 1;
    bytes[last / 2] ^= 1;
    assert!(replay_trace(&bytes).is_err());
    assert!(replay_trace(&bytes[..last]).is_err());
}
