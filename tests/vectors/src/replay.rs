use core::fmt;

use postcard::{take_from_bytes, to_slice};
use tenure_core::{Instant, Lease, LeaseConfig, Quorum};

use crate::{Kind, Machine};

/// The version of the format: the first byte of a file.
pub const VERSION: u8 = 1;

/// More than the longest output takes.
const LONGEST_OUTPUT: usize = 128;

/// Gives the trace's inputs to a new machine, and compares what it says with what was recorded.
///
/// Every output's bytes, as the machine says them now, are handed to `said`.
///
/// # Errors
///
/// A [`Difference`]. `said` has then heard the output that differs.
pub fn replay(trace: &[u8], said: impl FnMut(&[u8])) -> Result<Replayed, Difference> {
    let (header, steps) = take_from_bytes::<Header>(trace).map_err(unreadable)?;
    let (version, kind, config, instance) = header;
    if version != VERSION {
        return Err(Difference::Version(version));
    }
    match Kind::of(kind).ok_or(Difference::Unreadable)? {
        Kind::Lease => run::<Lease>(config, instance, steps, said),
        Kind::Quorum3 => run::<Quorum<3>>(config, instance, steps, said),
        Kind::Quorum5 => run::<Quorum<5>>(config, instance, steps, said),
    }
}

/// A trace that replayed as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed {
    /// How many inputs it gave.
    pub inputs: u32,
    /// How many outputs came.
    pub outputs: u32,
}

/// How a replay went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// The file is of another version.
    Version(u8),
    /// The file is cut, damaged, of a machine that is not known, or has something behind its end.
    Unreadable,
    /// The machine says something else than was recorded, at this input (from 0).
    At(u32),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => {
                write!(f, "a trace of version {version}, where {VERSION} is known")
            }
            Self::Unreadable => f.write_str("not a trace, or a damaged one"),
            Self::At(step) => write!(f, "another output than was recorded, at input {step}"),
        }
    }
}

impl core::error::Error for Difference {}

type Header = (u8, u8, LeaseConfig, u32);

fn run<M: Machine>(
    config: LeaseConfig,
    instance: u32,
    steps: &[u8],
    mut said: impl FnMut(&[u8]),
) -> Result<Replayed, Difference> {
    let mut machine = M::new(config, instance);
    let (inputs, mut rest) = take_from_bytes::<u32>(steps).map_err(unreadable)?;
    let mut outputs = 0_u32;
    for step in 0..inputs {
        let ((now, input, count), recorded) =
            take_from_bytes::<(Instant, M::Input, u32)>(rest).map_err(unreadable)?;
        rest = recorded;
        machine.handle(now, input);
        for _ in 0..count {
            let mut buffer = [0; LONGEST_OUTPUT];
            let bytes = to_slice(&machine.poll(), &mut buffer).map_err(unreadable)?;
            said(bytes);
            rest = rest.strip_prefix(&*bytes).ok_or(Difference::At(step))?;
            outputs = outputs.saturating_add(1);
        }
    }
    if !rest.is_empty() {
        return Err(Difference::Unreadable);
    }
    Ok(Replayed { inputs, outputs })
}

const fn unreadable(_: postcard::Error) -> Difference {
    Difference::Unreadable
}
