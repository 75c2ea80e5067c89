//! The environment of a tool: what it needs, and no secret. Main function: [`tool_environment`].

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::sys::process::Environment;

/// Variables that say who the user is, and where toolchains are. None holds a secret by its purpose.
const KEPT: [&str; 38] = [
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CGO_ENABLED",
    "DENO_DIR",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "GOBIN",
    "GOCACHE",
    "GOFLAGS",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GOTOOLCHAIN",
    "GRADLE_USER_HOME",
    "HOME",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "MAVEN_HOME",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "PYTHONPATH",
    "RBENV_ROOT",
    "RUSTFLAGS",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SDKMAN_DIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    "XDG_CACHE_HOME",
];
/// Needed for the network only.
const NETWORK: [&str; 12] = [
    "ALL_PROXY",
    "GOPROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// The conditions of a tool's environment.
#[derive(Debug, Clone, Copy, Default)]
pub struct EnvironmentCall<'a> {
    /// Folders in front of `PATH`: those of the project's own programs, if they may be used.
    pub programs: &'a [PathBuf],
    /// `true` if the tool may use the network.
    pub network: bool,
}

/// Lists where a project keeps programs of its own: those of npm, Composer and virtual environments, in a folder and in those above it up to
/// `root`. All of them lie below `root`: a link in a repository opens nothing elsewhere.
pub fn project_programs(directory: &Path, root: &Path) -> Vec<PathBuf> {
    let above = directory.ancestors().take_while(|folder| folder.starts_with(root));
    let parts = ["node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin"];
    let folders = above.flat_map(|folder| parts.map(|part| folder.join(part)));
    let real = folders.filter_map(|folder| folder.canonicalize().ok());
    real.filter(|folder| folder.is_dir() && folder.starts_with(root)).collect()
}

/// Builds the environment of a tool from that of this process, or from another one.
pub fn tool_environment(
    own: impl IntoIterator<Item = (OsString, OsString)>,
    call: &EnvironmentCall<'_>,
) -> Environment {
    let (mut made, mut path) = (Environment::default(), OsString::new());
    for (name, value) in own {
        let Some(name) = name.to_str() else { continue };
        if name == "PATH" {
            path = value;
        } else if is_kept(name, call.network) && !is_secret(name, &value) {
            made = made.with(name, value);
        }
    }
    let inherited = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    // A folder with a colon in its name cannot be in PATH.
    let path = std::env::join_paths(call.programs.iter().cloned().chain(inherited)).unwrap_or(path);
    // What the user set for git is out of reach, and git takes a file that it cannot read for a fault.
    made = made.with("GIT_CONFIG_GLOBAL", "/dev/null");
    made.with("PATH", path).with("TERM", "dumb").with("CI", "1").with("NO_COLOR", "1")
}

fn is_kept(name: &str, network: bool) -> bool {
    KEPT.contains(&name) || name.starts_with("LC_") || network && NETWORK.contains(&name)
}

/// Checks whether a variable looks as if it held a secret, by its name or by its value.
fn is_secret(name: &str, value: &OsStr) -> bool {
    const NAMES: &str = r"(?i)token|secret|passw|passphrase|credential|api_?key|private_?key|(^|_)(auth|key|pat)(_|$)";
    // Credentials in an address, or in an option; what the tokens of common services begin with; a private key.
    const VALUES: &str = concat!(
        r"(?i)://[^/\s@]*@|(token|secret|passw\w*|credentials?|api_?key)\s*[=:]|-----BEGIN",
        r"|\b(gh[pousr]_|github_pat_|glpat-|sk-|xox[abprs]-|npm_[a-z0-9]{20}|AKIA[0-9A-Z]{12}|eyJ[\w-]{10,}\.)",
    );
    static FOUND: LazyLock<Option<(Regex, Regex)>> =
        LazyLock::new(|| Some((Regex::new(NAMES).ok()?, Regex::new(VALUES).ok()?)));
    // Without the patterns, which cannot be, everything is one.
    FOUND.as_ref().is_none_or(|(names, values)| names.is_match(name) || values.is_match(&value.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(own: &[(&str, &str)], call: &EnvironmentCall<'_>) -> Environment {
        tool_environment(own.iter().map(|(name, value)| (name.into(), value.into())), call)
    }

    #[test]
    fn what_is_needed_is_kept_and_nothing_else() {
        let own = [
            ("PATH", "/usr/bin:bin::/bin"),
            ("HOME", "/home/a"),
            ("LC_ALL", "C"),
            ("CARGO_HOME", "/c"),
            ("GITHUB_TOKEN", "x"),
            ("CANARY", "x"),
            ("LD_PRELOAD", "/x"),
            ("HTTPS_PROXY", "http://proxy:1"),
        ];
        let programs = [PathBuf::from("/w/node_modules/.bin")];
        let made = of(&own, &EnvironmentCall { programs: &programs, network: false });
        let get = |name: &str| made.get(name).and_then(OsStr::to_str);
        assert_eq!(get("PATH"), Some("/w/node_modules/.bin:/usr/bin:/bin"));
        assert_eq!((get("HOME"), get("LC_ALL"), get("CARGO_HOME")), (Some("/home/a"), Some("C"), Some("/c")));
        assert_eq!((get("TERM"), get("NO_COLOR"), get("CI")), (Some("dumb"), Some("1"), Some("1")));
        for name in ["GITHUB_TOKEN", "CANARY", "LD_PRELOAD", "HTTPS_PROXY"] {
            assert_eq!(get(name), None, "{name}");
        }
        let made = of(&own, &EnvironmentCall { network: true, ..EnvironmentCall::default() });
        assert_eq!(made.get("HTTPS_PROXY"), Some(OsStr::new("http://proxy:1")));
        assert_eq!(made.get("GIT_CONFIG_GLOBAL"), Some(OsStr::new("/dev/null")));
        assert_eq!(made.get("PATH"), Some(OsStr::new("/usr/bin:/bin")));
    }

    #[test]
    fn a_secret_is_dropped_whatever_its_name_is() {
        let call = EnvironmentCall { network: true, ..EnvironmentCall::default() };
        for (name, value) in [
            ("HTTPS_PROXY", "http://user:pass@proxy:1"),
            ("GOPROXY", "https://t0ken@proxy.example"),
            ("GOFLAGS", "-ldflags=-X=main.password=abc"),
            ("RUSTFLAGS", "--cfg token=\"abc\""),
            ("LC_TOKEN", "x"),
            ("LC_AUTH", "x"),
            ("LANG", "ghp_abcdefghijklmnop"),
            ("GEM_HOME", "-----BEGIN RSA PRIVATE KEY-----"),
        ] {
            assert_eq!(of(&[(name, value)], &call).get(name), None, "{name}");
        }
        for (name, value) in [("RUSTFLAGS", "-C target-cpu=native"), ("GOFLAGS", "-mod=mod"), ("LANG", "en_US.UTF-8")] {
            assert_eq!(of(&[(name, value)], &call).get(name), Some(OsStr::new(value)));
        }
    }
}
