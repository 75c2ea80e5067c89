//! Rust: paths within the project.

use super::super::context::ImpactContext;
use super::{ResolvedUse, UseCandidate};
use crate::domain::path::RepoPath;
use crate::syntax::UseKind;
use crate::sys::cancel::CancelReason;

pub(super) fn uses(here: &UseCandidate<'_>) -> Result<Vec<ResolvedUse>, CancelReason> {
    let home = here.home;
    let mut found = Vec::new();
    match &home.owner {
        None => {
            if here.is_home() {
                return Ok(here.by_itself());
            }
            for import in here.symbols.imports.iter().filter(|import| import.name.as_deref() == Some(&home.name)) {
                if !import.conditional && is_crate_path(here.ground, here.user, &import.path)? {
                    found.push(ResolvedUse { line: import.line, call: None });
                    if !here.symbols.others.contains(&home.name) {
                        found.extend(here.named(&home.name));
                    }
                }
            }
            for one in here.certain() {
                if let UseKind::Path(path) = &one.how
                    && names_module(path, &home.path)
                    && is_project_path(here, path)?
                {
                    found.push(super::found(one));
                }
            }
        }
        Some(owner) => {
            let imported = here.symbols.imports.iter().find(|import| import.name.as_deref() == Some(owner));
            let ours = match imported {
                Some(import) => is_crate_path(here.ground, here.user, &import.path)?,
                None => here.is_home(),
            };
            if ours {
                let by_type = |path: &str| path.split('<').next() == Some(owner.as_str());
                found.extend(
                    here.certain()
                        .filter(|one| matches!(&one.how, UseKind::Path(path) if by_type(path)))
                        .map(super::found),
                );
            }
            if here.is_home() {
                found.extend(here.of_self("self", owner));
            }
        }
    }
    Ok(found)
}

/// Checks whether a path begins in this project: in the crate of the file, or in one that has a folder here.
pub(in crate::rules::impact) fn is_crate_path(
    ground: &ImpactContext<'_>,
    user: &RepoPath,
    path: &str,
) -> Result<bool, CancelReason> {
    let first = path.split("::").next().unwrap_or_default();
    if matches!(first, "crate" | "super" | "self") {
        return Ok(true);
    }
    let _ = user;
    let dashed = first.replace('_', "-");
    for folder in [format!("{first}/"), format!("{dashed}/"), format!("crates/{first}/"), format!("crates/{dashed}/")] {
        if ground.exists(format!("{folder}Cargo.toml").as_bytes())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the name of a file's module.
fn module(path: &RepoPath) -> Option<String> {
    let text = std::str::from_utf8(path.as_bytes()).ok()?;
    let mut parts = text.strip_suffix(".rs")?.rsplit('/');
    let last = parts.next()?;
    let name = if last == "mod" { parts.next()? } else { last };
    (!matches!(name, "lib" | "main" | "src")).then(|| name.to_owned())
}

/// Checks whether the last part of a path is the module of a file.
fn names_module(path: &str, home: &RepoPath) -> bool {
    let last = path.rsplit("::").next().unwrap_or_default();
    module(home).is_some_and(|module| module == last)
}

/// Checks whether a path begins in this project, directly or through the import of its first part.
fn is_project_path(here: &UseCandidate<'_>, path: &str) -> Result<bool, CancelReason> {
    if is_crate_path(here.ground, here.user, path)? {
        return Ok(true);
    }
    let first = path.split("::").next().unwrap_or_default();
    for import in here.symbols.imports.iter().filter(|import| import.name.as_deref() == Some(first)) {
        if is_crate_path(here.ground, here.user, &import.path)? {
            return Ok(true);
        }
    }
    Ok(false)
}
