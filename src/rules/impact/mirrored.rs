//! A value that is written twice and changed once. Main type: [`ChangedConstantMirrored`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::super::checks::CheckInfo;
use super::super::target::{ChangedLineIndex, is_test_path};
use super::ImpactRule;
use super::claims::{AffectedPlace, RemoteEffect};
use super::context::ImpactContext;
use crate::domain::change::{FileChange, FileStatus, HunkSpan};
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::FileText;
use crate::sys::cancel::CancelReason;
use crate::workspace::{LineRegex, Query, WorkspaceError};

pub(super) struct ChangedConstantMirrored;

static INFO: CheckInfo = CheckInfo {
    name: "impact/changed-constant-mirrored",
    title: "A value is changed here and still has the old one elsewhere",
    message: "The two were the same before this change, so what relies on that differs from now on. Change both, or take one from the \
              other.",
    severity: Severity::Low,
    category: Category::Logic,
    cwe: None,
};

/// Values of more changes are not looked for.
const MOST_VALUES: usize = 100;
/// The search ends when so many lines were found.
const MOST_LINES: usize = 20_000;
/// A name that is given its value in more places than these besides is a common one.
const MOST_PLACES: usize = 3;

/// `NAME = value`, `name: value`, `#define NAME value`, `ARG NAME=value`; groups: the name, the value.
static SETTING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = r#"["']?([A-Za-z][A-Za-z0-9]*(?:[_.-]?[A-Za-z0-9]+)+)["']?"#;
    let value = r#"("[^"\\]{4,80}"|'[^'\\]{4,80}'|[0-9][0-9A-Za-z_.]*)"#;
    let before = r"^\s*(?:[A-Za-z#-][\w()# -]*\s)?";
    let between = r"(?:\s*:\s*[\w&'<>\[\]. ]{1,40}=\s*|\s*:?=\s*|\s*:\s+|\s+)";
    Regex::new(&format!(r"{before}{name}{between}{value}\s*[;,]?\s*(?:(?://|#|/\*).*)?$")).ok()
});

/// One setting of a line: the words of its name, and its value without quotes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Setting {
    words: String,
    name: String,
    value: String,
}

/// A value that the change gives to a name that had another one.
struct Moved {
    file: usize,
    line: u32,
    was: Setting,
    is: String,
}

impl ImpactRule for ChangedConstantMirrored {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, ground: &ImpactContext<'_>) -> Result<Vec<RemoteEffect>, CancelReason> {
        let mut moved: BTreeMap<(String, String), Moved> = BTreeMap::new();
        for (at, file) in ground.input.change.files.iter().enumerate() {
            ground.input.cancel.check()?;
            for one in values(ground, at, file)? {
                moved.entry((one.was.words.clone(), one.was.value.clone())).or_insert(one);
            }
        }
        while moved.len() > MOST_VALUES {
            moved.pop_last();
            ground.note(format!("only {MOST_VALUES} of the values that the change changes were looked for elsewhere"));
        }
        if moved.is_empty() {
            return Ok(Vec::new());
        }
        let (mut behind, others) = still(ground, &moved)?;
        let mut effects = Vec::new();
        for (key, one) in moved {
            let Some(elsewhere) = behind.remove(&key).filter(|found| found.len() <= MOST_PLACES) else { continue };
            if others.contains(&key.0) {
                continue;
            }
            let (name, was) = (&one.was.name, &one.was.value);
            let more =
                if elsewhere.len() > 1 { format!(" and {} more places", elsewhere.len() - 1) } else { String::new() };
            effects.push(RemoteEffect {
                file: one.file,
                side: DiffSide::New,
                lines: Some(LineRange::line(one.line)),
                title: Some(format!("`{name}` is {} here now and still {was} elsewhere", one.is)),
                detail: format!("It was {was} here too, as it still is in {}{more}.", elsewhere[0].path),
                severity: None,
                elsewhere,
            });
        }
        Ok(effects)
    }
}

/// The setting on a line, where its name and its value tell it from any other.
fn setting(line: &str) -> Option<Setting> {
    if line.len() > 300 {
        return None;
    }
    let groups = SETTING.as_ref()?.captures(line)?;
    let (name, value) = (groups.get(1)?.as_str(), groups.get(2)?.as_str());
    let words = words(name);
    let value = value.trim_matches(['"', '\'']).to_owned();
    // Two words may mean another thing in another place, unless they are those of a constant.
    let is_constant = |name: &str| !name.chars().any(|c| c.is_lowercase() || c == '-' || c == '.');
    let parts = words.split('_').count();
    // A path of keys is a text to show, or the setting of a tool; a version is each one's own.
    let telling = words.len() >= 8
        && parts >= if is_constant(name) { 2 } else { 3 }
        && !name.contains('.')
        && !words.contains("version");
    (telling && says_something(&value, parts)).then(|| Setting { words, name: name.to_owned(), value })
}

/// Checks whether a value is one that two places hardly have by chance: no small or round number, no word that many things may be set to.
fn says_something(value: &str, parts: usize) -> bool {
    let digits = value.trim_matches(|c: char| !c.is_ascii_digit() || c == '0');
    if value.starts_with(|c: char| c.is_ascii_digit()) {
        return digits.len() >= 2 || (parts >= 3 && value.len() >= 2);
    }
    value.contains(|c: char| !c.is_alphabetic())
}

/// `maxOpenFiles`, `MAX_OPEN_FILES` and `max-open-files` in one spelling.
fn words(name: &str) -> String {
    let mut found = String::new();
    let mut before = '_';
    for c in name.chars() {
        let begins = c.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit());
        if (matches!(c, '-' | '.' | '_') || begins) && !found.ends_with('_') && !found.is_empty() {
            found.push('_');
        }
        if !matches!(c, '-' | '.' | '_') {
            found.extend(c.to_lowercase());
        }
        before = c;
    }
    found
}

/// Settings of a file whose value the change replaces, line for line.
fn values(ground: &ImpactContext<'_>, at: usize, file: &FileChange) -> Result<Vec<Moved>, CancelReason> {
    let mut found = Vec::new();
    let unfit = file.binary || file.generated.is_some() || file.status != FileStatus::Modified || is_apart(&file.path);
    if unfit || file.additions == 0 || file.deletions == 0 {
        return Ok(found);
    }
    let (Some(old), Some(new)) =
        (ground.read(DiffSide::Old, file.path_at(DiffSide::Old))?, ground.read(DiffSide::New, &file.path)?)
    else {
        return Ok(found);
    };
    for run in file.runs() {
        ground.input.cancel.check()?;
        let (was, is) = (settings(&old, run.old), settings(&new, run.new));
        for (_, was) in &was {
            let mut same = is.iter().filter(|(_, is)| is.name == was.name);
            if let (Some((line, is)), None) = (same.next(), same.next())
                && is.value != was.value
            {
                found.push(Moved { file: at, line: *line, was: was.clone(), is: is.value.clone() });
            }
        }
    }
    Ok(found)
}

fn settings(text: &FileText, span: HunkSpan) -> Vec<(u32, Setting)> {
    let lines = span.range().into_iter().flat_map(|lines| text.lines(lines));
    lines.take(2000).filter_map(|(number, line)| Some((number, setting(line)?))).collect()
}

/// Checks whether the values in a file are its own: of what was, of tests, of looks, of one language of many, of one job of many.
fn is_apart(path: &RepoPath) -> bool {
    let text = format!("/{}", path.display_name().to_ascii_lowercase());
    let marks = [
        "changelog",
        "changes",
        "history",
        "news",
        "release",
        "migration",
        "snapshot",
        "/vendor/",
        "node_modules",
        ".lock",
        "-lock.",
        ".github/",
        "locale",
        "i18n",
        "l10n",
        "translation",
        "/lang/",
        "/languages/",
        "test",
        "mock",
        "example",
        "sample",
        "template",
        "benchmark",
        "/docs/",
        "/package.",
        "pyproject.toml",
        ".sln",
        ".csproj",
    ];
    let looks = ["css", "scss", "sass", "less", "svg", "po", "xliff", "md", "mdx", "rst", "html"];
    is_test_path(path)
        || path.extension().is_some_and(|extension| looks.contains(&extension))
        || marks.iter().any(|mark| text.contains(mark))
}

type Places = BTreeMap<(String, String), Vec<AffectedPlace>>;

/// The places where the same name still has the old value, and the names that have other values elsewhere.
fn still(
    ground: &ImpactContext<'_>,
    moved: &BTreeMap<(String, String), Moved>,
) -> Result<(Places, BTreeSet<String>), CancelReason> {
    let (mut places, mut others) = (Places::new(), BTreeSet::new());
    let names: BTreeSet<&str> = moved.keys().map(|(words, _)| words.as_str()).collect();
    let spelled: Vec<String> = names.iter().map(|words| words.replace('_', "[_.-]?")).collect();
    let Ok(pattern) = LineRegex::new(&format!("(?i)(?:{})", spelled.join("|"))) else { return Ok((places, others)) };
    let query = Query { pattern: &pattern, files: None, most: MOST_LINES };
    let found = match ground.input.new.search(&query, ground.input.cancel) {
        Ok(found) if found.exhausted => found,
        Ok(_) => {
            ground.note("the values that the change changes stand in too many places to be followed".to_owned());
            return Ok((places, others));
        }
        Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
        Err(error) => {
            ground.note(format!("the values that the change changes could not be looked for: {error}"));
            return Ok((places, others));
        }
    };
    for file in found.files {
        ground.input.cancel.check()?;
        if is_apart(&file.path) {
            continue;
        }
        let changed = ground.input.change.files.iter().find(|one| one.path == file.path);
        let touched = changed.map(|one| ChangedLineIndex::of(one, DiffSide::New));
        for number in &file.lines {
            let line = file.text.line(*number).and_then(setting);
            let Some(here) = line.filter(|_| !touched.as_ref().is_some_and(|touched| touched.covers(*number))) else {
                continue;
            };
            let key = (here.words, here.value);
            if moved.contains_key(&key) {
                let note = format!("{} is still {} here.", here.name, key.1);
                places.entry(key).or_default().push(AffectedPlace {
                    path: file.path.clone(),
                    lines: LineRange::line(*number),
                    note,
                });
            } else {
                others.insert(key.0);
            }
        }
    }
    Ok((places, others))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<(String, String)> {
        setting(line).map(|found| (found.words, found.value))
    }

    #[test]
    fn settings_are_read_in_many_languages() {
        let expected = Some(("max_open_files".to_owned(), "4096".to_owned()));
        for line in [
            "MAX_OPEN_FILES = 4096",
            "    pub const MAX_OPEN_FILES: usize = 4096; // enough",
            "  max_open_files: 4096  # enough",
            "  \"maxOpenFiles\": 4096,",
            "#define MAX_OPEN_FILES 4096",
            "ARG MAX_OPEN_FILES=4096",
            "const maxOpenFiles = 4096;",
            "\tmaxOpenFiles := 4096",
            "max-open-files = \"4096\"",
            "private static final int MAX_OPEN_FILES = 4096;",
        ] {
            assert_eq!(of(line), expected, "{line}");
        }
    }

    #[test]
    fn what_could_be_anything_is_no_setting() {
        for line in [
            "timeout = 4096",
            "max_open_files = 1",
            "min-height: 4096",
            "maxFiles = 4096",
            "MAX_FILES = 5000",
            "max_open_files = 'auto'",
            "max.open.files = 4096",
            "OPEN_FILES_VERSION = '1.2.3'",
            "max_open_files = other",
            "if max_open_files == 4096 {",
            "max_open_files(4096)",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
