//! The report of a wasm module: one export, one import. `run.mjs` is its host.
#![cfg(target_family = "wasm")]
#![no_std]

use core::{fmt, panic::PanicInfo};

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    /// Shows `length` bytes of UTF-8.
    fn write(text: *const u8, length: usize);
}

/// Writes the report. Returns 0, or 1 if that failed.
#[unsafe(no_mangle)]
pub extern "C" fn run() -> u32 {
    tenure_determinism::report(&mut Host).is_err().into()
}

struct Host;

impl fmt::Write for Host {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: the host only reads, only these bytes, and only until it returns.
        unsafe { write(text.as_ptr(), text.len()) };
        Ok(())
    }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
