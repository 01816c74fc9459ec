//! A Redis of our own.

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    net::{Ipv4Addr, TcpListener},
    process::{Child, Command, Stdio},
    thread,
};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::shell::target;

/// A Redis on a free port of 127.0.0.1, with a folder of its own; stopped when dropped.
pub(crate) struct Redis {
    port: u16,
    process: Child,
    _folder: TempDir,
}

impl Redis {
    /// Starts one, and returns when it serves.
    pub(crate) fn start() -> Result<Self> {
        // Between the choice of a free port and its use, another process may take it.
        const ATTEMPTS: usize = 5;
        for _ in 0..ATTEMPTS {
            if let Some(redis) = Self::try_start()? {
                return Ok(redis);
            }
        }
        bail!("redis-server ended before it served, {ATTEMPTS} times")
    }

    /// Where it serves, as `tenure --store` takes it.
    pub(crate) fn url(&self) -> String {
        format!("redis://{}:{}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// One that writes nothing to disk, so that a benchmark times the client and not the disk; or
    /// none, if it ended at once.
    fn try_start() -> Result<Option<Self>> {
        let folders = target().join("servers");
        fs::create_dir_all(&folders)?;
        let folder = tempfile::Builder::new().prefix("redis-").tempdir_in(folders)?;
        let port = free_port()?;
        let mut server = Command::new("redis-server");
        server.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
        server.args(["--save", "", "--appendonly", "no", "--dir"]).arg(folder.path());
        let mut process = server
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start redis-server; `cargo xtask setup` installs it")?;
        let mut log = BufReader::new(process.stdout.take().context("no standard output")?);
        let mut line = String::new();
        while log.read_line(&mut line)? > 0 {
            if line.contains("Ready to accept connections") {
                // A log that nobody reads would block the server once its pipe is full.
                thread::spawn(move || io::copy(&mut log, &mut io::sink()));
                return Ok(Some(Self { port, process, _folder: folder }));
            }
            line.clear();
        }
        process.wait()?;
        Ok(None)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It may have ended already, and then there is nothing left to stop.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::TcpStream,
    };

    use super::*;

    #[test]
    fn it_serves_when_started_and_not_when_dropped() -> Result<()> {
        let redis = Redis::start()?;
        let address = (Ipv4Addr::LOCALHOST, redis.port);
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 7];
        stream.read_exact(&mut answer)?;
        assert_eq!(&answer, b"+PONG\r\n");
        drop(redis);
        assert!(TcpStream::connect(address).is_err());
        Ok(())
    }
}
