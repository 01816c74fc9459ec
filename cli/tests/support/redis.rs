//! A Redis server of a test's own.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

/// Stopped and gone when dropped. Its data survive a restart.
pub struct Server {
    pub port: u16,
    folder: TempDir,
    process: Child,
    options: Vec<String>,
}

impl Server {
    pub fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        // A port that was free may be taken before the server has it.
        loop {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            if let Some(process) = launch(port, &folder, &options) {
                return Self { port, folder, process, options };
            }
        }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id().cast_signed()), signal).unwrap();
    }

    pub fn stop(&mut self) {
        self.signal(Signal::SIGTERM);
        self.process.wait().unwrap();
    }

    pub fn start_again(&mut self) {
        self.process = launch(self.port, &self.folder, &self.options).expect("the port is ours");
    }

    /// The first line of the answer to a command without spaces in its arguments.
    pub fn ask(&self, command: &str) -> String {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(connection, "{command}\r\n").unwrap();
        let mut line = String::new();
        BufReader::new(connection).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// What is left of a key's life, in milliseconds.
    pub fn time_to_live(&self, key: &str) -> i64 {
        self.ask(&format!("PTTL {key}")).trim_start_matches(':').parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _waited = self.process.wait();
    }
}

/// `None` if the server ended before it was ready.
fn launch(port: u16, folder: &TempDir, options: &[String]) -> Option<Child> {
    let mut process = Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"])
        .arg(folder.path())
        .args(["--save", "", "--appendonly", "yes", "--appendfsync", "always"])
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("redis-server should be installed: Debian's package redis-server has it");
    let mut log = BufReader::new(process.stdout.take().unwrap());
    let mut line = String::new();
    while log.read_line(&mut line).unwrap() > 0 {
        if line.contains("Ready to accept connections") {
            // Read on, or the server would block when the pipe is full.
            std::thread::spawn(move || log.read_to_end(&mut Vec::new()));
            return Some(process);
        }
        line.clear();
    }
    process.wait().unwrap();
    None
}
