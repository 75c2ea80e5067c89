//! A secret in a file of its own. Main function: [`secret_file`].

use std::path::Path;

use super::error::AppError;
use crate::domain::secret::Secret;
use crate::sys::files;

/// Maximum size in bytes of a secret file: a header carries no larger secret.
const MAX_SECRET: u64 = 64 << 10;

/// Reads a secret from a file, without the surrounding white space.
pub fn secret_file(path: &Path) -> Result<Secret, AppError> {
    let bytes =
        files::open(path).and_then(|file| files::read_within(file, path, MAX_SECRET)).map_err(AppError::Input)?;
    let text = String::from_utf8(bytes).map_err(|_| AppError::not_text(path))?;
    Ok(Secret::new(text).trimmed())
}
