//! Which mutant runs. Woven into a copy of the core and the simulator by `cargo xtask sabotage`.

use std::{process, sync::LazyLock, thread, time::Duration};

/// A mutant may spin; its process ends after this long.
const PATIENCE: Duration = Duration::from_secs(600);

static CHOSEN: LazyLock<Option<usize>> = LazyLock::new(|| {
    let number = std::env::var("TENURE_SABOTAGE").ok()?.parse().ok()?;
    thread::spawn(|| {
        thread::sleep(PATIENCE);
        process::exit(124);
    });
    Some(number)
});

/// Whether the mutant of this number was chosen for this process.
pub fn is(mutant: usize) -> bool {
    *CHOSEN == Some(mutant)
}
