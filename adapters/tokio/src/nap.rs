use std::time::Duration;

/// How long to sleep for something that is due after `wait`, while a lease has `remaining` left.
///
/// Less than it takes: tokio's timers stand still while the machine is suspended, and the lock's
/// clock does not. A sleep that spans a suspend ends late by all of it, so no sleep may be long:
/// 1 s at most, and a quarter of what is left to the deadline.
pub(crate) fn nap(wait: Duration, remaining: Option<Duration>) -> Duration {
    const LONGEST: Duration = Duration::from_secs(1);
    /// What tokio's timers can tell apart.
    const TICK: Duration = Duration::from_millis(1);
    let longest = remaining.map_or(LONGEST, |remaining| (remaining / 4).clamp(TICK, LONGEST));
    wait.min(longest)
}
