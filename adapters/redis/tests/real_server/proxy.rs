use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Notify, watch},
};

/// Carries bytes between clients and a server, and counts how often the client spoke and then was
/// answered.
#[derive(Clone)]
pub(crate) struct Proxy {
    port: u16,
    wire: Arc<Wire>,
}

#[derive(Default)]
struct Wire {
    connections: AtomicUsize,
    round_trips: AtomicUsize,
    client_spoke_last: AtomicBool,
    swallow: AtomicBool,
    hold: watch::Sender<bool>,
    heard: Notify,
    hung_up: Notify,
}

impl Proxy {
    pub(crate) async fn before(server_port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let wire = Arc::<Wire>::default();
        let carried = Arc::clone(&wire);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server_port)).await else {
                    continue;
                };
                carried.connections.fetch_add(1, Ordering::SeqCst);
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(requests(from_client, to_server, Arc::clone(&carried)));
                tokio::spawn(answers(from_server, to_client, Arc::clone(&carried)));
            }
        });
        Self { port, wire }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn connections(&self) -> usize {
        self.wire.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn round_trips(&self) -> usize {
        self.wire.round_trips.load(Ordering::SeqCst)
    }

    /// From now on requests get lost on the way, and no connection ends.
    pub(crate) fn swallow(&self, on: bool) {
        self.wire.swallow.store(on, Ordering::SeqCst);
    }

    /// From now on answers wait on the way, until they may go on.
    #[allow(dead_code, reason = "of what another suite needs too")]
    pub(crate) fn hold(&self, on: bool) {
        self.wire.hold.send_replace(on);
    }

    /// The next time from now on that a client says something.
    pub(crate) async fn heard(&self) {
        self.wire.heard.notified().await;
    }

    /// The next time that a client closes its connection.
    pub(crate) async fn hung_up(&self) {
        self.wire.hung_up.notified().await;
    }
}

async fn requests(mut client: OwnedReadHalf, mut server: OwnedWriteHalf, wire: Arc<Wire>) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = client.read(&mut buffer).await {
        if !wire.client_spoke_last.swap(true, Ordering::SeqCst) {
            wire.round_trips.fetch_add(1, Ordering::SeqCst);
        }
        wire.heard.notify_waiters();
        let lost = wire.swallow.load(Ordering::SeqCst);
        if !lost && server.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
    wire.hung_up.notify_one();
}

async fn answers(mut server: OwnedReadHalf, mut client: OwnedWriteHalf, wire: Arc<Wire>) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = server.read(&mut buffer).await {
        let _ = wire.hold.subscribe().wait_for(|held| !held).await;
        wire.client_spoke_last.store(false, Ordering::SeqCst);
        if client.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
}
