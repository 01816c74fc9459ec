//! Records the vectors anew, from a seeded random walk: `cargo run -p tenure-vectors --example record`.

#![expect(clippy::wildcard_enum_match_arm, reason = "an event of the future has a name, too")]

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Result, ensure};
use serde::Serialize;
use tenure_core::{DenyReason, Event, LeaseConfig, Output, QuorumOutput};
use tenure_fuzz_replay::{lease, quorum};
use tenure_vectors::{Kind, VERSION, replay};

const LEASES: usize = 50;
const QUORUMS: usize = 10;

/// Bytes of a walk: some hundred steps.
const LENGTH: usize = 1_500;

fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let leases = walks(LEASES, |bytes| {
        let mut steps = Vec::new();
        let (config, instance) = lease::walk(bytes, |step| steps.push(step));
        let events = steps.iter().flat_map(|(_, _, outputs)| outputs).filter_map(event);
        let told = events.collect();
        (encode(Kind::Lease, config, instance, &steps), told)
    })?;
    write(&folder.join("lease"), "", &leases)?;
    write(&folder.join("quorum"), "3-", &quorums::<3>(Kind::Quorum3)?)?;
    write(&folder.join("quorum"), "5-", &quorums::<5>(Kind::Quorum5)?)
}

fn quorums<const N: usize>(kind: Kind) -> Result<Vec<Vec<u8>>> {
    walks(QUORUMS, |bytes| {
        let mut steps = Vec::new();
        let (config, instance) = quorum::walk::<N>(bytes, |step| steps.push(step));
        let events = steps.iter().flat_map(|(_, _, outputs)| outputs).filter_map(quorum_event);
        let told = events.collect();
        (encode(kind, config, instance, &steps), told)
    })
}

/// A trace, and the kinds of event in it.
type Recorded = (Result<Vec<u8>>, BTreeSet<String>);

/// Of many walks, those that tell most: first whatever adds an event that none before it had.
fn walks(count: usize, walk: impl Fn(&[u8]) -> Recorded) -> Result<Vec<Vec<u8>>> {
    let mut told = BTreeSet::new();
    let (mut telling, mut others) = (Vec::new(), Vec::new());
    for seed in 0..200 {
        let (trace, events) = walk(&random_bytes(seed));
        let news = events.difference(&told).next().is_some();
        told.extend(events.iter().cloned());
        if news { telling.push(trace?) } else { others.push((events.len(), trace?)) }
    }
    others.sort_by_key(|(events, _)| std::cmp::Reverse(*events));
    telling.extend(others.into_iter().map(|(_, trace)| trace));
    telling.truncate(count);
    println!("{count} traces with {}", told.into_iter().collect::<Vec<_>>().join(", "));
    Ok(telling)
}

fn encode<S: Serialize>(
    kind: Kind,
    config: LeaseConfig,
    instance: u32,
    steps: &[S],
) -> Result<Vec<u8>> {
    let trace = postcard::to_stdvec(&(VERSION, kind.byte(), config, instance, steps))?;
    let replayed = replay(&trace, |_| {})?;
    ensure!(replayed.inputs as usize == steps.len(), "the trace lost some of its steps");
    Ok(trace)
}

fn write(folder: &Path, prefix: &str, traces: &[Vec<u8>]) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (number, trace) in traces.iter().enumerate() {
        fs::write(folder.join(format!("{prefix}{number:02}.trace")), trace)?;
    }
    Ok(())
}

fn event(output: &Output) -> Option<String> {
    match *output {
        Output::Event { event, .. } => Some(name(event)),
        Output::Request { .. } | Output::Wait(_) => None,
    }
}

fn quorum_event(output: &QuorumOutput) -> Option<String> {
    match *output {
        QuorumOutput::Event { event, .. } => Some(name(event)),
        QuorumOutput::Request { .. } | QuorumOutput::Wait(_) => None,
    }
}

/// The event without its numbers, but with its reason.
fn name(event: Event) -> String {
    match event {
        Event::Lost { reason } => format!("Lost {reason:?}"),
        Event::Denied { reason: DenyReason::Failed(_) } => "Denied Failed".into(),
        Event::Denied { reason } => format!("Denied {reason:?}"),
        Event::Released { confirmed } => format!("Released {confirmed}"),
        other => format!("{other:?}").split(' ').next().unwrap_or_default().to_owned(),
    }
}

/// SplitMix64.
fn random_bytes(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let words = std::iter::repeat_with(|| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    });
    words.flat_map(u64::to_le_bytes).take(LENGTH).collect()
}
