use anyhow::{Result, bail};
use redis::{Client, Script, aio::MultiplexedConnection};

/// The lock that most people write: `SET NX PX`, and a script that compares and deletes.
pub(crate) struct RawLock {
    connection: MultiplexedConnection,
    compare_and_delete: Script,
    name: &'static str,
    value: u64,
}

impl RawLock {
    pub(crate) async fn connect(url: &str, name: &'static str) -> Result<Self> {
        let connection = Client::open(url)?.get_multiplexed_async_connection().await?;
        let compare_and_delete = Script::new(
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
             return 0",
        );
        Ok(Self { connection, compare_and_delete, name, value: 0 })
    }

    pub(crate) async fn acquire(&mut self) -> Result<()> {
        self.value += 1;
        let mut set = redis::cmd("SET");
        set.arg(self.name).arg(self.value).arg("NX").arg("PX").arg(30_000);
        let granted: Option<String> = set.query_async(&mut self.connection).await?;
        if granted.is_none() {
            bail!("somebody else has {}", self.name);
        }
        Ok(())
    }

    pub(crate) async fn release(&mut self) -> Result<()> {
        let mut script = self.compare_and_delete.key(self.name);
        let deleted: u32 = script.arg(self.value).invoke_async(&mut self.connection).await?;
        if deleted != 1 {
            bail!("{} was not ours any more", self.name);
        }
        Ok(())
    }
}
