use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use redis::{
    AsyncConnectionConfig, Client, Cmd, Pipeline, PushInfo, PushKind, RedisError, Value,
    aio::MultiplexedConnection,
};
use tenure_dialects::redis::CHANNEL;
use tenure_store::StoreError;
use tokio::{
    sync::{Mutex, OnceCell},
    time::{Instant, timeout},
};

use crate::{
    address::Address,
    failure::{cut_off, not_connected, refused},
    watchers::Watchers,
};

/// How long a request takes at most whose machine sets no limit.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The way to one server: a connection, made when it is first needed and again when it broke.
pub(crate) struct Link {
    address: Address,
    watchers: Arc<Watchers>,
    /// Whoever finds no connection makes one while the others wait for this.
    slot: Mutex<Option<Arc<Connection>>>,
}

/// A connection that many requests share; each is answered in turn, whether it is still waited for or
/// not.
pub(crate) struct Connection {
    address: Address,
    commands: MultiplexedConnection,
    broken: Arc<AtomicBool>,
    subscribed: OnceCell<()>,
}

impl Link {
    pub(crate) fn new(address: Address, watchers: Arc<Watchers>) -> Self {
        Self { address, watchers, slot: Mutex::new(None) }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// A connection that was whole when last heard of.
    ///
    /// # Errors
    ///
    /// Whatever was to be sent over it has not been sent.
    pub(crate) async fn connection(
        &self,
        time_left: Option<Duration>,
    ) -> Result<Arc<Connection>, StoreError> {
        // Almost always there is one, and then no timer is needed.
        if let Ok(slot) = self.slot.try_lock()
            && let Some(connection) = whole(&slot)
        {
            return Ok(connection);
        }
        // A little less than the machine gives, so that it hears "not sent" rather than nothing.
        let patience = time_left.unwrap_or(PATIENCE).mul_f32(0.9);
        // In a box, or every request would be as large as the making of a connection.
        timeout(patience, Box::pin(self.connected())).await.unwrap_or_else(|_| {
            let address = &self.address;
            Err(StoreError::not_sent(format!("{address}: no connection within {patience:?}")))
        })
    }

    async fn connected(&self) -> Result<Arc<Connection>, StoreError> {
        let mut slot = self.slot.lock().await;
        if let Some(connection) = whole(&slot) {
            return Ok(connection);
        }
        let connection = Arc::new(self.connect().await?);
        *slot = Some(Arc::clone(&connection));
        Ok(connection)
    }

    async fn connect(&self) -> Result<Connection, StoreError> {
        let broken = Arc::new(AtomicBool::new(false));
        let hears = Hears { broken: Arc::clone(&broken), watchers: Arc::clone(&self.watchers) };
        // How long an answer may take is the machine's affair, which drops the future.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_push_sender(move |push| hears.hear(&push));
        let dialled = async {
            let client = Client::open(self.address.connection_info().clone())?;
            client.get_multiplexed_async_connection_with_config(&config).await
        };
        let commands = dialled.await.map_err(|error| not_connected(&self.address, &error))?;
        let address = self.address.clone();
        let connection = Connection { address, commands, broken, subscribed: OnceCell::new() };
        if !self.watchers.is_empty() {
            // Who may not subscribe was told so at its `Watch`, and polls.
            let _ = connection.subscribe().await;
            self.watchers.wake_all();
        }
        Ok(connection)
    }
}

fn whole(slot: &Option<Arc<Connection>>) -> Option<Arc<Connection>> {
    slot.as_ref().filter(|connection| !connection.is_broken()).map(Arc::clone)
}

impl Connection {
    /// Sends one command and waits for its answer, an error reply being one.
    ///
    /// # Errors
    ///
    /// The server may have executed the command; the connection will not be used again.
    pub(crate) async fn ask(
        &self,
        command: &Cmd,
        time_left: Option<Duration>,
    ) -> Result<Value, StoreError> {
        let mut unanswered = Unanswered::new(self, time_left);
        let answer = self.commands.clone().send_packed_command(command).await;
        unanswered.over = true;
        answer.map_err(|error| self.cut_off(&error))
    }

    /// Sends many commands at once and waits for all their answers.
    ///
    /// # Errors
    ///
    /// As [`ask`](Self::ask).
    pub(crate) async fn ask_all(&self, commands: &Pipeline) -> Result<Vec<Value>, StoreError> {
        let answers = self.commands.clone().send_packed_commands(commands, 0, commands.len()).await;
        answers.map_err(|error| self.cut_off(&error))
    }

    /// Subscribes to the wake-ups, once.
    pub(crate) async fn subscribe(&self) -> Result<(), StoreError> {
        let subscribe = || async { self.commands.clone().subscribe(CHANNEL).await };
        self.subscribed
            .get_or_try_init(subscribe)
            .await
            .copied()
            .map_err(|error| refused(&self.address, &error).unwrap_or_else(|| self.cut_off(&error)))
    }

    fn cut_off(&self, error: &RedisError) -> StoreError {
        self.give_up();
        cut_off(&self.address, error)
    }

    fn give_up(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

/// What the server says unasked.
struct Hears {
    broken: Arc<AtomicBool>,
    watchers: Arc<Watchers>,
}

impl Hears {
    fn hear(&self, push: &PushInfo) -> Result<(), ()> {
        match (&push.kind, push.data.as_slice()) {
            (PushKind::Disconnection, _) => self.broken.store(true, Ordering::Relaxed),
            (PushKind::Message, [Value::BulkString(channel), Value::BulkString(lock)])
                if channel == CHANNEL.as_bytes() =>
            {
                self.watchers.wake(lock);
            }
            _ => {}
        }
        Ok(())
    }
}

/// A request whose answer is out. If it is dropped when its time was up, and not because nobody wants
/// the answer any more, then the connection may be half open: nobody shall wait for it again.
struct Unanswered<'a> {
    connection: &'a Connection,
    sent: Instant,
    patience: Duration,
    over: bool,
}

impl<'a> Unanswered<'a> {
    fn new(connection: &'a Connection, time_left: Option<Duration>) -> Self {
        let patience = time_left.unwrap_or(PATIENCE).mul_f32(0.9);
        Self { connection, sent: Instant::now(), patience, over: false }
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if !self.over && self.sent.elapsed() >= self.patience {
            self.connection.give_up();
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("address", &self.address).finish_non_exhaustive()
    }
}
