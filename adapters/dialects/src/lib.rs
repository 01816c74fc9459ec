#![doc = include_str!("../README.md")]
#![no_std]

#[cfg(test)]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod redis;
