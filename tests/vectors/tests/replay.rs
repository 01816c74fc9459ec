//! The committed traces replay byte for byte, and a replay can fail.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test may panic, and is its own documentation"
)]

use std::{collections::BTreeMap, fs, path::Path};

use tenure_vectors::{Difference, replay};

fn traces(folder: &str) -> BTreeMap<String, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.map(|path| (path.display().to_string(), fs::read(path).unwrap())).collect()
}

#[test]
fn every_trace_says_the_same_again() {
    for (folder, count) in [("lease", 50), ("quorum", 20)] {
        let traces = traces(folder);
        assert!(traces.len() >= count, "{} traces in {folder}", traces.len());
        for (file, trace) in traces {
            let replayed = replay(&trace, |_| {}).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(replayed.outputs >= 20, "{file} has {replayed:?}");
        }
    }
}

#[test]
fn a_byte_that_differs_is_found() {
    let trace = traces("lease").into_values().next().unwrap();
    let mut another = trace.clone();
    *another.last_mut().unwrap() ^= 1;
    assert!(matches!(replay(&another, |_| {}), Err(Difference::At(_) | Difference::Unreadable)));
    assert_eq!(replay(&trace[..trace.len() - 1], |_| {}), Err(Difference::At(last_step(&trace))));
    assert_eq!(replay(&[&trace[..], b"x"].concat(), |_| {}), Err(Difference::Unreadable));
    another[0] = 9;
    assert_eq!(replay(&another, |_| {}), Err(Difference::Version(9)));
    assert_eq!(replay(&[], |_| {}), Err(Difference::Unreadable));
}

fn last_step(trace: &[u8]) -> u32 {
    replay(trace, |_| {}).unwrap().inputs - 1
}
