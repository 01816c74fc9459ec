//! [`Quorum`](tenure_core::Quorum) under any sequence of inputs.

mod judge;
mod walk;

pub use walk::{Step, walk};

pub(crate) fn target(bytes: &[u8]) {
    match bytes.split_first() {
        Some((size, rest)) if size % 2 == 0 => {
            walk::<3>(rest, |_| {});
        }
        Some((_, rest)) => {
            walk::<5>(rest, |_| {});
        }
        None => {}
    }
}
