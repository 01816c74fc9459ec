//! Deterministic simulation of the shipped machines.
//!
//! A seed decides everything: the kind of store, two to five clients, their clocks, what goes wrong
//! and when. The machines run as drivers run them, against a modelled store, in virtual time; after
//! every step an oracle for each invariant looks at the whole world. The same seed gives the same
//! run, so a failure is replayed by its number.
//!
//! A failure names what did not hold: an invariant (`S1`…), a liveness property (`L1`…), a deadline rule
//! (`D4`), a rule of the machines' conduct (`C1`…), or `panic`.
//!
//! Each run ends with a calm time: nothing goes wrong any more, so everybody must get the lock, close,
//! and leave an empty store behind.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the core's enums may grow, and most judgements are about one or two of their cases"
)]

mod app;
mod client;
mod clock;
mod connections;
mod coverage;
mod dues;
mod faults;
mod ledger;
mod network;
mod random;
mod resource;
mod run;
mod scenario;
mod store;
mod trace;
mod violation;
mod world;

pub use coverage::Coverage;
pub use run::{Failure, replay, run, run_all};
pub use scenario::{Kind, Settings, Weather};
