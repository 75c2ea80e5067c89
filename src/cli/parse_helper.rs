//! `review parse-helper`: parses untrusted text for another process of this program. Hidden from the help.

use std::process::ExitCode;

use super::console::Console;
use crate::app::{self, AppError};

pub(super) fn run(console: &Console) -> Result<ExitCode, AppError> {
    app::serve_parser(std::io::stdin().lock(), console.stdout_stream())?;
    Ok(ExitCode::SUCCESS)
}
