#![doc = include_str!("../README.md")]
#![no_std]

mod machine;
mod replay;

pub use machine::{Kind, Machine};
pub use replay::{Difference, Replayed, VERSION, replay};
