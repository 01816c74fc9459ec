//! Worlds in which an invariant must break. A simulation that cannot show it proves nothing.

use std::collections::BTreeSet;

use tenure_sim::{Failure, Settings, Weather, survey};

/// The invariants that so many worlds of this weather break, each with how many of them.
fn broken(weather: Weather, seeds: u64) -> (usize, BTreeSet<&'static str>) {
    let mut settings = Settings::default();
    settings.weather = weather;
    let (_, failures) = survey(0, seeds, settings);
    (failures.len(), failures.values().map(Failure::invariant).collect())
}

#[test]
fn at_the_bound_of_drift_the_time_theorem_holds() {
    assert_eq!(broken(Weather::DriftAtBound, 300), (0, BTreeSet::new()));
}

#[test]
fn one_part_per_million_beyond_the_bound_it_does_not() {
    let (worlds, invariants) = broken(Weather::DriftBeyondBound, 300);
    assert!(worlds > 150, "only {worlds} of 300 worlds noticed");
    assert!(invariants.is_subset(&["S1", "S2"].into()), "{invariants:?}");
}

#[test]
fn without_install_an_older_write_gets_through() {
    let (_, invariants) = broken(Weather::NoInstall, 300);
    assert_eq!(invariants, ["S18"].into());
}

#[test]
fn a_node_that_forgets_and_votes_on_repeats_tokens() {
    let (_, invariants) = broken(Weather::Amnesia, 3_000);
    assert!(invariants.contains("S13"), "{invariants:?}");
}

#[test]
fn a_delayed_restart_saves_the_lock_and_not_the_tokens() {
    let (_, invariants) = broken(Weather::DelayedRestart, 3_000);
    assert_eq!(invariants, ["S13"].into());
}

#[test]
fn a_fence_that_forgets_fences_nothing() {
    let (_, invariants) = broken(Weather::GateForgets, 500);
    assert!(!invariants.is_empty());
    assert!(invariants.is_subset(&["S17", "S18"].into()), "{invariants:?}");
}
