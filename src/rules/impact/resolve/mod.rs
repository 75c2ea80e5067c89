//! Resolves uses in a file that certainly mean a definition in another one. Main function: [`resolve_uses`].
//!
//! Only imports, packages and paths count as evidence; a name alone never does. Uncertain uses are not reported.

mod go;
mod java;
pub(super) mod python;
pub(super) mod rust;
pub(super) mod script;

use super::changed::DefinitionSite;
use super::context::ImpactContext;
use super::family::LanguageFamily;
use crate::domain::path::RepoPath;
use crate::syntax::{ArgumentShape, SymbolDefinition, SymbolUse, Symbols, UseKind};
use crate::sys::cancel::CancelReason;

/// A use that certainly means a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResolvedUse {
    /// Its line, 1-indexed.
    pub(super) line: u32,
    /// Arguments of the call; `None` if the name is only mentioned or imported.
    pub(super) call: Option<ArgumentShape>,
}

/// Returns the uses in the file `user` that certainly mean the definition that is, or was, at `home`.
pub(super) fn resolve_uses(
    ground: &ImpactContext<'_>,
    user: &RepoPath,
    symbols: &Symbols,
    home: &DefinitionSite,
) -> Result<Vec<ResolvedUse>, CancelReason> {
    let here = UseCandidate { ground, user, symbols, home };
    let mut found = match home.family {
        LanguageFamily::Rust => rust::uses(&here)?,
        LanguageFamily::Python => python::uses(&here)?,
        LanguageFamily::Script => script::uses(&here),
        LanguageFamily::Go => go::uses(&here)?,
        LanguageFamily::Java => java::uses(&here)?,
        LanguageFamily::C => here.by_itself(),
    };
    found.sort_by_key(|found| found.line);
    found.dedup();
    Ok(found)
}

/// A file that may use a definition.
struct UseCandidate<'a> {
    ground: &'a ImpactContext<'a>,
    user: &'a RepoPath,
    symbols: &'a Symbols,
    home: &'a DefinitionSite,
}

impl<'a> UseCandidate<'a> {
    /// Checks whether it is the file of the definition itself.
    fn is_home(&self) -> bool {
        *self.user == self.home.path
    }

    fn certain(&self) -> impl Iterator<Item = &'a SymbolUse> {
        let name = self.home.searched_name();
        self.symbols.uses.iter().filter(move |one| one.name == name && !one.conditional)
    }

    /// Returns calls by the name alone, unless something else in the file has that name.
    fn by_itself(&self) -> Vec<ResolvedUse> {
        // Another text may provide the name, or a local may shadow it.
        if self.symbols.open || self.symbols.others.contains(self.home.searched_name()) {
            return Vec::new();
        }
        self.certain().filter(|one| matches!(one.how, UseKind::Plain | UseKind::New)).map(found).collect()
    }

    /// Returns uses through `self` or `this` in the members of the same type.
    fn of_self(&self, word: &str, owner: &str) -> Vec<ResolvedUse> {
        let same = |at: usize| self.symbols.definitions.get(at).is_some_and(|one: &SymbolDefinition| one.name == owner);
        let of_self =
            |one: &&SymbolUse| matches!(&one.how, UseKind::Member(of) if of == word) && one.owner.is_some_and(same);
        self.certain().filter(of_self).map(found).collect()
    }

    /// Returns uses of members of what is named `of` in this file.
    fn of_member<'s>(&'s self, of: &'s str) -> impl Iterator<Item = ResolvedUse> + 's {
        self.certain().filter(move |one| matches!(&one.how, UseKind::Member(name) if name == of)).map(found)
    }

    /// Returns uses of a name that is renamed in this file.
    fn named<'s>(&'s self, local: &'s str) -> impl Iterator<Item = ResolvedUse> + 's {
        let uses = self.symbols.uses.iter().filter(move |one| one.name == local && !one.conditional);
        uses.filter(|one| matches!(one.how, UseKind::Plain | UseKind::New)).map(found)
    }
}

fn found(one: &SymbolUse) -> ResolvedUse {
    ResolvedUse { line: one.line, call: one.call.clone() }
}

/// Normalizes `folder/./a/../b`; `None` if it leaves the tree.
fn joined(folder: &[u8], path: &str) -> Option<Vec<u8>> {
    let folder = std::str::from_utf8(folder).ok()?;
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_within_the_tree() {
        let joined =
            |folder: &str, path: &str| joined(folder.as_bytes(), path).map(|path| String::from_utf8(path).unwrap());
        assert_eq!(joined("a/b", "./c/../d.ts").as_deref(), Some("a/b/d.ts"));
        assert_eq!(joined("", "./x").as_deref(), Some("x"));
        assert_eq!(joined("a", "../../x"), None);
    }
}
