//! A failure is told by a command that repeats it, also in a smaller world.

use tenure_sim::{Settings, Weather, run, shrink, survey};

#[test]
fn a_failing_world_shrinks_and_still_fails_by_the_same_invariant() {
    let mut settings = Settings::default();
    settings.weather = Weather::NoInstall;
    let (seed, failure) = survey(0, 100, settings).1.pop_first().unwrap();
    assert_eq!(run(seed, settings), Err(failure.clone()));
    assert_eq!(failure.command(), format!("cargo xtask sim --seed {seed} --no-install"));

    let smaller = shrink(seed, settings).unwrap();
    assert_eq!(smaller.invariant(), failure.invariant());
    let command = smaller.command();
    assert!(command.starts_with(&failure.command()), "{command}");
    assert!(command.contains("--without") && command.contains("--seconds"), "{command}");
}

#[test]
fn a_world_that_does_not_fail_does_not_shrink() {
    assert_eq!(shrink(0, Settings::default()), None);
}
