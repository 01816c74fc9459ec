#![doc = include_str!("../README.md")]

mod fault;
mod gate;
mod kind;
mod state;
mod store;

pub use fault::Fault;
pub use gate::Gate;
pub use kind::Kind;
pub use store::{MemoryStore, MemoryStoreBuilder};
