//! The text that a rule examines, and a match in it. Main types: [`RuleTarget`], [`RuleMatch`].

use std::sync::Arc;

use crate::domain::change::{FileChange, HunkSpan};
use crate::domain::finding::Severity;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::FileText;
use crate::sys::cancel::CancelReason;
use crate::workspace::{Workspace, WorkspaceError};

/// A text at a path.
#[derive(Clone, Copy)]
pub(super) struct RuleTarget<'a> {
    pub(super) path: &'a RepoPath,
    pub(super) text: &'a FileText,
}

impl RuleTarget<'_> {
    /// Returns the last extension in lower case; empty if there is none.
    pub(super) fn extension(&self) -> String {
        self.path.extension().unwrap_or_default().to_ascii_lowercase()
    }

    /// Checks whether a word stands anywhere in the text.
    pub(super) fn has(&self, word: &str) -> bool {
        memchr::memmem::find(self.text.text().as_bytes(), word.as_bytes()).is_some()
    }
}

/// A reference to a rule of a pack, or to a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum RuleRef {
    Pack { pack: usize, rule: usize },
    Check(usize),
}

/// A match of a rule in one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RuleMatch {
    /// The whole match.
    pub(super) lines: LineRange,
    /// The lines at which it is reported: all of them, or those of the part that a rule names.
    pub(super) at: LineRange,
    /// The lines of the enclosing code.
    pub(super) around: LineRange,
    /// For removal rules: folded snippets that must still exist in the function at the head.
    pub(super) stays: Vec<String>,
    /// As above, but only after the place of the match.
    pub(super) guards: Vec<String>,
    /// The text of the match with white space folded: identifies equal matches.
    pub(super) key: String,
    /// A more specific title than the rule's.
    pub(super) title: Option<String>,
    /// The severity of this match, if it differs from the rule's.
    pub(super) severity: Option<Severity>,
    /// A sentence to put before the rule's message.
    pub(super) detail: Option<String>,
    /// Replacement for `lines`.
    pub(super) replacement: Option<String>,
    /// `true` if this match is a hint, though the rule is not.
    pub(super) is_hint: bool,
    /// If this snippet existed at the base, the match is a finding rather than a hint.
    pub(super) of: Option<String>,
}

impl RuleMatch {
    /// Creates a match of whole lines of a text.
    pub(super) fn from_lines(text: &FileText, lines: LineRange) -> Self {
        let mut key = String::new();
        for (_, line) in text.lines(lines) {
            fold_into(&mut key, line);
        }
        Self {
            lines,
            at: lines,
            around: lines,
            stays: Vec::new(),
            guards: Vec::new(),
            key,
            title: None,
            severity: None,
            detail: None,
            replacement: None,
            is_hint: false,
            of: None,
        }
    }
}

/// Appends `text` to `key` with formatting normalized: white space is kept, as one space, only between two words; a comma before a
/// closing bracket is dropped; and there is one kind of quotation mark.
pub(super) fn fold_into(key: &mut String, text: &str) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut parted = true;
    for c in text.chars() {
        if c.is_whitespace() {
            parted = true;
            continue;
        }
        if matches!(c, ')' | ']' | '}') && key.ends_with(',') {
            key.pop();
        }
        if parted && is_word(c) && key.chars().next_back().is_some_and(is_word) {
            key.push(' ');
        }
        parted = false;
        key.push(if c == '\'' { '"' } else { c });
    }
}

/// Returns the longest word of a key: a text without it cannot hold the same match.
pub(super) fn rarest_word(key: &str) -> &str {
    let words = key.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.max_by_key(|word| word.len()).unwrap_or_default()
}

/// Finds the positions of `part` in `text` as whole words; none if `part` is empty.
pub(super) fn word_positions<'a>(text: &'a str, part: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let (begins, ends) = (part.starts_with(is_word), part.ends_with(is_word));
    let found = memchr::memmem::find_iter(text.as_bytes(), part.as_bytes()).filter(|_| !part.is_empty());
    found.filter(move |at| {
        let (before, after) = (text.get(..*at), text.get(at + part.len()..));
        let goes_on = begins && before.is_some_and(|text| text.ends_with(is_word))
            || ends && after.is_some_and(|text| text.starts_with(is_word));
        !goes_on
    })
}

/// The changed lines of one side of a file, indexed for many lookups.
pub(super) struct ChangedLineIndex {
    /// First and last line, and `true` for lines rather than the point of a deletion; ascending.
    spans: Vec<(u32, u32, bool)>,
}

impl ChangedLineIndex {
    /// Collects the changed lines of `file`, as [`FileChange::touches`] sees them.
    pub(super) fn of(file: &FileChange, side: DiffSide) -> Self {
        let span = |span: HunkSpan| match span.range() {
            Some(lines) => (lines.start(), lines.end(), true),
            None => (span.start.max(1), span.start.saturating_add(1), false),
        };
        let mut spans: Vec<_> = file.runs().map(|run| span(run.on(side))).collect();
        spans.sort_unstable();
        Self { spans }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns the first changed line in `lines`, and `true` if it is a line rather than the point of a deletion.
    pub(super) fn first_in(&self, lines: LineRange) -> Option<(u32, bool)> {
        let from = self.spans.partition_point(|span| span.1 < lines.start());
        let inside = self.spans[from..].iter().take_while(|span| span.0 <= lines.end());
        inside.map(|span| (span.0.max(lines.start()), span.2)).max_by_key(|(line, stands)| (*stands, u32::MAX - line))
    }

    /// Checks whether `line` is an added or removed line.
    pub(super) fn covers(&self, line: u32) -> bool {
        self.first_in(LineRange::line(line)).is_some_and(|(_, stands)| stands)
    }
}

/// Maps a base line to the head line at which the code at and after it continues.
pub(super) fn line_at_head(file: &FileChange, line: u32) -> u32 {
    let mut at = i64::from(line);
    for run in file.runs() {
        let (old, new) = (run.old.before().saturating_add(1), run.new.before().saturating_add(1));
        if old > line {
            break;
        }
        at = if line < old.saturating_add(run.old.count) {
            i64::from(new)
        } else {
            i64::from(line) + i64::from(new) + i64::from(run.new.count) - i64::from(old) - i64::from(run.old.count)
        };
    }
    u32::try_from(at.max(1)).unwrap_or(u32::MAX)
}

/// Maps a head line to its base line; `None` if the change added it.
pub(super) fn line_at_base(file: &FileChange, line: u32) -> Option<u32> {
    let mut at = i64::from(line);
    for run in file.runs() {
        let (old, new) = (i64::from(run.old.before()) + 1, i64::from(run.new.before()) + 1);
        if new > i64::from(line) {
            break;
        }
        if i64::from(line) < new + i64::from(run.new.count) {
            return None;
        }
        at = i64::from(line) + old + i64::from(run.old.count) - new - i64::from(run.new.count);
    }
    u32::try_from(at).ok()
}

/// Checks whether a path is one of tests, examples or benchmarks, by the names that test runners look for: code that is not shipped.
pub(super) fn is_test_path(path: &RepoPath) -> bool {
    let Ok(text) = std::str::from_utf8(path.as_bytes()) else { return false };
    let text = text.to_ascii_lowercase();
    let (folders, name) = text.rsplit_once('/').unwrap_or(("", &text));
    let of_tests = |part: &str| {
        matches!(
            part,
            "test"
                | "tests"
                | "__tests__"
                | "spec"
                | "specs"
                | "testdata"
                | "fixtures"
                | "__mocks__"
                | "e2e"
                | "examples"
                | "benches"
                | "test_utils"
                | "test-utils"
                | "testutils"
                | "playwright"
                | "cypress"
        ) || ["tests-", "tests_"].iter().any(|start| part.starts_with(start))
            || part
                .strip_suffix("tests")
                .or_else(|| part.strip_suffix("tester"))
                .and_then(|kind| kind.strip_suffix(['-', '_']))
                .is_some_and(|kind| {
                    matches!(kind, "integration" | "unit" | "e2e" | "functional" | "system" | "smoke" | "acceptance")
                })
    };
    let stem = name.split('.').next().unwrap_or(name);
    folders.split('/').any(of_tests)
        || stem.starts_with("test_")
        || stem.starts_with("tests_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || matches!(stem, "tests" | "test" | "conftest")
        || name == "build.rs"
        || name.contains(".test.")
        || name.contains(".spec.")
}

/// Checks whether a path is prose, where code is shown rather than run.
pub(super) fn is_prose(extension: &str) -> bool {
    matches!(
        extension,
        "md" | "markdown" | "mdx" | "rst" | "adoc" | "asciidoc" | "txt" | "tex" | "org" | "html" | "htm" | "ipynb"
    )
}

/// Reads the text of a file; `None` if it is unreadable, which the receipt reports elsewhere. Only a stop is an error.
pub(super) fn read_text(tree: &dyn Workspace, path: &RepoPath) -> Result<Option<Arc<FileText>>, CancelReason> {
    match tree.read(path) {
        Ok(text) => Ok(Some(text)),
        Err(WorkspaceError::Stopped(stopped)) => Err(stopped),
        Err(_) => Ok(None),
    }
}

/// Checks whether it is XML with another extension: Qt translations end in `.ts`.
pub(super) fn is_markup(text: &FileText) -> bool {
    text.text().starts_with("<?xml") || text.text().starts_with("<!DOCTYPE")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::{ChangeRun, Hunk};

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    #[test]
    fn tests_are_known_by_their_names() {
        for name in [
            "tests/a.rs",
            "src/a/__tests__/b.ts",
            "a_test.go",
            "b.test.tsx",
            "test_c.py",
            "pkg/testdata/x.go",
            "crates/tests-database/src/a.rs",
            "unit_tests/a.c",
            "playwright/global-utils.ts",
            "cli/tests_piping.py",
        ] {
            assert!(is_test_path(&path(name)), "{name}");
        }
        for name in ["src/a.rs", "contest.py", "latest/x.go", "attest.ts", "src/testimony.js", "ab-tests/a.ts"] {
            assert!(!is_test_path(&path(name)), "{name}");
        }
    }

    #[test]
    fn a_line_of_the_base_is_found_at_the_head() {
        let span = |start, count| HunkSpan { start, count };
        let runs = vec![ChangeRun { old: span(2, 2), new: span(1, 0) }, ChangeRun { old: span(6, 0), new: span(5, 3) }];
        let file = FileChange { hunks: vec![Hunk { runs, ..Hunk::default() }], ..FileChange::modified(path("a")) };
        let lines: Vec<u32> = (1..=8).map(|line| line_at_head(&file, line)).collect();
        assert_eq!(lines, [1, 2, 2, 2, 3, 4, 8, 9]);
        let lines: Vec<Option<u32>> = (1..=9).map(|line| line_at_base(&file, line)).collect();
        let came = None;
        assert_eq!(lines, [Some(1), Some(4), Some(5), Some(6), came, came, came, Some(7), Some(8)]);
    }

    #[test]
    fn a_line_that_stands_comes_before_the_point_of_a_deletion() {
        let run = |old: (u32, u32), new: (u32, u32)| ChangeRun {
            old: HunkSpan { start: old.0, count: old.1 },
            new: HunkSpan { start: new.0, count: new.1 },
        };
        let file = FileChange {
            additions: 2,
            deletions: 1,
            hunks: vec![Hunk { runs: vec![run((5, 1), (4, 0)), run((8, 0), (9, 2))], ..Hunk::default() }],
            ..FileChange::modified(path("a"))
        };
        let touched = ChangedLineIndex::of(&file, DiffSide::New);
        assert_eq!(touched.first_in(LineRange::new(1, 20).unwrap()), Some((9, true)));
        assert_eq!(touched.first_in(LineRange::new(1, 8).unwrap()), Some((4, false)));
        assert_eq!(touched.first_in(LineRange::line(5)), Some((5, false)));
        for line in 1..14 {
            let lines = LineRange::line(line);
            assert_eq!(touched.first_in(lines).is_some(), file.touches(DiffSide::New, lines), "{line}");
        }
        assert!(touched.covers(10) && !touched.covers(5));
    }
}
