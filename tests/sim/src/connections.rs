use std::collections::BTreeMap;

use tenure_core::{Nonce, OpId};

use crate::clock::Micros;

/// The pinned connections of a session store, one an attempt: in order, never doubled, and dead for
/// good once anything is lost on them.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    by_nonce: BTreeMap<Nonce, Connection>,
    requests: BTreeMap<OpId, Nonce>,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: usize,
    /// The client's end knows of nothing wrong.
    pub(crate) open: bool,
    /// Nothing passes any more, whoever knows it.
    pub(crate) dead: bool,
    /// Nothing of its attempt is left at the store.
    pub(crate) idle: bool,
    store_heard: Micros,
    client_heard: Micros,
}

impl Connections {
    pub(crate) fn of(&mut self, nonce: Nonce, client: usize) -> &mut Connection {
        self.by_nonce.entry(nonce).or_insert(Connection {
            client,
            open: true,
            dead: false,
            idle: false,
            store_heard: 0,
            client_heard: 0,
        })
    }

    pub(crate) fn get(&mut self, nonce: Nonce) -> Option<&mut Connection> {
        self.by_nonce.get_mut(&nonce)
    }

    pub(crate) fn carry(&mut self, op: OpId, nonce: Nonce) {
        self.requests.insert(op, nonce);
    }

    /// The connection that the request came on, and its answer goes back on.
    pub(crate) fn carrying(&self, op: OpId) -> Option<Nonce> {
        self.requests.get(&op).copied()
    }

    /// Those that matter to the store.
    pub(crate) fn in_use(&self, client: usize) -> Vec<Nonce> {
        let mine = |connection: &Connection| {
            connection.client == client && !connection.dead && !connection.idle
        };
        self.by_nonce
            .iter()
            .filter(|(_, connection)| mine(connection))
            .map(|(nonce, _)| *nonce)
            .collect()
    }
}

impl Connection {
    /// When a message that could arrive at `at` does, behind those before it.
    pub(crate) fn reaches_store(&mut self, at: Micros) -> Micros {
        self.store_heard = self.store_heard.max(at);
        self.store_heard
    }

    pub(crate) fn reaches_client(&mut self, at: Micros) -> Micros {
        self.client_heard = self.client_heard.max(at);
        self.client_heard
    }
}
