//! One rule as written in a pack: a YAML document. Main types: [`YamlChunk`] (its text and position), [`RuleDocument`].
//!
//! Compiling belongs in `packs`, matching in `syntax`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::bounds::check_rule_bounds;
use super::fault::{PackFault, PackPlace, RuleError, closest_name};
use super::text_condition::TextCondition;
use crate::domain::finding::{Category, Severity};
use crate::domain::text::strip_line;
use crate::syntax::{RuleSource, SyntaxError, documents};

/// Maximum length of a title, in characters; a title is one line.
const LONGEST_TITLE: usize = 100;
/// Maximum length of a message, in characters.
const LONGEST_MESSAGE: usize = 2_000;
/// Maximum length of an id, in characters.
const LONGEST_ID: usize = 64;
/// Maximum size of a compiled regex of a project's rule, in bytes.
const LARGEST_REGEX: usize = 1 << 20;

/// The keys of a document, for suggestions on misspelled ones.
const KEYS: &[&str] = &[
    "id",
    "title",
    "message",
    "severity",
    "category",
    "cwe",
    "tests",
    "hint",
    "on",
    "languages",
    "paths",
    "literals",
    "also_literals",
    "between_equal",
    "fix",
    "at",
    "same",
    "stays",
    "guards",
    "repeats",
    "once",
    "rule",
    "constraints",
    "utils",
    "transform",
];

/// The rule's scope: all code, or without test-only code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TestCodeScope {
    #[default]
    Include,
    Skip,
}

/// The side of a change on which a match is reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ReportedSide {
    /// Code that the change introduces.
    #[default]
    Added,
    /// Code that the change removes: a guard, a close.
    Removed,
}

/// A rule as a pack writes it: our keys, then ast-grep's rule.
#[derive(Debug, Deserialize)]
pub(super) struct RuleDocument {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) message: String,
    pub(super) severity: Severity,
    pub(super) category: Category,
    pub(super) cwe: Option<String>,
    #[serde(default)]
    pub(super) tests: TestCodeScope,
    /// `true` for hints: see [`RuleInfo::is_hint`](crate::domain::rule_info::RuleInfo::is_hint).
    #[serde(default)]
    pub(super) hint: bool,
    #[serde(default)]
    pub(super) on: ReportedSide,
    /// Languages of the pack that the rule applies to; empty for all of them.
    #[serde(default)]
    pub(super) languages: Vec<String>,
    /// Globs of the files the rule applies to; empty for all files of the pack.
    #[serde(default)]
    pub(super) paths: Vec<String>,
    /// Strings of which a matching text contains at least one; other texts are not even parsed for this rule. Empty if none are known.
    #[serde(default)]
    pub(super) literals: Vec<String>,
    /// Strings of which it contains at least one as well.
    #[serde(default)]
    pub(super) also_literals: Vec<String>,
    /// Operators of which one stands between two operands that are equal.
    #[serde(default)]
    pub(super) between_equal: Vec<String>,
    pub(super) fix: Option<String>,
    /// The metavariable at which a match is reported instead of its first line.
    pub(super) at: Option<String>,
    /// The metavariables whose texts identify a match, instead of the text at which it is reported.
    #[serde(default)]
    pub(super) same: Vec<String>,
    /// For `on: removed`: the metavariables whose texts must still be in the function that lost the match, that is, what was guarded.
    #[serde(default)]
    pub(super) stays: Vec<String>,
    /// As above, but only after the place of the removed match.
    #[serde(default)]
    pub(super) guards: Vec<String>,
    /// A field of the matched node that must equal the same field of an earlier node under the same parent; tested before the rule.
    pub(super) repeats: Option<String>,
    /// `true` if one match in a file is enough for the file.
    #[serde(default)]
    pub(super) once: bool,
    #[serde(flatten)]
    pub(super) source: RuleSource,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

/// One document of a pack: the text between two `---` lines, which YAML never allows inside a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct YamlChunk<'a> {
    /// The line on which its text begins.
    from: u32,
    /// The first line with content.
    pub(super) line: u32,
    /// Its text, including the preceding line of dashes.
    text: &'a str,
}

/// Splits a pack into its non-empty documents, in order. Built-in packs are split at each start: most lines are skipped unread.
pub(super) fn split_documents(text: &str) -> Vec<YamlChunk<'_>> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut found, mut from) = (Vec::new(), 1u32);
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(document_end(rest));
        let blank = chunk.lines().position(has_content).and_then(|blank| u32::try_from(blank).ok());
        found.extend(blank.map(|blank| YamlChunk { from, line: from.saturating_add(blank), text: chunk }));
        let lines = memchr::memchr_iter(b'\n', chunk.as_bytes()).count();
        from = from.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        rest = after;
    }
    found
}

/// Finds the next line of dashes after the first line of a text; its length without one.
fn document_end(text: &str) -> usize {
    let mut lines = memchr::memmem::find_iter(text.as_bytes(), b"\n---").map(|at| at + 1);
    let is_alone = |at: &usize| text.get(*at..).is_some_and(|line| after_dashes(line).is_some());
    lines.find(is_alone).unwrap_or(text.len())
}

/// Returns what follows the dashes that part documents.
fn after_dashes(line: &str) -> Option<&str> {
    line.strip_prefix("---").filter(|after| after.is_empty() || after.starts_with(char::is_whitespace))
}

fn has_content(line: &str) -> bool {
    let said = after_dashes(line).unwrap_or(line).trim();
    !said.is_empty() && !said.starts_with('#')
}

impl<'a> YamlChunk<'a> {
    /// Returns what stands behind a top-level key on its line; `key` is the key between a line end and a colon.
    fn said(&self, key: &str) -> Option<&'a str> {
        let is_first = self.text.starts_with(&key[1..]);
        let at = if is_first { 0 } else { memchr::memmem::find(self.text.as_bytes(), key.as_bytes())? + 1 };
        self.text.get(at + key.len() - 1..)?.lines().next()
    }

    /// Returns the id, as far as it can be read without a parser.
    pub(super) fn id(&self) -> Option<&'a str> {
        let said = self.said("\nid:")?;
        let said = said.split(" #").next().unwrap_or(said).trim();
        Some(said.trim_matches(['"', '\''])).filter(|id| is_id(id))
    }

    /// `true` if the rule is a hint; read without a parser.
    pub(super) fn is_hint(&self) -> bool {
        let said = self.said("\nhint:").unwrap_or_default();
        said.split(" #").next().unwrap_or(said).trim() == "true"
    }

    /// Returns its `on`; read without a parser, like the next.
    pub(super) fn reported_side(&self) -> ReportedSide {
        if self.said("\non:").unwrap_or_default().trim() == "removed" {
            ReportedSide::Removed
        } else {
            ReportedSide::Added
        }
    }

    /// Returns what a text must have, where each list of strings stands on one line.
    pub(super) fn text_condition(&self) -> TextCondition {
        let list = |key: &str| {
            let said = self.said(key).unwrap_or_default().trim();
            let read = || documents(said).ok().and_then(|read| read.into_iter().next()).unwrap_or_default();
            if said.is_empty() { Vec::new() } else { plain_list(said).unwrap_or_else(read) }
        };
        TextCondition {
            literals: list("\nliterals:"),
            also_literals: list("\nalso_literals:"),
            between_equal: list("\nbetween_equal:"),
        }
    }

    /// Returns the content without leading blank lines and comments.
    pub(super) fn display_name(&self) -> String {
        let before = self.line.saturating_sub(self.from) as usize;
        let text = self.text.split_inclusive('\n').skip(before).collect::<String>();
        text.strip_prefix("---").unwrap_or(&text).trim_start_matches(' ').trim_end().to_owned()
    }

    fn place(&self, file: &str) -> PackPlace {
        PackPlace { file: file.to_owned(), line: self.line, column: None }
    }

    /// Builds a fault of the document; `pack` is the first part of the rule's name.
    pub(super) fn fault(&self, file: &str, pack: &str, fault: PackFault) -> RuleError {
        RuleError::Pack {
            place: self.place(file),
            rule: self.id().map(|id| format!("{pack}/{id}")),
            fault: Box::new(fault),
        }
    }

    /// Finds the line of a top-level key.
    fn line_of(&self, key: &str) -> Option<u32> {
        let is_it = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
        let at = self.text.lines().position(is_it)?;
        Some(self.from.saturating_add(u32::try_from(at).unwrap_or(u32::MAX)))
    }

    /// Parses the document; `None` if it is empty (`null`).
    pub(super) fn read(&self, file: &str, pack: &str) -> Result<Option<RuleDocument>, RuleError> {
        let read: Vec<RuleDocument> = self.parse(file, pack)?;
        let Some(document) = read.into_iter().next() else { return Ok(None) };
        let at = |key: &str, fault: PackFault| {
            let place = PackPlace { line: self.line_of(key).unwrap_or(self.line), ..self.place(file) };
            RuleError::Pack { place, rule: self.id().map(|id| format!("{pack}/{id}")), fault: Box::new(fault) }
        };
        if let Some((key, _)) = document.unknown.first_key_value() {
            let fault = PackFault::UnknownKey { key: strip_line(key), near: closest_name(key, KEYS.iter().copied()) };
            return Err(at(key, fault));
        }
        if let Some((key, wanted)) = document.misworded() {
            return Err(at(key, PackFault::Word { key, wanted }));
        }
        Ok(Some(document))
    }

    fn parse<T: serde::de::DeserializeOwned>(&self, file: &str, pack: &str) -> Result<Vec<T>, RuleError> {
        documents(self.text).map_err(|error| {
            let (at, what) = match error {
                SyntaxError::Yaml { at, what } => (at, what),
                other @ SyntaxError::Rule { .. } => (None, other.to_string()),
            };
            let mut place = self.place(file);
            // A missing key is reported for the whole document.
            if let Some((line, column)) = at.filter(|_| !what.starts_with("missing field")) {
                place.line = self.from.saturating_add(line).saturating_sub(1);
                place.column = Some(column);
            }
            let rule = self.id().map(|id| format!("{pack}/{id}"));
            RuleError::Pack { place, rule, fault: Box::new(PackFault::Shape(strip_line(&what))) }
        })
    }

    /// Checks a repository rule against its bounds, compiles each of its regexes with little memory, and returns their number.
    pub(super) fn check_bounds(&self, file: &str, pack: &str) -> Result<usize, RuleError> {
        let mut open: Vec<Value> = self.parse(file, pack)?;
        open.iter().try_for_each(check_rule_bounds).map_err(|fault| self.fault(file, pack, fault))?;
        let mut count = 0;
        while let Some(value) = open.pop() {
            match value {
                Value::Array(items) => open.extend(items),
                Value::Object(fields) => {
                    for (key, value) in fields {
                        match value {
                            Value::String(text) if matches!(key.as_str(), "regex" | "replace") => {
                                count += 1;
                                fits(&text).map_err(|fault| self.fault(file, pack, fault))?;
                            }
                            other => open.push(other),
                        }
                    }
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        Ok(count)
    }
}

fn fits(text: &str) -> Result<(), PackFault> {
    let built = regex::RegexBuilder::new(text).size_limit(LARGEST_REGEX).build();
    built.map(|_| ()).map_err(|error| {
        let why = match error {
            regex::Error::CompiledTooBig(_) => "it would take more memory than a project's rule may".to_owned(),
            other => {
                let told = other.to_string();
                let last = told.lines().last().unwrap_or_default();
                strip_line(last.strip_prefix("error: ").unwrap_or(last))
            }
        };
        PackFault::Regex { shown: text.chars().take(40).collect(), why }
    })
}

/// Reads a list of texts in single quotes, as almost all are, without a parser.
fn plain_list(said: &str) -> Option<Vec<String>> {
    let mut rest = said.strip_prefix("['")?;
    let mut found = Vec::new();
    loop {
        let (text, after) = rest.split_once('\'')?;
        found.push(text.to_owned());
        if after == "]" {
            return Some(found);
        }
        rest = after.strip_prefix(", '")?;
    }
}

fn is_id(id: &str) -> bool {
    let is_of_it = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !id.is_empty() && id.len() <= LONGEST_ID && id.chars().all(is_of_it) && !id.starts_with('-')
}

impl RuleDocument {
    /// Finds the first key with an invalid value, and what may be written.
    fn misworded(&self) -> Option<(&'static str, &'static str)> {
        let is_long = |text: &str, most: usize| text.trim().is_empty() || text.trim().chars().nth(most).is_some();
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_cwe = |cwe: &String| cwe.strip_prefix("CWE-").is_some_and(digits);
        if !is_id(&self.id) {
            Some(("id", "1 to 64 small letters, digits and dashes, such as open-redirect"))
        } else if is_long(&self.title, LONGEST_TITLE) || self.title.trim().contains('\n') {
            Some(("title", "one line of 1 to 100 characters that says what is wrong"))
        } else if is_long(&self.message, LONGEST_MESSAGE) {
            Some(("message", "1 to 2000 characters that say what follows and what to do"))
        } else if self.cwe.as_ref().is_some_and(|cwe| !is_cwe(cwe)) {
            Some(("cwe", "the name of a weakness, such as CWE-89"))
        } else {
            let lists = [
                ("literals", &self.literals),
                ("also_literals", &self.also_literals),
                ("between_equal", &self.between_equal),
            ];
            let empty = lists.into_iter().find(|(_, list)| list.iter().any(String::is_empty));
            empty.map(|(key, _)| (key, "texts that are not empty"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "id: a\ntitle: t\nmessage: m\nseverity: low\ncategory: logic\nrule: {pattern: 'a()'}\n";

    #[test]
    fn documents_are_parted_at_lines_of_dashes_and_know_their_lines() {
        let text = format!("# a pack\n\n{RULE}---\n\n# the next\n{RULE}--- # nothing\n---\nid: 'c'\n");
        let lines: Vec<_> = split_documents(&text).iter().map(|chunk| (chunk.line, chunk.id())).collect();
        assert_eq!(lines, [(3, Some("a")), (12, Some("a")), (20, Some("c"))]);
        assert_eq!(split_documents(""), []);
        assert_eq!(split_documents("# nothing\n"), []);
        let block = "id: a\nmessage: |\n  one\n  ---\n  two\n";
        assert_eq!(split_documents(block).len(), 1, "indented dashes are text");
        assert_eq!(split_documents("---a: b\n")[0].line, 1, "dashes of a key part nothing");
        assert_eq!(split_documents("\u{feff}id: a\n")[0].id(), Some("a"));
        assert_eq!(split_documents(&format!("---\r\n{RULE}"))[0].display_name(), RULE.trim_end());
    }

    #[test]
    fn a_list_that_is_not_plain_is_left_to_the_parser() {
        assert_eq!(plain_list("['a b', '\"']"), Some(vec!["a b".to_owned(), "\"".to_owned()]));
        for other in ["['it''s']", "['a', \"b\"]", "['a'] # why", "[]", "['a'", "[a]", ""] {
            assert_eq!(plain_list(other), None, "{other}");
        }
        let literals = |said: &str| split_documents(&format!("{RULE}literals: {said}\n"))[0].text_condition().literals;
        assert_eq!(literals("['it''s', \"b\"] # why"), ["it's", "b"]);
    }

    fn error(text: &str) -> String {
        let text = format!("{RULE}---\n{text}");
        let chunks = split_documents(&text);
        chunks[1].read("house.yml", "project").err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_its_rule() {
        for (was, is, told) in [
            ("severity: low", "severity: hgih", "house.yml:11:11: rule project/a: not a rule: unknown variant `hgih`"),
            ("severity: low\n", "sverity: low\n", "house.yml:8: rule project/a: not a rule: missing field `severity`"),
            (
                "rule: {pattern: 'a()'}",
                "rule: {patern: 'a()'}",
                "house.yml:13:1: rule project/a: not a rule: unknown field `patern`",
            ),
            ("id: a", "id: A b", "house.yml:8: id must be"),
            ("title: t", "title: ''", "house.yml:9: rule project/a: title must be"),
            ("message: m", "message: ''", "house.yml:10: rule project/a: message must be"),
            ("severity: low", "severity: low\ncwe: 89", "house.yml:12: rule project/a: cwe must be"),
            ("severity: low", "severity: low\ncwe: CWE-", "house.yml:12: rule project/a: cwe must be"),
            (
                "severity: low",
                "severity: low\nlitterals: [a]",
                "house.yml:12: rule project/a: the key \"litterals\" means nothing (did you mean literals?)",
            ),
            ("rule: {pattern: 'a()'}", "rule: {pattern: 'a()'", "house.yml:13:"),
        ] {
            let text = RULE.replace(was, is);
            assert!(error(&text).starts_with(told), "{is}: {}", error(&text));
            assert!(!error(&text).contains('\n') && !error(&text).contains(" at line"), "{is}: {}", error(&text));
        }
        assert_eq!(error(RULE), "");
    }

    #[test]
    fn a_document_that_explodes_is_refused() {
        let mut text = format!("{RULE}paths: &a [b, b, b, b, b, b, b, b, b, b]\n");
        for (one, two) in "abcdefghi".chars().zip("bcdefghij".chars()) {
            text.push_str(&format!("x{two}: &{two} [{}]\n", vec![format!("*{one}"); 10].join(", ")));
        }
        assert!(error(&text).contains("house.yml:"), "{}", error(&text));
    }

    #[test]
    fn regexes_are_counted_and_their_memory_is_bounded() {
        let with = |regex: &str| {
            RULE.replace("{pattern: 'a()'}", &format!("{{kind: a, all: [{{regex: '{regex}'}}, {{regex: b}}]}}"))
        };
        let check = |text: &str| split_documents(text)[0].check_bounds("f", "p");
        assert_eq!(check(&with("a+")), Ok(2));
        let large = check(&with("(\\w{100}){100}")).unwrap_err().to_string();
        assert!(
            large.starts_with("f:1: rule p/a: the regex \"(\\\\w{100}){100}\" cannot be used: it would take"),
            "{large}"
        );
        assert!(check(&with("(")).is_err());
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

        #[test]
        fn no_text_makes_it_panic_and_every_fault_is_on_a_line_of_it(
            lines in proptest::collection::vec(
                proptest::prop_oneof![
                    "(id|title|message|severity|category|rule|regex|paths|fix): ?[-a-z{}\\[\\]'&*!|>$()]{0,8}",
                    "[ \t]{0,3}- ?[a-z:&*]{0,4}",
                    "(---|\\.\\.\\.|#|%YAML|\u{feff}).{0,3}",
                    "rule: \\{(pattern|kind|any|regex): [a-z$(\\[]{0,5}\\}",
                ],
                0..12,
            )
        ) {
            let text = lines.join("\n");
            let count = u32::try_from(text.lines().count()).unwrap().max(1);
            for chunk in split_documents(&text) {
                proptest::prop_assert!(chunk.line >= 1 && chunk.line <= count);
                let _ = (chunk.id(), chunk.display_name(), chunk.check_bounds("f", "p"));
                if let Err(RuleError::Pack { place, .. }) = chunk.read("f", "p") {
                    // A missing closing token is reported after the last line.
                    proptest::prop_assert!(place.line >= 1 && place.line <= count + 1, "{place} of {count}");
                }
            }
        }
    }
}
