//! Every recorded trace, replayed where this program runs. `cargo xtask determinism` compares what it
//! says natively, on wasm32 and on thumbv7m.
#![no_std]

use core::fmt;

use sha2::{Digest as _, Sha256};

/// The names of the traces, and their bytes.
const TRACES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/traces.rs"));

/// Writes one line for each trace: its name, how many outputs the machine gave, their SHA-256; or
/// where it gave another than was recorded.
///
/// # Errors
///
/// What `out` fails with.
pub fn report(out: &mut impl fmt::Write) -> fmt::Result {
    for (name, trace) in TRACES {
        let mut said = Sha256::new();
        match tenure_vectors::replay(trace, |output| said.update(output)) {
            Ok(replayed) => write!(out, "{name} {} ", replayed.outputs)?,
            Err(difference) => write!(out, "{name} {difference}: ")?,
        }
        said.finalize().iter().try_for_each(|byte| write!(out, "{byte:02x}"))?;
        out.write_char('\n')?;
    }
    Ok(())
}
