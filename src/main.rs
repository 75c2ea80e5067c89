//! The program. Everything it does is in the library; this file only hands it the command line.

use std::process::ExitCode;

/// The published program is linked with musl, whose own allocator makes parsing several times as slow.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    review_runner::cli::main(std::env::args_os())
}
