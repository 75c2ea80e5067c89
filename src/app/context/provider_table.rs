//! The provider table of this user. Main function: [`load_table`].
//!
//! Only the user's settings can name the file: a repository must not decide where code is sent.

use super::error::AppError;
use crate::config::{self, SettingsDocument, SettingsSources};
use crate::llm::ProviderTable;
use crate::sys::files;

/// Maximum size in bytes of a provider table.
const MAX_BYTES: u64 = 1 << 20;

/// Loads the built-in providers with the user's own merged in. If the settings cannot be read, the callers that need them report it.
pub(in crate::app) fn load_table(
    user: Option<&SettingsDocument>,
    environment: &[(String, String)],
) -> Result<ProviderTable, AppError> {
    let table = ProviderTable::built_in()?;
    let sources =
        SettingsSources { user: user.cloned(), environment: environment.to_vec(), ..SettingsSources::default() };
    let named = config::resolve(&sources).ok().and_then(|resolved| resolved.settings.providers_file);
    let (path, bytes) = match named {
        Some(path) => {
            let file = files::open(&path).map_err(AppError::ProvidersFile)?;
            let bytes = files::read_within(file, &path, MAX_BYTES).map_err(AppError::ProvidersFile)?;
            (path, Some(bytes))
        }
        None => match config::user_providers() {
            Some(path) => {
                let bytes = files::read_plain(&path, MAX_BYTES).map_err(AppError::Input)?;
                (path, bytes)
            }
            None => return Ok(table),
        },
    };
    let Some(bytes) = bytes else { return Ok(table) };
    Ok(table.merge_bytes(&path.display().to_string(), &bytes)?)
}
