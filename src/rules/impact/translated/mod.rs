//! Translations whose placeholders differ from those of their source. Main function: [`find`].
//!
//! Source and translation are in the same file (gettext, Qt), or in two files whose paths differ by the name of a language (`home`).
//! Parsing belongs in `object`, `plain` and `pairs`, placeholders in `marks`. Strings that the change does not touch are not reported,
//! nor those of which only the source changed: translators follow later.

mod format;
mod object;
mod pairs;
mod placeholders;
mod plain;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::super::checks::CheckInfo;
use super::super::target::{ChangedLineIndex, is_test_path};
use super::claims::{AffectedPlace, RemoteEffect};
use super::context::ImpactContext;
use super::search::ChangedNames;
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::sys::cancel::CancelReason;
use format::TranslationFormat;
use placeholders::{PlaceholderDialect, PlaceholderFault, has_placeholder, placeholder_faults};

pub(super) const INFO: CheckInfo = CheckInfo {
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
struct KeyedString {
    key: String,
    /// Empty if the value is not a single string.
    value: String,
    from: u32,
    to: u32,
}

/// An erroneous translation.
struct WrongTranslation {
    /// Index of the changed file in the change.
    file: usize,
    lines: LineRange,
}

/// The place of a source and the errors of its translation; the same in several languages is reported once.
type FaultyString = (RepoPath, u32, Vec<PlaceholderFault>);

/// Finds the translations that differ.
pub(super) fn find(ground: &ImpactContext<'_>, _: &ChangedNames<'_>) -> Result<Vec<RemoteEffect>, CancelReason> {
    let mut search = TranslationSearch { ground, sources: HashMap::new(), cases: BTreeMap::new() };
    for (at, file) in ground.sides.files() {
        ground.sides.cancel.check()?;
        if file.status != FileStatus::Deleted && file.without_text().is_none() && !is_test_path(&file.path) {
            search.file(at, file)?;
        }
    }
    let mut cases: Vec<(FaultyString, Vec<WrongTranslation>)> = search.cases.into_iter().collect();
    cases.sort_by_key(|(_, wrong)| wrong.first().map(|first| (first.file, first.lines.start())));
    Ok(cases.into_iter().filter_map(|(case, wrong)| effect(ground, &case, &wrong)).collect())
}

/// The strings of a source file by key path.
type SourceStrings = Rc<HashMap<String, KeyedString>>;

struct TranslationSearch<'a> {
    ground: &'a ImpactContext<'a>,
    sources: HashMap<RepoPath, SourceStrings>,
    cases: BTreeMap<FaultyString, Vec<WrongTranslation>>,
}

impl TranslationSearch<'_> {
    fn file(&mut self, at: usize, file: &FileChange) -> Result<(), CancelReason> {
        let Ok(path) = std::str::from_utf8(file.path.as_bytes()) else { return Ok(()) };
        let Some(kind) = TranslationFormat::of(path) else { return Ok(()) };
        let side_by_side = matches!(kind, TranslationFormat::Gettext | TranslationFormat::Module);
        let source = self.source(path, kind)?;
        if source.is_none() && !side_by_side {
            return Ok(());
        }
        let touched = ChangedLineIndex::of(file, DiffSide::New);
        let Some(text) = self.ground.read(DiffSide::New, &file.path)? else { return Ok(()) };
        let text = text.text();
        if touched.is_empty() || text.len() > LARGEST || !has_placeholder(text) {
            return Ok(());
        }
        let found = match source {
            _ if kind == TranslationFormat::Gettext || is_qt(kind, text) => side(&file.path, kind, text, &touched),
            Some(source) => self.across(&source, path, kind, text, &touched)?,
            None => return Ok(()),
        };
        if found.is_empty() {
            return Ok(());
        }
        let before = self.before(file, kind)?;
        for (case, lines, text) in found {
            if !before.contains(&text) {
                self.cases.entry(case).or_default().push(WrongTranslation { file: at, lines });
            }
        }
        Ok(())
    }

    /// Returns the source file of a translation.
    fn source(&self, path: &str, kind: TranslationFormat) -> Result<Option<RepoPath>, CancelReason> {
        for source in format::source_paths(path, kind) {
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
        kind: TranslationFormat,
        text: &str,
        touched: &ChangedLineIndex,
    ) -> Result<Vec<(FaultyString, LineRange, String)>, CancelReason> {
        let known = match self.sources.get(source) {
            Some(known) => Rc::clone(known),
            None => {
                let text = self.ground.read(DiffSide::New, source)?.filter(|text| text.text().len() <= LARGEST);
                let spelled = source.display_name();
                let all = text.map(|text| parse_strings(&spelled, kind, text.text())).unwrap_or_default();
                let known: SourceStrings = Rc::new(all.into_iter().map(|text| (text.key.clone(), text)).collect());
                self.sources.insert(source.clone(), Rc::clone(&known));
                known
            }
        };
        let mut found = Vec::new();
        for text in parse_strings(path, kind, text) {
            let Ok(lines) = LineRange::new(text.from, text.to) else { continue };
            let Some(source_text) = known.get(&text.key).filter(|source| has_placeholder(&source.value)) else {
                continue;
            };
            if text.value.is_empty() || !is_added(touched, lines) {
                continue;
            }
            let plural = text.value.contains(" | ") || is_plural(&text.key);
            let dialects: &[PlaceholderDialect] = if kind == TranslationFormat::Ini {
                &[PlaceholderDialect::Qt, PlaceholderDialect::Braces]
            } else {
                &[PlaceholderDialect::Braces]
            };
            let wrong = dialects
                .iter()
                .flat_map(|dialect| placeholder_faults(*dialect, &[&source_text.value], &text.value, plural));
            let wrong: Vec<PlaceholderFault> = wrong.collect();
            if !wrong.is_empty() {
                found.push(((source.clone(), source_text.from, wrong), lines, text.value));
            }
        }
        Ok(found)
    }

    /// Returns the strings that the file, or a deleted one, had before: moved strings are not new.
    fn before(&self, file: &FileChange, kind: TranslationFormat) -> Result<HashSet<String>, CancelReason> {
        let all = &self.ground.sides.change.files;
        let gone = all.iter().filter(|other| file.status == FileStatus::Added && other.status == FileStatus::Deleted);
        let mut before = HashSet::new();
        for other in gone.chain([file]) {
            let path = other.path_at(DiffSide::Old);
            let name = path.display_name();
            if TranslationFormat::of(&name) != Some(kind) {
                continue;
            }
            let Some(text) = self.ground.read(DiffSide::Old, path)?.filter(|text| text.text().len() <= LARGEST) else {
                continue;
            };
            if kind == TranslationFormat::Gettext || is_qt(kind, text.text()) {
                let forms = all_pairs(kind, text.text()).into_iter().flat_map(|pair| pair.forms);
                before.extend(forms.map(|form| form.text));
            } else {
                before.extend(parse_strings(&name, kind, text.text()).into_iter().map(|text| text.value));
            }
        }
        Ok(before)
    }
}

/// Checks whether a file is a Qt translation rather than a module of TypeScript.
fn is_qt(kind: TranslationFormat, text: &str) -> bool {
    kind == TranslationFormat::Module && text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

fn all_pairs(kind: TranslationFormat, text: &str) -> Vec<pairs::TranslatedPair> {
    if kind == TranslationFormat::Gettext { pairs::parse_gettext(text) } else { pairs::parse_qt(text) }
}

/// Finds the errors in a file that contains its sources.
fn side(
    path: &RepoPath,
    kind: TranslationFormat,
    text: &str,
    touched: &ChangedLineIndex,
) -> Vec<(FaultyString, LineRange, String)> {
    let mut found = Vec::new();
    for pair in all_pairs(kind, text) {
        if !pair.sources.iter().any(|source| has_placeholder(source))
            && !pair.forms.iter().any(|form| has_placeholder(&form.text))
        {
            continue;
        }
        let sources: Vec<&str> = pair.sources.iter().map(String::as_str).collect();
        for form in pair.forms {
            let Ok(lines) = LineRange::new(form.from, form.to) else { continue };
            if form.text.is_empty() || !is_added(touched, lines) {
                continue;
            }
            let wrong = placeholder_faults(pair.dialect.unwrap_or_default(), &sources, &form.text, pair.plural);
            if !wrong.is_empty() {
                found.push(((path.clone(), pair.line, wrong), lines, form.text));
            }
        }
    }
    found
}

fn is_added(touched: &ChangedLineIndex, lines: LineRange) -> bool {
    touched.first_in(lines).is_some_and(|(_, stands)| stands)
}

/// Checks whether a name is that of one plural form, as i18next and Rails write them.
fn is_plural(key: &str) -> bool {
    let form = key.rsplit(['_', '.']).next().unwrap_or_default();
    matches!(form, "zero" | "one" | "two" | "few" | "many" | "other" | "plural" | "0" | "1" | "2")
}

/// Parses the strings of a file with one language.
fn parse_strings(path: &str, kind: TranslationFormat, text: &str) -> Vec<KeyedString> {
    match kind {
        TranslationFormat::Json => object::parse_object(text, false),
        TranslationFormat::Module => object::parse_object(text, true),
        TranslationFormat::Properties | TranslationFormat::Ini => plain::parse_properties(text),
        TranslationFormat::Yaml => {
            let mut texts = plain::parse_yaml(text);
            // Rails repeats the language as the outermost key.
            let root = format::language(path).map(|language| format!("{language}.")).unwrap_or_default();
            for text in &mut texts {
                if let Some(rest) = text.key.strip_prefix(&root) {
                    text.key = rest.to_owned();
                }
            }
            texts
        }
        TranslationFormat::Gettext => Vec::new(),
    }
}

fn effect(
    ground: &ImpactContext<'_>,
    (source, line, faults): &FaultyString,
    wrong: &[WrongTranslation],
) -> Option<RemoteEffect> {
    let first = wrong.first()?;
    let path_of = |wrong: &WrongTranslation| ground.sides.change.files.get(wrong.file).map(|file| file.path.clone());
    let mut elsewhere = vec![AffectedPlace {
        path: source.clone(),
        lines: LineRange::line(*line),
        note: "The text that is translated.".to_owned(),
    }];
    let others = wrong.iter().skip(1).filter_map(|other| Some((path_of(other)?, other.lines)));
    elsewhere.extend(others.map(|(path, lines)| AffectedPlace {
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
    Some(RemoteEffect {
        file: first.file,
        side: DiffSide::New,
        lines: Some(first.lines),
        title: faults.first().map(|fault| format!("The translation {}", said(fault))),
        detail: format!("It {}{dots}.{more}", told.join(", ")),
        severity: None,
        elsewhere,
    })
}

/// Describes an error, as the end of a sentence.
fn said(fault: &PlaceholderFault) -> String {
    match fault {
        PlaceholderFault::Unknown(mark, Some(instead)) => {
            format!("has `{}` where its source has `{}`", mark.to_text(), instead.to_text())
        }
        PlaceholderFault::Unknown(mark, None) => format!("has `{}`, which its source does not have", mark.to_text()),
        PlaceholderFault::Lost(mark) => format!("lacks `{}`, which its source has", mark.to_text()),
        PlaceholderFault::Broken(mark) => format!("has `{}` of its source in pieces", mark.to_text()),
        PlaceholderFault::Kind(mark, instead) => {
            format!("reads `{}` where its source has `{}`", mark.to_text(), instead.to_text())
        }
    }
}

#[cfg(test)]
mod tests;
