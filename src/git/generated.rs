//! Files that nobody writes by hand, by their names. Main function: [`generated_by_name`].
//!
//! Data only; the attributes of the repository, which overrule it, are in `attributes`.

use crate::domain::change::Generated;
use crate::domain::path::RepoPath;

/// Written by package managers.
const LOCK_FILES: &[&str] = &[
    ".terraform.lock.hcl",
    "Cargo.lock",
    "Chart.lock",
    "Gemfile.lock",
    "MODULE.bazel.lock",
    "Package.resolved",
    "Pipfile.lock",
    "Podfile.lock",
    "bun.lock",
    "bun.lockb",
    "cabal.project.freeze",
    "composer.lock",
    "conan.lock",
    "deno.lock",
    "flake.lock",
    "go.sum",
    "go.work.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "paket.lock",
    "pdm.lock",
    "pixi.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pubspec.lock",
    "rebar.lock",
    "shard.lock",
    "stack.yaml.lock",
    "uv.lock",
    "yarn.lock",
];

/// Written by tools, known by how their names end.
const GENERATED_ENDINGS: &[&str] = &[
    ".designer.cs",
    ".freezed.dart",
    ".g.cs",
    ".g.dart",
    ".generated.cs",
    ".min.css",
    ".min.js",
    ".min.mjs",
    ".pb.cc",
    ".pb.go",
    ".pb.gw.go",
    ".pb.h",
    ".pbobjc.h",
    ".pbobjc.m",
    ".pb.swift",
    ".css.map",
    ".js.map",
    ".mjs.map",
    "_pb.d.ts",
    "_pb.js",
    "_pb.rb",
    "_pb2.py",
    "_pb2.pyi",
    "_pb2_grpc.py",
];

/// Folders that hold the code of others, at any depth.
const VENDOR_FOLDERS: &[&str] =
    &["Carthage", "Godeps", "Pods", "bower_components", "node_modules", "third_party", "third-party", "vendor"];

/// Recognizes generated files by name.
pub(super) fn generated_by_name(path: &RepoPath) -> Option<Generated> {
    let name = path.file_name();
    if LOCK_FILES.iter().any(|lock| lock.as_bytes() == name) {
        return Some(Generated::LockFile);
    }
    let lower = name.to_ascii_lowercase();
    let generated = GENERATED_ENDINGS.iter().any(|ending| lower.ends_with(ending.as_bytes()));
    let vendored = || {
        let mut folders = path.folder().split(|byte| *byte == b'/');
        folders.any(|folder| VENDOR_FOLDERS.iter().any(|known| known.as_bytes() == folder))
    };
    (generated || vendored()).then_some(Generated::Name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_nobody_writes() {
        let of = |path: &str| generated_by_name(&RepoPath::parse(path).unwrap());
        assert_eq!(of("a/Cargo.lock"), Some(Generated::LockFile));
        assert_eq!(of("api/v1.pb.go"), Some(Generated::Name));
        assert_eq!(of("web/App.MIN.js"), Some(Generated::Name));
        assert_eq!(of("vendor/x/y.go"), Some(Generated::Name));
        assert_eq!(of("src/vendor.rs"), None);
        assert_eq!(of("src/lock.rs"), None);
        assert_eq!(of("vendor"), None);
    }
}
