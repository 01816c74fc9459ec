use std::{fmt, sync::Arc, time::Duration};

use tenure_core::{NodeReply, NodeRequest, Nonce};
use tenure_dialects::redis::{
    self as dialect, Ask, Conversation, Layout, Script, Sight, Step, Trouble,
    quorum::{self, Census, Change},
};
use tenure_store::{ConnectError, Guarantees, StoreError};
use tokio::time::timeout;

use crate::{
    address::Address,
    converse::{next, packed},
    link::{Link, PATIENCE},
    self_check::self_check,
};

/// What a lock needs on a node.
const SCRIPTS: [Script; 6] =
    [Script::LOCK, Script::RAISE, Script::RENEW, Script::RELEASE, Script::CENSUS, Script::INSPECT];

/// One server of a quorum.
pub(super) struct Node {
    link: Link,
}

impl Node {
    pub(super) fn new(address: Address) -> Self {
        Self { link: Link::new(address, Arc::default()) }
    }

    pub(super) fn address(&self) -> &Address {
        self.link.address()
    }

    /// Asks for what a quorum requests; `Ok(Err(_))`: what the server answered is no reply.
    pub(super) async fn ask(
        &self,
        id: Nonce,
        lock: &[u8],
        request: NodeRequest,
        time_left: Duration,
    ) -> Result<Result<NodeReply, Trouble>, StoreError> {
        self.converse(quorum::start(id, lock, request), time_left).await
    }

    /// What the server is set up for.
    pub(super) async fn check(&self) -> Result<Guarantees, ConnectError> {
        let checked = timeout(PATIENCE, async {
            let connection =
                self.link.connection(Some(PATIENCE)).await.map_err(ConnectError::Unreachable)?;
            self_check(&connection, &SCRIPTS).await
        });
        match checked.await {
            Ok(Ok((Layout::Standalone, guarantees))) => Ok(guarantees),
            Ok(Ok(_)) => Err(ConnectError::Unsafe(
                "this server is in a cluster, whose nodes are not independent: name servers that \
                 stand alone"
                    .into(),
            )),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(ConnectError::Unreachable(self.silent(PATIENCE))),
        }
    }

    /// Which node it is, of which quorum.
    pub(super) async fn census(&self, time_left: Duration) -> Result<Census, StoreError> {
        self.ask_once(quorum::census(), time_left).await
    }

    /// Changes that.
    pub(super) async fn change(
        &self,
        (conversation, first): (Conversation<'_, Change>, Step<'_, bool>),
    ) -> Result<bool, ConnectError> {
        self.ask_once((conversation, first), PATIENCE).await.map_err(ConnectError::Unreachable)
    }

    /// Looks at a lock.
    pub(super) async fn inspect(&self, lock: &[u8]) -> Result<Sight, StoreError> {
        self.ask_once(dialect::inspect(lock), PATIENCE).await
    }

    async fn ask_once<A: Ask>(
        &self,
        begun: (Conversation<'_, A>, Step<'_, A::Reply>),
        time_left: Duration,
    ) -> Result<A::Reply, StoreError> {
        match timeout(time_left, self.converse(begun, time_left)).await {
            Ok(answer) => answer?.map_err(|trouble| self.trouble(trouble)),
            Err(_) => Err(self.silent(time_left)),
        }
    }

    async fn converse<'a, A: Ask>(
        &self,
        (mut conversation, mut step): (Conversation<'a, A>, Step<'a, A::Reply>),
        time_left: Duration,
    ) -> Result<Result<A::Reply, Trouble>, StoreError> {
        loop {
            let command = match step {
                Step::Send(command) => packed(&command),
                Step::Done(result) => return Ok(result),
            };
            let connection = self.link.connection(Some(time_left)).await?;
            let value = connection.ask(&command, Some(time_left)).await?;
            step = next(&mut conversation, &value);
        }
    }

    pub(super) fn trouble(&self, trouble: Trouble) -> StoreError {
        StoreError::new(trouble.failure(), format!("{}: {trouble}", self.address()))
    }

    pub(super) fn silent(&self, patience: Duration) -> StoreError {
        StoreError::unknown(format!("{}: no answer within {patience:?}", self.address()))
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.address())
    }
}
