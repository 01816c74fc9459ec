use std::{
    io::{ErrorKind, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
};

use crate::{
    exit::Failure,
    run::wire::{Limits, Note, Order},
};

/// `tenure run` is not there any more.
pub(super) struct Gone;

/// `tenure run`, as seen from here.
pub(super) struct Parent {
    control: UnixStream,
    received: Vec<u8>,
}

impl Parent {
    pub(super) fn new(control: UnixStream) -> Self {
        Self { control, received: Vec::new() }
    }

    pub(super) fn first_limits(&mut self) -> Result<Limits, Failure> {
        let mut bytes = [0; Order::SIZE];
        self.control.set_nonblocking(false).map_err(Failure::system)?;
        self.control
            .read_exact(&mut bytes)
            .map_err(|_| Failure::system("tenure ended before the command was started"))?;
        self.control.set_nonblocking(true).map_err(Failure::system)?;
        match Order::decode(bytes) {
            Some(Order::Stop(limits)) => Ok(limits),
            Some(Order::Signal(_)) | None => {
                Err(Failure::usage("the watchdog was told nonsense by its parent"))
            }
        }
    }

    /// `None` if there is nothing more for now. An order that makes no sense counts as [`Gone`].
    pub(super) fn next_order(&mut self) -> Option<Result<Order, Gone>> {
        loop {
            if let Some((order, _)) = self.received.split_first_chunk::<{ Order::SIZE }>() {
                let order = Order::decode(*order).ok_or(Gone);
                self.received.drain(..Order::SIZE);
                return Some(order);
            }
            let mut bytes = [0; 16 * Order::SIZE];
            match self.control.read(&mut bytes) {
                Ok(0) => return Some(Err(Gone)),
                Ok(count) => self.received.extend(bytes.iter().take(count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Some(Err(Gone)),
            }
        }
    }

    pub(super) fn tell(&mut self, note: Note) {
        // If it cannot be told, it is gone, which is noticed when its orders are read.
        let _gone = self.control.write_all(&[note as u8]);
    }
}

impl AsFd for Parent {
    /// Readable when there is an order, or [`Gone`].
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}
