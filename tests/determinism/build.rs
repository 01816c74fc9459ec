//! Puts the recorded traces into the program: a bare machine has no files.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let vectors = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../vectors");
    let mut traces = Vec::new();
    for folder in ["lease", "quorum"] {
        let folder = vectors.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        for file in fs::read_dir(&folder)? {
            traces.push(file?.path());
        }
    }
    traces.sort();
    let mut list = String::from("&[");
    for trace in &traces {
        let name = trace.strip_prefix(&vectors)?;
        list.push_str(&format!("({name:?}, include_bytes!({trace:?}) as &[u8]),\n"));
    }
    list.push(']');
    fs::write(out.join("traces.rs"), list)?;

    // For cortex-m-rt: the memory of the board mps2-an385.
    println!("cargo::rerun-if-changed=memory.x");
    fs::copy("memory.x", out.join("memory.x"))?;
    println!("cargo::rustc-link-search={}", out.display());
    if env::var("CARGO_CFG_TARGET_OS")? == "none" {
        println!("cargo::rustc-link-arg-bins=-Tlink.x");
    }
    Ok(())
}
