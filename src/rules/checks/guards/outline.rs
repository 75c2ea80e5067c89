//! Selects the functions to compare: those on both sides with deleted lines. Main function: [`parse_changed_functions`].
//!
//! Walking a whole file costs more than comparing the few functions that a change touches. So the bodies of functions are left out at
//! first, and only those that can have lost something are entered.

use std::collections::HashSet;

use super::super::super::target::ChangedLineIndex;
use super::code::GuardCode;
use crate::domain::place::LineRange;
use crate::syntax::{Grammar, NodeTable, OtherVersion, ParseFailure, ParseLimits, SyntaxTree, TreeCache};

/// A top-level function.
struct OuterFunction {
    key: String,
    lines: (u32, u32),
    /// Starts of the bodies left out of it.
    bodies: Vec<usize>,
    /// `true` if its own body is one of them.
    is_bare: bool,
}

/// Parses both sides of a file without the bodies of functions that cannot have lost anything; `None` if no function can.
pub(super) fn parse_changed_functions<'t>(
    trees: &TreeCache,
    grammar: Grammar,
    (old, new): (&'t str, &'t str),
    beside: Option<&OtherVersion<'_>>,
    removed: &ChangedLineIndex,
    watch: &ParseLimits<'_>,
) -> Result<Option<(GuardCode<'t>, GuardCode<'t>)>, ParseFailure> {
    let new_tree = trees.parse(grammar, new, watch)?;
    let old_tree = trees.parse_with_other(grammar, old, beside, watch)?;
    let outline = |tree: &SyntaxTree, text: &'t str| -> Result<Vec<OuterFunction>, ParseFailure> {
        let mut left_out = Vec::new();
        let code = GuardCode::of(tree, text, watch, &mut |nodes, body| {
            let leave_out = is_of_function(nodes, body);
            left_out.extend(leave_out.then_some(body));
            !leave_out
        });
        Ok(outer_functions(&code?, &left_out))
    };
    let (before, after): (Vec<OuterFunction>, Vec<OuterFunction>) =
        (outline(&old_tree, old)?, outline(&new_tree, new)?);
    let stands = FunctionKeys::of(after.iter());
    let wanted = FunctionKeys::of(before.iter().filter(|outer| stands.meet(&outer.key) && loses_lines(outer, removed)));
    if wanted.exact.is_empty() {
        return Ok(None);
    }
    // Code around a function without a body of its own may be examined beyond the function.
    let all = before.iter().chain(&after).any(|outer| wanted.meet(&outer.key) && !outer.is_bare);
    let read = |tree: &SyntaxTree, text: &'t str, outers: &[OuterFunction]| -> Result<GuardCode<'t>, ParseFailure> {
        let others = outers.iter().filter(|outer| !all && !wanted.meet(&outer.key));
        let skipped: HashSet<usize> = others.flat_map(|outer| outer.bodies.iter().copied()).collect();
        GuardCode::of(tree, text, watch, &mut |nodes, body| {
            !(skipped.contains(&nodes.bytes(body).start) && is_of_function(nodes, body))
        })
    };
    Ok(Some((read(&old_tree, old, &before)?, read(&new_tree, new, &after)?)))
}

/// The keys of functions, and the prefixes of those keys.
struct FunctionKeys<'a> {
    exact: HashSet<&'a str>,
    begun: HashSet<&'a str>,
}

impl<'a> FunctionKeys<'a> {
    fn of(outers: impl Iterator<Item = &'a OuterFunction>) -> Self {
        let exact: HashSet<&str> = outers.map(|outer| outer.key.as_str()).collect();
        Self { begun: exact.iter().copied().flat_map(beginnings).collect(), exact }
    }

    /// Checks whether a function below that key may have the same name as one below these: a method `a/b` is named like the function `b`
    /// inside a function `a`.
    fn meet(&self, key: &str) -> bool {
        self.begun.contains(key) || beginnings(key).any(|beginning| self.exact.contains(beginning))
    }
}

/// Yields `a`, `a/b` and `a/b/c` for `a/b/c`.
fn beginnings(key: &str) -> impl Iterator<Item = &str> {
    let parts = key.match_indices('/').map(|(at, _)| at);
    parts.chain(std::iter::once(key.len())).filter_map(|at| key.get(..at))
}

fn loses_lines(outer: &OuterFunction, removed: &ChangedLineIndex) -> bool {
    let lines = LineRange::new(outer.lines.0, outer.lines.1);
    lines.is_ok_and(|lines| removed.first_in(lines).is_some_and(|(_, stands)| stands))
}

/// Checks whether a node is the body of a function that [`GuardCode`] names; called before what follows the node is known.
fn is_of_function(nodes: &NodeTable<'_>, body: usize) -> bool {
    let Some(holder) = nodes.parent(body) else { return false };
    let has = |node: usize, fields: &[&str]| fields.iter().any(|field| nodes.child(node, field).is_some());
    match nodes.kind(holder) {
        "function_declaration"
        | "method_declaration"
        | "function_item"
        | "method_definition"
        | "constructor_declaration"
        | "generator_function_declaration" => has(holder, &["name"]),
        "function_definition" => has(holder, &["name", "declarator"]),
        "arrow_function" | "function_expression" => {
            let named = nodes.parent(holder).filter(|_| nodes.field(holder) == Some("value"));
            let kinds = ["variable_declarator", "public_field_definition", "field_definition", "pair"];
            nodes.kind(body) == "statement_block"
                && named.is_some_and(|at| kinds.contains(&nodes.kind(at)) && has(at, &["name", "property", "key"]))
        }
        _ => false,
    }
}

/// Collects the top-level functions of an outline, and the bodies left out of each.
fn outer_functions(code: &GuardCode<'_>, left_out: &[usize]) -> Vec<OuterFunction> {
    let mut numbers = vec![None; code.functions.len()];
    let mut outers: Vec<OuterFunction> = Vec::new();
    for (number, function) in code.functions.iter().enumerate().filter(|(number, one)| one.outermost == *number) {
        numbers[number] = Some(outers.len());
        let (key, lines) = (function.key.clone(), code.nodes.lines(function.node));
        outers.push(OuterFunction { key, lines, bodies: Vec::new(), is_bare: false });
    }
    for body in left_out {
        let Some(owner) = code.owner(*body) else { continue };
        let outermost = code.functions.get(owner).map(|function| function.outermost);
        let place = outermost.and_then(|number| numbers.get(number).copied().flatten());
        if let Some(outer) = place.and_then(|at| outers.get_mut(at)) {
            outer.bodies.push(code.nodes.bytes(*body).start);
            outer.is_bare |= outermost == Some(owner);
        }
    }
    outers
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::change::{ChangeRun, FileChange, Hunk, HunkSpan};
    use crate::domain::path::RepoPath;
    use crate::domain::place::DiffSide;
    use crate::sys::cancel::Cancel;

    /// Returns the functions on the old side that have deleted lines.
    fn known(grammar: Grammar, old: &str, new: &str, line: u32) -> Option<Vec<String>> {
        let run = ChangeRun { old: HunkSpan { start: line, count: 1 }, new: HunkSpan { start: line, count: 0 } };
        let hunks = vec![Hunk { runs: vec![run], ..Hunk::default() }];
        let file = FileChange { hunks, ..FileChange::modified(RepoPath::parse("a").unwrap()) };
        let (trees, cancel) = (TreeCache::default(), Cancel::never());
        let watch = ParseLimits::new(&cancel, Duration::from_mins(1));
        let removed = ChangedLineIndex::of(&file, DiffSide::Old);
        let both = parse_changed_functions(&trees, grammar, (old, new), None, &removed, &watch).unwrap();
        both.map(|(before, _)| before.functions.into_iter().map(|function| function.key).collect())
    }

    #[test]
    fn only_functions_that_lose_lines_are_gone_into() {
        let old = "function a() {\n  const b = () => {\n    c();\n  };\n}\nfunction d() {\n  const e = () => {};\n}\n";
        let found = |line: u32| known(Grammar::TypeScript, old, old, line);
        assert_eq!(found(3).unwrap(), ["a", "a/b", "d"]);
        assert_eq!(found(7).unwrap(), ["a", "d", "d/e"]);
        assert_eq!(known(Grammar::TypeScript, old, "function d() {}\n", 3), None);
    }

    #[test]
    fn of_functions_with_one_name_all_are_gone_into() {
        let old = "class A:\n  def b(self):\n    def c(): pass\n  def b(self):\n    def c(): return 1\n  def d(self):\n    def e(): pass\n";
        assert_eq!(known(Grammar::Python, old, old, 3).unwrap(), ["A/b", "A/b/c", "A/b", "A/b/c", "A/d"]);
    }

    #[test]
    fn around_a_function_without_a_body_all_is_read() {
        let old = "const a = (b) => b ? c : d;\nfunction e() {\n  const f = () => {};\n}\n";
        assert_eq!(known(Grammar::JavaScript, old, old, 1).unwrap(), ["a", "e", "e/f"]);
    }
}
