//! Citations of a rationale, held against the code that the verifier was shown. Main type: [`ShownCode`].
//!
//! A citation is a `path:line`, or code between backticks. What a verifier was not shown it cannot know, so a verdict that rests on it is not used to refute.

use crate::document::references;
use crate::domain::change::{FileChange, HunkSpan};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::{is_distinctive, strip_line_number};
use crate::review::conversation::CallOutcome;

/// Characters of which quoted code has one at least; a name alone may be of anything.
const CODE: &[char] =
    &['(', ')', '[', ']', '{', '}', '=', '<', '>', ';', ':', '&', '|', '+', '*', '/', '.', '"', '\'', '@', '#'];

/// Code that a verifier was shown.
#[derive(Debug, Clone, Default)]
pub(super) struct ShownCode {
    lines: Vec<(RepoPath, LineRange)>,
    /// The shown text, each line without its number, in runs of one space.
    text: String,
    /// The words of the finding itself: they may be quoted, and prove nothing.
    claim: String,
}

impl ShownCode {
    /// Adds lines of a file.
    pub(super) fn add_lines(&mut self, path: &RepoPath, lines: LineRange) {
        self.lines.push((path.clone(), lines));
    }

    /// Adds the lines of a file's diff, as far as it was collected.
    pub(super) fn add_diff(&mut self, file: &FileChange) {
        let shown = file.patch.text.lines().collect::<Vec<_>>();
        let texts = shown.split(|line| line.starts_with("@@ ")).skip(1);
        for (hunk, text) in file.hunks.iter().zip(texts) {
            for (side, span, mark) in [(DiffSide::Old, hunk.old, '-'), (DiffSide::New, hunk.new, '+')] {
                let count = text.iter().filter(|line| line.starts_with([' ', mark])).count();
                let seen = HunkSpan { count: span.count.min(u32::try_from(count).unwrap_or(u32::MAX)), ..span };
                self.lines.extend(seen.range().map(|lines| (file.path_at(side).clone(), lines)));
            }
        }
    }

    /// Adds the result of a call.
    pub(super) fn add_outcome(&mut self, outcome: &CallOutcome) {
        let shown = outcome.shown.iter().filter_map(|shown| Some((shown.path.clone(), shown.lines?)));
        self.lines.extend(shown);
        self.add_text(&outcome.text);
    }

    pub(super) fn add_text(&mut self, text: &str) {
        for line in text.lines() {
            push_words(&mut self.text, strip_line_number(line));
        }
    }

    /// Adds the words of the finding.
    pub(super) fn add_claim(&mut self, text: &str) {
        for line in text.lines() {
            push_words(&mut self.claim, strip_line_number(line));
        }
    }

    /// Returns the first citation of a rationale that is nothing of what was shown.
    pub(super) fn find_unproven(&self, rationale: &str) -> Option<String> {
        self.citations(rationale).into_iter().find_map(Result::err)
    }

    /// Returns the first place of a rationale that was not shown. Its code may be a remedy that stands nowhere yet.
    pub(super) fn find_unproven_place(&self, rationale: &str) -> Option<String> {
        self.places(rationale).find_map(Result::err)
    }

    /// Checks whether a rationale cites something, and nothing but what was shown.
    pub(super) fn is_proof(&self, rationale: &str) -> bool {
        let citations = self.citations(rationale);
        !citations.is_empty() && citations.iter().all(Result::is_ok)
    }

    /// Returns the citations of a rationale; the error is one that is nothing of what was shown.
    fn citations(&self, rationale: &str) -> Vec<Result<(), String>> {
        let quote = |code: &str| {
            let wanted = words_of(code);
            match (self.text.contains(&wanted), self.claim.contains(&wanted)) {
                (true, _) => Some(Ok(())),
                (false, true) => None,
                (false, false) => Some(Err(code.to_owned())),
            }
        };
        self.places(rationale).chain(code_spans(rationale).filter(|code| is_quote(code)).filter_map(quote)).collect()
    }

    fn places(&self, rationale: &str) -> impl Iterator<Item = Result<(), String>> {
        references(rationale).into_iter().filter_map(|cited| {
            let to = cited.to.ok()?;
            let lines = to.lines?;
            let place = || format!("{}:{}", to.path, lines.start());
            Some(if self.has_lines(&to.path, lines) { Ok(()) } else { Err(place()) })
        })
    }

    /// Checks whether any of the lines was shown. A path may be cited by its end.
    fn has_lines(&self, path: &str, lines: LineRange) -> bool {
        let path = path.trim_start_matches("./");
        self.lines.iter().any(|(shown, range)| {
            let name = shown.display_name();
            let is_same = name.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
            is_same && range.overlaps(lines)
        })
    }
}

/// Returns a quote in runs of one space.
fn words_of(code: &str) -> String {
    let mut words = String::new();
    push_words(&mut words, code);
    words.trim_end().to_owned()
}

/// Adds a line in runs of one space.
fn push_words(to: &mut String, line: &str) {
    for word in line.split_whitespace() {
        to.push_str(word);
        to.push(' ');
    }
}

/// Returns the code between backticks, as far as both ends are there.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let open = rest.find('`')?;
        let marks = rest[open..].len() - rest[open..].trim_start_matches('`').len();
        let (mark, inner) = rest[open..].split_at(marks);
        let Some((code, after)) = inner.split_once(mark) else {
            rest = "";
            return None;
        };
        rest = after.trim_start_matches('`');
        Some(code.trim())
    })
}

/// Checks whether a span is a quote of code: words and signs of it, whole, and no place.
fn is_quote(code: &str) -> bool {
    let is_whole = !code.contains('…') && !code.contains("...");
    let is_code = code.contains(CODE) && code.split_whitespace().nth(1).is_some() && is_distinctive(code);
    let is_place = references(code).iter().any(|cited| cited.to.as_ref().is_ok_and(|to| to.lines.is_some()));
    is_whole && is_code && !is_place
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown() -> ShownCode {
        let mut shown = ShownCode::default();
        let path = |name: &str| RepoPath::parse(name).unwrap();
        shown.lines.push((path("src/cart.py"), LineRange::new(3, 9).unwrap()));
        shown.add_text("     3\tdef pay(rate):\n     4\t    if rate  < 0: return None\n+    rate = percent / 100\n");
        shown
    }

    #[test]
    fn what_was_shown_may_be_cited() {
        let shown = shown();
        for rationale in [
            "src/cart.py:4 returns first.",
            "`src/cart.py:4-40` returns first, as `cart.py:3` says.",
            "`if rate < 0: return None` is before it, and `rate = percent / 100` after.",
            "`rate` is never negative: `None` is no number, and `pay()` says so.",
            "No caller relies on it; see `def pay(...): return`.",
        ] {
            assert_eq!(shown.find_unproven(rationale), None, "{rationale}");
        }
    }

    #[test]
    fn what_was_not_shown_proves_nothing() {
        let shown = shown();
        for (rationale, cited) in [
            ("src/cart.py:12 returns first.", "src/cart.py:12"),
            ("`src/art.py:4` returns first.", "src/art.py:4"),
            ("It is guarded in `lib/guard.py:7`.", "lib/guard.py:7"),
            ("`if rate <= 0: raise ValueError` is before it.", "if rate <= 0: raise ValueError"),
        ] {
            assert_eq!(shown.find_unproven(rationale).as_deref(), Some(cited), "{rationale}");
            let is_place = !cited.contains(' ');
            assert_eq!(
                shown.find_unproven_place(rationale).as_deref(),
                Some(cited).filter(|_| is_place),
                "{rationale}"
            );
        }
    }

    #[test]
    fn only_a_citation_is_proof() {
        let shown = shown();
        assert!(shown.is_proof("src/cart.py:4 returns first."));
        assert!(shown.is_proof("`if rate < 0: return None` is before it."));
        for rationale in ["", "It is harmless.", "`rate` is never negative.", "src/cart.py:4 calls lib/guard.py:7."] {
            assert!(!shown.is_proof(rationale), "{rationale}");
        }
    }

    #[test]
    fn results_are_read_as_models_see_them() {
        let mut shown = ShownCode::default();
        let text = "=== src/a.py (lines 12-12 of 20)\n12: labels[\"a b\"] = \"c\"\n".to_owned();
        let outcome = CallOutcome { text, ..CallOutcome::stopped() };
        shown.add_outcome(&outcome);
        assert_eq!(shown.find_unproven("`labels[\"a b\"] = \"c\"` sets it."), None);
    }

    proptest! {
        #[test]
        fn no_rationale_makes_it_panic(text in "([`:.a-z0-9 /]|\\PC){0,60}") {
            let shown = shown();
            prop_assert!(shown.find_unproven(&text).is_none() || !shown.is_proof(&text));
        }
    }
}
