//! The report to standard output: the host's, or through semihosting.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod thumb;

/// Writes the report.
#[cfg(not(target_os = "none"))]
fn main() -> std::process::ExitCode {
    let mut text = String::new();
    if tenure_determinism::report(&mut text).is_err() {
        return std::process::ExitCode::FAILURE;
    }
    print!("{text}");
    std::process::ExitCode::SUCCESS
}
