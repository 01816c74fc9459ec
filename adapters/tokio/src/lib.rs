// The example there needs a store, which without the default features there may be none of.
#![cfg_attr(feature = "file", doc = include_str!("../README.md"))]
#![cfg_attr(not(feature = "file"), doc = "Distributed locks that end on time, for tokio.")]

mod driver;
mod engine;
mod error;
mod guard;
mod inbox;
mod lock;
mod machine;
pub mod metric_names;
mod metrics;
mod nap;
mod status;

pub use error::{AcquireError, LockError, Lost};
pub use guard::{Guard, Released, TokenWentBack};
pub use lock::{Contended, Lock, LockBuilder};
pub use status::{Status, Stopping};

pub use tenure_core::{
    Basis, ConfigError, Drift, Failure, Fence, Held, Instant, LeaseConfig, LossReason, OutOfOrder,
    StaleToken, Token, TokenOutOfRange, WorstCase, WriteRefused,
};
#[cfg(feature = "file")]
pub use tenure_file as file;
#[cfg(feature = "memory")]
pub use tenure_memory as memory;
#[cfg(feature = "redis")]
pub use tenure_redis as redis;
pub use tenure_store::{
    Clock, ConnectError, EmptyName, Failover, Fairness, Fencing, Finding, Guarantees, Inspection,
    LockName, Requirements, Store, StoreError, SystemClock, Tenancy, Unmet,
};
