//! Types that lack new required members of an interface. Main type: [`ImplementorsNotUpdated`].

use super::super::checks::CheckInfo;
use super::super::subject::is_test_path;
use super::Impact;
use super::changed::{Grown, Home};
use super::ground::{Family, Ground};
use super::resolve;
use super::words::{Effect, Elsewhere};
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{LineRange, Side};
use crate::syntax::{Definition, DefinitionKind, Symbols};
use crate::sys::cancel::Stopped;

pub(super) struct ImplementorsNotUpdated;

static INFO: CheckInfo = CheckInfo {
    name: "impact/implementors-not-updated",
    title: "New interface member missing in an implementor",
    message: "The implementor does not compile any more. Give it the new member in the same change, or give the interface a default.",
    severity: Severity::High,
    category: Category::SideEffects,
    cwe: None,
};

impl Impact for ImplementorsNotUpdated {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, ground: &Ground<'_>) -> Result<Vec<Effect>, Stopped> {
        let mut effects = Vec::new();
        for grown in &ground.changed()?.grown {
            ground.input.cancel.check()?;
            for (member, lines) in &grown.members {
                let elsewhere = types_without_member(ground, grown, member)?;
                let Some(first) = elsewhere.first() else { continue };
                let more =
                    if elsewhere.len() > 1 { format!(" and {} more", elsewhere.len() - 1) } else { String::new() };
                let name = &grown.home.name;
                effects.push(Effect {
                    file: grown.home.file,
                    side: Side::New,
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
}

fn types_without_member(ground: &Ground<'_>, grown: &Grown, member: &str) -> Result<Vec<Elsewhere>, Stopped> {
    let home = &grown.home;
    let mut found = Vec::new();
    let Some(files) = ground.hits()?.of(home.family, &home.name) else { return Ok(found) };
    let mut same_name = 0;
    for path in files {
        let Some(symbols) = ground.symbols(path)? else { return Ok(Vec::new()) };
        let defines =
            |one: &&Definition| one.name == home.name && one.kind != DefinitionKind::Implementation && !one.nested;
        same_name += symbols.definitions.iter().filter(defines).count();
        if !means(ground, path, &symbols, home)? {
            continue;
        }
        for (at, one) in symbols.definitions.iter().enumerate() {
            let implements =
                one.bases.contains(&home.name) && !one.open && !one.conditional && may_implement(home.family, one);
            let has = symbols.members(at).any(|has| has.name == member)
                || symbols.others.contains(member) && home.family == Family::Script;
            if implements
                && !has
                && let Ok(lines) = LineRange::new(one.lines.0, one.lines.1)
            {
                let note = format!("{} has no {member}.", one.name);
                found.push(Elsewhere { path: path.clone(), lines, note });
            }
        }
    }
    // Two traits of the same name cannot be distinguished.
    Ok(if same_name == 1 || home.family == Family::Java { found } else { Vec::new() })
}

fn may_implement(family: Family, one: &Definition) -> bool {
    match family {
        Family::Rust => one.kind == DefinitionKind::Implementation,
        // An abstract class may leave it to others.
        Family::Java | Family::Script => matches!(one.kind, DefinitionKind::Type | DefinitionKind::Enum) && !one.body,
        Family::Python | Family::Go | Family::C => false,
    }
}

/// Checks whether the name of the interface means this one in a file.
fn means(ground: &Ground<'_>, path: &RepoPath, symbols: &Symbols, home: &Home) -> Result<bool, Stopped> {
    if *path == home.path {
        return Ok(true);
    }
    let mut imports = symbols.imports.iter().filter(|import| import.name.as_deref() == Some(&home.name));
    Ok(match home.family {
        Family::Rust => match imports.next() {
            Some(import) => resolve::rust::is_ours(ground, path, &import.path)?,
            None => false,
        },
        Family::Script => imports.any(|import| resolve::script::means(path, &import.path, &home.path)),
        Family::Java => {
            let package = ground.outline(Side::New, &home.path)?.and_then(|symbols| symbols.package.clone());
            let other = format!(".{}", home.name);
            let mut named = symbols.imports.iter().filter(|import| import.path.ends_with(&other)).peekable();
            match (named.peek().is_some(), package) {
                (true, Some(package)) => named.any(|import| import.path == format!("{package}.{}", home.name)),
                (false, package) => package.is_some() && symbols.package == package,
                (true, None) => false,
            }
        }
        Family::Python | Family::Go | Family::C => false,
    })
}
