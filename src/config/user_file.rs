//! Where the user's settings file is, and reading it.

use std::path::PathBuf;

use etcetera::BaseStrategy as _;

use super::document::Document;
use super::error::ConfigError;
use crate::sys::files;

/// `$XDG_CONFIG_HOME/review/config.toml`, `~/.config/…` where that is not set (`%APPDATA%` on Windows); `None` without a home.
pub fn user_file() -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    Some(folders.config_dir().join("review").join("config.toml"))
}

/// The user's settings; `None` where there are none.
pub fn user_document() -> Result<Option<Document>, ConfigError> {
    let Some(path) = user_file() else { return Ok(None) };
    let bytes = files::read_optional(&path)?;
    bytes.map(|bytes| Document::from_bytes(&path.display().to_string(), &bytes)).transpose()
}
