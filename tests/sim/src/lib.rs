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
mod html;
mod ledger;
mod machine;
mod network;
mod obligations;
mod oracles;
mod random;
mod record;
mod resource;
mod run;
mod scenario;
mod settings;
mod shrink;
mod site;
mod store;
mod summary;
mod trace;
mod violation;
mod world;

pub use coverage::Coverage;
pub use record::replay_trace;
pub use run::{Failure, Replay, replay, run, run_all, survey};
pub use scenario::Kind;
pub use settings::{Settings, Weather, Without};
pub use shrink::shrink;
pub use summary::Summary;
