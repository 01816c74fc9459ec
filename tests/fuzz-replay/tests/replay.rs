//! Every committed input: the corpora, and whatever once found a fault.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test may panic, and is its own documentation"
)]

use std::{fs, panic::catch_unwind, path::Path};

use tenure_fuzz_replay::TARGETS;

fn inputs_of(kind: &str, target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(kind).join(target);
    let Ok(files) = fs::read_dir(folder) else { return Vec::new() };
    let files = files.map(|file| file.unwrap().path());
    let mut inputs: Vec<_> =
        files.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect();
    inputs.sort();
    inputs
}

fn replay(kind: &str) -> usize {
    let mut replayed = 0;
    for target in TARGETS {
        for (file, bytes) in inputs_of(kind, target.name) {
            let outcome = catch_unwind(|| (target.run)(&bytes));
            assert!(outcome.is_ok(), "{} fails on {file}", target.name);
            replayed += 1;
        }
    }
    replayed
}

#[test]
fn the_corpora() {
    for target in TARGETS {
        assert!(!inputs_of("corpus", target.name).is_empty(), "no corpus of {}", target.name);
    }
    replay("corpus");
}

#[test]
fn what_once_found_a_fault() {
    replay("crashes");
}
