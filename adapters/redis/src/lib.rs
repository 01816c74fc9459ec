#![doc = include_str!("../README.md")]

mod address;
mod failure;
mod link;
mod nodes;
mod self_check;
mod store;
mod watchers;

pub use store::RedisStore;
