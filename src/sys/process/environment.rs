//! The environment of a child. Main type: [`Environment`].

use std::ffi::{OsStr, OsString};
use std::fmt;

/// The variables that a child may need to find its own settings, the network and the user's agents. None of them holds a secret by its
/// purpose; a proxy's address may hold one, as it does for every program that uses the network.
const KEPT: [&str; 38] = [
    "ALL_PROXY",
    "APPDATA",
    "COMSPEC",
    "DBUS_SESSION_BUS_ADDRESS",
    "GH_CONFIG_DIR",
    "HOME",
    "HOMEDRIVE",
    "HOMEPATH",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LOCALAPPDATA",
    "LOGNAME",
    "NO_PROXY",
    "PATH",
    "PATHEXT",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SSH_AUTH_SOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "USER",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// The variables by which a program finds the user's desktop.
const DESKTOP: [&str; 11] = [
    "BROWSER",
    "DESKTOP_SESSION",
    "DISPLAY",
    "KDE_FULL_SESSION",
    "KDE_SESSION_VERSION",
    "LANG",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_CURRENT_DESKTOP",
    "XDG_DATA_DIRS",
    "XDG_SESSION_TYPE",
];

/// The environment of a child. `Debug` shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(pub(super) Vec<(OsString, OsString)>);

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Environment {
    /// Takes the part of this process's environment that a child may see: no token, no key, no setting of git's.
    pub fn of_this_process() -> Self {
        let kept = |name: &OsStr| KEPT.iter().any(|kept| same_name(OsStr::new(kept), name));
        Self(std::env::vars_os().filter(|(name, _)| kept(name)).collect())
    }

    /// Takes the same, and the variables by which a program finds the user's desktop.
    pub fn of_desktop() -> Self {
        let found = DESKTOP.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        found.fold(Self::of_this_process(), |environment, (name, value)| environment.with(name, value))
    }

    /// One variable more, or another value of one.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self = self.without(name);
        self.0.push((name.into(), value.into()));
        self
    }

    /// Without one variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.0.retain(|(known, _)| !same_name(known, OsStr::new(name)));
        self
    }

    /// The value of a variable; an empty one counts as none.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let found = self.0.iter().find(|(known, _)| same_name(known, OsStr::new(name)));
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }
}

/// Windows does not tell the case of names.
fn same_name(one: &OsStr, other: &OsStr) -> bool {
    if cfg!(windows) { one.eq_ignore_ascii_case(other) } else { one == other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_this_process_are_not_handed_on() {
        let kept = Environment::of_this_process();
        for (name, _) in &kept.0 {
            let name = name.to_string_lossy().to_ascii_uppercase();
            assert!(!name.contains("TOKEN") && !name.contains("KEY") && !name.starts_with("GIT_"), "{name}");
        }
        let secret = Environment::default().with("A", "canary");
        assert!(!format!("{secret:?}").contains("canary"));
        assert_eq!(secret.clone().with("A", "b").get("A"), Some(OsStr::new("b")));
        assert_eq!(secret.without("A").get("A"), None);
    }
}
