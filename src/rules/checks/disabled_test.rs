//! Tests that no longer run: skipped one by one, or excluded because one test is focused.

use std::sync::LazyLock;

use regex::Regex;

use super::super::target::{RuleMatch, RuleTarget};
use super::{CheckInfo, MOST_MATCHES};
use crate::domain::finding::{Category, Severity};
use crate::domain::place::LineRange;
use crate::domain::text::LazyPattern;

pub(super) const DISABLED: CheckInfo = CheckInfo {
    name: "general/test-disabled",
    title: "Test disabled",
    message: "What it checked can break from now on and nothing will say so. Repair the test or the code; if it must wait, say in the \
              code what it waits for.",
    severity: Severity::Medium,
    category: Category::Testing,
    cwe: None,
};

pub(super) const FOCUSED: CheckInfo = CheckInfo {
    name: "general/test-focused",
    title: "Focused test: the other tests of the file are skipped",
    message: "`.only` is for working on one test. Committed, it switches off every other test of the file while the run stays green. \
              Remove it.",
    severity: Severity::High,
    category: Category::Testing,
    cwe: None,
};

const SCRIPT: &[&str] = &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"];

/// Extensions, substrings of which one is required, and the pattern of the line.
const OFF: &[(&[&str], &[&str], &str)] = &[
    (&["rs"], &["#[ignore"], r"^\s*#\[ignore(?:\s*=.*)?\]\s*(?://.*)?$"),
    (&["py"], &["mark.skip", "unittest.skip"], r"^\s*@(?:pytest\.mark\.skip|unittest\.skip)\s*(?:\(|#|$)"),
    (
        SCRIPT,
        &[".skip(", "xit(", "xtest(", "xdescribe("],
        r#"^\s*(?:(?:it|test|describe|context|suite)\.skip|xit|xtest|xdescribe)\(\s*["'`]"#,
    ),
    (&["go"], &[".Skip"], r"^\s*[a-z]{1,2}\.Skip(?:f|Now)?\("),
    (&["java", "kt"], &["@Disabled", "@Ignore"], r"^\s*@(?:Disabled|Ignore)\b"),
    (&["cs"], &["Skip", "[Ignore"], r"^\s*\[(?:(?:Fact|Theory)\(Skip\s*=|Ignore(?:\(|\]))"),
    (&["rb"], &["xit ", "xdescribe ", "xcontext "], r#"^\s*(?:xit|xdescribe|xcontext)\s+["']"#),
];

const ONLY: &[(&[&str], &[&str], &str)] = &[
    (SCRIPT, &[".only("], r#"^\s*(?:it|test|describe|context|suite)\.only\(\s*["'`]"#),
    (SCRIPT, &["fit(", "fdescribe("], r#"^\s*(?:fit|fdescribe)\(\s*["'`]"#),
];

/// Maximum number of lines between a mark and the test that it belongs to.
const NEAR: u32 = 12;
static NAMED: LazyPattern =
    LazyPattern::new(r"\b(?:fn|def|class|func|fun|void|object|Task(?:<[^>]*>)?)\s+(?:\([^)]*\)\s*)?`?(\w[\w ]*)");
static QUOTED: LazyPattern = LazyPattern::new(r#"["'`](.+?)["'`]"#);

type TestPatterns = LazyLock<Vec<Option<Regex>>>;
static OFF_LINES: TestPatterns = LazyLock::new(|| OFF.iter().map(|(_, _, pattern)| Regex::new(pattern).ok()).collect());
static ONLY_LINES: TestPatterns =
    LazyLock::new(|| ONLY.iter().map(|(_, _, pattern)| Regex::new(pattern).ok()).collect());

/// Finds the tests that are skipped.
pub(super) fn find_disabled(subject: &RuleTarget<'_>) -> Vec<RuleMatch> {
    let extension = subject.extension();
    if extension == "go" && !subject.path.as_bytes().ends_with(b"_test.go") {
        return Vec::new();
    }
    // In scripts a loop may generate tests; skipping there skips all of them.
    let may_depend = extension == "go" || SCRIPT.contains(&extension.as_str());
    let is_intentional = |line: u32| {
        (may_depend && is_conditional(subject, line, extension == "go")) || has_reason(subject, &extension, line)
    };
    let mut hits = matching_lines(subject, &extension, OFF, &OFF_LINES, &is_intentional);
    for hit in &mut hits {
        // The mark alone is the same for every test; the line below identifies it.
        let below = hit.lines.end() + 1;
        if let Some(next) = subject.text.line(below)
            && let Ok(lines) = LineRange::new(hit.lines.start(), below)
            && !next.trim().is_empty()
        {
            *hit = RuleMatch::from_lines(subject.text, lines);
        }
        hit.of = name_of(subject, &extension, hit.lines.start());
    }
    hits
}

/// Returns the name of the test. A test added together with its mark was never enabled: it mostly waits for something that the machine
/// must provide.
fn name_of(subject: &RuleTarget<'_>, extension: &str, line: u32) -> Option<String> {
    let text = |number: u32| subject.text.line(number).unwrap_or_default();
    let named = |pattern: &LazyPattern, text: &str| -> Option<String> {
        Some(pattern.regex()?.captures(text)?.get(1)?.as_str().to_owned())
    };
    if SCRIPT.contains(&extension) || extension == "rb" {
        return named(&QUOTED, text(line));
    }
    if extension == "go" {
        return (line.saturating_sub(NEAR).max(1)..line).rev().find_map(|number| named(&NAMED, text(number)));
    }
    // The first declaration below the mark is the marked one; other marks and comments may be in between.
    let below = (line + 1..=line + NEAR).map(text).map(str::trim_start);
    let is_between = |text: &&str| {
        let starts = ["#", "@", "/", "*", "[", ")", "\"", "'"];
        !text.is_empty() && !starts.iter().any(|start| text.starts_with(start))
    };
    below.into_iter().find(is_between).and_then(|text| named(&NAMED, text))
}

/// Finds the tests that are focused.
pub(super) fn find_focused(subject: &RuleTarget<'_>) -> Vec<RuleMatch> {
    matching_lines(subject, &subject.extension(), ONLY, &ONLY_LINES, &|line| is_value(subject, line))
}

/// Checks whether what a line begins with is a value, or runs within a test of another runner: whoever offers the function tests it so.
fn is_value(subject: &RuleTarget<'_>, line: u32) -> bool {
    let mut above = (1..line).rev().filter_map(|number| subject.text.line(number));
    let begins = above.find(|text| !text.trim().is_empty()).is_some_and(|text| text.trim_end().ends_with(['(', '=']));
    begins || subject.text.text().contains("Deno.test(")
}

fn matching_lines(
    subject: &RuleTarget<'_>,
    extension: &str,
    table: &[(&[&str], &[&str], &str)],
    lines: &TestPatterns,
    is_intentional: &dyn Fn(u32) -> bool,
) -> Vec<RuleMatch> {
    let mut hits = Vec::new();
    for (at, (extensions, needles, _)) in table.iter().enumerate() {
        if !extensions.contains(&extension) || !needles.iter().any(|needle| subject.has(needle)) {
            continue;
        }
        let Some(pattern) = lines.get(at).and_then(Option::as_ref) else { continue };
        let found = subject.text.all_lines().filter(|(at, line)| pattern.is_match(line) && !is_intentional(*at));
        let found = found.take(MOST_MATCHES + 1);
        hits.extend(found.map(|(number, _)| RuleMatch::from_lines(subject.text, LineRange::line(number))));
    }
    hits
}

/// Checks whether the mark, or a comment at it, gives a reason: then disabling was deliberate.
fn has_reason(subject: &RuleTarget<'_>, extension: &str, line: u32) -> bool {
    let text = |line: u32| subject.text.line(line).unwrap_or_default();
    let (mark, below) = (text(line).trim(), text(line + 1).trim());
    // In scripts the string is the name of the test.
    let is_named = SCRIPT.contains(&extension) || extension == "rb";
    let has_text = |text: &str| text.contains(['"', '\'', '`']);
    let in_mark = !is_named && (has_text(mark) || (mark.ends_with('(') && has_text(below)));
    let above = text(line.saturating_sub(1).max(1)).trim();
    let is_comment = |text: &str| text.starts_with("//") || text.starts_with("# ") || text.ends_with("*/");
    let beside =
        mark.split_once(" //").or_else(|| mark.split_once(" # ")).is_some_and(|(_, said)| said.trim().len() > 3);
    in_mark || beside || is_comment(above) || below.starts_with("//")
}

/// Checks whether the line is in a branch: skipping if something is missing is the purpose of `Skip`.
fn is_conditional(subject: &RuleTarget<'_>, line: u32, loops: bool) -> bool {
    let depth = |text: &str| text.len() - text.trim_start().len();
    let Some(own) = subject.text.line(line).map(depth) else { return false };
    let mut above = (1..line).rev().filter_map(|number| subject.text.line(number));
    let opener = above.find(|text| !text.trim().is_empty() && depth(text) < own).map(str::trim);
    let words = ["if ", "if(", "} else", "case ", "default:", "switch "];
    opener.is_some_and(|opener| {
        words.iter().any(|word| opener.starts_with(word)) || (loops && opener.starts_with("for "))
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::synthetic_change::SyntheticChange;
    use super::*;

    /// Decides whether the mark is reported, and whether as a hint.
    fn told(path: &str, old: &str, new: &str) -> Vec<bool> {
        let report = SyntheticChange::default().was(path, old).now(path, new).review();
        let own = report.claims.iter().filter(|claim| claim.origin.name == DISABLED.name);
        own.map(|claim| claim.confidence.is_some()).collect()
    }

    #[test]
    fn a_test_that_comes_switched_off_is_a_hint() {
        for (path, on, off, other) in [
            ("src/a.rs", "#[test]\nfn sums() {}\n", "#[test]\n#[ignore]\nfn sums() {}\n", "fn helps() {}\n"),
            (
                "src/A.java",
                "  @Test\n  void sums() {\n  }\n",
                "  @Disabled\n  @Test\n  void sums() {\n  }\n",
                "  void helps() {\n  }\n",
            ),
            ("src/a.test.ts", "it('sums', () => {});\n", "it.skip('sums', () => {});\n", "helps();\n"),
            (
                "src/test_a.py",
                "def test_sums():\n    pass\n",
                "@pytest.mark.skip\ndef test_sums():\n    pass\n",
                "helps()\n",
            ),
            (
                "a_test.go",
                "func TestSums(t *testing.T) {\n\tf()\n}\n",
                "func TestSums(t *testing.T) {\n\tt.Skip()\n\tf()\n}\n",
                "var a = 1\n",
            ),
        ] {
            assert_eq!(told(path, &format!("{other}{on}"), &format!("{other}{off}")), [false], "{path}");
            assert_eq!(told(path, other, &format!("{other}{off}")), [true], "{path}");
        }
    }

    #[test]
    fn every_pattern_compiles() {
        assert!(OFF_LINES.iter().chain(ONLY_LINES.iter()).all(Option::is_some));
    }
}
