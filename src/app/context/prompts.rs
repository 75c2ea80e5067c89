//! Loads the user's own prompts: the folder of the setting `prompts`. Main function: [`load`].

use std::path::Path;

use super::error::AppError;
use crate::prompt::Prompts;
use crate::sys::files;

/// Maximum size in bytes of a template.
const MAX_BYTES: u64 = 256 << 10;

/// Loads the built-in prompts, with templates of `folder` replacing those of the same names.
pub(in crate::app) fn load(folder: Option<&Path>) -> Result<Prompts, AppError> {
    let Some(folder) = folder else { return Ok(Prompts::built_in()?) };
    // Every file with a template's extension must be a template: a misspelled name would silently have no effect.
    Ok(Prompts::with_overrides(read_folder(folder, &["md"], MAX_BYTES)?)?)
}

/// Reads the names and texts of the files of a folder with these extensions, except its README; refuses a file longer than `limit` bytes.
pub(in crate::app) fn read_folder(folder: &Path, ends: &[&str], limit: u64) -> Result<Vec<(String, String)>, AppError> {
    let mut found = Vec::new();
    for path in files::plain_files(folder).map_err(AppError::Input)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_meant = path.extension().is_some_and(|end| ends.iter().any(|known| end == *known));
        if !is_meant || name == "README.md" {
            continue;
        }
        let file = files::open(&path).map_err(AppError::Input)?;
        let bytes = files::read_within(file, &path, limit).map_err(AppError::Input)?;
        let text = String::from_utf8(bytes).map_err(|_| AppError::not_text(&path))?;
        found.push((name, text));
    }
    Ok(found)
}
