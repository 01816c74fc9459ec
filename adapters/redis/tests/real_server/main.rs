//! The store against real servers, which each test starts for itself.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod asking;
mod cluster;
mod connection;
mod fence;
mod lease;
mod proxy;
mod server;
mod tls;
mod wake;
