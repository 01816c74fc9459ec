use std::{fmt, sync::Arc, time::Duration};

use tenure_core::{Assurance, Nonce, Reply, RequestKind, Waiting};
use tenure_dialects::redis::{
    self as dialect, Ask, Conversation, Layout, Script, Sight, Step, Trouble,
};
use tenure_store::{
    Call, ConnectError, Executing, Guarantees, Inspecting, Inspection, LockName, Notices, Profile,
    Store, StoreError,
};
use tokio::time::timeout;

use crate::{
    address::Address,
    converse::next,
    link::{Link, PATIENCE},
    nodes::Nodes,
    self_check::self_check,
    watchers::Watchers,
};

/// What a lock needs.
const SCRIPTS: [Script; 4] = [Script::ACQUIRE, Script::RENEW, Script::RELEASE, Script::INSPECT];

/// Locks in a Redis server. Cheap to clone; all clones share one connection.
#[derive(Clone)]
pub struct RedisStore(Arc<Shared>);

struct Shared {
    nodes: Nodes,
    layout: Layout,
    guarantees: Guarantees,
    watchers: Arc<Watchers>,
}

impl RedisStore {
    /// Connects, and checks what the server is set up for.
    ///
    /// `redis://user:password@host:6379/0`, `rediss://…` for TLS with the host's trusted certificates,
    /// `unix:///path/to/socket`. In a user name or password, `%`, `@`, `:` and `/` are written as
    /// `%25`, `%40`, `%3A` and `%2F`. Must be called within a tokio runtime, which then carries the
    /// connection.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Invalid`] for an address that makes no sense; [`ConnectError::Unreachable`] if
    /// the server cannot be reached within 5 s or does not let us in; [`ConnectError::Unsafe`] if it
    /// may evict the token counter, or is a replica.
    pub async fn connect(url: &str) -> Result<Self, ConnectError> {
        let address = Address::parse(url)?;
        let shown = address.to_string();
        let checked = timeout(PATIENCE, Self::connect_to(address)).await;
        checked.unwrap_or_else(|_| {
            let error = format!("{shown}: no answer within {PATIENCE:?}");
            Err(ConnectError::Unreachable(StoreError::not_sent(error)))
        })
    }

    async fn connect_to(address: Address) -> Result<Self, ConnectError> {
        let watchers = Arc::<Watchers>::default();
        let nodes = Nodes::new(Link::new(address, Arc::clone(&watchers)));
        let connection = nodes.entry().connection(None).await.map_err(ConnectError::Unreachable)?;
        let (layout, guarantees) = self_check(&connection, &SCRIPTS).await?;
        Ok(Self(Arc::new(Shared { nodes, layout, guarantees, watchers })))
    }
}

impl Shared {
    async fn execute(&self, call: Call<'_>) -> Result<Reply, StoreError> {
        if let RequestKind::Watch { nonce } = call.request {
            return self.watch(&call, nonce).await;
        }
        if let RequestKind::Unwatch { nonce } = call.request {
            self.watchers.remove(call.lock, nonce);
        }
        let lock = call.lock.as_bytes();
        let (conversation, first) = dialect::start(self.layout, lock, call.request);
        self.converse(call.lock, conversation, first, call.time_left).await
    }

    /// The subscription is the connection's; only who to wake is the lock's. In a cluster every node
    /// passes on what is published at any.
    async fn watch(&self, call: &Call<'_>, nonce: Nonce) -> Result<Reply, StoreError> {
        let Call { lock, notices, .. } = *call;
        let watching = Watching::begin(&self.watchers, lock, nonce, notices);
        self.nodes.entry().connection(call.time_left).await?.subscribe().await?;
        watching.keep();
        Ok(Reply::Watching)
    }

    async fn inspect(&self, lock: &LockName) -> Result<Inspection, StoreError> {
        let (conversation, first) = dialect::inspect(lock.as_bytes());
        let looked =
            timeout(PATIENCE, self.converse(lock, conversation, first, Some(PATIENCE))).await;
        let sight = looked.unwrap_or_else(|_| {
            let address = self.nodes.entry().address();
            Err(StoreError::unknown(format!("{address}: no answer within {PATIENCE:?}")))
        })?;
        match sight {
            Sight::Free => Ok(Inspection::Free),
            Sight::Held { token, remaining, .. } => {
                Ok(Inspection::Held { token, remaining, holder: None })
            }
            _ => Err(self.trouble(Trouble::Garbled)),
        }
    }

    async fn converse<'a, A: Ask>(
        &self,
        lock: &LockName,
        mut conversation: Conversation<'a, A>,
        first: Step<'a, A::Reply>,
        time_left: Option<Duration>,
    ) -> Result<A::Reply, StoreError> {
        let mut step = first;
        loop {
            let command = match step {
                Step::Send(command) => command,
                Step::Done(result) => return result.map_err(|trouble| self.trouble(trouble)),
            };
            let value = self.nodes.ask(lock, &command, time_left).await?;
            step = next(&mut conversation, &value);
        }
    }

    fn trouble(&self, trouble: Trouble) -> StoreError {
        StoreError::new(trouble.failure(), format!("{}: {trouble}", self.nodes.entry().address()))
    }
}

/// A watch that ends with its request, unless it is kept.
struct Watching<'a> {
    watchers: &'a Watchers,
    lock: &'a LockName,
    nonce: Nonce,
    kept: bool,
}

impl<'a> Watching<'a> {
    fn begin(watchers: &'a Watchers, lock: &'a LockName, nonce: Nonce, notices: &Notices) -> Self {
        watchers.add(lock, nonce, notices);
        Self { watchers, lock, nonce, kept: false }
    }

    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.watchers.remove(self.lock, self.nonce);
        }
    }
}

impl Store for RedisStore {
    fn profile(&self) -> Profile {
        Profile::new(Waiting::PollAndWatch, Assurance::Term, Duration::from_millis(1))
    }

    fn guarantees(&self) -> &Guarantees {
        &self.0.guarantees
    }

    fn execute<'a>(&'a self, call: Call<'a>) -> Executing<'a> {
        Box::pin(async move { self.0.execute(call).await.map(Into::into) })
    }

    fn inspect<'a>(&'a self, lock: &'a LockName) -> Inspecting<'a> {
        Box::pin(self.0.inspect(lock))
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { nodes, layout, guarantees, watchers } = &*self.0;
        f.debug_struct("RedisStore")
            .field("nodes", nodes)
            .field("layout", layout)
            .field("guarantees", guarantees)
            .field("watchers", watchers)
            .finish()
    }
}
