//! Locations of settings on this machine: the user's file and the environment. Reading the repository's file belongs in `app`.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use super::document::SettingsDocument;
use super::error::ConfigError;
use super::layers::PREFIX;
use crate::sys::files;

/// The most bytes of the user's settings.
const MOST_BYTES: u64 = 1 << 20;

/// `$XDG_CONFIG_HOME/review/config.toml`, `~/.config/…` where that is not set (`%APPDATA%` on Windows); `None` without a home.
pub fn user_file() -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    Some(folders.config_dir().join("review").join("config.toml"))
}

/// `providers.toml` beside the user's settings; `None` without a home.
pub fn user_providers() -> Option<PathBuf> {
    Some(user_file()?.with_file_name("providers.toml"))
}

/// `$XDG_CACHE_HOME/review/mirrors`, `~/.cache/…` where that is not set, on every system; `None` without a home.
pub fn mirrors_folder() -> Option<PathBuf> {
    let folders = etcetera::base_strategy::Xdg::new().ok()?;
    Some(folders.cache_dir().join("review").join("mirrors"))
}

/// The user's settings; `None` if there are none.
pub fn user_document() -> Result<Option<SettingsDocument>, ConfigError> {
    let Some(path) = user_file() else { return Ok(None) };
    let bytes = files::read_plain(&path, MOST_BYTES)?;
    let Some(bytes) = bytes else { return Ok(None) };
    let document = SettingsDocument::from_bytes(&path.display().to_string(), &bytes)?;
    Ok(Some(SettingsDocument { folder: path.parent().map(Path::to_owned), ..document }))
}

/// The `REVIEW_…` variables of this process. Bytes that are not UTF-8 become U+FFFD, so that a setting refuses them.
pub fn read_environment() -> Vec<(String, String)> {
    let all = std::env::vars_os().map(|(name, value)| (name.to_string_lossy().into_owned(), value));
    let ours = all.filter(|(name, _)| name.starts_with(PREFIX));
    ours.map(|(name, value)| (name, value.to_string_lossy().into_owned())).collect()
}
