//! What the fuzz targets run, and how it is judged.
//!
//! Each target is a function of bytes that panics if anything is not as it must be. `fuzz/` hands it
//! bytes from libFuzzer; this crate's tests hand it the committed corpora and every input that once
//! found a fault.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the core's enums may grow, and most judgements are about one or two of their cases"
)]

mod config;
mod conversation;
mod fence;
pub mod lease;
mod order;
pub mod quorum;
mod resp;
mod snapshot;
mod source;

/// One fuzz target.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Target {
    /// The name of its corpus, and of its file in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// Runs it. Panics at a fault.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: [Target; 7] = [
    Target { name: "lease", run: lease::target },
    Target { name: "quorum", run: quorum::target },
    Target { name: "fence", run: fence::target },
    Target { name: "config", run: config::target },
    Target { name: "resp", run: resp::target },
    Target { name: "redis_conversation", run: conversation::target },
    Target { name: "snapshot", run: snapshot::target },
];

/// Runs the target of this name.
///
/// # Panics
///
/// At a fault, and if there is no such target.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("a target of this name").run)(bytes);
}
