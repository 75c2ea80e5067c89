//! Error messages for people: what went wrong, the cause, and what to do next, in one to three lines.

use std::process::ExitCode;

use super::console::Console;
use crate::app::AppError;
use crate::domain::text::strip_line;

/// Prints an error and returns its exit code.
pub(super) fn report(error: &AppError, console: &Console) -> ExitCode {
    console.print_to_stderr(&format!("error: {}", strip_line(&error.to_string())));
    let mut cause = std::error::Error::source(error).filter(|_| console.verbose);
    while let Some(source) = cause {
        console.print_to_stderr(&format!("  cause: {}", strip_line(&source.to_string())));
        cause = source.source();
    }
    ExitCode::from(error.exit_code())
}
