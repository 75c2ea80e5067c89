//! Matches all rules of a set in one walk over a text. Main function: [`RuleSet::scan`].
//!
//! Writing and compiling rules belongs in `matching`; the result of a match, in `found`.

use std::ops::Range;
use std::sync::LazyLock;

use ast_grep_core::matcher::MatcherExt as _;
use ast_grep_core::replacer::Replacer as _;
use ast_grep_core::{AstGrep, NodeMatch};

use super::focus::ScanFocus;
use super::grammar::{ParseFailure, ParseLimits};
use super::kinds::{GrammarKinds, KindGroup};
use super::matches::{ByteEdit, PassedGaps, SyntaxMatch, SyntaxScan};
use super::matching::{CompiledRule, RuleSet};
use super::repeated::RepeatedTexts;
use super::tree::SyntaxTree;
use super::watched_doc::WatchedDoc;
use crate::domain::place::LineRange;

/// Maximum depth of matched nodes: conditions on ancestors cost the depth each time.
const DEEPEST: u32 = 1000;
/// Number of steps from node to node that a rule may take in any text, and per node of it: far more than the built-in rules need.
const STEPS: u64 = 1_000_000;
const STEPS_A_NODE: u64 = 300;
/// Maximum length of a match with a replacement, in bytes, and of a replacement.
const LONGEST_REPLACED: usize = 4 << 10;
const LONGEST_REPLACEMENT: usize = 64 << 10;
/// Maximum number of matches in one text.
const MOST_FOUND: usize = 5000;

/// The rules of a set that are matched in one walk.
struct ScanRules<'r> {
    rules: Vec<&'r CompiledRule>,
    /// The rules that can match a kind of node, by kind.
    by_kind: Vec<Vec<usize>>,
    /// `true` if one of them depends on code outside of the matched node.
    is_contextual: bool,
    /// Remaining steps of each.
    left: Vec<u64>,
}

impl<'r> ScanRules<'r> {
    /// Selects the compiled rules for which `wanted` is true.
    fn of(set: &'r RuleSet, wanted: &dyn Fn(usize) -> bool, tree: &SyntaxTree) -> Self {
        let compiled = set.rules.iter().filter_map(|rule| rule.get()?.as_ref().ok()?.as_ref());
        let rules: Vec<&CompiledRule> = compiled.filter(|rule| wanted(rule.number)).collect();
        let mut by_kind: Vec<Vec<usize>> = Vec::new();
        for (at, rule) in rules.iter().enumerate() {
            for kind in &rule.kinds {
                if by_kind.len() <= *kind {
                    by_kind.resize_with(kind + 1, Vec::new);
                }
                by_kind[*kind].push(at);
            }
        }
        let nodes = tree.root.root().get_inner_node().descendant_count() as u64;
        let left = vec![STEPS + STEPS_A_NODE * nodes; rules.len()];
        let is_contextual = rules.iter().any(|rule| rule.is_contextual);
        Self { rules, by_kind, is_contextual, left }
    }
}

impl RuleSet {
    /// Matches the compiled rules for which `wanted` is true.
    ///
    /// With a `focus`, matches that the change cannot have made are left out: those on unaffected lines if the rule depends on nothing
    /// else, and at the head also those in functions and types without an affected line.
    pub fn scan(
        &self,
        tree: &SyntaxTree,
        wanted: &dyn Fn(usize) -> bool,
        focus: Option<&ScanFocus>,
        watch: &ParseLimits<'_>,
    ) -> Result<SyntaxScan, ParseFailure> {
        let mut scan = SyntaxScan::default();
        if tree.grammar != self.grammar {
            return Ok(scan);
        }
        let mut asked = ScanRules::of(self, wanted, tree);
        if asked.rules.is_empty() {
            return Ok(scan);
        }
        let kinds = GrammarKinds::of(self.grammar);
        let mut tests = TestCodeRanges::default();
        let watched = AstGrep::doc(WatchedDoc::new(tree, watch));
        let root = watched.root();
        let mut cursor = root.get_inner_node().inner().walk();
        let mut steps = 0u32;
        let mut walk = RepeatedTexts::default();
        loop {
            steps = steps.wrapping_add(1);
            // Not for each rule: reading the clock costs more than most rules do, and a long one checks it itself.
            if steps.is_multiple_of(128) {
                watch.check()?;
            }
            let inner = cursor.node();
            if kinds.group(inner.kind_id()) == KindGroup::Attribute {
                tests.see(&inner, tree.text());
            }
            let is_affected = focus.is_none_or(|focus| focus.affects_node(&inner));
            if is_affected || asked.is_contextual {
                scan.nodes += 1;
                asked.match_node(&watched, inner, is_affected, (tree, &tests, &mut walk), &mut scan)?;
            }
            if scan.too_many {
                return Ok(scan);
            }
            let is_skipped = || focus.is_some_and(|focus| focus.skips(&inner, kinds));
            let is_examined = is_affected || (asked.is_contextual && !is_skipped());
            let deep = is_examined && walk.depth() >= DEEPEST && inner.child_count() > 0;
            scan.too_deep |= deep;
            if is_examined && !deep && cursor.goto_first_child() {
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

impl ScanRules<'_> {
    /// Applies the rules that can match a node.
    fn match_node<'t>(
        &mut self,
        watched: &AstGrep<WatchedDoc>,
        inner: tree_sitter::Node<'_>,
        is_affected: bool,
        (tree, tests, walk): (&'t SyntaxTree, &TestCodeRanges, &mut RepeatedTexts<'t>),
        scan: &mut SyntaxScan,
    ) -> Result<(), ParseFailure> {
        let Self { rules, by_kind, left, .. } = self;
        let root = watched.root();
        let doc = root.get_doc();
        let mut adopted = None;
        for at in by_kind.get(usize::from(inner.kind_id())).into_iter().flatten() {
            let (Some(rule), Some(left)) = (rules.get(*at), left.get_mut(*at)) else { continue };
            if *left == 0 || !(is_affected || rule.is_contextual) {
                continue;
            }
            if rule.repeats.as_ref().is_some_and(|field| !walk.is_one(*at, &inner, field, tree.text())) {
                continue;
            }
            let node = adopted.get_or_insert_with(|| watched.adopt(doc.node(inner))).clone();
            doc.set_budget(*left);
            let hit = rule.core.match_node(node);
            *left = doc.remaining();
            doc.set_budget(u64::MAX);
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
            let passed = doc.take_passed();
            if passed != PassedGaps::None {
                let known = scan.passed.entry(rule.number).or_default();
                *known = passed.max(*known);
            }
            if scan.found.len() >= MOST_FOUND {
                scan.too_many = true;
                return Ok(());
            }
        }
        Ok(())
    }
}

type WatchedMatch<'a> = NodeMatch<'a, WatchedDoc>;
type WatchedAstNode<'a> = ast_grep_core::Node<'a, WatchedDoc>;

fn found(rule: &CompiledRule, hit: &WatchedMatch<'_>, in_test: bool) -> SyntaxMatch {
    let bytes = hit.range();
    let lines = lines_of(hit);
    let fits = bytes.len() <= LONGEST_REPLACED && bytes.len().saturating_mul(rule.holes) <= LONGEST_REPLACEMENT;
    let edit = rule.fix.as_ref().filter(|_| fits).and_then(|fix| {
        let text = String::from_utf8(fix.generate_replacement(hit)).ok()?;
        Some(ByteEdit { bytes: bytes.clone(), text })
    });
    let env = hit.get_env();
    let one = rule.at.as_deref().and_then(|name| env.get_match(name).cloned().or_else(|| first_of(hit, name)));
    let (at, told) = one.as_ref().map_or((lines, bytes.clone()), |node| (lines_of(node), node.range()));
    let texts = |names: &[String]| names.iter().filter_map(|name| bytes_of(hit, name)).collect::<Vec<_>>();
    let same = if rule.same.is_empty() { vec![told] } else { texts(&rule.same) };
    // Climbing from parent to parent would take quadratic time in the depth: each ancestor is searched for from the root.
    let around = hit.ancestors().map(|node| lines_of(&node)).find(|around| around.count() > lines.count());
    let around = around.unwrap_or(lines);
    SyntaxMatch {
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

fn first_of<'a>(hit: &WatchedMatch<'a>, name: &str) -> Option<WatchedAstNode<'a>> {
    hit.get_env().get_multiple_matches(name).into_iter().next()
}

/// Returns the bytes of a metavariable, also of several nodes; `None` if it matched nothing.
fn bytes_of(hit: &WatchedMatch<'_>, name: &str) -> Option<Range<usize>> {
    if let Some(node) = hit.get_env().get_match(name) {
        return Some(node.range());
    }
    let nodes = hit.get_env().get_multiple_matches(name);
    Some(nodes.first()?.range().start..nodes.last()?.range().end)
}

fn lines_of(node: &WatchedAstNode<'_>) -> LineRange {
    let first = node.start_pos().line();
    let (end_line, end_column) = node.end_pos().byte_point();
    // A node that swallowed its line ending stops at the start of the next line.
    let last = if end_column == 0 && end_line > first { end_line - 1 } else { end_line };
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX - 1) + 1;
    LineRange::new(number(first), number(last)).unwrap_or_else(|_| LineRange::line(number(first)))
}

impl SyntaxTree {
    pub(super) fn text(&self) -> &[u8] {
        self.root.root().get_doc().src.as_bytes()
    }
}

/// The bytes of test-only items, found while the tree is walked in order.
#[derive(Default)]
struct TestCodeRanges {
    until: usize,
}

static TEST_ATTRIBUTE: LazyLock<Option<regex::bytes::Regex>> = LazyLock::new(|| {
    regex::bytes::Regex::new(r"^#\[\s*(?:cfg\s*\(\s*(?:all\s*\(\s*)?test\b|(?:\w+\s*::\s*)*(?:test|rstest)\b|bench\b)")
        .ok()
});

impl TestCodeRanges {
    /// Reads an attribute.
    fn see(&mut self, node: &tree_sitter::Node<'_>, text: &[u8]) {
        if node.start_byte() < self.until {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::excerpt::{ExcerptQuery, WordSet};
    use super::super::grammar::Grammar;
    use super::super::matching::{RuleParts, RuleSource, documents};
    use super::super::tree_cache::TreeCache;
    use super::*;
    use crate::sys::cancel::Cancel;

    #[test]
    fn a_rule_that_would_read_what_is_left_out_is_known() {
        let function = |name: &str| format!("function {name}() {{\n{}}}\n\n", "  x();\n".repeat(60));
        let text = format!("(function () {{\n{}z();\n\n{}{}}})();\n", function("a"), function("b"), function("c"));
        let (cancel, trees) = (Cancel::never(), TreeCache::default());
        let watch = ParseLimits::new(&cancel, Duration::from_mins(1));
        let words = WordSet::of(std::iter::once("b".to_owned()).collect());
        let query = ExcerptQuery { words: Some(&words), ..ExcerptQuery::default() };
        let excerpt = trees.excerpt(Grammar::JavaScript, &text, query);
        let tree = trees.parse_affected(Grammar::JavaScript, &text, excerpt.as_ref(), None, &watch).unwrap();
        let around =
            |condition: &str| format!("{{kind: identifier, regex: '^z$', inside: {{stopBy: end, {condition}}}}}");
        let beside = |condition: &str| format!("{{kind: {condition}}}");
        for (rule, passes) in [
            (around("kind: statement_block, has: {kind: class}"), true),
            (around("kind: statement_block, has: {kind: function_declaration}"), true),
            (around("kind: call_expression, has: {field: function, has: {kind: class, stopBy: end}}"), true),
            (around("kind: expression_statement, nthChild: 9"), true),
            (beside("expression_statement, regex: '^z', follows: {kind: function_declaration}"), true),
            (beside("expression_statement, regex: '^z', precedes: {kind: function_declaration}"), false),
            (beside("expression_statement, regex: '^z', precedes: {kind: class, stopBy: end}"), true),
            (beside("function_declaration, regex: '^function b', has: {kind: call_expression, stopBy: end}"), false),
            (around("kind: function_expression, regex: 'function c'"), false),
            (around("kind: call_expression, has: {field: arguments, kind: arguments}"), false),
            (around("kind: program"), false),
        ] {
            let source = &documents::<RuleSource>(&format!("rule: {rule}")).unwrap()[0];
            let parts = RuleParts { source, fix: None, at: None, same: &[], stays: &[], guards: &[], repeats: None };
            let set = RuleSet::compile(Grammar::JavaScript, std::iter::once(Some(parts))).unwrap();
            let scan = set.scan(&tree, &|_| true, None, &watch).unwrap();
            assert_eq!(scan.passed.get(&0) == Some(&PassedGaps::InFunction), passes, "{rule}");
            assert!(passes || scan.found.len() == 1, "{rule} {:?}", scan.found);
        }
    }
}
