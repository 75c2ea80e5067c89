//! Removed definitions that are still used. Main function: [`find`].

use std::collections::{BTreeMap, BTreeSet};

use super::super::checks::CheckInfo;
use super::super::target::{ChangedLineIndex, is_test_path, word_positions};
use super::changed::{DefinitionSite, RemovedModule, Visibility, exports};
use super::claims::{AffectedPlace, RemoteEffect, with_count};
use super::context::ImpactContext;
use super::family::LanguageFamily;
use super::lines::has_word;
use super::resolve::{self, ResolvedUse};
use super::search::ChangedNames;
use super::words::FollowedWords;
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::filter::PathFilter;
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::syntax::{DefinitionKind, Symbols, UseKind};
use crate::sys::cancel::CancelReason;
use crate::workspace::{LineRegex, Query, WorkspaceError};

/// Names of the platform that scripts had to bring before: without its own definition a file uses the platform's.
const GLOBALS: [&str; 14] = [
    "AbortController",
    "Buffer",
    "EventSource",
    "FormData",
    "Headers",
    "Promise",
    "Request",
    "Response",
    "URL",
    "URLSearchParams",
    "WebSocket",
    "crypto",
    "fetch",
    "structuredClone",
];
/// Modules of Python that are part of it now and were brought by the projects before.
const STANDARD: [&str; 14] = [
    "argparse",
    "asyncio",
    "concurrent.futures",
    "configparser",
    "contextvars",
    "dataclasses",
    "enum",
    "importlib.metadata",
    "ipaddress",
    "pathlib",
    "statistics",
    "tomllib",
    "typing",
    "zoneinfo",
];
/// Files of other languages whose types Java uses by the same import.
const JVM_GLOBS: [&str; 3] = ["*.kt", "*.scala", "*.groovy"];
/// Maximum number of lines that are searched for such a type.
const MOST_JVM_LINES: usize = 100;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "impact/removed-but-used",
    title: "Removed definition is still used elsewhere",
    message: "That place fails when it is built or first run. Change it in the same change, or keep the old name for now.",
    severity: Severity::High,
    category: Category::SideEffects,
    cwe: None,
};

/// Finds the uses that the change left behind.
pub(super) fn find(ground: &ImpactContext<'_>, names: &ChangedNames<'_>) -> Result<Vec<RemoteEffect>, CancelReason> {
    let mut effects = Vec::new();
    let changed = names.changed()?;
    for module in &changed.modules {
        ground.sides.cancel.check()?;
        effects.extend(importers(ground, names, module)?);
    }
    for gone in &changed.gone {
        ground.sides.cancel.check()?;
        let home = &gone.home;
        // The import of a removed file is reported once.
        if changed.modules.iter().any(|module| module.path == home.path) || !is_unprovided(ground, names, home)? {
            continue;
        }
        let left = remaining_uses(ground, names, home)?;
        if left.is_empty()
            || is_rewritten(ground, home)
            || is_made_now(ground, home)
            || may_be_dependency(ground, home)
            || is_jvm_type(ground, home)?
        {
            continue;
        }
        effects.push(RemoteEffect {
            file: home.file,
            side: DiffSide::Old,
            lines: Some(home.lines),
            title: Some(format!("`{}` is removed here and still used elsewhere", home.name)),
            detail: with_count(&left, std::vec::Vec::len, "still use", "still uses", &home.name),
            severity: lowered(home.family, left.keys()),
            elsewhere: elsewhere(&left, &home.name),
        });
    }
    Ok(effects)
}

/// Folders of code that is kept and not used.
const RETIRED: [&[u8]; 4] = [b"legacy", b"deprecated", b"archive", b"archived"];

/// Returns the severity of what only tests and retired code still use, and of a definition that may come from a header, a generator or another
/// language of the Java platform: measured on unseen code, those of C and Java that seemed to be missing were there.
fn lowered<'p>(family: LanguageFamily, mut users: impl Iterator<Item = &'p RepoPath>) -> Option<Severity> {
    let is_retired = |path: &RepoPath| path.folder().split(|byte| *byte == b'/').any(|part| RETIRED.contains(&part));
    let may_be_given = matches!(family, LanguageFamily::C | LanguageFamily::Java);
    (may_be_given || users.all(|path| is_test_path(path) || is_retired(path))).then_some(Severity::Medium)
}

/// Checks whether the change removes the whole file and writes its name somewhere: a program makes it now.
fn is_made_now(ground: &ImpactContext<'_>, home: &DefinitionSite) -> bool {
    let files = &ground.sides.change.files;
    let is_gone = files.get(home.file).is_some_and(|file| file.status == FileStatus::Deleted);
    let Ok(name) = std::str::from_utf8(home.path.file_name()) else { return false };
    is_gone && files.iter().any(|file| adds_word(ground, file, name))
}

/// Checks whether the change adds a line with this word to a file.
fn adds_word(ground: &ImpactContext<'_>, file: &FileChange, word: &str) -> bool {
    let Ok(text) = ground.sides.new.read(&file.path) else { return false };
    let mut added = file.runs().filter_map(|run| run.new.range());
    added.any(|lines| text.lines(lines).any(|(_, line)| has_word(line, word)))
}

/// Checks whether the change writes the name again somewhere in C or C++, where templates and macros can replace a function declaration.
fn is_rewritten(ground: &ImpactContext<'_>, home: &DefinitionSite) -> bool {
    let mut files = ground.sides.change.files.iter().filter(|file| file.without_text().is_none());
    home.family == LanguageFamily::C && files.any(|file| adds_word(ground, file, &home.name))
}

/// Checks whether a Java class may come from a dependency now: the change edits the build's dependencies, and the class is not the project's own.
fn may_be_dependency(ground: &ImpactContext<'_>, home: &DefinitionSite) -> bool {
    let files = &ground.sides.change.files;
    let is_build = |file: &FileChange| {
        let names: [&[u8]; 4] = [b"pom.xml", b"build.gradle", b"build.gradle.kts", b"libs.versions.toml"];
        file.additions > 0 && names.contains(&file.path.file_name())
    };
    let is_file_gone = files.get(home.file).is_some_and(|file| file.status == FileStatus::Deleted);
    let may = home.family == LanguageFamily::Java && home.owner.is_none() && is_file_gone && files.iter().any(is_build);
    let Some(root) = package_root(&home.path).filter(|_| may) else { return false };
    let roots = files.iter().filter_map(|file| package_root(&file.path));
    let (own, others): (Vec<_>, Vec<_>) = roots.partition(|other| *other == root);
    others.len() > own.len()
}

/// Checks whether another language of the Java platform defines a removed type of Java at the head, in the same package: the usual way to Kotlin
/// replaces `Page.java` by `Page.kt`, and no use of it changes.
fn is_jvm_type(ground: &ImpactContext<'_>, home: &DefinitionSite) -> Result<bool, CancelReason> {
    if home.family != LanguageFamily::Java || home.owner.is_some() {
        return Ok(false);
    }
    let Some(package) = ground.imports(DiffSide::Old, &home.path)?.and_then(|symbols| symbols.package.clone()) else {
        return Ok(false);
    };
    let name = regex::escape(&home.name);
    let defines = format!(r#"\b(?:class|interface|object|trait|enum|typealias)\s+`?{name}\b|JvmName\("{name}"\)"#);
    let globs = JVM_GLOBS.map(str::to_owned);
    let (Ok(pattern), Ok(filter)) = (LineRegex::new(&defines), PathFilter::new(&globs, &[])) else { return Ok(false) };
    let query = Query { pattern: &pattern, files: Some(&filter), most: MOST_JVM_LINES, generated_last: false };
    let found = match ground.sides.new.search(&query, ground.sides.cancel) {
        Ok(found) => found,
        Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
        Err(_) => return Ok(true),
    };
    let is_of_package = |line: &str| {
        let named = line.trim().strip_prefix("package ").map(|named| named.trim_end_matches(';').trim());
        named == Some(package.as_str())
    };
    Ok(found.files.iter().any(|file| file.text.text().lines().any(is_of_package)))
}

/// Returns the first two folders of the package of a Java file, derived from its path: `org/apache`.
fn package_root(path: &RepoPath) -> Option<String> {
    let text = path.display_name();
    let (_, package) = text.split_once("/java/").filter(|_| path.extension() == Some("java"))?;
    let mut folders = package.rsplit_once('/')?.0.split('/');
    Some(format!("{}/{}", folders.next()?, folders.next()?))
}

/// Returns the imports of a removed file.
fn importers(
    ground: &ImpactContext<'_>,
    names: &ChangedNames<'_>,
    module: &RemovedModule,
) -> Result<Option<RemoteEffect>, CancelReason> {
    let mut elsewhere = Vec::new();
    let words = FollowedWords::new(std::iter::once(module.stem.clone()).collect(), BTreeSet::new());
    for path in names.hits()?.of(module.family, &module.stem).into_iter().flatten() {
        let Some(symbols) = ground.symbols(path, &words)? else { continue };
        for import in symbols.imports.iter().filter(|import| !import.conditional) {
            let broken = match module.family {
                LanguageFamily::Script => {
                    resolve::script::imports_module(path, &import.path, &module.path)
                        && !resolve::script::module_exists(ground, path, &import.path)?
                }
                _ => {
                    !STANDARD.contains(&import.path.as_str())
                        && !resolve::python::exists_above(ground, path, &import.path)?
                        && resolve::python::imports_module(ground, path, &import.path, &module.path)?
                        && !resolve::python::module_exists(ground, &module.path)?
                }
            };
            if broken {
                let note = format!("This imports {}.", module.path);
                elsewhere.push(AffectedPlace { path: path.clone(), lines: LineRange::line(import.line), note });
                break;
            }
        }
    }
    let Some(first) = elsewhere.first() else { return Ok(None) };
    let verb = if module.moved { "moved" } else { "removed" };
    let more = if elsewhere.len() > 1 { format!(" and {} more files", elsewhere.len() - 1) } else { String::new() };
    let side = if module.moved { DiffSide::New } else { DiffSide::Old };
    let first_line = LineRange::line(1);
    let touched = ChangedLineIndex::of(&ground.sides.change.files[module.file], DiffSide::Old);
    Ok(Some(RemoteEffect {
        file: module.file,
        side,
        lines: (!module.moved && touched.first_in(first_line).is_some()).then_some(first_line),
        title: Some(format!("{} is {verb} and still imported", module.path)),
        detail: format!("{}{more} still import it by the old path.", first.path),
        severity: lowered(module.family, elsewhere.iter().map(|one| &one.path)),
        elsewhere,
    }))
}

fn elsewhere(left: &BTreeMap<RepoPath, Vec<ResolvedUse>>, name: &str) -> Vec<AffectedPlace> {
    let firsts = left.iter().filter_map(|(path, found)| Some((path, found.first()?)));
    let note = format!("It still asks for {name}.");
    firsts
        .map(|(path, found)| AffectedPlace {
            path: path.clone(),
            lines: LineRange::line(found.line),
            note: note.clone(),
        })
        .collect()
}

/// Checks whether nothing at the head provides the name any more that a use could mean.
fn is_unprovided(
    ground: &ImpactContext<'_>,
    names: &ChangedNames<'_>,
    home: &DefinitionSite,
) -> Result<bool, CancelReason> {
    if home.kind == DefinitionKind::Macro && home.family == LanguageFamily::C {
        return Ok(false);
    }
    // A file-private name is unused if its own file does not use it.
    if home.reach == Visibility::File {
        if home.family == LanguageFamily::Script && GLOBALS.contains(&home.name.as_str()) {
            return Ok(false);
        }
        let text = ground.read(DiffSide::New, &home.path)?;
        if text.is_none_or(|text| word_positions(text.text(), &home.name).next().is_none()) {
            return Ok(false);
        }
    }
    let Some(files) = names.visible_files(home)? else { return Ok(false) };
    let words = home.words();
    // A file-private name may come from another file now, by a wildcard import or a header.
    if home.reach == Visibility::File && matches!(home.family, LanguageFamily::Rust | LanguageFamily::C) {
        let symbols = ground.symbols(&home.path, &words)?;
        let all = |symbols: &Symbols| symbols.imports.iter().any(|import| import.name.as_deref() == Some("*"));
        if home.family == LanguageFamily::C || symbols.is_none_or(|symbols| all(&symbols)) {
            return Ok(false);
        }
    }
    if let Some(owner) = &home.owner {
        return owner_lacks_member(ground, (&files, &words), home, owner);
    }
    for path in &files {
        let Some(symbols) = ground.symbols(path, &words)? else { return Ok(false) };
        let named =
            |kind: bool| symbols.definitions.iter().any(|one| one.name == home.name && (kind || one.owner.is_none()));
        let gives_it = match home.family {
            // By path: only the same file can provide it.
            LanguageFamily::Python | LanguageFamily::Script => {
                *path == home.path && exports(&symbols, &home.name, None)
            }
            LanguageFamily::Java => named(true),
            LanguageFamily::Go => {
                path.folder() == home.path.folder() && (named(false) || symbols.others.contains(&home.name))
            }
            LanguageFamily::Rust => {
                let imports = symbols.imports.iter().filter(|one| one.name.as_deref() == Some(&home.name));
                let mut foreign = false;
                for import in imports {
                    foreign |= !resolve::rust::is_crate_path(ground, path, &import.path)?;
                }
                // `pub use a::Entity as Group` provides it under that name.
                let renamed = symbols.imports.iter().any(|one| one.alias.as_deref() == Some(&home.name));
                named(true) || foreign || renamed || *path == home.path && symbols.open
            }
            LanguageFamily::C => named(true) || symbols.others.contains(&home.name),
        };
        if gives_it {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Checks whether a remaining type has no such member any more, and nothing from which it could inherit it.
fn owner_lacks_member(
    ground: &ImpactContext<'_>,
    (files, words): (&[RepoPath], &FollowedWords),
    home: &DefinitionSite,
    owner: &str,
) -> Result<bool, CancelReason> {
    if !matches!(home.family, LanguageFamily::Python | LanguageFamily::Script | LanguageFamily::Rust) {
        return Ok(false);
    }
    let Some(symbols) = ground.symbols(&home.path, words)? else { return Ok(false) };
    let owners: Vec<_> = symbols.definitions.iter().filter(|one| one.name == owner).collect();
    let alone =
        !owners.is_empty() && owners.iter().all(|one| one.bases.iter().all(|base| base == "object") && !one.open);
    let assigned = symbols.uses.iter().any(|one| {
        one.name == home.name
            && one.call.is_none()
            && matches!(&one.how, UseKind::Member(of) if of == "self" || of == "this")
    });
    let stands = symbols.definitions.iter().any(|one| one.name == home.name) || symbols.others.contains(&home.name);
    if !alone || assigned || stands || symbols.open {
        return Ok(false);
    }
    if home.family != LanguageFamily::Rust {
        return Ok(true);
    }
    // A trait may provide it to a Rust type, wherever that is defined.
    for path in files {
        let symbols = ground.symbols(path, words)?;
        if symbols.is_none_or(|symbols| symbols.definitions.iter().any(|one| one.name == home.name)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Checks for a text that the rules of a linter are tried on, which never runs.
fn is_lint_example(path: &RepoPath) -> bool {
    path.as_bytes().split(|byte| *byte == b'/').any(|part| part == b".semgrep")
}

/// Returns the types that a C++ function took by pointer or reference. A call in a file that names none of them means another function of that name,
/// maybe one of the system: the name alone tells nothing where functions can be overloaded.
fn pointed_types(ground: &ImpactContext<'_>, home: &DefinitionSite) -> Result<Vec<String>, CancelReason> {
    let may_overload = home.family == LanguageFamily::C && home.path.extension() != Some("c");
    if !may_overload || home.kind != DefinitionKind::Function {
        return Ok(Vec::new());
    }
    let Some(text) = ground.read(DiffSide::Old, &home.path)? else { return Ok(Vec::new()) };
    let head = text.lines(home.lines).map(|(_, line)| line).collect::<Vec<_>>().join(" ");
    let list = head.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(list, _)| list);
    let pointed = list.split(',').filter_map(|parameter| parameter.find(['*', '&']).map(|at| &parameter[..at]));
    let names = pointed.filter_map(|before| before.trim_end().rsplit([' ', ':', '<', '>']).next());
    let is_own = |name: &&str| name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase);
    Ok(names.filter(is_own).map(str::to_owned).collect())
}

/// Checks whether a file of the head has one of these words.
fn names_any(ground: &ImpactContext<'_>, path: &RepoPath, words: &[String]) -> Result<bool, CancelReason> {
    let text = ground.read(DiffSide::New, path)?;
    Ok(text.is_some_and(|text| words.iter().any(|word| word_positions(text.text(), word).next().is_some())))
}

fn remaining_uses(
    ground: &ImpactContext<'_>,
    names: &ChangedNames<'_>,
    home: &DefinitionSite,
) -> Result<BTreeMap<RepoPath, Vec<ResolvedUse>>, CancelReason> {
    let (words, mut left) = (home.words(), BTreeMap::new());
    let types = pointed_types(ground, home)?;
    for path in names.user_files(home)?.unwrap_or_default().iter().filter(|path| !is_lint_example(path)) {
        if !types.is_empty() && !names_any(ground, path, &types)? {
            continue;
        }
        if let Some(symbols) = ground.symbols(path, &words)? {
            let found = resolve::resolve_uses(ground, path, &symbols, home)?;
            if !found.is_empty() {
                left.insert(path.clone(), found);
            }
        }
    }
    Ok(left)
}
