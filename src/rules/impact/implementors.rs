//! Types that lack new required members of an interface. Main function: [`find`].

use super::super::checks::CheckInfo;
use super::super::target::is_test_path;
use super::changed::{DefinitionSite, ExtendedInterface};
use super::claims::{AffectedPlace, RemoteEffect};
use super::context::ImpactContext;
use super::family::LanguageFamily;
use super::resolve;
use super::search::ChangedNames;
use super::text_check::may_implement;
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::syntax::{DefinitionKind, SymbolDefinition, Symbols};
use crate::sys::cancel::CancelReason;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "impact/implementors-not-updated",
    title: "New interface member missing in an implementor",
    message: "The implementor does not compile any more. Give it the new member in the same change, or give the interface a default.",
    severity: Severity::High,
    category: Category::SideEffects,
    cwe: None,
};

/// Finds the implementors that the change left behind.
pub(super) fn find(ground: &ImpactContext<'_>, names: &ChangedNames<'_>) -> Result<Vec<RemoteEffect>, CancelReason> {
    let mut effects = Vec::new();
    for grown in &names.changed()?.grown {
        ground.sides.cancel.check()?;
        let found = types_without_members(ground, names, grown)?;
        for ((member, lines), elsewhere) in grown.members.iter().zip(found) {
            let Some(first) = elsewhere.first() else { continue };
            let more = if elsewhere.len() > 1 { format!(" and {} more", elsewhere.len() - 1) } else { String::new() };
            let name = &grown.home.name;
            effects.push(RemoteEffect {
                file: grown.home.file,
                side: DiffSide::New,
                lines: Some(*lines),
                title: Some(format!("`{name}` asks for `{member}` now, and an implementor does not have it")),
                detail: format!("{}{more} implements `{name}` without `{member}`.", first.path),
                severity: elsewhere.iter().all(|one| is_test_path(&one.path)).then_some(Severity::Medium),
                elsewhere,
            });
        }
    }
    Ok(effects)
}

/// Returns the types that lack each of the new members, in their order.
fn types_without_members(
    ground: &ImpactContext<'_>,
    names: &ChangedNames<'_>,
    grown: &ExtendedInterface,
) -> Result<Vec<Vec<AffectedPlace>>, CancelReason> {
    let home = &grown.home;
    let mut found = vec![Vec::new(); grown.members.len()];
    let files: Vec<RepoPath> = names.hits()?.of(home.family, &home.name).into_iter().flatten().cloned().collect();
    let mut same_name = 0;
    let words = grown.words();
    for path in ground.parse_ahead(&files, &words, &|text| may_implement(text, &home.name))? {
        let Some(symbols) = ground.symbols(path, &words)? else { return Ok(Vec::new()) };
        let defines = |one: &&SymbolDefinition| one.name == home.name && is_named(one) && !one.nested;
        same_name += symbols.definitions.iter().filter(defines).count();
        if !means(ground, path, &symbols, home)? {
            continue;
        }
        let implements = |one: &SymbolDefinition| {
            one.bases.contains(&home.name) && !one.open && !one.conditional && can_implement(home.family, one)
        };
        for (at, one) in symbols.definitions.iter().enumerate().filter(|(_, one)| implements(one)) {
            let Ok(lines) = LineRange::new(one.lines.0, one.lines.1) else { continue };
            for ((member, _), found) in grown.members.iter().zip(&mut found) {
                let has = symbols.members(at).any(|has| has.name == *member)
                    || symbols.others.contains(member) && home.family == LanguageFamily::Script;
                if !has {
                    let note = format!("{} has no {member}.", one.name);
                    found.push(AffectedPlace { path: path.clone(), lines, note });
                }
            }
        }
    }
    // Two traits of the same name cannot be distinguished.
    Ok(if same_name == 1 || home.family == LanguageFamily::Java { found } else { Vec::new() })
}

/// Checks whether a definition may be meant by the name of an interface.
fn is_named(one: &SymbolDefinition) -> bool {
    match one.kind {
        DefinitionKind::Implementation | DefinitionKind::Variant | DefinitionKind::Field => false,
        DefinitionKind::Function => one.owner.is_none(),
        _ => true,
    }
}

fn can_implement(family: LanguageFamily, one: &SymbolDefinition) -> bool {
    match family {
        LanguageFamily::Rust => one.kind == DefinitionKind::Implementation,
        // An abstract class may leave it to others.
        LanguageFamily::Java | LanguageFamily::Script => {
            matches!(one.kind, DefinitionKind::Type | DefinitionKind::Enum) && !one.body
        }
        LanguageFamily::Python | LanguageFamily::Go | LanguageFamily::C => false,
    }
}

/// Checks whether the name of the interface means this one in a file.
fn means(
    ground: &ImpactContext<'_>,
    path: &RepoPath,
    symbols: &Symbols,
    home: &DefinitionSite,
) -> Result<bool, CancelReason> {
    if *path == home.path {
        return Ok(true);
    }
    let mut imports = symbols.imports.iter().filter(|import| import.name.as_deref() == Some(&home.name));
    Ok(match home.family {
        LanguageFamily::Rust => match imports.next() {
            Some(import) => resolve::rust::is_crate_path(ground, path, &import.path)?,
            None => false,
        },
        LanguageFamily::Script => imports.any(|import| resolve::script::imports_module(path, &import.path, &home.path)),
        LanguageFamily::Java => {
            let package = ground.imports(DiffSide::New, &home.path)?.and_then(|symbols| symbols.package.clone());
            let other = format!(".{}", home.name);
            let mut named = symbols.imports.iter().filter(|import| import.path.ends_with(&other)).peekable();
            match (named.peek().is_some(), package) {
                (true, Some(package)) => named.any(|import| import.path == format!("{package}.{}", home.name)),
                (false, package) => package.is_some() && symbols.package == package,
                (true, None) => false,
            }
        }
        LanguageFamily::Python | LanguageFamily::Go | LanguageFamily::C => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::synthetic_change::SyntheticChange;

    #[test]
    fn of_two_new_members_only_the_missing_one_is_reported() {
        let store = |more: &str| format!("export interface Store {{\n  load(id: string): string;\n{more}}}\n");
        let disk = "import { Store } from './store';\n\nexport class Disk implements Store {\n  load(id: string) {\n    return id;\n  }\n  save(id: string) {}\n}\n";
        let change = SyntheticChange::default()
            .was("src/store.ts", &store(""))
            .now("src/store.ts", &store("  save(id: string): void;\n  drop(id: string): void;\n"))
            .was("src/disk.ts", disk)
            .now("src/disk.ts", disk);
        let titles: Vec<String> = change.review().claims.into_iter().map(|claim| claim.title).collect();
        assert_eq!(titles, ["`Store` asks for `drop` now, and an implementor does not have it"]);
    }
}
