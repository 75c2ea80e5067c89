//! Calls that still use the old signature of a function. Main function: [`find`].

use std::collections::{BTreeMap, BTreeSet};

use super::super::checks::CheckInfo;
use super::super::target::is_test_path;
use super::changed::{ChangedSignature, DefinitionSite};
use super::claims::{AffectedPlace, RemoteEffect, with_count};
use super::context::ImpactContext;
use super::family::LanguageFamily;
use super::resolve::{self, ResolvedUse};
use super::search::ChangedNames;
use super::text_check::may_call;
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::syntax::{DefinitionKind, Parameters};
use crate::sys::cancel::CancelReason;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "impact/callers-not-updated",
    title: "Signature changed, but a caller passes the old arguments",
    message: "That call fails when it is built or first run. Change it in the same change, or make the new parameter optional.",
    severity: Severity::High,
    category: Category::SideEffects,
    cwe: None,
};

/// Finds the callers that the change left behind.
pub(super) fn find(ground: &ImpactContext<'_>, names: &ChangedNames<'_>) -> Result<Vec<RemoteEffect>, CancelReason> {
    let mut effects = Vec::new();
    for altered in &names.changed()?.altered {
        ground.sides.cancel.check()?;
        let home = &altered.home;
        let behind = outdated_calls(ground, names, altered)?;
        let Some(count) = behind.values().flatten().find_map(|found| wrong_argument_count(altered, found)) else {
            continue;
        };
        // Of the files that have the name, only those that may call it wrongly were parsed so far.
        if !is_only_one(ground, names, altered)? {
            continue;
        }
        let note = format!("It still gives {}.", arguments(count));
        let firsts = behind.iter().filter_map(|(path, found)| Some((path, found.first()?)));
        let elsewhere = firsts.map(|(path, found)| AffectedPlace {
            path: path.clone(),
            lines: LineRange::line(found.line),
            note: note.clone(),
        });
        let taken = describe_arity(&altered.after);
        let calls = with_count(&behind, std::vec::Vec::len, "still call", "still calls", home.searched_name());
        effects.push(RemoteEffect {
            file: home.file,
            side: DiffSide::New,
            lines: Some(home.lines),
            title: Some(format!("`{}` takes {taken} now, and a caller gives {count}", home.searched_name())),
            detail: format!("`{}` takes {taken} now. {calls}", home.searched_name()),
            severity: behind.keys().all(is_test_path).then_some(Severity::Medium),
            elsewhere: elsewhere.collect(),
        });
    }
    Ok(effects)
}

fn arguments(count: u32) -> String {
    if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") }
}

/// `1 argument`, `2 to 3 arguments`, `at least 1 argument`, `1, 2 or 4 arguments`.
fn describe_arity(all: &[Parameters]) -> String {
    let exact: Option<BTreeSet<u32>> =
        all.iter().map(|one| Some(one.required).filter(|required| one.most == Some(*required))).collect();
    match (exact, all) {
        (Some(counts), _) => {
            let mut words: Vec<String> = counts.iter().map(u32::to_string).collect();
            let last = words.pop().unwrap_or_default();
            let unit = if last == "1" { "argument" } else { "arguments" };
            if words.is_empty() { format!("{last} {unit}") } else { format!("{} or {last} {unit}", words.join(", ")) }
        }
        (None, [one]) => match one.most {
            Some(most) => format!("{} to {}", one.required, arguments(most)),
            None => format!("at least {}", arguments(one.required)),
        },
        (None, _) => "other arguments".to_owned(),
    }
}

/// Returns the number of arguments of a call that was valid and is not any more.
fn wrong_argument_count(altered: &ChangedSignature, found: &ResolvedUse) -> Option<u32> {
    let call = found.call.as_ref().filter(|call| !call.open)?;
    altered.rejects(call.count).then_some(call.count)
}

/// Checks whether a use of the name can only mean this function.
fn is_only_one(
    ground: &ImpactContext<'_>,
    names: &ChangedNames<'_>,
    altered: &ChangedSignature,
) -> Result<bool, CancelReason> {
    let home = &altered.home;
    // Overriding methods are not resolved here, and a path call passes the object too.
    let words = home.words();
    let Some(symbols) = ground.symbols(&home.path, &words)? else { return Ok(false) };
    // Lombok writes further constructors.
    if home.is_constructor() && symbols.imports.iter().any(|import| import.path.split('.').next() == Some("lombok")) {
        return Ok(false);
    }
    let of_other = symbols.definitions.iter().filter(|one| Some(&one.name) == home.owner.as_ref());
    let mut of_other =
        of_other.filter(|one| one.kind == DefinitionKind::Implementation || home.family != LanguageFamily::Rust);
    let inherits = of_other.any(|one| one.open || one.bases.iter().any(|base| base != "object"));
    // A constructor belongs to its type only.
    if home.owner.is_some() && inherits && !home.is_constructor() {
        return Ok(false);
    }
    let Some(files) = names.user_files(home)? else { return Ok(false) };
    let by_name = match home.family {
        LanguageFamily::Rust | LanguageFamily::C => true,
        LanguageFamily::Go | LanguageFamily::Java | LanguageFamily::Python | LanguageFamily::Script => false,
    };
    for path in &files {
        let Some(symbols) = ground.symbols(path, &words)? else { return Ok(false) };
        let others = symbols
            .definitions
            .iter()
            .filter(|one| one.name == home.name && !one.is_attached() && one.owner.is_some() == home.owner.is_some());
        for other in others {
            let same_owner = symbols.owner(other) == home.owner.as_deref();
            let same =
                other.parameters.as_ref().is_some_and(|taken| altered.after.contains(taken)) && !other.conditional;
            let near = *path == home.path
                || by_name
                || home.family == LanguageFamily::Go && path.folder() == home.path.folder();
            if near && same_owner && !same {
                return Ok(false);
            }
            if by_name && *path != home.path && !same && home.owner.is_none() {
                return Ok(false);
            }
        }
        // A C++ header parsed as C hides its declarations, and with them the optional parameters.
        let is_header = matches!(path.extension(), Some("h" | "hh" | "hpp" | "hxx"));
        let is_understood = || {
            symbols.definitions.iter().any(|one| one.name == home.name)
                || symbols.uses.iter().any(|one| one.name == home.name)
        };
        if home.family == LanguageFamily::C && is_header && symbols.others.contains(&home.name) && !is_understood() {
            return Ok(false);
        }
        // Of what is declared with templates not even the name is found, and the definition elsewhere has no optional parameters.
        if home.family == LanguageFamily::C && is_header {
            let text = ground.read(DiffSide::New, path)?;
            if text.is_some_and(|text| declares_optional(text.text(), &home.name)) {
                return Ok(false);
            }
        }
        let is_macro =
            |one: &crate::syntax::SymbolDefinition| one.kind == DefinitionKind::Macro && one.name == home.name;
        if by_name && symbols.definitions.iter().any(is_macro) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Maximum number of bytes of a list of parameters.
const LONGEST_LIST: usize = 2_000;

/// Checks whether a header has a list of parameters with a default behind this name.
fn declares_optional(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let Some(list) = text[at + name.len()..].trim_start().strip_prefix('(') else { return false };
        let mut depth = 1_usize;
        let inside = list.bytes().take(LONGEST_LIST).take_while(|byte| {
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            depth > 0
        });
        let bytes: Vec<u8> = inside.collect();
        let compares = |at: usize| bytes.get(at).is_some_and(|byte| matches!(byte, b'=' | b'<' | b'>' | b'!'));
        let is_default = |at: usize| bytes[at] == b'=' && !compares(at + 1) && !at.checked_sub(1).is_some_and(compares);
        !text[..at].ends_with(is_part) && (0..bytes.len()).any(is_default)
    })
}

/// Returns the calls that no longer match the signature.
fn outdated_calls(
    ground: &ImpactContext<'_>,
    names: &ChangedNames<'_>,
    altered: &ChangedSignature,
) -> Result<BTreeMap<RepoPath, Vec<ResolvedUse>>, CancelReason> {
    let home: &DefinitionSite = &altered.home;
    let of_object = altered.after.iter().any(|taken| taken.of_object);
    let (words, mut behind) = (home.words(), BTreeMap::new());
    let may_be_outdated = |text: &str| may_call(text, home.searched_name(), &|count| altered.rejects(count));
    for path in ground.parse_ahead(&names.user_files(home)?.unwrap_or_default(), &words, &may_be_outdated)? {
        // If one of them is unknown, so is whether a use can only mean this function.
        let Some(symbols) = ground.symbols(path, &words)? else { return Ok(BTreeMap::new()) };
        let mut found = resolve::resolve_uses(ground, path, &symbols, home)?;
        found.retain(|one| wrong_argument_count(altered, one).is_some());
        // In a call through the type's path, the object is one of the arguments.
        if of_object && home.family == LanguageFamily::Rust {
            found.retain(|one| {
                symbols.uses.iter().any(|used| {
                    used.line == one.line
                        && used.name == home.name
                        && matches!(&used.how, crate::syntax::UseKind::Member(_))
                })
            });
        }
        if !found.is_empty() {
            behind.insert(path.clone(), found);
        }
    }
    Ok(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_in_a_header_is_seen_also_where_the_header_is_not_understood() {
        let declares = |text: &str| declares_optional(text, "view");
        for text in ["ns::Out<ns::Node> view(const Context & c, int length = 0);", "int view(int (*f)(int), int b=1);"]
        {
            assert!(declares(text), "{text}");
        }
        for text in ["int view(int a, int b);", "int review(int a = 1);", "if (view(a == b) >= 1) x = 2;", "int view;"]
        {
            assert!(!declares(text), "{text}");
        }
    }
}
