//! One node of a quorum (RedLock): of up to nine independent servers that keep a lock by majority.
//!
//! # What is kept
//!
//! | key | value |
//! | --- | --- |
//! | the lock's name, as given | `nonce:-`, 32 hexadecimal digits, with a time to live |
//! | [`NODE`], a hash without one | which node this server is, of which quorum and how many; its counters |
//!
//! A counter is the highest token seen. There is one for each hash slot of a lock's name: one for each
//! lock would grow without bound, and with one for all, locks that have nothing to do with each other
//! would overtake one another's tokens, and cost each other rounds.
//!
//! A server that lost its data lost the counters *and* what makes it a node, since both are in one
//! key. Every vote checks the latter, and a server without it, or with another, refuses
//! (`TENURENODE`): it must not vote on what it does not remember.
//!
//! # How a quorum is formed
//!
//! 1. Every server is marked with an id ([`form`]), while none votes.
//! 2. Once all are marked, each is let vote ([`seat`]) in the quorum whose id comes of all those marks.
//!
//! So whoever comes upon a half-formed quorum can go on with it, and a server that is empty beside one
//! that votes has lost its data. That one is marked anew, and seated with counters above all others'
//! when no attempt is alive that it had a part in.

mod ask;
mod seating;

pub use ask::start;
pub use seating::{
    Census, Change, Counting, Member, Standing, census, form, quorum_of, seat, unseat,
};

/// The key of the hash that makes a server a node.
pub const NODE: &str = "__tenure:1:quorum";
