//! The program. Everything it does is in the library; this file only hands it the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    review_runner::cli::main(std::env::args_os())
}
