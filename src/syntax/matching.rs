//! Rules on the structure of a text. Main types: [`RuleSource`] (what a pack says), [`RuleSet`] (compiled for one grammar).

use ast_grep_config::{DeserializeEnv, Fixer, RuleCore, SerializableRuleCore};
use ast_grep_core::matcher::MatcherExt as _;
use ast_grep_core::replacer::Replacer as _;
use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_core::{AstGrep, Matcher as _, NodeMatch};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use super::found::{Edit, Found, Scan};
use super::grammar::{Grammar, Tree, Unparsed, Watch};
use super::repeated::Repeated;
use super::watched::WatchedDoc;
use crate::domain::place::LineRange;

/// Nodes nested deeper are not matched: what a rule asks of the nodes around one costs their depth each time.
const DEEPEST: u32 = 1000;
/// A rule may go so many steps from node to node in any text, and so many more for each node of it: far more than the built-in rules need.
const STEPS: u64 = 1_000_000;
const STEPS_A_NODE: u64 = 300;
/// A longer match gets no replacement, in bytes; nor does one whose replacement may be longer than the next.
const LONGEST_REPLACED: usize = 4 << 10;
const LONGEST_REPLACEMENT: usize = 64 << 10;
/// More matches in one text are not looked for.
const MOST_FOUND: usize = 5000;

/// The structural part of a rule as a pack writes it: `rule`, `constraints`, `utils`, `transform` of ast-grep's rule format.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct RuleSource(SerializableRuleCore);

impl std::fmt::Debug for RuleSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RuleSource")
    }
}

impl RuleSource {
    /// Whether it may ask what stands around a node, and not only what is inside.
    fn looks_around(&self) -> bool {
        fn has(value: &serde_json::Value) -> bool {
            match value {
                serde_json::Value::Object(fields) => fields.iter().any(|(key, value)| {
                    let relation = matches!(key.as_str(), "inside" | "follows" | "precedes" | "nthChild" | "range");
                    relation && !value.is_null() || has(value)
                }),
                serde_json::Value::Array(values) => values.iter().any(has),
                _ => false,
            }
        }
        serde_json::to_value(&self.0).map_or(true, |value| has(&value))
    }
}

/// Why a pack is not one. The message says where in the text and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// The text is not YAML of the expected shape.
    #[error("not a list of rules: {what}")]
    Yaml {
        /// The line and the column, 1-indexed, where they are known.
        at: Option<(u32, u32)>,
        /// What is wrong.
        what: String,
    },
    /// A rule cannot be matched in a language.
    #[error("the rule does not work for {language}: {what}")]
    Rule {
        /// The language.
        language: &'static str,
        /// What is wrong with it.
        what: String,
    },
}

/// Reads a stream of YAML documents, with the limits and the spelling of booleans that rules are written in.
pub fn documents<T: DeserializeOwned>(yaml: &str) -> Result<Vec<T>, SyntaxError> {
    ast_grep_config::from_multiple(yaml).map_err(|error| {
        let error = error.without_snippet();
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let at = error.location().map(|at| (number(at.line()), number(at.column()))).filter(|(line, _)| *line > 0);
        let what = error.to_string();
        // Whoever shows it says where in their own way.
        let told = at.and_then(|(line, column)| what.strip_suffix(&format!(" at line {line}, column {column}")));
        SyntaxError::Yaml { at, what: told.unwrap_or(&what).to_owned() }
    })
}

/// What a pack says about how one rule matches.
#[derive(Clone, Copy)]
pub struct RuleParts<'a> {
    /// What it matches.
    pub source: &'a RuleSource,
    /// The text that may replace a match.
    pub fix: Option<&'a str>,
    /// The metavariable at which a match is told, without the `$`; `None` for the whole match.
    pub at: Option<&'a str>,
    /// The metavariables whose texts make two matches the same one; none: the text at which it is told.
    pub same: &'a [String],
    /// The metavariables whose texts [`Found::stays`] gives.
    pub stays: &'a [String],
    /// The metavariables whose texts [`Found::guards`] gives.
    pub guards: &'a [String],
    /// A field of the matched node whose text must have stood in the same field of a node before it, under the same parent: asked first,
    /// because it costs nothing.
    pub repeats: Option<&'a str>,
    /// Texts without one of which nothing matches; none: no such text is known.
    pub literals: &'a [String],
}

struct Compiled {
    /// The rule, as counted when the set was compiled.
    number: usize,
    core: RuleCore,
    fix: Option<Fixer>,
    /// So many metavariables at most are put into the replacement.
    holes: usize,
    at: Option<String>,
    same: Vec<String>,
    stays: Vec<String>,
    guards: Vec<String>,
    repeats: Option<String>,
    /// Texts of which one stands in every match; none: no such text is known.
    within: Vec<String>,
    /// The kinds of nodes that it can match.
    kinds: Vec<usize>,
}

/// Rules for one grammar, each compiled when it is first asked for: most of them can match in few texts. Shared by threads.
pub struct RuleSet {
    grammar: Grammar,
    /// `None` holds the place of a rule that is not for this grammar.
    rules: Vec<OnceLock<Result<Option<Compiled>, SyntaxError>>>,
}

impl Compiled {
    fn of(grammar: Grammar, number: usize, parts: RuleParts<'_>) -> Result<Self, SyntaxError> {
        let RuleParts { source, fix, at, same, stays, guards, repeats, literals } = parts;
        let refused = |what: String| SyntaxError::Rule { language: grammar.word(), what };
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
                // The library keeps the type of its argument to itself; reading it from a string makes one.
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
        let repeats = repeats.map(str::to_owned);
        // A rule that asks only what is inside a node has what it needs there: the node might be the whole text.
        let within = if literals.is_empty() || source.looks_around() { Vec::new() } else { literals.to_vec() };
        Ok(Self { number, core, fix, holes, at, same, stays, guards, repeats, within, kinds })
    }
}

impl RuleSet {
    /// So many rules, none of them compiled.
    pub fn new(grammar: Grammar, count: usize) -> Self {
        Self { grammar, rules: (0..count).map(|_| OnceLock::new()).collect() }
    }

    /// Compiles rules. `None` holds the place of a rule that is not for this grammar.
    pub fn compile<'a>(
        grammar: Grammar,
        rules: impl ExactSizeIterator<Item = Option<RuleParts<'a>>>,
    ) -> Result<Self, SyntaxError> {
        let set = Self::new(grammar, rules.len());
        for (number, parts) in rules.enumerate() {
            set.make_ready(number, || parts)?;
        }
        Ok(set)
    }

    /// Compiles one rule, unless that was done before. Only such rules are matched.
    pub fn make_ready<'a>(
        &self,
        number: usize,
        parts: impl FnOnce() -> Option<RuleParts<'a>>,
    ) -> Result<(), SyntaxError> {
        let Some(place) = self.rules.get(number) else { return Ok(()) };
        let compiled = place.get_or_init(|| parts().map(|parts| Compiled::of(self.grammar, number, parts)).transpose());
        compiled.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// The compiled rules for which `wanted` says so, and those of them that can match a kind of node, by the kind.
    fn wanted(&self, wanted: &dyn Fn(usize) -> bool) -> (Vec<&Compiled>, Vec<Vec<usize>>) {
        let compiled = self.rules.iter().filter_map(|rule| rule.get()?.as_ref().ok()?.as_ref());
        let rules: Vec<&Compiled> = compiled.filter(|rule| wanted(rule.number)).collect();
        let mut by_kind: Vec<Vec<usize>> = Vec::new();
        for (at, rule) in rules.iter().enumerate() {
            for kind in &rule.kinds {
                if by_kind.len() <= *kind {
                    by_kind.resize_with(kind + 1, Vec::new);
                }
                by_kind[*kind].push(at);
            }
        }
        (rules, by_kind)
    }

    /// Matches the compiled rules for which `wanted` says so.
    pub fn scan(&self, tree: &Tree, wanted: &dyn Fn(usize) -> bool, watch: &Watch<'_>) -> Result<Scan, Unparsed> {
        let mut scan = Scan::default();
        if tree.grammar != self.grammar {
            return Ok(scan);
        }
        let (rules, by_kind) = self.wanted(wanted);
        if rules.is_empty() {
            return Ok(scan);
        }
        let mut tests = TestCode::default();
        let source = tree.root.root();
        let doc = source.get_doc();
        let watched = WatchedDoc::new(doc.src.clone(), doc.lang, doc.tree.clone(), watch);
        let watched = AstGrep::doc(watched);
        let root = watched.root();
        let steps_a_rule = STEPS + STEPS_A_NODE * root.get_inner_node().inner().descendant_count() as u64;
        let mut left = vec![steps_a_rule; rules.len()];
        let mut places: Vec<Option<Places>> = rules.iter().map(|_| None).collect();
        let mut cursor = root.get_inner_node().inner().walk();
        let mut steps = 0u32;
        let mut walk = Repeated::default();
        loop {
            steps = steps.wrapping_add(1);
            // Not for each rule: to look at the clock costs more than most rules do, and a long one looks at it itself.
            if steps.is_multiple_of(128) {
                watch.check()?;
            }
            let inner = cursor.node();
            if self.grammar == Grammar::Rust {
                tests.see(&inner, tree.text());
            }
            if let Some(here) = by_kind.get(usize::from(inner.kind_id())).filter(|here| !here.is_empty()) {
                let doc = root.get_doc();
                let mut adopted = None;
                for at in here {
                    let (Some(rule), Some(left)) = (rules.get(*at), left.get_mut(*at)) else { continue };
                    if *left == 0 {
                        continue;
                    }
                    if !rule.within.is_empty()
                        && let Some(places) = places.get_mut(*at)
                        && !places
                            .get_or_insert_with(|| Places::of(&rule.within, tree.text()))
                            .any_in(inner.byte_range())
                    {
                        continue;
                    }
                    if rule.repeats.as_ref().is_some_and(|field| !walk.is_one(*at, &inner, field, tree.text())) {
                        continue;
                    }
                    let node = adopted.get_or_insert_with(|| watched.adopt(doc.node(inner))).clone();
                    doc.give(*left);
                    let hit = rule.core.match_node(node);
                    *left = doc.left();
                    doc.give(u64::MAX);
                    if let Some(fault) = doc.fault() {
                        return Err(fault);
                    }
                    if *left == 0 {
                        scan.given_up.push(rule.number);
                    } else if let Some(hit) = hit {
                        scan.found.push(found(rule, &hit, tests.covers(hit.range().start)));
                        if let Some(fault) = doc.fault() {
                            return Err(fault);
                        }
                    }
                    if scan.found.len() >= MOST_FOUND {
                        scan.too_many = true;
                        return Ok(scan);
                    }
                }
            }
            let deep = walk.depth() >= DEEPEST && inner.child_count() > 0;
            scan.too_deep |= deep;
            if !deep && cursor.goto_first_child() {
                walk.enter();
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return Ok(scan);
                }
                walk.leave();
            }
        }
    }
}

/// Where some words stand in a text, in its order.
struct Places(Vec<Range<usize>>);

impl Places {
    fn of(words: &[String], text: &[u8]) -> Self {
        let of_word = |word: &String| {
            let length = word.len();
            memchr::memmem::find_iter(text, word.as_bytes()).map(move |at| at..at + length).collect::<Vec<_>>()
        };
        let mut places: Vec<Range<usize>> = words.iter().flat_map(of_word).collect();
        places.sort_unstable_by_key(|place| (place.start, place.end));
        Self(places)
    }

    /// Whether one of them lies in a range.
    fn any_in(&self, bytes: Range<usize>) -> bool {
        let from = self.0.partition_point(|place| place.start < bytes.start);
        let begun = self.0.get(from..).unwrap_or_default().iter().take_while(|place| place.start < bytes.end);
        begun.into_iter().any(|place| place.end <= bytes.end)
    }
}

/// The name of a metavariable, which may be written with its `$`.
fn bare(name: &str) -> &str {
    name.trim_start_matches('$')
}

type Match<'a> = NodeMatch<'a, WatchedDoc>;
type Node<'a> = ast_grep_core::Node<'a, WatchedDoc>;

fn found(rule: &Compiled, hit: &Match<'_>, in_test: bool) -> Found {
    let bytes = hit.range();
    let lines = lines_of(hit);
    let fits = bytes.len() <= LONGEST_REPLACED && bytes.len().saturating_mul(rule.holes) <= LONGEST_REPLACEMENT;
    let edit = rule.fix.as_ref().filter(|_| fits).and_then(|fix| {
        let text = String::from_utf8(fix.generate_replacement(hit)).ok()?;
        Some(Edit { bytes: bytes.clone(), text })
    });
    let env = hit.get_env();
    let one = rule.at.as_deref().and_then(|name| env.get_match(name).cloned().or_else(|| first_of(hit, name)));
    let (at, told) = one.as_ref().map_or((lines, bytes.clone()), |node| (lines_of(node), node.range()));
    let texts = |names: &[String]| names.iter().filter_map(|name| bytes_of(hit, name)).collect::<Vec<_>>();
    let same = if rule.same.is_empty() { vec![told] } else { texts(&rule.same) };
    let mut around = Some((**hit).clone());
    while let Some(node) = around.as_ref().filter(|node| lines_of(node).count() <= lines.count()) {
        around = node.parent();
    }
    let around = around.as_ref().map_or(lines, lines_of);
    Found {
        rule: rule.number,
        bytes,
        lines,
        at,
        same,
        stays: texts(&rule.stays),
        guards: texts(&rule.guards),
        around,
        in_test,
        edit,
    }
}

fn first_of<'a>(hit: &Match<'a>, name: &str) -> Option<Node<'a>> {
    hit.get_env().get_multiple_matches(name).into_iter().next()
}

/// The bytes of a metavariable, of several nodes too; `None` where it matched nothing.
fn bytes_of(hit: &Match<'_>, name: &str) -> Option<Range<usize>> {
    if let Some(node) = hit.get_env().get_match(name) {
        return Some(node.range());
    }
    let nodes = hit.get_env().get_multiple_matches(name);
    Some(nodes.first()?.range().start..nodes.last()?.range().end)
}

fn lines_of(node: &Node<'_>) -> LineRange {
    let first = node.start_pos().line();
    let (end_line, end_column) = node.end_pos().byte_point();
    // A node that swallowed its line ending stops at the start of the next line.
    let last = if end_column == 0 && end_line > first { end_line - 1 } else { end_line };
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX - 1) + 1;
    LineRange::new(number(first), number(last)).unwrap_or_else(|_| LineRange::line(number(first)))
}

impl Tree {
    pub(super) fn text(&self) -> &[u8] {
        self.root.root().get_doc().src.as_bytes()
    }
}

/// The bytes of items that only tests compile, found while the tree is walked in order.
#[derive(Default)]
struct TestCode {
    until: usize,
}

static TEST_ATTRIBUTE: LazyLock<Option<regex::bytes::Regex>> = LazyLock::new(|| {
    regex::bytes::Regex::new(r"^#\[\s*(?:cfg\s*\(\s*(?:all\s*\(\s*)?test\b|(?:\w+\s*::\s*)*(?:test|rstest)\b|bench\b)")
        .ok()
});

impl TestCode {
    fn see(&mut self, node: &tree_sitter::Node<'_>, text: &[u8]) {
        if node.kind() != "attribute_item" || node.start_byte() < self.until {
            return;
        }
        let is_test = |pattern: &regex::bytes::Regex| pattern.is_match(text.get(node.byte_range()).unwrap_or_default());
        if !TEST_ATTRIBUTE.as_ref().is_some_and(is_test) {
            return;
        }
        let mut item = node.next_named_sibling();
        while let Some(next) = item {
            if !matches!(next.kind(), "attribute_item" | "line_comment" | "block_comment") {
                self.until = next.end_byte();
                return;
            }
            item = next.next_named_sibling();
        }
    }

    fn covers(&self, byte: usize) -> bool {
        byte < self.until
    }
}

/// An error with what caused it, in one line.
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
    use super::*;
    use crate::sys::cancel::Cancel;
    use std::time::Duration;

    fn parts<'a>(source: &'a RuleSource, fix: Option<&'a str>) -> RuleParts<'a> {
        RuleParts { source, fix, at: None, same: &[], stays: &[], guards: &[], repeats: None, literals: &[] }
    }

    fn scan(grammar: Grammar, yaml: &str, fix: Option<&str>, text: &str) -> Scan {
        let sources: Vec<RuleSource> = documents(yaml).unwrap();
        let set = RuleSet::compile(grammar, sources.iter().map(|source| Some(parts(source, fix)))).unwrap();
        let cancel = Cancel::never();
        let watch = Watch::new(&cancel, Duration::from_mins(1));
        set.scan(&Tree::parse(grammar, text, &watch).unwrap(), &|_| true, &watch).unwrap()
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
        let watch = Watch::new(&cancel, Duration::from_mins(1));
        let scan = set.scan(&Tree::parse(Grammar::JavaScript, &text, &watch).unwrap(), &|_| true, &watch).unwrap();
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
