use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::{Child, Command},
    thread,
};

use redis::{FromRedisValue, ToRedisArgs};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tenure_redis::RedisStore;

/// A `redis-server` on a free port of this host, in a folder of its own. Ends with the value.
pub(crate) struct Server {
    process: Child,
    port: u16,
    args: Vec<String>,
    folder: TempDir,
}

impl Server {
    /// A server without persistence, with these arguments besides.
    pub(crate) fn start(args: &[&str]) -> Self {
        let args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
        let folder = tempfile::tempdir().unwrap();
        let started = (0..10).find_map(|_| {
            let port = free_port();
            spawn(port, &args, &folder).map(|process| (process, port))
        });
        let (process, port) = started.expect("redis-server must start; see its output");
        Self { process, port, args, folder }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) async fn store(&self) -> RedisStore {
        RedisStore::connect(&self.url()).await.unwrap()
    }

    /// Kills it (SIGKILL), and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts it again after `kill`, with its folder, on its port.
    pub(crate) fn restart(&mut self) {
        self.process = spawn(self.port, &self.args, &self.folder).unwrap();
    }

    /// Stops it where it is (SIGSTOP).
    pub(crate) fn freeze(&self) {
        kill_process(Pid::from_child(&self.process), Signal::STOP).unwrap();
    }

    /// Lets it go on after `freeze`.
    pub(crate) fn thaw(&self) {
        kill_process(Pid::from_child(&self.process), Signal::CONT).unwrap();
    }

    /// What a client without Tenure gets for this command.
    pub(crate) async fn raw<T: FromRedisValue>(&self, words: &[impl ToRedisArgs]) -> T {
        let client = redis::Client::open(self.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let mut command = redis::Cmd::new();
        words.iter().for_each(|word| {
            command.arg(word);
        });
        command.query_async(&mut connection).await.unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// `None` if somebody was faster to take the port.
fn spawn(port: u16, args: &[String], folder: &TempDir) -> Option<Child> {
    let (log, output) = std::io::pipe().unwrap();
    let mut process = Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
        .args(args)
        .arg("--dir")
        .arg(folder.path())
        .stdout(output)
        .spawn()
        .expect("redis-server must be installed (Debian: redis-server)");
    let mut log = BufReader::new(log).lines().map_while(Result::ok);
    if !log.by_ref().any(|line| line.contains("Ready to accept connections")) {
        let _ = process.wait();
        return None;
    }
    thread::spawn(move || log.for_each(drop));
    Some(process)
}
