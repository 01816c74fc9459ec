//! Exhaustive exploration of small worlds around Tenure's machines.
//!
//! Every step of a world is one call of the shipped machines' `handle`, drained by `poll`; nothing of
//! them is modelled. States are told apart by `canonical`.

mod client;
mod config;
mod machine;
mod naive;
mod rows;
mod search;
mod store;
mod story;
mod timed;
mod tokens;
mod tokens_told;
mod violation;

pub use rows::{ROWS, Row};
pub use search::{Ending, Found};
pub use story::Story;
pub use violation::Violation;
