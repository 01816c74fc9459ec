//! A quorum of real servers, which each test starts for itself, driven as an application drives it.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod amnesia;
mod connecting;
mod holding;
mod outages;
mod servers;

#[allow(dead_code, reason = "of what another suite needs too")]
#[path = "../real_server/proxy.rs"]
mod proxy;
#[allow(dead_code, reason = "of what another suite needs too")]
#[path = "../real_server/server.rs"]
mod server;
