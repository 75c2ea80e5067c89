//! Error messages for people: what went wrong, the cause, and what to do next, in one to three lines.

use std::process::ExitCode;

use super::console::Console;
use crate::app::AppError;
use crate::domain::text::strip_line;

/// Prints an error and returns its exit code.
pub(super) fn report(error: &AppError, console: &Console) -> ExitCode {
    console.print_to_stderr(&format!("review: error: {}", strip_line(&error.to_string())));
    ExitCode::from(error.exit_code())
}
