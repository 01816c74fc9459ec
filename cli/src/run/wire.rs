//! What `tenure run` and its watchdog say to each other over a socket pair.

use tenure::Instant;

/// When the command must be stopped. Both are readings of `CLOCK_BOOTTIME`; [`Instant::NEVER`] where
/// the lease has no term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) term_at: Instant,
    pub(super) kill_at: Instant,
}

impl Limits {
    pub(super) const NONE: Self = Self { term_at: Instant::NEVER, kill_at: Instant::NEVER };
}

/// From `tenure run` to the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Stop the command then. The first order of all, and one after each renewal.
    Stop(Limits),
    /// Pass a signal on to the command's process group.
    Signal(i32),
}

impl Order {
    pub(super) const SIZE: usize = 17;

    pub(super) fn encode(self) -> [u8; Self::SIZE] {
        let (tag, first, second) = match self {
            Self::Stop(limits) => (b'L', limits.term_at.as_micros(), limits.kill_at.as_micros()),
            Self::Signal(signal) => (b'S', u64::from(signal.unsigned_abs()), 0),
        };
        let mut bytes = [tag; Self::SIZE];
        bytes[1..9].copy_from_slice(&first.to_le_bytes());
        bytes[9..].copy_from_slice(&second.to_le_bytes());
        bytes
    }

    /// `None` if `bytes` were not made by [`encode`](Self::encode).
    pub(super) fn decode(bytes: [u8; Self::SIZE]) -> Option<Self> {
        let [tag, rest @ ..] = bytes;
        let (first, second) = rest.split_at(8);
        let first = u64::from_le_bytes(first.try_into().ok()?);
        let second = u64::from_le_bytes(second.try_into().ok()?);
        match tag {
            b'L' => Some(Self::Stop(Limits {
                term_at: Instant::from_micros(first),
                kill_at: Instant::from_micros(second),
            })),
            b'S' => Some(Self::Signal(i32::try_from(first).ok()?)),
            _ => None,
        }
    }
}

/// From the watchdog to `tenure run`: one byte each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Note {
    /// The command was told to stop, because its time is over.
    Stopping = b'T',
    /// The command was suspended from its terminal.
    Suspended = b'Z',
    /// The command has ended; something that it started has not.
    Leftovers = b'L',
    /// Everything has ended. The watchdog exits next, with the command's exit code.
    Done = b'D',
}

impl Note {
    pub(super) const fn decode(byte: u8) -> Option<Self> {
        match byte {
            b'T' => Some(Self::Stopping),
            b'Z' => Some(Self::Suspended),
            b'L' => Some(Self::Leftovers),
            b'D' => Some(Self::Done),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_survive_the_wire() {
        let limits =
            Limits { term_at: Instant::from_micros(1 << 40), kill_at: Instant::from_micros(7) };
        for order in [Order::Stop(Limits::NONE), Order::Stop(limits), Order::Signal(64)] {
            assert_eq!(Order::decode(order.encode()), Some(order));
        }
        assert_eq!(Order::decode([0; Order::SIZE]), None);
    }
}
