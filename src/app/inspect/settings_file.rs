//! The settings files that a user writes: where they are, one setting of them, an editor for them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::app::context::error::{AppError, UseCaseError};
use crate::config::{self, SetFault, SettingsDocument};
use crate::sys::files;
use crate::sys::process;
use crate::sys::repo::Repo;

/// The most bytes of a settings file.
const MOST_BYTES: u64 = 1 << 20;

/// A settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsFile {
    /// The user's own.
    User,
    /// That of the project: in the checkout.
    Project,
}

impl UseCaseError for SetFault {}

/// Returns the path of a settings file, which need not exist.
pub fn settings_path(which: SettingsFile, directory: &Path) -> Result<PathBuf, AppError> {
    match which {
        SettingsFile::User => config::user_file()
            .ok_or_else(|| AppError::Unusable("there is no home folder for settings: set XDG_CONFIG_HOME".to_owned())),
        SettingsFile::Project => {
            let repo = Repo::open(directory)?;
            let root = repo.workdir();
            let bare = || AppError::Unusable("a bare repository has no .review.toml to change: use a clone".to_owned());
            Ok(root.ok_or_else(bare)?.join(".review.toml"))
        }
    }
}

/// Sets one setting of a file and returns the path. Nothing is written that would not be valid.
pub fn change_setting(which: SettingsFile, directory: &Path, name: &str, value: &str) -> Result<PathBuf, AppError> {
    let path = settings_path(which, directory)?;
    let is_project = which == SettingsFile::Project;
    // A link in a checkout may lead anywhere.
    if is_project && path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(AppError::Unusable(format!("{} is no plain file: write it by hand", path.display())));
    }
    if let Some(text) = with_setting(&path, name, value, is_project)? {
        files::rewrite(&path, text.as_bytes()).map_err(AppError::Input)?;
    }
    Ok(path)
}

/// Returns the text of a settings file with one setting set; `None` if the file has that value. Nothing is written.
pub(in crate::app) fn with_setting(
    path: &Path,
    name: &str,
    value: &str,
    is_project: bool,
) -> Result<Option<String>, AppError> {
    let bytes = files::read_plain(path, MOST_BYTES).map_err(AppError::Input)?.unwrap_or_default();
    let document = SettingsDocument::from_bytes(&path.display().to_string(), &bytes)?;
    let text = config::set_value(&document, name, value, is_project)?;
    Ok((text != document.text).then_some(text))
}

/// Opens a settings file in the user's editor, and waits until it is closed.
pub fn edit_settings(which: SettingsFile, directory: &Path) -> Result<PathBuf, AppError> {
    let path = settings_path(which, directory)?;
    let command = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var_os(name).filter(|value| !value.is_empty()));
    let command = command.unwrap_or_else(|| OsString::from("vi"));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // As git reads it: a program and its flags.
    let text = command.to_string_lossy().into_owned();
    let mut words = text.split_whitespace().map(OsString::from);
    let program = words.next().unwrap_or_default();
    let status = process::run_in_terminal(&program, words.chain([path.clone().into_os_string()]));
    let status = status.map_err(|error| AppError::Unusable(error.to_string()))?;
    if !status.success() {
        return Err(AppError::Unusable(format!("the editor {text} ended with {status}; set EDITOR to another one")));
    }
    Ok(path)
}
