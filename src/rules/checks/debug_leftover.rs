//! Debugging statements that were left in: breakpoints, and prints marked as such.

use std::sync::LazyLock;

use regex::Regex;

use super::super::target::{RuleMatch, RuleTarget};
use super::{CheckInfo, MOST_MATCHES};
use crate::domain::finding::{Category, Severity};
use crate::domain::place::LineRange;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "general/debug-leftover",
    title: "Debugging statement left in",
    message: "It was meant for one session of debugging. Remove it.",
    severity: Severity::Medium,
    category: Category::Quality,
    cwe: None,
};

/// A kind of debugging statement: the title and a sentence for its findings.
type Leftover = (&'static str, &'static str);

const BREAKPOINT: Leftover =
    ("Breakpoint left in", "It stops the program wherever this line is reached and waits for somebody at a terminal.");
const PRINT: Leftover = ("Debugging print left in", "It mixes with the real output.");

/// The kind, extensions, a required substring, and the pattern of the line. Only whole statements, so that strings and prose do not match.
const LINES: &[(Leftover, &[&str], &[&str], &str)] = &[
    (PRINT, &["rs"], &["dbg!("], r"^\s*(?:let\s+(?:mut\s+)?\w+\s*=\s*)?dbg!\("),
    (
        BREAKPOINT,
        &["py", "pyi"],
        &["breakpoint()", "set_trace()"],
        r"^\s*(?:import\s+i?pdb\s*;\s*)?(?:breakpoint\(\)|(?:i?pdb|pudb)\.set_trace\(\))\s*(?:#.*)?$",
    ),
    (
        BREAKPOINT,
        &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
        &["debugger"],
        r"^\s*debugger\s*;?\s*(?://.*)?$",
    ),
    (
        PRINT,
        &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
        &["console."],
        r#"^\s*console\.(?:log|error|warn)\(\s*["'`](?i:here|debug|xxx+|asdf\w*|foo|wtf|got here|>>>+|\*\*\*+)\b?[\s\d!:.]*["'`]"#,
    ),
    (BREAKPOINT, &["go"], &["runtime.Breakpoint()"], r"^\s*runtime\.Breakpoint\(\)"),
    (PRINT, &["go"], &["spew.Dump(", "DEBUG", "XXX"], r#"^\s*(?:spew\.Dump\(|fmt\.Print(?:ln|f)\("(?:DEBUG|XXX)\b)"#),
    (
        BREAKPOINT,
        &["rb", "rake"],
        &["binding.", "byebug"],
        r"^\s*(?:require\s+'pry'\s*;\s*)?(?:binding\.(?:pry|irb)|byebug)\s*(?:#.*)?$",
    ),
    (PRINT, &["php"], &["var_dump(", "dd("], r"^\s*(?:var_dump|dd)\(\s*\$"),
    (BREAKPOINT, &["ex", "exs"], &["IEx.pry"], r"^\s*(?:require\s+IEx\s*;\s*)?IEx\.pry(?:\(\))?\s*(?:#.*)?$"),
];

static COMPILED: LazyLock<Vec<Option<Regex>>> =
    LazyLock::new(|| LINES.iter().map(|(_, _, _, pattern)| Regex::new(pattern).ok()).collect());

/// Finds the debugging statements of a text.
pub(super) fn find(subject: &RuleTarget<'_>) -> Vec<RuleMatch> {
    let mut hits = Vec::new();
    let extension = subject.extension();
    for (at, ((title, detail), extensions, needles, _)) in LINES.iter().enumerate() {
        if !extensions.contains(&extension.as_str()) || !needles.iter().any(|needle| subject.has(needle)) {
            continue;
        }
        let Some(pattern) = COMPILED.get(at).and_then(Option::as_ref) else { continue };
        let lines =
            subject.text.all_lines().filter(|(at, line)| pattern.is_match(line) && !is_intentional(subject, *at));
        let lines = lines.take(MOST_MATCHES + 1);
        hits.extend(lines.map(|(number, _)| RuleMatch {
            title: Some((*title).to_owned()),
            detail: Some((*detail).to_owned()),
            ..RuleMatch::from_lines(subject.text, LineRange::line(number))
        }));
    }
    hits
}

/// Checks whether a comment on the line, or on the one above, says that the statement is meant.
fn is_intentional(subject: &RuleTarget<'_>, line: u32) -> bool {
    const WORDS: [&str; 4] = ["intentional", "on purpose", "deliberate", "not a leftover"];
    let comment = |number: u32| {
        let text = subject.text.line(number)?;
        let at = ["//", "#"].iter().filter_map(|mark| text.find(mark)).min()?;
        Some(text[at..].to_ascii_lowercase())
    };
    let above = line.checked_sub(1).and_then(comment);
    let says = |text: &String| WORDS.iter().any(|word| text.contains(word)) && !text.contains("unintentional");
    comment(line).iter().chain(&above).any(says)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for (at, (_, _, _, pattern)) in LINES.iter().enumerate() {
            assert!(COMPILED[at].is_some(), "{pattern}");
        }
    }
}
