//! The program's entry point. It only passes the command line to the library.

use std::process::ExitCode;

/// jemalloc: parsing allocates constantly, also in C code, which uses this allocator as well.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    review_runner::cli::main(std::env::args_os())
}
