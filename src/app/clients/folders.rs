//! The folders in which programs store a user's settings on this system. Main type: [`ClientFolders`].

use std::path::PathBuf;

use etcetera::BaseStrategy as _;

/// The folders below which clients store their files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFolders {
    /// The home folder.
    pub home: PathBuf,
    /// The settings folder of desktop programs: `~/.config`, `~/Library/Application Support`, `%APPDATA%`.
    pub app: PathBuf,
    /// `~/.config`, or `%APPDATA%` on Windows.
    pub config: PathBuf,
    /// The folder of Codex: `$CODEX_HOME`, or `~/.codex`.
    pub codex: PathBuf,
}

impl ClientFolders {
    /// Determines the folders of this process's user; `None` without a home folder.
    pub fn of_this_process() -> Option<Self> {
        let home = etcetera::home_dir().ok()?;
        let native = etcetera::base_strategy::choose_native_strategy().ok()?;
        let config =
            if cfg!(windows) { native.config_dir() } else { etcetera::base_strategy::Xdg::new().ok()?.config_dir() };
        // Apple's strategy has `Preferences` for settings, which is for the system's own format only.
        let app = if cfg!(target_vendor = "apple") { native.data_dir() } else { native.config_dir() };
        let codex = std::env::var_os("CODEX_HOME").filter(|value| !value.is_empty());
        let codex = codex.map_or_else(|| home.join(".codex"), PathBuf::from);
        Some(Self { home, app, config, codex })
    }
}
