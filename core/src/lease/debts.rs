use crate::{Failure, Instant, Nonce, micros::Micros};

/// What may still lie in the store under a nonce that is of no use any more. Overflow is safe: nobody
/// renews a ghost, so it lapses by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Debts {
    /// The first is the one whose release is under way, if one is.
    entries: [Option<Debt>; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Debt {
    pub(crate) nonce: Nonce,
    pub(crate) undo: Undo,
    /// The application asked for it, and is told how it ended.
    pub(crate) asked: bool,
    /// A grant came in while the release was under way: it may have come after it.
    again: bool,
    tries: u8,
    retry_at: Instant,
    /// One term after the first release was sent: the store has freed a lease by itself, while a
    /// session is to be closed then. `Disconnect` never lapses.
    lapse: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Undo {
    Release,
    Disconnect,
}

impl Debts {
    pub(crate) const NONE: Self = Self { entries: [None; 3] };

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.iter().all(Option::is_none)
    }

    /// Adds a debt, or makes the one of the same nonce due again. `paying`: the first debt's release
    /// is under way.
    pub(crate) fn owe(&mut self, nonce: Nonce, undo: Undo, paying: bool) {
        let mut first = paying;
        for debt in self.entries.iter_mut().flatten() {
            if debt.nonce == nonce {
                if first {
                    debt.again = true;
                } else {
                    debt.retry_at = Instant::ZERO;
                }
                if undo == Undo::Disconnect && !first {
                    debt.disconnect();
                }
                return;
            }
            first = false;
        }
        let debt = Debt::new(nonce, undo);
        if let Some(free) = self.entries.iter_mut().find(|entry| entry.is_none()) {
            *free = Some(debt);
        } else if let Some(most_tried) = self
            .entries
            .iter_mut()
            .skip(usize::from(paying))
            .flatten()
            .filter(|debt| !debt.asked)
            .max_by_key(|debt| debt.tries)
        {
            *most_tried = debt;
        }
    }

    /// Adds the release that the application asked for, before all others.
    pub(crate) fn owe_first(&mut self, nonce: Nonce) {
        self.drop_nonce(nonce);
        let free = self.entries.iter().position(Option::is_none);
        let last = self.entries.len().saturating_sub(1);
        if let Some(shifted) = self.entries.get_mut(..=free.unwrap_or(last)) {
            shifted.rotate_right(1);
        }
        if let Some(first) = self.entries.first_mut() {
            *first = Some(Debt { asked: true, ..Debt::new(nonce, Undo::Release) });
        }
    }

    /// The debt to pay next, moved to the front and marked as sent: the application's own, then the
    /// least tried.
    pub(crate) fn pay(&mut self, now: Instant, lapse: impl FnOnce() -> Micros) -> Option<Debt> {
        if self.is_empty() {
            return None;
        }
        let due = |entry: &Option<Debt>| entry.filter(|debt| debt.retry_at <= now);
        let (due, _) = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(place, entry)| Some((place, due(entry)?)))
            .min_by_key(|(_, debt)| (!debt.asked, debt.tries))?;
        self.entries.get_mut(..=due)?.rotate_right(1);
        let debt = self.entries.first_mut()?.as_mut()?;
        debt.retry_at = Instant::NEVER;
        if debt.undo == Undo::Release {
            debt.lapse = debt.lapse.min(now.alarm_after(lapse()));
        }
        Some(*debt)
    }

    /// The release under way was acknowledged. Returns the debt if that settles it.
    pub(crate) fn acknowledged(&mut self) -> Option<Debt> {
        let first = self.entries.first_mut()?;
        let debt = first.as_mut()?;
        if debt.again {
            debt.again = false;
            debt.retry_at = Instant::ZERO;
            return None;
        }
        first.take()
    }

    /// The release under way brought no answer.
    pub(crate) fn failed(
        &mut self,
        failure: Failure,
        session: bool,
        now: Instant,
        pause: impl FnOnce(u32) -> Micros,
    ) {
        let Some(debt) = self.entries.first_mut().and_then(Option::as_mut) else { return };
        let pause = pause(u32::from(debt.tries));
        debt.tries = debt.tries.saturating_add(1);
        let for_good = matches!(failure, Failure::Refused { permanent: true, .. });
        if session && debt.undo == Undo::Release && (for_good || failure == Failure::Unknown) {
            debt.disconnect();
            return;
        }
        debt.retry_at = match failure {
            Failure::Refused { permanent: true, .. } if debt.undo == Undo::Release => {
                Instant::NEVER
            }
            Failure::Refused { retry_after, .. } if debt.undo == Undo::Release => {
                now.alarm_after(pause.max(retry_after.map_or(Micros::ZERO, Micros::of)))
            }
            // Nothing but an answer ends a `Disconnect`: no pause that a stranger chose holds it up.
            Failure::Refused { .. } | Failure::Unknown | Failure::NotSent => now.alarm_after(pause),
        };
    }

    /// The release under way is given up for a more urgent one; it is sent again later.
    pub(crate) fn interrupt(&mut self) {
        if let Some(debt) = self.entries.first_mut().and_then(Option::as_mut) {
            debt.retry_at = Instant::ZERO;
        }
    }

    /// Drops every debt whose lease the store has freed by itself, and closes the session of one
    /// that cannot be released. Returns whether the first was among them (its request is of no use
    /// any more), and whether the application's was dropped.
    pub(crate) fn lapse(&mut self, now: Instant, session: bool) -> Lapsed {
        let mut lapsed = Lapsed::default();
        for (place, entry) in self.entries.iter_mut().enumerate() {
            let Some(debt) = entry.as_mut().filter(|debt| debt.lapse <= now) else { continue };
            lapsed.first |= place == 0;
            if session {
                debt.disconnect();
            } else {
                lapsed.asked |= debt.asked;
                *entry = None;
            }
        }
        lapsed
    }

    /// Drops the debt of a nonce whose session has ended. Returns the same as [`lapse`](Self::lapse).
    pub(crate) fn drop_nonce(&mut self, nonce: Nonce) -> Lapsed {
        let mut lapsed = Lapsed::default();
        for (place, entry) in self.entries.iter_mut().enumerate() {
            if let Some(debt) = entry
                && debt.nonce == nonce
            {
                lapsed.first |= place == 0;
                lapsed.asked |= debt.asked;
                *entry = None;
            }
        }
        lapsed
    }

    /// The clock went back: nothing that was noted by it counts.
    pub(crate) fn restart(&mut self, now: Instant, lapse: Micros) {
        for debt in self.entries.iter_mut().flatten() {
            debt.retry_at = Instant::ZERO;
            if debt.lapse != Instant::NEVER {
                debt.lapse = now.alarm_after(lapse);
            }
        }
    }

    /// The next retry after `now`, or lapse.
    pub(crate) fn alarm(&self, now: Instant) -> Instant {
        self.entries
            .iter()
            .flatten()
            .map(|debt| {
                let retry = if debt.retry_at > now { debt.retry_at } else { Instant::NEVER };
                retry.min(debt.lapse)
            })
            .min()
            .unwrap_or(Instant::NEVER)
    }

    pub(crate) fn shift(&mut self, shift: impl Fn(Instant) -> Instant) {
        for debt in self.entries.iter_mut().flatten() {
            debt.retry_at = shift(debt.retry_at);
            debt.lapse = shift(debt.lapse);
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lapsed {
    pub(crate) first: bool,
    pub(crate) asked: bool,
}

impl Debt {
    const fn disconnect(&mut self) {
        self.undo = Undo::Disconnect;
        self.retry_at = Instant::ZERO;
        self.lapse = Instant::NEVER;
    }

    const fn new(nonce: Nonce, undo: Undo) -> Self {
        Self {
            nonce,
            undo,
            asked: false,
            again: false,
            tries: 0,
            retry_at: Instant::ZERO,
            lapse: Instant::NEVER,
        }
    }
}
