//! The fence for data in Redis, and the dialect spoken over a bare socket, without a client library.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use tenure_core::Token;
use tenure_dialects::redis::{
    Answer, Ask, Command, Conversation, Layout, Step, Trouble,
    fence::{Verdict, install, write},
    resp, start,
};

use crate::{asking::*, server::Server};

struct Wire(TcpStream);

impl Wire {
    fn to(server: &Server) -> Self {
        Self(TcpStream::connect(("127.0.0.1", server.port())).unwrap())
    }

    fn converse<'a, A: Ask>(
        &mut self,
        (mut conversation, mut step): (Conversation<'a, A>, Step<'a, A::Reply>),
    ) -> Result<A::Reply, Trouble> {
        loop {
            let command = match step {
                Step::Send(command) => command,
                Step::Done(result) => return result,
            };
            step = conversation.next(Answer::from(self.ask(&command, &mut [0; 4096])));
        }
    }

    fn ask<'b>(&mut self, command: &Command<'_>, buffer: &'b mut [u8]) -> resp::Value<'b> {
        self.0.write_all(resp::encode(command.args(), buffer).unwrap()).unwrap();
        let mut length = 0;
        // One byte at a time, so that every cut of the answer is met.
        while resp::decode(&buffer[..length]).unwrap().is_none() {
            length += self.0.read(&mut buffer[length..=length]).unwrap();
        }
        let (value, used) = resp::decode(&buffer[..length]).unwrap().unwrap();
        assert_eq!(used, length);
        value
    }

    fn install(&mut self, token: u64) -> Result<Verdict, Trouble> {
        self.converse(install(b"{data}:fence", Token::new(token).unwrap()))
    }

    fn write(&mut self, token: u64, value: &str) -> Result<Verdict, Trouble> {
        let token = Token::new(token).unwrap();
        self.converse(write(b"{data}:fence", token, b"{data}", value.as_bytes()))
    }
}

#[tokio::test]
async fn no_older_write_comes_after_a_newer_holder() {
    let server = Server::start(&[]);
    let mut wire = Wire::to(&server);
    let stale = |verdict: Result<Verdict, Trouble>| {
        let stale = verdict.unwrap().unwrap_err();
        (stale.offered.get(), stale.highest.get())
    };

    assert_eq!(wire.write(33, "of 33"), Ok(Ok(())));
    assert_eq!(wire.write(33, "again of 33"), Ok(Ok(())));
    assert_eq!(wire.install(34), Ok(Ok(())));
    assert_eq!(wire.install(34), Ok(Ok(())));
    assert_eq!(stale(wire.write(33, "too late")), (33, 34));
    assert_eq!(stale(wire.install(33)), (33, 34));
    assert_eq!(server.raw::<String>(&["GET", "{data}"]).await, "again of 33");
    assert_eq!(wire.write(34, "of 34"), Ok(Ok(())));
    assert_eq!(server.raw::<String>(&["GET", "{data}"]).await, "of 34");
    assert_eq!(server.raw::<i64>(&["TTL", "{data}:fence"]).await, -1);
}

#[tokio::test]
async fn tokens_are_compared_exactly() {
    let server = Server::start(&[]);
    let mut wire = Wire::to(&server);
    // By length first, and where a Lua number would take neighbours for equal.
    for (older, newer) in [
        (9, 10),
        (99, 100),
        (9_007_199_254_740_992, 9_007_199_254_740_993),
        (9_223_372_036_854_775_806, 9_223_372_036_854_775_807),
    ] {
        assert_eq!(wire.install(older), Ok(Ok(())));
        assert_eq!(wire.write(newer, "newer"), Ok(Ok(())));
        assert!(wire.install(older).unwrap().is_err(), "{older}");
        assert!(wire.write(older, "older").unwrap().is_err(), "{older}");
    }
}

#[tokio::test]
async fn a_damaged_fence_lets_nothing_through() {
    let server = Server::start(&[]);
    let mut wire = Wire::to(&server);
    for damaged in ["", "0", "-1", "034", "nonsense", "9223372036854775808"] {
        server.raw::<()>(&["SET", "{data}:fence", damaged]).await;
        assert!(wire.write(33, "written").is_err(), "{damaged}");
        assert!(wire.install(33).is_err(), "{damaged}");
        assert!(!server.raw::<bool>(&["EXISTS", "{data}"]).await);
    }
    server.raw::<()>(&["DEL", "{data}:fence"]).await;
    server.raw::<()>(&["RPUSH", "{data}:fence", "x"]).await;
    assert_eq!(wire.write(33, "written").unwrap_err().failure(), REFUSED);
}

#[tokio::test]
async fn a_lease_can_be_had_over_a_bare_socket() {
    let server = Server::start(&[]);
    let mut wire = Wire::to(&server);
    let mut ask = |request| wire.converse(start(Layout::Standalone, b"nightly", request)).unwrap();
    assert_eq!(ask(acquire(1)), granted(1, 1));
    assert_eq!(ask(release(1)), tenure_core::Reply::Released);
    assert_eq!(ask(watch(1)), tenure_core::Reply::Watching);
}
