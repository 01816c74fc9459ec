//! The dialect of Redis and of what speaks as it does.
//!
//! # What is kept
//!
//! | key | value |
//! | --- | --- |
//! | the lock's name, as given | `nonce:token`, 32 hexadecimal digits and a decimal number, with a time to live |
//! | `__tenure:1:token`; in a cluster `__tenure:1:token:{tag}` | the token counter, without one |
//!
//! Several servers that keep a lock by majority (RedLock) speak the part in [`quorum`].
//!
//! A client that takes a lock with `SET name value NX PX ms` and frees it by compare-and-delete
//! excludes Tenure and is excluded by it. Keys that begin with [`RESERVED`] are no locks. The `1` is
//! the version of the layout; two versions can run side by side.
//!
//! # A conversation
//!
//! ```
//! use core::time::Duration;
//! use tenure_core::{Nonce, Promise, Reply, RequestKind, Token};
//! use tenure_dialects::redis::{Answer, Layout, Step, resp, start};
//!
//! let nonce = Nonce::from_bytes([7; 16]);
//! let request = RequestKind::Acquire { nonce, term: Duration::from_secs(30), block: false };
//! let (mut conversation, step) = start(Layout::Standalone, b"nightly", request);
//! let Step::Send(command) = step else { panic!("nothing to send") };
//!
//! let mut buffer = [0; 256];
//! let bytes = resp::encode(command.args(), &mut buffer)?; // to the socket
//! assert!(bytes.starts_with(b"*7\r\n$7\r\nEVALSHA\r\n"));
//!
//! let received = b"-NOSCRIPT No matching script.\r\n"; // from the socket
//! let (value, _) = resp::decode(received)?.expect("a whole answer");
//! let Step::Send(command) = conversation.next(Answer::from(value)) else { panic!("no second try") };
//! assert_eq!(command.args().next(), Some(&b"EVAL"[..]));
//!
//! let Step::Done(reply) = conversation.next(Answer::Text(b"granted 34")) else { panic!("no end") };
//! let token = Token::new(34).unwrap();
//! let promise = Promise::Term(Duration::from_secs(30));
//! assert_eq!(reply, Ok(Reply::Granted { nonce, token, promise }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod command;
mod conversation;
mod error_reply;
pub mod fence;
mod layout;
mod moved;
pub mod quorum;
pub mod resp;
mod script;
mod trouble;
mod wake;

pub use command::{Command, Word};
pub use conversation::{Answer, Ask, Conversation, Look, Sight, Step, inspect, start};
pub use error_reply::ErrorReply;
pub use layout::{Layout, RESERVED, SLOTS, slot, tag};
pub use moved::Moved;
pub use script::Script;
pub use trouble::Trouble;
pub use wake::{CHANNEL, woken};
