//! Structural rules. Main types: [`RuleSource`] (as written in a pack), [`RuleSet`] (compiled for one grammar).

use std::sync::OnceLock;

use ast_grep_config::{DeserializeEnv, Fixer, RuleCore, SerializableRuleCore};
use ast_grep_core::Matcher as _;
use ast_grep_core::tree_sitter::LanguageExt as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::grammar::Grammar;
use super::limits::beyond_scanner;
use super::text_need::{TextNeed, TextNeeds};

/// The structural part of a rule as a pack writes it: `rule`, `constraints`, `utils`, `transform` of ast-grep's rule format.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct RuleSource(SerializableRuleCore);

impl std::fmt::Debug for RuleSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RuleSource")
    }
}

/// Why a pack is invalid. The message gives the place in the text and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SyntaxError {
    /// The text is not YAML of the expected shape.
    #[error("not a list of rules: {what}")]
    Yaml {
        /// The line and the column, 1-indexed, if known.
        at: Option<(u32, u32)>,
        what: String,
    },
    /// A rule cannot be matched in a language.
    #[error("the rule does not work for {language}: {what}")]
    Rule { language: &'static str, what: String },
}

/// Parses a stream of YAML documents, with the limits and the spelling of booleans that rules use.
pub fn documents<T: DeserializeOwned>(yaml: &str) -> Result<Vec<T>, SyntaxError> {
    ast_grep_config::from_multiple(yaml).map_err(|error| {
        let error = error.without_snippet();
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let at = error.location().map(|at| (number(at.line()), number(at.column()))).filter(|(line, _)| *line > 0);
        let what = error.to_string();
        // Callers add the place in their own format.
        let told = at.and_then(|(line, column)| what.strip_suffix(&format!(" at line {line}, column {column}")));
        SyntaxError::Yaml { at, what: told.unwrap_or(&what).to_owned() }
    })
}

/// The matching part of one rule of a pack.
#[derive(Clone, Copy)]
pub struct RuleParts<'a> {
    /// The pattern.
    pub source: &'a RuleSource,
    /// The text that may replace a match.
    pub fix: Option<&'a str>,
    /// The metavariable at which a match is reported, without the `$`; `None` for the whole match.
    pub at: Option<&'a str>,
    /// The metavariables whose texts identify a match; if empty, the text at which it is reported.
    pub same: &'a [String],
    /// The metavariables whose texts are returned in [`SyntaxMatch::stays`](super::SyntaxMatch::stays).
    pub stays: &'a [String],
    /// The metavariables whose texts are returned in [`SyntaxMatch::guards`](super::SyntaxMatch::guards).
    pub guards: &'a [String],
    /// A field of the matched node whose text must equal the same field of an earlier node under the same parent: cheap, so tested first.
    pub repeats: Option<&'a str>,
}

pub(super) struct CompiledRule {
    /// The index of the rule in its set.
    pub(super) number: usize,
    pub(super) core: RuleCore,
    pub(super) fix: Option<Fixer>,
    /// Maximum number of metavariables in the replacement.
    pub(super) holes: usize,
    pub(super) at: Option<String>,
    pub(super) same: Vec<String>,
    pub(super) stays: Vec<String>,
    pub(super) guards: Vec<String>,
    pub(super) repeats: Option<String>,
    /// The kinds of nodes that it can match.
    pub(super) kinds: Vec<usize>,
    /// `true` if a match depends on code outside of the matched node.
    pub(super) is_contextual: bool,
}

/// Rules for one grammar, each compiled on first use: most of them can match in few texts. Shared by threads.
pub struct RuleSet {
    pub(super) grammar: Grammar,
    /// `None` keeps the index of a rule that does not apply to this grammar.
    pub(super) rules: Vec<OnceLock<Result<Option<CompiledRule>, SyntaxError>>>,
    needs: Vec<OnceLock<TextNeeds>>,
}

impl CompiledRule {
    fn of(grammar: Grammar, number: usize, parts: RuleParts<'_>) -> Result<Self, SyntaxError> {
        let RuleParts { source, fix, at, same, stays, guards, repeats } = parts;
        let refused = |what: String| SyntaxError::Rule { language: grammar.word(), what };
        // The library parses patterns itself, in this process.
        let text = serde_json::to_value(&source.0).map_err(|error| refused(error.to_string()))?;
        if let Some(why) = beyond_scanner_within(grammar, &text) {
            return Err(refused(format!("a pattern of it cannot be parsed: {why}")));
        }
        let core = source.0.get_matcher(DeserializeEnv::new(grammar.support()));
        let core = core.map_err(|error| refused(chain(&error)))?;
        let kinds = core.potential_kinds();
        let kinds = kinds.ok_or_else(|| refused("it must name a kind of node or a pattern".to_owned()))?;
        let known = core.defined_vars();
        let unknown = at.into_iter().chain(same.iter().chain(stays).chain(guards).map(String::as_str));
        if let Some(name) = unknown.map(bare).find(|name| !known.contains(name)) {
            return Err(refused(format!("it names the metavariable {name}, which it does not match")));
        }
        let knows = |field: &&str| grammar.support().get_ts_language().field_id_for_name(field).is_some();
        if let Some(field) = repeats.filter(|field| !knows(field)) {
            return Err(refused(format!("it asks for the field {field}, which no node has")));
        }
        let holes = fix.map_or(0, |text| memchr::memchr_iter(b'$', text.as_bytes()).count());
        let fix = match fix {
            Some(text) => {
                let env = core.get_env(grammar.support());
                // The type of the library's argument is private; deserializing a string creates one.
                let template = serde_json::from_value(text.into()).map_err(|error| refused(error.to_string()))?;
                let fixers = Fixer::parse(&template, &env, &source.0.transform);
                fixers.map_err(|error| refused(chain(&error)))?.into_iter().next()
            }
            None => None,
        };
        let kinds = kinds.iter().collect();
        let at = at.map(|name| bare(name).to_owned());
        let bare = |names: &[String]| names.iter().map(|name| bare(name).to_owned()).collect();
        let (same, stays, guards) = (bare(same), bare(stays), bare(guards));
        let is_contextual = repeats.is_some() || looks_around(&text);
        let repeats = repeats.map(str::to_owned);
        Ok(Self { number, core, fix, holes, at, same, stays, guards, repeats, kinds, is_contextual })
    }
}

impl RuleSet {
    /// Creates a set of `count` rules, none of them compiled.
    pub fn new(grammar: Grammar, count: usize) -> Self {
        let rules = (0..count).map(|_| OnceLock::new()).collect();
        Self { grammar, rules, needs: (0..count).map(|_| OnceLock::new()).collect() }
    }

    /// Returns how much of a text a rule has to see, given the other side of its change; `has_gaps`: an excerpt of it may have a part of a
    /// function. The rule need not be compiled.
    pub fn text_need<'a>(
        &self,
        number: usize,
        parts: impl FnOnce() -> Option<RuleParts<'a>>,
        texts: (&str, Option<&str>),
        has_gaps: bool,
    ) -> TextNeed {
        let read = || {
            let rule = parts().and_then(|parts| serde_json::to_value(&parts.source.0).ok());
            rule.map_or_else(TextNeeds::default, |rule| TextNeeds::of(self.grammar, &rule))
        };
        let needs = self.needs.get(number).map(|needs| needs.get_or_init(read));
        needs.map_or(TextNeed::Affected, |needs| needs.on(texts, has_gaps))
    }

    /// Compiles rules. `None` keeps the index of a rule that does not apply to this grammar.
    pub fn compile<'a>(
        grammar: Grammar,
        rules: impl ExactSizeIterator<Item = Option<RuleParts<'a>>>,
    ) -> Result<Self, SyntaxError> {
        let set = Self::new(grammar, rules.len());
        for (number, parts) in rules.enumerate() {
            set.compile_all(number, || parts)?;
        }
        Ok(set)
    }

    /// Compiles one rule, unless that was done before. Only compiled rules are matched.
    pub fn compile_all<'a>(
        &self,
        number: usize,
        parts: impl FnOnce() -> Option<RuleParts<'a>>,
    ) -> Result<(), SyntaxError> {
        let Some(place) = self.rules.get(number) else { return Ok(()) };
        let compiled =
            place.get_or_init(|| parts().map(|parts| CompiledRule::of(self.grammar, number, parts)).transpose());
        compiled.as_ref().map(|_| ()).map_err(Clone::clone)
    }
}

/// Returns why one of the strings in a value cannot be parsed.
fn beyond_scanner_within(grammar: Grammar, value: &serde_json::Value) -> Option<&'static str> {
    match value {
        serde_json::Value::String(text) => beyond_scanner(grammar, text),
        serde_json::Value::Array(values) => values.iter().find_map(|value| beyond_scanner_within(grammar, value)),
        serde_json::Value::Object(fields) => fields.values().find_map(|value| beyond_scanner_within(grammar, value)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => None,
    }
}

/// The conditions of a rule that look at code outside of a node.
const CONTEXT: &[&str] = &["inside", "precedes", "follows", "nthChild"];

/// Checks whether a rule, written as JSON, has a condition on code outside of the matched node.
fn looks_around(rule: &serde_json::Value) -> bool {
    match rule {
        serde_json::Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| !value.is_null() && (CONTEXT.contains(&name.as_str()) || looks_around(value))),
        serde_json::Value::Array(values) => values.iter().any(looks_around),
        _ => false,
    }
}

/// Returns the name of a metavariable, which may be written with its `$`.
fn bare(name: &str) -> &str {
    name.trim_start_matches('$')
}

/// Formats an error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::grammar::ParseLimits;
    use super::super::matches::SyntaxScan;
    use super::super::tree::SyntaxTree;
    use super::*;
    use crate::domain::place::LineRange;
    use crate::sys::cancel::Cancel;
    use std::time::Duration;

    fn parts<'a>(source: &'a RuleSource, fix: Option<&'a str>) -> RuleParts<'a> {
        RuleParts { source, fix, at: None, same: &[], stays: &[], guards: &[], repeats: None }
    }

    fn scan(grammar: Grammar, yaml: &str, fix: Option<&str>, text: &str) -> SyntaxScan {
        let sources: Vec<RuleSource> = documents(yaml).unwrap();
        let set = RuleSet::compile(grammar, sources.iter().map(|source| Some(parts(source, fix)))).unwrap();
        let cancel = Cancel::never();
        let watch = ParseLimits::new(&cancel, Duration::from_mins(1));
        set.scan(&SyntaxTree::parse(grammar, text, &watch).unwrap(), &|_| true, None, &watch).unwrap()
    }

    #[test]
    fn a_match_says_where_it_is_and_what_may_replace_it() {
        let text = "fn a() {\n    b(1,\n      2);\n}\n";
        let scan = scan(Grammar::Rust, "rule: {pattern: 'b($A, $B)'}", Some("b($B, $A)"), text);
        assert_eq!(scan.found.len(), 1);
        assert_eq!(scan.found[0].lines, LineRange::new(2, 3).unwrap());
        assert_eq!(scan.found[0].edit.as_ref().unwrap().text, "b(2, 1)");
    }

    #[test]
    fn code_for_tests_is_known_as_such() {
        let text = "fn a() { t(); }\n#[cfg(test)]\n#[allow(x)]\nmod tests { fn b() { t(); } }\nfn c() { t(); }\n#[test]\nfn d() { t(); }\n";
        let scan = scan(Grammar::Rust, "rule: {pattern: 't()'}", None, text);
        assert_eq!(scan.found.iter().map(|found| found.in_test).collect::<Vec<_>>(), [false, true, false, true]);
    }

    #[test]
    fn of_many_that_are_not_alike_none_is_compared_with_the_others() {
        let source = &documents::<RuleSource>(
            "rule: {kind: pair, has: {field: key, pattern: $K}, follows: {stopBy: end, kind: pair, has: {field: key, pattern: $K}}}",
        )
        .unwrap()[0];
        let repeats = RuleParts { repeats: Some("key"), ..parts(source, None) };
        let set = RuleSet::compile(Grammar::JavaScript, std::iter::once(Some(repeats))).unwrap();
        let keys: String = (0..3000).map(|at| ["k", &at.to_string(), ": { k: 1 },\n"].concat()).collect();
        let text = format!("a = {{\n{keys}k7: 2 }};\n");
        let cancel = Cancel::never();
        let watch = ParseLimits::new(&cancel, Duration::from_mins(1));
        let scan =
            set.scan(&SyntaxTree::parse(Grammar::JavaScript, &text, &watch).unwrap(), &|_| true, None, &watch).unwrap();
        let lines: Vec<u32> = scan.found.iter().map(|found| found.lines.start()).collect();
        assert_eq!((lines, scan.given_up), (vec![3002], vec![]));
    }

    #[test]
    fn code_without_tests_is_not_code_for_tests() {
        let scan = scan(Grammar::Rust, "rule: {pattern: 't()'}", None, "#[cfg(not(test))]\nfn a() { t(); }\n");
        assert!(!scan.found[0].in_test);
    }

    #[test]
    fn nesting_without_end_is_told_and_does_not_hang() {
        let text = format!("a = {}{}\n", "[".repeat(20_000), "]".repeat(20_000));
        let scan = scan(Grammar::Python, "rule: {kind: comment}", None, &text);
        assert!(scan.too_deep);
    }

    #[test]
    fn a_rule_that_takes_for_ever_is_given_up_and_the_others_go_on() {
        let nested = "{has: {kind: number, stopBy: end}, not: {has: {stopBy: end, has: {stopBy: end, has: {stopBy: end, kind: string}}}}}";
        let yaml = format!("rule: {{kind: array, all: [{nested}]}}\n---\nrule: {{kind: comment}}\n");
        let text = format!("a = {}1{};\n// b\n", "[1, ".repeat(500), "]".repeat(500));
        let scan = scan(Grammar::JavaScript, &yaml, None, &text);
        assert_eq!(scan.given_up, [0]);
        assert_eq!(scan.found.iter().map(|found| found.rule).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn what_matches_everywhere_is_not_looked_for_without_end() {
        let scan = scan(Grammar::Python, "rule: {kind: integer}", None, &"1\n".repeat(6000));
        assert_eq!((scan.found.len(), scan.too_many), (5000, true));
    }

    #[test]
    fn a_rule_that_is_none_says_why() {
        let sources: Vec<RuleSource> = documents("rule: {kind: no_such_kind}").unwrap();
        let error =
            RuleSet::compile(Grammar::Go, sources.iter().map(|source| Some(parts(source, None)))).err().unwrap();
        assert!(error.to_string().contains("no_such_kind"), "{error}");
        assert!(matches!(documents::<RuleSource>("rule: ["), Err(SyntaxError::Yaml { .. })));
    }
}
