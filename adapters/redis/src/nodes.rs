use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redis::Value;
use tenure_dialects::redis::{Command, Moved, slot};
use tenure_store::{LockName, StoreError};

use crate::{converse::packed, failure::line_of, link::Link};

/// How often one command is sent on to another node of a cluster that is being rearranged.
const REDIRECTIONS: usize = 3;

/// The server, or the nodes of a cluster as far as they have been heard of.
pub(crate) struct Nodes {
    /// The one that was named; knows where the others are.
    entry: Arc<Link>,
    heard_of: Mutex<HeardOf>,
}

/// Empty unless there is a cluster.
#[derive(Default)]
struct HeardOf {
    by_slot: HashMap<u16, Arc<Link>>,
    by_address: HashMap<String, Arc<Link>>,
}

impl Nodes {
    pub(crate) fn new(entry: Link) -> Self {
        Self { entry: Arc::new(entry), heard_of: Mutex::default() }
    }

    pub(crate) fn entry(&self) -> &Link {
        &self.entry
    }

    /// Sends `command` to the node that has `lock`. `MOVED` says that it was not executed, so it may
    /// be sent again.
    pub(crate) async fn ask(
        &self,
        lock: &LockName,
        command: &Command<'_>,
        time_left: Option<Duration>,
    ) -> Result<Value, StoreError> {
        let packed = packed(command);
        let lock = lock.as_bytes();
        let mut redirections = 0;
        loop {
            let connection = match self.node_of(lock).connection(time_left).await {
                Ok(connection) => connection,
                Err(error) => {
                    // Its successor is known to the entry.
                    self.lock().by_slot.remove(&slot(lock));
                    return Err(error);
                }
            };
            let value = connection.ask(&packed, time_left).await?;
            if redirections == REDIRECTIONS || !self.learn(&value) {
                return Ok(value);
            }
            redirections += 1;
        }
    }

    fn node_of(&self, lock: &[u8]) -> Arc<Link> {
        let heard_of = self.lock();
        let node =
            if heard_of.by_slot.is_empty() { None } else { heard_of.by_slot.get(&slot(lock)) };
        Arc::clone(node.unwrap_or(&self.entry))
    }

    /// Whether `value` tells of another node.
    fn learn(&self, value: &Value) -> bool {
        let Value::ServerError(error) = value else { return false };
        let line = line_of(error);
        let Some(Moved { slot, host, port, .. }) = Moved::read(line.as_bytes()) else {
            return false;
        };
        let address = self.entry.address().of_node(host, port);
        let mut heard_of = self.lock();
        let node = heard_of.by_address.entry(address.to_string()).or_insert_with(|| {
            // Nobody is woken from there: the subscription is at the entry.
            Arc::new(Link::new(address, Arc::default()))
        });
        let node = Arc::clone(node);
        heard_of.by_slot.insert(slot, node);
        true
    }

    fn lock(&self) -> MutexGuard<'_, HeardOf> {
        self.heard_of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others: Vec<_> = self.lock().by_address.keys().cloned().collect();
        f.debug_struct("Nodes").field("entry", &self.entry).field("others", &others).finish()
    }
}
