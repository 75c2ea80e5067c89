//! `review parse-helper`: parses texts on trial for another process of this program. Nobody types it.

use std::process::ExitCode;

use super::console::Console;
use crate::app::{self, AppError};

pub(super) fn run(console: &Console) -> Result<ExitCode, AppError> {
    app::serve_parser(std::io::stdin().lock(), console.stream())?;
    Ok(ExitCode::SUCCESS)
}
