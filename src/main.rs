//! The program's entry point. It only passes the command line to the library.

use std::process::ExitCode;

/// Parsing allocates all the time, in C as well, which takes this one too.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    review_runner::cli::main(std::env::args_os())
}
