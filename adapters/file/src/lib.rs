#![doc = include_str!("../README.md")]

#[cfg(not(unix))]
compile_error!("tenure-file rests on the file locks, modes and folder syncs of Unix");

mod counter;
mod failure;
mod file_name;
mod finish;
mod folder;
mod holdings;
mod lock_file;
mod medium;
mod record;
mod store;

pub use store::{FileStore, FileStoreBuilder};
