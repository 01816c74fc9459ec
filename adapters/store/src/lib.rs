//! What Tenure asks of a lock store.
//!
//! A store crate implements [`Store`]: it turns a machine's request into one exchange with its
//! server, through its dialect and a client library, and says by its [`Guarantees`] what a lease
//! there is worth. No runtime is assumed.

mod clock;
mod error;
mod guarantees;
mod name;
mod nodes;
mod notices;
mod store;

pub use clock::{Clock, SystemClock};
pub use error::{ConnectError, StoreError};
pub use guarantees::{
    Failover, Fairness, Fencing, Finding, Guarantees, Requirements, Tenancy, Unmet,
};
pub use name::{EmptyName, LockName};
pub use nodes::{Asking, NodeCall, Nodes};
pub use notices::Notices;
pub use store::{Answer, Call, Executing, Inspecting, Inspection, Profile, Store};
