//! The folders of toolchains and their caches that a sandboxed tool needs. Main function: [`folders`].
//!
//! Named one by one: beside many of them lie credentials (`~/.cargo/credentials.toml`, `~/.m2/settings.xml`), which no tool may read.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::sys::files;
use crate::sys::process::Environment;

/// Folders that may be read, below the home folder.
const READ: &[&str] = &[
    ".bun",
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".deno/bin",
    ".dotnet",
    ".gem",
    ".jdks",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/gem",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/uv",
    ".nodenv",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
    "go/bin",
];
/// Caches: may be written as well, unless the code is a stranger's, who could leave something in them.
const CACHES: &[&str] = &[
    ".bundle/cache",
    ".bun/install/cache",
    ".cache/bazel",
    ".cache/go-build",
    ".cache/golangci-lint",
    ".cache/node",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/pre-commit",
    ".cache/rubocop_cache",
    ".cache/uv",
    ".cache/yarn",
    ".cargo/git",
    ".cargo/registry",
    ".gradle/caches",
    ".gradle/daemon",
    ".gradle/jdks",
    ".gradle/native",
    ".gradle/wrapper",
    ".local/share/pnpm",
    ".m2/repository",
    ".m2/wrapper",
    ".npm",
    ".nuget/packages",
    ".yarn",
    "go/pkg",
];
/// Variables that name a folder to read, and a part of it.
const READ_VARIABLES: &[(&str, &str)] = &[
    ("BUN_INSTALL", ""),
    ("CARGO_HOME", "bin"),
    ("CARGO_HOME", "config.toml"),
    ("GEM_HOME", ""),
    ("GOROOT", ""),
    ("JAVA_HOME", ""),
    ("NVM_DIR", ""),
    ("PNPM_HOME", ""),
    ("PYENV_ROOT", ""),
    ("RBENV_ROOT", ""),
    ("RUSTUP_HOME", ""),
    ("VIRTUAL_ENV", ""),
    ("VOLTA_HOME", ""),
];
/// Variables that name a cache.
const CACHE_VARIABLES: &[(&str, &str)] = &[
    ("CARGO_HOME", "git"),
    ("CARGO_HOME", "registry"),
    ("CARGO_TARGET_DIR", ""),
    ("GOCACHE", ""),
    ("GOMODCACHE", ""),
    ("GOPATH", "pkg"),
    ("GRADLE_USER_HOME", "caches"),
    ("GRADLE_USER_HOME", "wrapper"),
];

/// Caches that a program makes at its first run, which the sandbox does not let it make: they are made for it.
const MADE: &[(&str, &str)] = &[
    ("bun", ".bun/install/cache"),
    ("cargo", ".cargo/registry"),
    ("go", ".cache/go-build"),
    ("go", "go/pkg"),
    ("golangci-lint", ".cache/golangci-lint"),
    ("mvn", ".m2/repository"),
    ("npm", ".npm"),
    ("pnpm", ".local/share/pnpm"),
    ("rubocop", ".cache/rubocop_cache"),
    ("yarn", ".cache/yarn"),
];

/// Parts of a toolchain beside its `bin`. Not `share`: beside `~/.local/bin` that has keyrings.
const BESIDE_BIN: &[&str] = &["VERSION", "go.env", "include", "lib", "lib64", "libexec", "pkg", "pyvenv.cfg", "src"];

/// The folders that a tool may read, and those that it may write as well.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ToolchainFolders {
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
}

/// Returns the folders of this machine that are there. The folders of the user's `path` and of `program` are among them, with what belongs to
/// their programs: those are no secret. Neither may be the repository's choice.
pub(super) fn folders(
    environment: &Environment,
    path: &OsStr,
    program: Option<&Path>,
    is_strict: bool,
) -> ToolchainFolders {
    let home = environment.get("HOME").map(PathBuf::from);
    let caches = environment.get("XDG_CACHE_HOME").map(PathBuf::from);
    let below = |home: &Path, part: &str| match (&caches, part.strip_prefix(".cache/")) {
        (Some(caches), Some(part)) => caches.join(part),
        _ => home.join(part),
    };
    let below_home = |parts: &[&str]| -> Vec<PathBuf> {
        home.iter().flat_map(|home| parts.iter().map(|part| below(home, part))).collect()
    };
    let named = |variables: &[(&str, &str)]| -> Vec<PathBuf> {
        let folder = |(name, part): &(&str, &str)| environment.get(name).map(|folder| Path::new(folder).join(part));
        variables.iter().filter_map(folder).collect()
    };
    let own = program.and_then(|program| program.canonicalize().ok());
    let own = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let programs = std::env::split_paths(path).chain(own);
    let programs = programs.flat_map(|folder| with_libraries(&folder));
    let mut read: Vec<PathBuf> = below_home(READ).into_iter().chain(named(READ_VARIABLES)).chain(programs).collect();
    let mut write: Vec<PathBuf> = below_home(CACHES).into_iter().chain(named(CACHE_VARIABLES)).collect();
    if is_strict {
        read.append(&mut write);
    } else {
        let name = program.and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
        let own =
            home.iter().flat_map(|home| MADE.iter().filter(|(of, _)| *of == name).map(|(_, part)| below(home, part)));
        // A folder that cannot be made is one that the tool cannot make either, and it says so.
        own.chain(named(CACHE_VARIABLES)).for_each(|folder| drop(files::private_folder(&folder)));
    }
    // A variable that names the whole home, or the root, opens nothing.
    let home = home.and_then(|home| home.canonicalize().ok());
    let open = |paths: Vec<PathBuf>| {
        let real = paths.into_iter().filter(|path| path.is_absolute()).filter_map(|path| path.canonicalize().ok());
        real.filter(|path| !home.as_ref().is_some_and(|home| home.starts_with(path))).collect()
    };
    ToolchainFolders { read: open(read), write: open(write) }
}

/// Returns a folder of programs with what they load: the packages of a `node_modules/.bin`, the libraries beside a `bin`.
fn with_libraries(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned()];
    match (folder.file_name().and_then(|name| name.to_str()), folder.parent()) {
        (Some(".bin"), Some(packages)) => all.push(packages.to_owned()),
        (Some("bin"), Some(root)) => all.extend(BESIDE_BIN.iter().map(|part| root.join(part))),
        _ => {}
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchains_are_open_and_what_lies_beside_them_is_not() {
        let home = tempfile::tempdir().unwrap();
        for folder in [".cargo/registry", ".cargo/bin", ".rustup", "own/bin", "own/lib", "own/share"] {
            std::fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        std::fs::write(home.path().join(".cargo/credentials.toml"), "").unwrap();
        let real = home.path().canonicalize().unwrap();
        let at = |folder: &str| real.join(folder);
        let environment =
            Environment::default().with("HOME", home.path()).with("GOCACHE", home.path()).with("JAVA_HOME", "/");
        let open = folders(&environment, at("own/bin").as_os_str(), None, false);
        assert_eq!(open.read, [at(".cargo/bin"), at(".rustup"), at("own/bin"), at("own/lib")]);
        assert_eq!(open.write, [at(".cargo/registry")]);
        let strict = folders(&environment, at("own/bin").as_os_str(), None, true);
        assert_eq!((strict.read.len(), strict.write.len()), (5, 0));
    }
}
