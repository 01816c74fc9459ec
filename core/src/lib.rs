#![doc = include_str!("../README.md")]
#![no_std]

mod config;
mod fence;
#[cfg(feature = "heapless")]
mod fence_map;
mod input;
mod lease;
mod micros;
mod nonce;
mod op;
mod output;
mod quorum;
mod time;
mod token;

pub use config::{Assurance, ConfigError, LeaseConfig, LeaseConfigBuilder, Waiting, WorstCase};
pub use fence::{Fence, OutOfOrder, StaleToken, WriteRefused};
#[cfg(feature = "heapless")]
pub use fence_map::{FenceMap, FenceMapError};
pub use input::{Failure, Input, Promise, Reply, Wait};
pub use lease::{Held, Lease};
pub use nonce::Nonce;
pub use op::OpId;
pub use output::{Basis, DenyReason, Event, LossReason, Output, RequestKind};
pub use quorum::{NodeReply, NodeRequest, Quorum, QuorumInput, QuorumOutput};
pub use time::{Drift, Instant};
pub use token::{Token, TokenOutOfRange};
