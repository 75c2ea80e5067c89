//! JavaScript and TypeScript: relative imports.

use super::super::context::ImpactContext;
use super::{ResolvedUse, UseCandidate, joined};
use crate::domain::path::RepoPath;
use crate::sys::cancel::CancelReason;

/// Suffixes that may be left out of an import path.
const ENDS: &[&str] = &[
    "",
    ".ts",
    ".tsx",
    ".mts",
    ".cts",
    ".d.ts",
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    ".json",
    ".vue",
    ".svelte",
    "/index.ts",
    "/index.tsx",
    "/index.js",
    "/index.jsx",
    "/index.mjs",
    "/index.d.ts",
];

pub(super) fn uses(here: &UseCandidate<'_>) -> Vec<ResolvedUse> {
    let home = here.home;
    let mut found = Vec::new();
    if let Some(owner) = home.owner.as_ref().filter(|_| !home.is_constructor()) {
        if here.is_home() {
            found.extend(here.of_self("this", owner));
        }
        return found;
    }
    if here.is_home() {
        return here.by_itself();
    }
    for import in here.symbols.imports.iter().filter(|import| !import.conditional) {
        let wanted = import.name.as_deref().is_none_or(|name| name == home.searched_name());
        if !wanted || !imports_module(here.user, &import.path, &home.path) {
            continue;
        }
        match (&import.name, &import.alias) {
            (Some(name), alias) => {
                found.push(ResolvedUse { line: import.line, call: None });
                found.extend(here.named(alias.as_deref().unwrap_or(name)));
            }
            (None, Some(alias)) => found.extend(here.of_member(alias)),
            (None, None) => {}
        }
    }
    found
}

/// Checks whether a file imports another one by `path`.
pub(in crate::rules::impact) fn imports_module(user: &RepoPath, path: &str, target: &RepoPath) -> bool {
    candidates(user, path).iter().any(|candidate| candidate == target.as_bytes())
}

/// Returns the files that a relative import may mean.
fn candidates(user: &RepoPath, path: &str) -> Vec<Vec<u8>> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if !(path.starts_with("./") || path.starts_with("../") || path == "." || path == "..") {
        return Vec::new();
    }
    let Some(whole) = joined(user.folder(), path) else { return Vec::new() };
    let mut found: Vec<Vec<u8>> = ENDS.iter().map(|end| [&whole, end.as_bytes()].concat()).collect();
    // Compiled sources are imported by the name of their output.
    for (written, is) in
        [(".js", &[".ts", ".tsx", ".d.ts"][..]), (".jsx", &[".tsx"]), (".mjs", &[".mts"]), (".cjs", &[".cts"])]
    {
        if let Some(stem) = whole.strip_suffix(written.as_bytes()) {
            found.extend(is.iter().map(|end| [stem, end.as_bytes()].concat()));
        }
    }
    found
}

/// Checks whether a relative import resolves to a file at the head.
pub(in crate::rules::impact) fn module_exists(
    ground: &ImpactContext<'_>,
    user: &RepoPath,
    path: &str,
) -> Result<bool, CancelReason> {
    for candidate in candidates(user, path) {
        if ground.exists(&candidate)? {
            return Ok(true);
        }
    }
    Ok(false)
}
