use crate::{
    run::{Failure, run},
    settings::{Settings, Without},
};

/// Makes a failing seed's world smaller while it still fails by the same invariant: fewer clients,
/// fewer kinds of fault, a shorter time. Returns the failure in the smallest world found, or nothing
/// if the seed does not fail.
#[must_use]
pub fn shrink(seed: u64, settings: Settings) -> Option<Failure> {
    let mut smallest = run(seed, settings).err()?;
    let mut best = settings;
    loop {
        let before = best;
        let mut attempt = |change: &dyn Fn(Settings, &Failure) -> Settings| {
            let smaller = change(best, &smallest);
            if smaller == best {
                return;
            }
            if let Err(failure) = run(seed, smaller)
                && failure.invariant() == smallest.invariant()
            {
                (best, smallest) = (smaller, failure);
            }
        };
        for fewer in 2..5 {
            attempt(&|best, _| Settings {
                clients: Some(best.clients.unwrap_or(5).min(fewer)),
                ..best
            });
        }
        for fault in Without::each() {
            attempt(&|best, _| Settings { without: best.without.and(fault), ..best });
        }
        // What came after the failure was not needed, and perhaps not all before it.
        for (number, of) in [(1, 4), (1, 2), (3, 4), (7, 8), (1, 1)] {
            attempt(&|best, failure| {
                let seconds = (failure.seconds() * number / of).max(1);
                Settings { seconds: Some(best.seconds.map_or(seconds, |s| s.min(seconds))), ..best }
            });
        }
        if best == before {
            return Some(smallest);
        }
    }
}
