//! Java: types by their packages.

use super::{ResolvedUse, UseCandidate};
use crate::domain::place::DiffSide;
use crate::syntax::{DefinitionKind, UseKind};
use crate::sys::cancel::CancelReason;

pub(super) fn uses(here: &UseCandidate<'_>) -> Result<Vec<ResolvedUse>, CancelReason> {
    let home = here.home;
    let package = match here.ground.imports(DiffSide::New, &home.path)? {
        Some(symbols) => symbols.package.clone(),
        None => here.ground.imports(DiffSide::Old, &home.path)?.and_then(|symbols| symbols.package.clone()),
    };
    let Some(package) = package else { return Ok(Vec::new()) };
    let of_type = home.owner.as_deref().unwrap_or(&home.name);
    let whole = format!("{package}.{of_type}");
    let mut found = Vec::new();
    let other = format!(".{of_type}");
    let imported = here.symbols.imports.iter().find(|import| import.path == whole);
    let hidden = here.symbols.imports.iter().any(|import| import.path != whole && import.path.ends_with(&other));
    // A wildcard import of another package may provide a type of the same name.
    let open = here.symbols.imports.iter().any(|import| import.name.as_deref() == Some("*"));
    let near = here.symbols.package.as_ref() == Some(&package) && !hidden && !open;
    let defined =
        here.symbols.definitions.iter().any(|one| one.name == of_type && one.kind != DefinitionKind::Function);
    if imported.is_none() && !near || defined && !here.is_home() {
        return Ok(found);
    }
    let Some(owner) = &home.owner else {
        // For the type itself its import is sufficient, and within the package a constructor call.
        found.extend(imported.map(|import| ResolvedUse { line: import.line, call: None }));
        if near && !here.is_home() {
            found.extend(here.certain().filter(|one| one.how == UseKind::New).map(super::found));
        }
        return Ok(found);
    };
    if home.name == *owner {
        found.extend(here.certain().filter(|one| one.how == UseKind::New).map(super::found));
        return Ok(found);
    }
    found.extend(here.of_member(owner));
    if here.is_home() {
        found.extend(here.of_self("this", owner));
    }
    Ok(found)
}
