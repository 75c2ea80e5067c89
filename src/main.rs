//! The program. Everything it does is in the library; this file only hands it the command line.

use std::process::ExitCode;

/// Parsing allocates all the time, in C as well, which takes this one too.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    review_runner::cli::main(std::env::args_os())
}
