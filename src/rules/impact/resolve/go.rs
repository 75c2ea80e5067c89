//! Go: packages by their folders.

use super::{ResolvedUse, UseCandidate};
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::sys::cancel::CancelReason;

pub(super) fn uses(here: &UseCandidate<'_>) -> Result<Vec<ResolvedUse>, CancelReason> {
    let home = here.home;
    // Members used through a value are not resolved: its type is not known.
    if home.owner.is_some() {
        return Ok(Vec::new());
    }
    if here.user.folder() == home.path.folder() {
        let package = here.ground.imports(DiffSide::New, &home.path)?.and_then(|symbols| symbols.package.clone());
        let package = match package {
            Some(package) => Some(package),
            None => here.ground.imports(DiffSide::Old, &home.path)?.and_then(|symbols| symbols.package.clone()),
        };
        return Ok(if here.symbols.package == package { here.by_itself() } else { Vec::new() });
    }
    if !home.name.starts_with(char::is_uppercase) {
        return Ok(Vec::new());
    }
    let Some(path) = import_path(here)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for import in here.symbols.imports.iter().filter(|import| import.path == path) {
        let last = path.rsplit('/').next().unwrap_or_default();
        let local = import.alias.as_deref().unwrap_or(last);
        // A local of the same name shadows the package.
        if !here.symbols.definitions.iter().any(|one| one.name == local) {
            found.extend(here.of_member(local));
        }
    }
    Ok(found)
}

/// Returns the import path of the package: the nearest `go.mod`'s module path plus the folders below it.
fn import_path(here: &UseCandidate<'_>) -> Result<Option<String>, CancelReason> {
    let mut folder = here.home.path.folder();
    loop {
        let name = if folder.is_empty() { b"go.mod".to_vec() } else { [folder, b"/go.mod"].concat() };
        if let Ok(path) = RepoPath::from_bytes(&name)
            && let Some(text) = here.ground.read(DiffSide::New, &path)?
        {
            let module = text.all_lines().find_map(|(_, line)| line.strip_prefix("module "));
            let below = here.home.path.folder().strip_prefix(folder).unwrap_or_default();
            let below = String::from_utf8_lossy(below.strip_prefix(b"/").unwrap_or(below)).into_owned();
            let module =
                module.map(|module| module.split("//").next().unwrap_or_default().trim().trim_matches('"').to_owned());
            return Ok(module.map(|module| if below.is_empty() { module } else { format!("{module}/{below}") }));
        }
        if folder.is_empty() {
            return Ok(None);
        }
        folder = folder.iter().rposition(|byte| *byte == b'/').map_or(&[][..], |slash| &folder[..slash]);
    }
}
