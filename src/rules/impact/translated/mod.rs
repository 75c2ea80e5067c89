//! Translations whose placeholders differ from those of their source. Main type: [`TranslationPlaceholder`].
//!
//! Source and translation are in the same file (gettext, Qt), or in two files whose paths differ by the name of a language (`home`).
//! Parsing belongs in `object`, `plain` and `pairs`, placeholders in `marks`. Strings that the change does not touch are not reported,
//! nor those of which only the source changed: translators follow later.

mod home;
mod marks;
mod object;
mod pairs;
mod plain;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::super::checks::CheckInfo;
use super::super::subject::{Touched, is_test_path};
use super::Impact;
use super::ground::Ground;
use super::words::{Effect, Elsewhere};
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{LineRange, Side};
use crate::sys::cancel::Stopped;
pub(super) use home::{Kind, is_first, sources};
use marks::{Dialect, Fault, faults, has_any};

pub(super) struct TranslationPlaceholder;

static INFO: CheckInfo = CheckInfo {
    name: "impact/translation-placeholder",
    title: "Translation placeholders differ from the source",
    message: "What the program fills in is missing there, or its readers see the placeholder itself; some formatters fail instead. Write \
              it as the source does: the name in it is not translated.",
    severity: Severity::Medium,
    category: Category::Logic,
    cwe: None,
};

/// Maximum size of a file, in bytes.
const LARGEST: usize = 8 << 20;

/// A string of a file, by its key path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) key: String,
    /// Empty if the value is not a single string.
    value: String,
    pub(super) from: u32,
    to: u32,
}

/// An erroneous translation.
struct Wrong {
    /// Index of the changed file in the change.
    file: usize,
    lines: LineRange,
}

/// The place of a source and the errors of its translation; the same in several languages is reported once.
type Case = (RepoPath, u32, Vec<Fault>);

impl Impact for TranslationPlaceholder {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, ground: &Ground<'_>) -> Result<Vec<Effect>, Stopped> {
        let mut search = Search { ground, sources: HashMap::new(), cases: BTreeMap::new() };
        for (at, file) in ground.input.change.files.iter().enumerate() {
            ground.input.cancel.check()?;
            if file.status != FileStatus::Deleted && file.without_text().is_none() && !is_test_path(&file.path) {
                search.file(at, file)?;
            }
        }
        let mut cases: Vec<(Case, Vec<Wrong>)> = search.cases.into_iter().collect();
        cases.sort_by_key(|(_, wrong)| wrong.first().map(|first| (first.file, first.lines.start())));
        Ok(cases.into_iter().filter_map(|(case, wrong)| effect(ground, &case, &wrong)).collect())
    }
}

/// The strings of a source file by key path.
type Sources = Rc<HashMap<String, Text>>;

struct Search<'a> {
    ground: &'a Ground<'a>,
    sources: HashMap<RepoPath, Sources>,
    cases: BTreeMap<Case, Vec<Wrong>>,
}

impl Search<'_> {
    fn file(&mut self, at: usize, file: &FileChange) -> Result<(), Stopped> {
        let Ok(path) = std::str::from_utf8(file.path.as_bytes()) else { return Ok(()) };
        let Some(kind) = Kind::of(path) else { return Ok(()) };
        let side_by_side = matches!(kind, Kind::Gettext | Kind::Module);
        let source = self.source(path, kind)?;
        if source.is_none() && !side_by_side {
            return Ok(());
        }
        let touched = Touched::of(file, Side::New);
        let Some(text) = self.ground.read(Side::New, &file.path)? else { return Ok(()) };
        let text = text.text();
        if touched.is_empty() || text.len() > LARGEST || !has_any(text) {
            return Ok(());
        }
        let found = match source {
            _ if kind == Kind::Gettext || is_qt(kind, text) => side(&file.path, kind, text, &touched),
            Some(source) => self.across(&source, path, kind, text, &touched)?,
            None => return Ok(()),
        };
        if found.is_empty() {
            return Ok(());
        }
        let before = self.before(file, kind)?;
        for (case, lines, text) in found {
            if !before.contains(&text) {
                self.cases.entry(case).or_default().push(Wrong { file: at, lines });
            }
        }
        Ok(())
    }

    /// Returns the source file of a translation.
    fn source(&self, path: &str, kind: Kind) -> Result<Option<RepoPath>, Stopped> {
        for source in home::sources(path, kind) {
            if self.ground.exists(source.as_bytes())? {
                return Ok(RepoPath::from_bytes(source.as_bytes()).ok());
            }
        }
        Ok(None)
    }

    /// Finds the errors in a file whose source is another one.
    fn across(
        &mut self,
        source: &RepoPath,
        path: &str,
        kind: Kind,
        text: &str,
        touched: &Touched,
    ) -> Result<Vec<(Case, LineRange, String)>, Stopped> {
        let known = match self.sources.get(source) {
            Some(known) => Rc::clone(known),
            None => {
                let text = self.ground.read(Side::New, source)?.filter(|text| text.text().len() <= LARGEST);
                let spelled = source.spelled();
                let all = text.map(|text| texts(&spelled, kind, text.text())).unwrap_or_default();
                let known: Sources = Rc::new(all.into_iter().map(|text| (text.key.clone(), text)).collect());
                self.sources.insert(source.clone(), Rc::clone(&known));
                known
            }
        };
        let mut found = Vec::new();
        for text in texts(path, kind, text) {
            let Ok(lines) = LineRange::new(text.from, text.to) else { continue };
            let Some(source_text) = known.get(&text.key).filter(|source| has_any(&source.value)) else { continue };
            if text.value.is_empty() || !is_added(touched, lines) {
                continue;
            }
            let plural = text.value.contains(" | ") || is_plural(&text.key);
            let dialects: &[Dialect] =
                if kind == Kind::Ini { &[Dialect::Qt, Dialect::Braces] } else { &[Dialect::Braces] };
            let wrong =
                dialects.iter().flat_map(|dialect| faults(*dialect, &[&source_text.value], &text.value, plural));
            let wrong: Vec<Fault> = wrong.collect();
            if !wrong.is_empty() {
                found.push(((source.clone(), source_text.from, wrong), lines, text.value));
            }
        }
        Ok(found)
    }

    /// Returns the strings that the file, or a deleted one, had before: moved strings are not new.
    fn before(&self, file: &FileChange, kind: Kind) -> Result<HashSet<String>, Stopped> {
        let all = &self.ground.input.change.files;
        let gone = all.iter().filter(|other| file.status == FileStatus::Added && other.status == FileStatus::Deleted);
        let mut before = HashSet::new();
        for other in gone.chain([file]) {
            let path = other.path_at(Side::Old);
            let name = path.spelled();
            if Kind::of(&name) != Some(kind) {
                continue;
            }
            let Some(text) = self.ground.read(Side::Old, path)?.filter(|text| text.text().len() <= LARGEST) else {
                continue;
            };
            if kind == Kind::Gettext || is_qt(kind, text.text()) {
                let forms = all_pairs(kind, text.text()).into_iter().flat_map(|pair| pair.forms);
                before.extend(forms.map(|form| form.text));
            } else {
                before.extend(texts(&name, kind, text.text()).into_iter().map(|text| text.value));
            }
        }
        Ok(before)
    }
}

/// Checks whether a file is a Qt translation rather than a module of TypeScript.
fn is_qt(kind: Kind, text: &str) -> bool {
    kind == Kind::Module && text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

fn all_pairs(kind: Kind, text: &str) -> Vec<pairs::Pair> {
    if kind == Kind::Gettext { pairs::gettext(text) } else { pairs::qt(text) }
}

/// Finds the errors in a file that contains its sources.
fn side(path: &RepoPath, kind: Kind, text: &str, touched: &Touched) -> Vec<(Case, LineRange, String)> {
    let mut found = Vec::new();
    for pair in all_pairs(kind, text) {
        if !pair.sources.iter().any(|source| has_any(source)) && !pair.forms.iter().any(|form| has_any(&form.text)) {
            continue;
        }
        let sources: Vec<&str> = pair.sources.iter().map(String::as_str).collect();
        for form in pair.forms {
            let Ok(lines) = LineRange::new(form.from, form.to) else { continue };
            if form.text.is_empty() || !is_added(touched, lines) {
                continue;
            }
            let wrong = faults(pair.dialect.unwrap_or_default(), &sources, &form.text, pair.plural);
            if !wrong.is_empty() {
                found.push(((path.clone(), pair.line, wrong), lines, form.text));
            }
        }
    }
    found
}

fn is_added(touched: &Touched, lines: LineRange) -> bool {
    touched.first_in(lines).is_some_and(|(_, stands)| stands)
}

/// Checks whether a name is that of one plural form, as i18next and Rails write them.
fn is_plural(key: &str) -> bool {
    let form = key.rsplit(['_', '.']).next().unwrap_or_default();
    matches!(form, "zero" | "one" | "two" | "few" | "many" | "other" | "plural" | "0" | "1" | "2")
}

/// Parses the strings of a file with one language.
pub(super) fn texts(path: &str, kind: Kind, text: &str) -> Vec<Text> {
    match kind {
        Kind::Json => object::texts(text, false),
        Kind::Module => object::texts(text, true),
        Kind::Properties | Kind::Ini => plain::properties(text),
        Kind::Yaml => {
            let mut texts = plain::yaml(text);
            // Rails repeats the language as the outermost key.
            let root = home::language(path).map(|language| format!("{language}.")).unwrap_or_default();
            for text in &mut texts {
                if let Some(rest) = text.key.strip_prefix(&root) {
                    text.key = rest.to_owned();
                }
            }
            texts
        }
        Kind::Gettext => Vec::new(),
    }
}

fn effect(ground: &Ground<'_>, (source, line, faults): &Case, wrong: &[Wrong]) -> Option<Effect> {
    let first = wrong.first()?;
    let path_of = |wrong: &Wrong| ground.input.change.files.get(wrong.file).map(|file| file.path.clone());
    let mut elsewhere = vec![Elsewhere {
        path: source.clone(),
        lines: LineRange::line(*line),
        note: "The text that is translated.".to_owned(),
    }];
    let others = wrong.iter().skip(1).filter_map(|other| Some((path_of(other)?, other.lines)));
    elsewhere.extend(others.map(|(path, lines)| Elsewhere {
        path,
        lines,
        note: "The same is wrong with this translation.".to_owned(),
    }));
    let more = match wrong.len() - 1 {
        0 => String::new(),
        1 => " The same is wrong with 1 more translation of this text.".to_owned(),
        count => format!(" The same is wrong with {count} more translations of this text."),
    };
    let told: Vec<String> = faults.iter().take(3).map(said).collect();
    let dots = if faults.len() > 3 { ", …" } else { "" };
    Some(Effect {
        file: first.file,
        side: Side::New,
        lines: Some(first.lines),
        title: faults.first().map(|fault| format!("The translation {}", said(fault))),
        detail: format!("It {}{dots}.{more}", told.join(", ")),
        severity: None,
        elsewhere,
    })
}

/// Describes an error, as the end of a sentence.
fn said(fault: &Fault) -> String {
    match fault {
        Fault::Unknown(mark, Some(instead)) => {
            format!("has `{}` where its source has `{}`", mark.written(), instead.written())
        }
        Fault::Unknown(mark, None) => format!("has `{}`, which its source does not have", mark.written()),
        Fault::Lost(mark) => format!("lacks `{}`, which its source has", mark.written()),
        Fault::Broken(mark) => format!("has `{}` of its source in pieces", mark.written()),
        Fault::Kind(mark, instead) => {
            format!("reads `{}` where its source has `{}`", mark.written(), instead.written())
        }
    }
}

#[cfg(test)]
mod tests;
