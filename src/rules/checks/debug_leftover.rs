//! Debugging statements that were left in: breakpoints, and prints marked as such.

use std::sync::LazyLock;

use regex::Regex;

use super::super::target::{RuleMatch, RuleTarget};
use super::{Check, CheckInfo, MOST_MATCHES};
use crate::domain::finding::{Category, Severity};
use crate::domain::place::LineRange;

pub(super) struct DebugLeftover;

static INFO: CheckInfo = CheckInfo {
    name: "general/debug-leftover",
    title: "Debugging statement left in",
    message: "A breakpoint stops the program wherever this line is reached and waits for somebody at a terminal; a debugging print \
              mixes with the real output. Remove it.",
    severity: Severity::Medium,
    category: Category::Quality,
    cwe: None,
};

/// Extensions, a required substring, and the pattern of the line. Only whole statements, so that strings and prose do not match.
const LINES: &[(&[&str], &[&str], &str)] = &[
    (&["rs"], &["dbg!("], r"^\s*(?:let\s+(?:mut\s+)?\w+\s*=\s*)?dbg!\("),
    (
        &["py", "pyi"],
        &["breakpoint()", "set_trace()"],
        r"^\s*(?:import\s+i?pdb\s*;\s*)?(?:breakpoint\(\)|(?:i?pdb|pudb)\.set_trace\(\))\s*(?:#.*)?$",
    ),
    (
        &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
        &["debugger"],
        r"^\s*debugger\s*;?\s*(?://.*)?$",
    ),
    (
        &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
        &["console."],
        r#"^\s*console\.(?:log|error|warn)\(\s*["'`](?i:here|debug|xxx+|asdf\w*|foo|wtf|got here|>>>+|\*\*\*+)\b?[\s\d!:.]*["'`]"#,
    ),
    (
        &["go"],
        &["runtime.Breakpoint()", "spew.Dump(", "DEBUG", "XXX"],
        r#"^\s*(?:runtime\.Breakpoint\(\)|spew\.Dump\(|fmt\.Print(?:ln|f)\("(?:DEBUG|XXX)\b)"#,
    ),
    (
        &["rb", "rake"],
        &["binding.", "byebug"],
        r"^\s*(?:require\s+'pry'\s*;\s*)?(?:binding\.(?:pry|irb)|byebug)\s*(?:#.*)?$",
    ),
    (&["php"], &["var_dump(", "dd("], r"^\s*(?:var_dump|dd)\(\s*\$"),
    (&["ex", "exs"], &["IEx.pry"], r"^\s*(?:require\s+IEx\s*;\s*)?IEx\.pry(?:\(\))?\s*(?:#.*)?$"),
];

static COMPILED: LazyLock<Vec<Option<Regex>>> =
    LazyLock::new(|| LINES.iter().map(|(_, _, pattern)| Regex::new(pattern).ok()).collect());

impl Check for DebugLeftover {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, subject: &RuleTarget<'_>) -> Vec<RuleMatch> {
        let mut hits = Vec::new();
        let extension = subject.extension();
        for (at, (extensions, needles, _)) in LINES.iter().enumerate() {
            let whole = subject.text.text();
            if !extensions.contains(&extension.as_str()) || !needles.iter().any(|needle| whole.contains(needle)) {
                continue;
            }
            let Some(pattern) = COMPILED.get(at).and_then(Option::as_ref) else { continue };
            let lines = subject.text.all_lines().filter(|(_, line)| pattern.is_match(line)).take(MOST_MATCHES + 1);
            hits.extend(lines.map(|(number, _)| RuleMatch::from_lines(subject.text, LineRange::line(number))));
        }
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for (at, (_, _, pattern)) in LINES.iter().enumerate() {
            assert!(COMPILED[at].is_some(), "{pattern}");
        }
    }
}
