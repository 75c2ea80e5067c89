//! Validates suggestions in memory before they are shown. Main functions: [`prove`], [`apply`].
//!
//! An invalid suggestion is still shown, but as prose. Writing to a file belongs in `app`.

use crate::domain::finding::Suggestion;
use crate::domain::path::RepoPath;
use crate::domain::place::LineRange;
use crate::domain::text::{FileText, MASK_PREFIX, is_distinctive};

/// Why a replacement cannot be offered as a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SuggestionFault {
    /// Its lines do not exist.
    #[error("the lines to replace do not exist")]
    NoSuchLines,
    /// The finding has no lines to replace: it is about a whole file.
    #[error("a finding about a whole file has no lines to replace")]
    WholeFile,
    /// Its lines do not exist after the change.
    #[error("only lines that exist after the change can be replaced")]
    OldSide,
    /// The quote was found at several places, and only one of them touches the change.
    #[error("the quoted lines stand at several places of the file")]
    SeveralPlaces,
    /// The quote was found only by ignoring its indentation, so the replacement's cannot be trusted.
    #[error("the quote is indented otherwise than the file, and so the replacement may be")]
    Reindented,
    /// It would change nothing.
    #[error("the replacement changes nothing")]
    ChangesNothing,
    /// It would write a mask into the file.
    #[error("the replacement contains a masked secret")]
    WritesMask,
    /// It would overwrite a masked secret.
    #[error("the replaced lines contain a masked secret")]
    OverwritesSecret,
    /// It leaves code out (`// rest of the code`).
    #[error("the replacement leaves out code (\"...\")")]
    LeavesOut,
    /// It contains a diff's marks or a fence.
    #[error("the replacement is a diff or a fenced block, not the lines themselves")]
    NotPlain,
    /// It begins or ends with a line that is already adjacent to the replaced ones.
    #[error("the replacement repeats a line that stands next to the replaced lines")]
    RepeatsNeighbour,
    /// Its indentation does not fit the file's.
    #[error("the replacement is not indented as the replaced lines are")]
    Indentation,
    /// The file has more syntax errors with it than without it.
    #[error("the file would no longer parse")]
    BreaksSyntax,
    /// It inserts, or leaves a single blank line, and there is no adjacent line that could be replaced along with it.
    #[error("no line stands next to the place that could be replaced along with it")]
    NoNeighbour,
}

/// Validates replacing `lines` of `text` by `replacement`: whole lines, an empty text deletes.
///
/// The range is narrowed to what differs. `parses` counts the error nodes of a text, if a grammar is available. Nothing else is checked:
/// whether the replacement is *right* is for a reader to decide.
pub fn prove(
    text: &FileText,
    path: &RepoPath,
    lines: LineRange,
    replacement: &str,
    parses: impl Fn(&str) -> Option<u32>,
) -> Result<Suggestion, SuggestionFault> {
    if lines.end() > text.line_count() {
        return Err(SuggestionFault::NoSuchLines);
    }
    let old: Vec<&str> = text.lines(lines).map(|(_, line)| line).collect();
    let new = split_lines(replacement);
    let edit = LineEdit::narrowed(lines.start(), &old, &new);
    if edit.old.is_empty() && edit.new.is_empty() {
        return Err(SuggestionFault::ChangesNothing);
    }
    check_content(text, &edit)?;
    let suggestion = edit.into_suggestion(text, path)?;
    if text.is_masked(suggestion.lines) {
        return Err(SuggestionFault::OverwritesSecret);
    }
    let applied = apply(text.text(), &suggestion);
    if applied == text.text() {
        return Err(SuggestionFault::ChangesNothing);
    }
    match (parses(text.text()), parses(&applied)) {
        (Some(before), Some(after)) if after > before => Err(SuggestionFault::BreaksSyntax),
        // If the parser gives up, nothing is proven.
        (Some(_), None) => Err(SuggestionFault::BreaksSyntax),
        _ => Ok(suggestion),
    }
}

/// Applies the suggestion to the text. New lines take the ending of the first replaced one; a missing last newline is kept. Lines beyond
/// the end are left out of the replacement.
pub fn apply(text: &str, suggestion: &Suggestion) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = |line: u32| usize::try_from(line).unwrap_or(usize::MAX).min(lines.len());
    let (before, rest) = lines.split_at(at(suggestion.lines.start() - 1));
    let (replaced, after) = rest.split_at(at(suggestion.lines.end()).saturating_sub(before.len()));
    let ending = replaced.iter().chain(before.last()).find_map(|line| ending_of(line)).unwrap_or("\n");
    let mut out = before.concat();
    for line in split_suggestion(&suggestion.replacement) {
        out.push_str(line);
        out.push_str(ending);
    }
    let ends_open = replaced.last().is_some_and(|line| !line.ends_with('\n'));
    if let Some(ending) = ending_of(&out).filter(|_| ends_open) {
        let kept = out.len() - ending.len();
        // A blank last line consists of its newline only, which is kept.
        if kept > 0 && !out[..kept].ends_with('\n') {
            out.truncate(kept);
        }
    }
    out.extend(after.iter().copied());
    out
}

fn ending_of(line: &str) -> Option<&'static str> {
    if line.ends_with("\r\n") { Some("\r\n") } else { line.ends_with('\n').then_some("\n") }
}

/// Splits a text into lines as in files: a newline at the end begins no further line.
fn split_lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// Splits [`Suggestion::replacement`] into lines; its last line has no newline of its own.
fn split_suggestion(replacement: &str) -> impl Iterator<Item = &str> {
    let lines = (!replacement.is_empty()).then(|| replacement.split('\n'));
    lines.into_iter().flatten().map(|line| line.strip_suffix('\r').unwrap_or(line))
}

/// An edit of lines: removed and added ones; either may be empty.
struct LineEdit<'a> {
    /// The first removed line, or the one before which the new ones are inserted.
    start: u32,
    old: &'a [&'a str],
    new: &'a [&'a str],
}

impl<'a> LineEdit<'a> {
    /// Removes common lines at the ends.
    fn narrowed(start: u32, old: &'a [&'a str], new: &'a [&'a str]) -> Self {
        let common = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let (old, new) = (&old[common..], &new[common..]);
        let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        let start = start.saturating_add(u32::try_from(common).unwrap_or(u32::MAX));
        Self { start, old: &old[..old.len() - tail], new: &new[..new.len() - tail] }
    }

    /// A suggestion replaces at least one line and cannot express "one blank line", so an edit that only inserts, or leaves a single
    /// blank line, includes an adjacent line.
    fn into_suggestion(self, text: &FileText, path: &RepoPath) -> Result<Suggestion, SuggestionFault> {
        let count = u32::try_from(self.old.len()).unwrap_or(u32::MAX);
        let (mut first, mut last) = (self.start, self.start.saturating_add(count).saturating_sub(1));
        let mut lines: Vec<&str> = self.new.to_vec();
        if self.old.is_empty() || lines == [""] {
            // An adjacent line with a secret in it would be overwritten by its mask.
            let neighbour = |number: u32| text.line(number).filter(|_| !text.is_masked(LineRange::line(number)));
            if let Some(previous) = self.start.checked_sub(1).and_then(neighbour) {
                first -= 1;
                lines.insert(0, previous);
            } else if let Some(next) = neighbour(last.saturating_add(1)) {
                last += 1;
                lines.push(next);
            } else {
                return Err(SuggestionFault::NoNeighbour);
            }
        }
        let lines_replaced = LineRange::new(first, last).map_err(|_| SuggestionFault::NoSuchLines)?;
        Ok(Suggestion { path: path.clone(), lines: lines_replaced, replacement: lines.join("\n") })
    }
}

fn check_content(text: &FileText, edit: &LineEdit<'_>) -> Result<(), SuggestionFault> {
    if edit.new.iter().any(|line| line.contains(MASK_PREFIX)) {
        return Err(SuggestionFault::WritesMask);
    }
    let stood = |line: &&str| edit.old.iter().any(|old| old.trim() == line.trim());
    if edit.new.iter().any(|line| is_omission(line) && !stood(line)) {
        return Err(SuggestionFault::LeavesOut);
    }
    let not_plain = |line: &str| line.starts_with("@@ ") || line.trim_start().starts_with("```");
    let is_diff = edit.new.iter().all(|line| line.starts_with(['+', '-', ' ']))
        && edit.new.iter().any(|line| line.starts_with('+'));
    let was_so = edit.old.iter().any(|line| not_plain(line) || line.starts_with(['+', '-']));
    if (is_diff || edit.new.iter().any(|line| not_plain(line))) && !was_so {
        return Err(SuggestionFault::NotPlain);
    }
    let next = edit.start.saturating_add(u32::try_from(edit.old.len()).unwrap_or(u32::MAX));
    let repeats = |line: Option<&&str>, neighbour: Option<&str>| match (line, neighbour) {
        (Some(line), Some(neighbour)) => is_distinctive(line) && line.trim_end() == neighbour.trim_end(),
        _ => false,
    };
    let above = edit.start.checked_sub(1).and_then(|number| text.line(number));
    if repeats(edit.new.first(), above) || repeats(edit.new.last(), text.line(next)) {
        return Err(SuggestionFault::RepeatsNeighbour);
    }
    if fits_indentation(edit) { Ok(()) } else { Err(SuggestionFault::Indentation) }
}

/// Checks for a line that is a placeholder for omitted code.
fn is_omission(line: &str) -> bool {
    const MARKS: &[&str] = &["//", "#", "/*", "*", "--", "<!--", "{/*", ";", "%"];
    const PHRASES: &[&str] = &[
        "rest of",
        "existing code",
        "remaining code",
        "unchanged code",
        "code unchanged",
        "same as before",
        "omitted for brevity",
        "remains the same",
        "other code",
        "code here",
    ];
    let line = line.trim();
    let dots = |text: &str| text.contains("...") || text.contains('…');
    if matches!(line, "..." | "…") {
        return true;
    }
    let Some(mark) = MARKS.iter().find(|mark| line.starts_with(**mark)) else { return false };
    let comment =
        line[mark.len()..].trim_matches(|c: char| c.is_whitespace() || matches!(c, '/' | '*' | '-' | '>' | '}' | '#'));
    if matches!(comment, "..." | "…") {
        return true;
    }
    let lower = comment.to_lowercase();
    let phrase = PHRASES.iter().any(|phrase| lower.contains(phrase));
    // A sentence may mention "the rest of" something; a placeholder is short or has dots.
    phrase && (dots(comment) || comment.split_whitespace().count() <= 5)
}

/// Checks whether new lines use the indentation characters of the old ones, and not all of them are indented less.
fn fits_indentation(edit: &LineEdit<'_>) -> bool {
    let indents = |lines: &[&str]| -> Vec<String> {
        let full = lines.iter().filter(|line| !line.trim().is_empty());
        full.map(|line| line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()).collect()
    };
    let (old, new) = (indents(edit.old), indents(edit.new));
    let least = |all: &[String]| all.iter().map(String::len).min();
    let (Some(least_old), Some(least_new)) = (least(&old), least(&new)) else { return true };
    let uses = |all: &[String], c: char| all.iter().any(|indent| indent.starts_with(c));
    let other = (uses(&old, '\t') && !uses(&old, ' ') && uses(&new, ' '))
        || (uses(&old, ' ') && !uses(&old, '\t') && uses(&new, '\t'));
    !(other || (least_old > 0 && least_new == 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: &str = "fn main() {\n    let a = 1;\n    let b = 2;\n    print(a, b);\n}\n";

    fn range(start: u32, end: u32) -> LineRange {
        LineRange::new(start, end).unwrap()
    }

    fn try_it(text: &str, lines: LineRange, replacement: &str) -> Result<Suggestion, SuggestionFault> {
        let path = RepoPath::parse("a.rs").unwrap();
        prove(&FileText::new(text, "UTF-8"), &path, lines, replacement, |_| None)
    }

    fn fault(lines: LineRange, replacement: &str) -> SuggestionFault {
        try_it(FILE, lines, replacement).unwrap_err()
    }

    #[test]
    fn lines_that_stay_are_not_part_of_it() {
        let got = try_it(FILE, range(1, 5), &FILE.replace("b = 2", "b = 3")).unwrap();
        assert_eq!((got.lines, got.replacement.as_str()), (range(3, 3), "    let b = 3;"));
    }

    #[test]
    fn an_insertion_takes_its_neighbour_with_it() {
        let got = try_it(FILE, range(2, 2), "    let a = 1;\n    check(a);\n").unwrap();
        assert_eq!((got.lines, got.replacement.as_str()), (range(2, 2), "    let a = 1;\n    check(a);"));
        let top = try_it("first();\nlast();\n", range(1, 1), "before();\nfirst();").unwrap();
        assert_eq!((top.lines, top.replacement.as_str()), (range(1, 1), "before();\nfirst();"));
    }

    #[test]
    fn an_empty_replacement_deletes() {
        let got = try_it(FILE, range(2, 3), "").unwrap();
        assert_eq!(apply(FILE, &got), "fn main() {\n    print(a, b);\n}\n");
    }

    #[test]
    fn a_single_blank_line_is_not_a_deletion() {
        let got = try_it(FILE, range(3, 3), "\n").unwrap();
        assert_eq!(apply(FILE, &got), "fn main() {\n    let a = 1;\n\n    print(a, b);\n}\n");
        assert_eq!(try_it("x();", range(1, 1), "\n"), Err(SuggestionFault::NoNeighbour));
    }

    #[test]
    fn endings_are_the_files() {
        let got = try_it("a();\r\nb();\r\nc();", range(2, 3), "x();\ny();").unwrap();
        assert_eq!(apply("a();\r\nb();\r\nc();", &got), "a();\r\nx();\r\ny();");
    }

    #[test]
    fn what_cannot_be_a_patch_is_refused() {
        assert_eq!(fault(range(3, 3), "    let b = 2;"), SuggestionFault::ChangesNothing);
        assert_eq!(fault(range(5, 6), ""), SuggestionFault::NoSuchLines);
        assert_eq!(fault(range(3, 3), "    let b = \"[masked:key]\";"), SuggestionFault::WritesMask);
        assert_eq!(fault(range(3, 3), "    // ... existing code ..."), SuggestionFault::LeavesOut);
        assert_eq!(fault(range(3, 3), "    let b = 3;\n    ..."), SuggestionFault::LeavesOut);
        assert_eq!(fault(range(3, 3), "-    let b = 2;\n+    let b = 3;"), SuggestionFault::NotPlain);
        assert_eq!(fault(range(3, 3), "    let b = 3;\n    print(a, b);"), SuggestionFault::RepeatsNeighbour);
        assert_eq!(fault(range(3, 3), "    let a = 1;\n    let b = 3;"), SuggestionFault::RepeatsNeighbour);
        assert_eq!(fault(range(3, 3), "let b = 3;"), SuggestionFault::Indentation);
        assert_eq!(fault(range(3, 3), "\tlet b = 3;"), SuggestionFault::Indentation);
    }

    #[test]
    fn a_comment_may_speak_of_the_rest() {
        assert!(!is_omission("// The rest of the bytes belong to the header of the next one."));
        assert!(!is_omission("let all = [first, ...others];"));
        for line in ["// ...", "# rest of the code", "/* ... */", "<!-- ... -->", "  // … remaining code unchanged"] {
            assert!(is_omission(line), "{line}");
        }
    }

    #[test]
    fn syntax_may_stay_broken_but_not_get_worse() {
        let path = RepoPath::parse("a.rs").unwrap();
        let text = FileText::new("f((1);\n", "UTF-8");
        let open = |text: &str| u32::try_from(text.matches('(').count().abs_diff(text.matches(')').count())).ok();
        let tried = |replacement| prove(&text, &path, LineRange::line(1), replacement, open);
        assert!(tried("f((2);").is_ok());
        assert_eq!(tried("f(((2);"), Err(SuggestionFault::BreaksSyntax));
    }

    fn splice(lines: &[String], start: usize, end: usize, new: &[String]) -> Vec<String> {
        [&lines[..start], new, &lines[end..]].concat()
    }

    fn join(lines: &[String], ending: &str, open: bool) -> String {
        let joined = lines.join(ending);
        if open || lines.is_empty() { joined } else { joined + ending }
    }

    proptest! {
        #[test]
        fn applying_is_splicing(
            lines in proptest::collection::vec("[a-c]{0,2}", 1..9), start in 0..9usize, length in 1..5usize,
            new in proptest::collection::vec("[a-c]{0,2}", 0..6), crlf in any::<bool>(), open in any::<bool>()
        ) {
            let ending = if crlf { "\r\n" } else { "\n" };
            let start = start % lines.len();
            let end = (start + length).min(lines.len());
            // An empty last line without a newline is not a line.
            let open = open && lines.last().is_some_and(|line| !line.is_empty());
            let file = join(&lines, ending, open);
            let lines_replaced = range(u32::try_from(start).unwrap() + 1, u32::try_from(end).unwrap());
            let replacement = new.iter().flat_map(|line| [line.as_str(), "\n"]).collect::<String>();
            let spliced = splice(&lines, start, end, &new);
            match try_it(&file, lines_replaced, &replacement) {
                Ok(suggestion) => {
                    prop_assert!(suggestion.lines.end() <= u32::try_from(lines.len()).unwrap());
                    let applied = apply(&file, &suggestion);
                    let got: Vec<&str> = applied.lines().collect();
                    prop_assert_eq!(got, &spliced[..]);
                    if new != [""] {
                        let path = RepoPath::parse("a.rs").unwrap();
                        let whole = Suggestion { path, lines: lines_replaced, replacement: new.join("\n") };
                        prop_assert_eq!(&apply(&file, &whole), &applied, "narrowing changes nothing");
                    }
                    let count = |c: char| applied.matches(c).count();
                    prop_assert_eq!(count('\r'), if file.contains('\r') { count('\n') } else { 0 });
                }
                Err(SuggestionFault::ChangesNothing) => prop_assert_eq!(spliced, lines),
                Err(SuggestionFault::NoNeighbour) => prop_assert!(spliced.iter().all(String::is_empty)),
                Err(other) => prop_assert!(false, "{other:?}"),
            }
        }

        #[test]
        fn no_text_makes_it_panic(file in any::<String>(), start in 1..9u32, more in 0..9u32, replacement in any::<String>()) {
            if let Ok(suggestion) = try_it(&file, range(start, start + more), &replacement) {
                prop_assert_ne!(&apply(&file, &suggestion), &file);
            }
            let wild = Suggestion { path: RepoPath::parse("a").unwrap(), lines: range(start, start + more), replacement };
            let _ = apply(&file, &wild);
        }
    }
}
