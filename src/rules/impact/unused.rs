//! Functions whose last use the change takes away, and that nothing else can name. Main type: [`LeftUnused`].
//!
//! Compilers of Rust and C say so themselves; here are the languages whose do not.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::checks::CheckInfo;
use super::super::run::RulesInput;
use super::super::target::{ChangedLineIndex, is_test_path, read_text, word_positions};
use super::ImpactRule;
use super::claims::{AffectedPlace, RemoteEffect};
use super::context::{ImpactContext, LanguageFamily};
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::finding::{Category, Severity};
use crate::domain::language;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::FileText;
use crate::syntax::{DefinitionKind, SymbolDefinition, Symbols, outline};
use crate::sys::cancel::CancelReason;
use crate::workspace::{LineRegex, Query, WorkspaceError};

pub(super) struct LeftUnused;

static INFO: CheckInfo = CheckInfo {
    name: "impact/left-unused",
    title: "The last use of a function is removed, and the function stays",
    message: "Nothing else can name it, so it never runs again. Remove it as well, or bring the use back where it went by mistake.",
    severity: Severity::Low,
    category: Category::Quality,
    cwe: None,
};

/// Shorter names stand for too many things.
const SHORTEST: usize = 4;
/// A change that leaves more behind is in the middle of something.
const MOST: usize = 40;
/// The search ends when so many lines were found.
const MOST_LINES: usize = 2_000;

/// A function that its file does not name any more.
struct Left {
    file: usize,
    path: RepoPath,
    family: LanguageFamily,
    /// Its uses at the base.
    used: LineRange,
    /// Its place at the head.
    stands: LineRange,
}

impl ImpactRule for LeftUnused {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, ground: &ImpactContext<'_>) -> Result<Vec<RemoteEffect>, CancelReason> {
        let mut left: BTreeMap<String, Left> = BTreeMap::new();
        for (at, file) in ground.input.change.files.iter().enumerate() {
            ground.input.cancel.check()?;
            for (name, one) in of_file(ground, at, file)? {
                left.insert(name, one);
            }
        }
        if left.is_empty() || left.len() > MOST {
            return Ok(Vec::new());
        }
        drop_named_elsewhere(ground, &mut left)?;
        let effects = left.into_iter().map(|(name, one)| RemoteEffect {
            file: one.file,
            side: DiffSide::Old,
            lines: Some(one.used),
            title: Some(format!("`{name}` is no longer used")),
            detail: format!("This was the last place that used `{name}`."),
            severity: None,
            elsewhere: vec![AffectedPlace {
                path: one.path,
                lines: one.stands,
                note: "It still stands here.".to_owned(),
            }],
        });
        Ok(effects.collect())
    }
}

/// Both sides of a changed file that may have lost the last use of a function.
struct Sides {
    family: LanguageFamily,
    old: Arc<FileText>,
    new: Arc<FileText>,
    removed: ChangedLineIndex,
}

impl Sides {
    fn of(input: &RulesInput<'_>, file: &FileChange) -> Result<Option<Self>, CancelReason> {
        let family =
            LanguageFamily::of(&file.path).filter(|family| !matches!(family, LanguageFamily::Rust | LanguageFamily::C));
        let was_there = matches!(file.status, FileStatus::Modified | FileStatus::Renamed);
        let Some(family) = family.filter(|_| was_there && file.without_text().is_none() && file.deletions > 0) else {
            return Ok(None);
        };
        if is_test_path(&file.path) {
            return Ok(None);
        }
        let (Some(old), Some(new)) =
            (read_text(input.old, file.path_at(DiffSide::Old))?, read_text(input.new, &file.path)?)
        else {
            return Ok(None);
        };
        let sides = Self { family, old, new, removed: ChangedLineIndex::of(file, DiffSide::Old) };
        // Only what is called on a removed line can have lost its last use, and most changes have none: that is asked before anything is parsed.
        let calls = sides.lines().any(|(_, line)| line.contains('(') || line.contains("::"));
        Ok(calls.then_some(sides))
    }

    /// The removed lines.
    fn lines(&self) -> impl Iterator<Item = (u32, &str)> {
        self.old.all_lines().filter(|(number, _)| self.removed.covers(*number))
    }
}

/// Reads what a changed file offers while its tree is at hand.
pub(super) fn read_ahead(input: &RulesInput<'_>, file: &FileChange) -> Result<(), CancelReason> {
    if let (Some(sides), Some(language)) = (Sides::of(input, file)?, language::from_path(&file.path)) {
        let _ = outline(language, sides.new.text(), None, input.trees, input.cancel);
    }
    Ok(())
}

/// The functions that a changed file defines and does not name any more.
fn of_file(ground: &ImpactContext<'_>, at: usize, file: &FileChange) -> Result<Vec<(String, Left)>, CancelReason> {
    let Some(sides) = Sides::of(ground.input, file)? else { return Ok(Vec::new()) };
    let Some(mut symbols) = ground.outline(DiffSide::New, &file.path)? else { return Ok(Vec::new()) };
    // What makes a script a module may stand inside a function.
    let is_module = !symbols.imports.is_empty() || symbols.definitions.iter().any(|one| one.public);
    if sides.family == LanguageFamily::Script && !is_module {
        let Some(all) = ground.symbols(&file.path)? else { return Ok(Vec::new()) };
        symbols = all;
    }
    let Sides { family, old, new, .. } = &sides;
    let mut found = Vec::new();
    for one in symbols.definitions.iter().filter(|one| is_private(*family, &symbols, one)) {
        let name = one.name.as_str();
        let used = sides.lines().find(|(_, line)| has_name(line, name)).map(|(number, _)| number);
        let (Some(used), Ok(stands)) = (used, LineRange::new(one.lines.0, one.lines.1)) else { continue };
        if count(new, name) == 1 && count(old, name) > 1 {
            let left = Left { file: at, path: file.path.clone(), family: *family, used: LineRange::line(used), stands };
            found.push((name.to_owned(), left));
        }
    }
    Ok(found)
}

/// Checks whether only its own file, or its own package, can name a function.
fn is_private(family: LanguageFamily, symbols: &Symbols, one: &SymbolDefinition) -> bool {
    let is_plain = one.kind == DefinitionKind::Function
        && one.name.len() >= SHORTEST
        && !one.nested
        && !one.conditional
        && !one.is_attached()
        && one.body
        // What is decorated is called by whoever decorates it.
        && one.parameters.is_some();
    let owner = symbols.owner(one);
    is_plain
        && match family {
            LanguageFamily::Python => one.name.starts_with('_') && !one.name.ends_with("__") && owner.is_none(),
            LanguageFamily::Java => !one.public && owner != Some(one.name.as_str()) && !is_called_by_name(&one.name),
            // A script that is no module shares its names with others.
            LanguageFamily::Script => {
                !one.public
                    && owner.is_none()
                    && !symbols.others.contains(&one.name)
                    && (!symbols.imports.is_empty() || symbols.definitions.iter().any(|other| other.public))
            }
            LanguageFamily::Go => !one.public && owner.is_none() && !matches!(one.name.as_str(), "main" | "init"),
            LanguageFamily::Rust | LanguageFamily::C => false,
        }
}

/// Methods that the language calls by their names.
fn is_called_by_name(name: &str) -> bool {
    matches!(name, "readObject" | "writeObject" | "readResolve" | "writeReplace" | "readObjectNoData" | "finalize")
}

/// Forgets what other files name where they can.
fn drop_named_elsewhere(ground: &ImpactContext<'_>, left: &mut BTreeMap<String, Left>) -> Result<(), CancelReason> {
    let names: Vec<String> = left
        .iter()
        .filter(|(_, one)| matches!(one.family, LanguageFamily::Python | LanguageFamily::Go))
        .map(|(name, _)| regex::escape(name))
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let Ok(pattern) = LineRegex::new(&format!(r"\b(?:{})\b", names.join("|"))) else { return Ok(()) };
    let hits =
        match ground.input.new.search(&Query { pattern: &pattern, files: None, most: MOST_LINES }, ground.input.cancel)
        {
            Ok(hits) if hits.exhausted => hits,
            Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
            // Nobody knows who else names them.
            Ok(_) | Err(_) => {
                left.retain(|_, one| !matches!(one.family, LanguageFamily::Python | LanguageFamily::Go));
                return Ok(());
            }
        };
    for file in &hits.files {
        for line in file.lines.iter().filter_map(|number| file.text.line(*number)) {
            left.retain(|name, one| {
                let is_open = matches!(one.family, LanguageFamily::Python | LanguageFamily::Go);
                !(is_open && one.path != file.path && has_name(line, name))
            });
        }
    }
    Ok(())
}

fn count(text: &FileText, name: &str) -> usize {
    word_positions(text.text(), name).count()
}

fn has_name(line: &str, name: &str) -> bool {
    word_positions(line, name).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::super::super::synthetic_change::SyntheticChange;

    fn told(path: &str, was: &str, now: &str, others: &[(&str, &str)]) -> Vec<String> {
        let mut change = SyntheticChange::default().was(path, was).now(path, now);
        for (path, text) in others {
            change = change.was(path, text).now(path, text);
        }
        change.reported()
    }

    const PYTHON: &str = "def _measure(a):\n    return a\n\n\ndef run(a):\n    return _measure(a)\n";
    const WITHOUT: &str = "def _measure(a):\n    return a\n\n\ndef run(a):\n    return a\n";

    #[test]
    fn a_function_that_nobody_calls_any_more_is_told_at_its_last_call() {
        assert_eq!(told("a.py", PYTHON, WITHOUT, &[]), ["impact/left-unused a.py:6"]);
        assert_eq!(told("a.py", PYTHON, WITHOUT, &[("b.py", "from a import _measure\n")]), [""; 0]);
        assert_eq!(told("a.py", PYTHON, &WITHOUT.replace("def _m", "@task\ndef _m"), &[]), [""; 0]);
    }

    #[test]
    fn what_others_may_call_is_not() {
        let script = "import a from 'a';\nfunction measure(a) {\n  return a;\n}\nexport const b = measure(a);\n";
        let without = script.replace("measure(a);", "a;");
        assert_eq!(told("a.ts", script, &without, &[]), ["impact/left-unused a.ts:5"]);
        let public = |text: &str| text.replace("function", "export function");
        assert_eq!(told("a.ts", &public(script), &public(&without), &[]), [""; 0]);
        let lazy = "function measure(a) {\n  return a;\n}\nfunction run(a) {\n  const b = require('b');\n  return b(measure(a));\n}\nrun(1);\n";
        assert_eq!(told("a.ts", lazy, &lazy.replace("measure(a));", "a);"), &[]), ["impact/left-unused a.ts:6"]);
    }

    #[test]
    fn a_private_method_is_told_and_one_of_the_package_is_not() {
        let java = "class A {\n    private int measure() {\n        return 1;\n    }\n\n    int run() {\n        return measure();\n    }\n}\n";
        let without = java.replace("return measure();", "return 2;");
        assert_eq!(told("A.java", java, &without, &[]), ["impact/left-unused A.java:7"]);
        let open = |text: &str| text.replace("private ", "");
        assert_eq!(told("A.java", &open(java), &open(&without), &[]), [""; 0]);
    }
}
