use std::{pin::Pin, time::Duration};

use tenure_core::{NodeReply, NodeRequest};

use crate::{LockName, StoreError};

/// Several servers that keep a lock by majority, as a driver uses them. What
/// [`Store::execute`](crate::Store::execute) must keep to, these must too.
pub trait Nodes: Send + Sync {
    /// How many there are, from 1 to 9. Never changes.
    fn count(&self) -> u8;

    /// Executes one request at one node. Nothing is sent before the future is first polled.
    fn ask<'a>(&'a self, call: NodeCall<'a>) -> Asking<'a>;
}

/// A request to a node under way.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<NodeReply, StoreError>> + Send + 'a>>;

/// One request of a [`Quorum`](tenure_core::Quorum).
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "drivers build it")]
pub struct NodeCall<'a> {
    /// Which node, from 0 to [`count`](Nodes::count) − 1.
    pub node: u8,
    /// The lock.
    pub lock: &'a LockName,
    /// What to ask.
    pub request: NodeRequest,
    /// How long the machine will wait for the answer.
    pub time_left: Duration,
}
