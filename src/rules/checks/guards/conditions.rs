//! Splits conditions into tests, each about one thing. Main function: [`find_conditions`].

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::code::{GuardCode, is_call, is_if, is_member, is_ternary};
use crate::syntax::Grammar;

/// The kind of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuardTest {
    /// Presence of a value.
    Null,
    /// Length or emptiness.
    Size,
    /// Equality with zero.
    Zero,
    /// Type, or containment of a key: enough to show that the case was considered.
    Kind,
    /// Anything else.
    Other,
}

/// One test in a condition.
#[derive(Debug, Clone)]
pub(super) struct GuardCondition {
    pub(super) asks: GuardTest,
    /// The tested expression, normalized; empty for [`GuardTest::Other`].
    pub(super) about: String,
    /// The node of the test.
    pub(super) node: usize,
    /// The `if`, `?:` or `&&` that it decides.
    pub(super) decides: usize,
}

/// Returns every test in a range of nodes.
pub(super) fn find_conditions(code: &GuardCode<'_>, range: Range<usize>) -> Vec<GuardCondition> {
    let mut found = Vec::new();
    let mut split_until = 0;
    for node in range {
        let kind = code.nodes.kind(node);
        let condition = match kind {
            _ if is_if(kind) || matches!(kind, "elif_clause" | "while_statement" | "while_expression") => {
                code.nodes.child(node, "condition")
            }
            "conditional_expression" if code.grammar == Grammar::Python => code
                .nodes
                .children(node)
                .filter(|child| !code.nodes.is_token(*child) || code.nodes.kind(*child) == "identifier")
                .nth(1),
            _ if is_ternary(kind) => code.nodes.child(node, "condition"),
            _ if node >= split_until && logical_operator(code, node).is_some() => Some(node),
            _ => None,
        };
        if let Some(condition) = condition {
            split_until = split_until.max(code.nodes.subtree_end(condition));
            let mut nodes = vec![condition];
            while let Some(next) = nodes.pop() {
                let next = code.strip_parentheses(next);
                let parts = parts(code, next);
                if parts.is_empty() {
                    found.push(question(code, next, node));
                }
                nodes.extend(parts);
            }
        }
    }
    found
}

/// Returns the operator of an `&&` or an `||`.
pub(super) fn logical_operator<'a>(code: &GuardCode<'a>, node: usize) -> Option<&'a str> {
    if !matches!(code.nodes.kind(node), "binary_expression" | "boolean_operator") {
        return None;
    }
    let operator = operator(code, node)?;
    matches!(operator, "&&" | "||" | "and" | "or").then_some(operator)
}

pub(super) fn operator<'a>(code: &GuardCode<'a>, node: usize) -> Option<&'a str> {
    let named = code.nodes.child(node, "operator").or_else(|| code.nodes.child(node, "operators"));
    let token = || {
        code.nodes.children(node).find(|child| {
            code.nodes.is_token(*child)
                && !code.nodes.text(*child).starts_with(|letter: char| letter.is_alphanumeric() || letter == '_')
        })
    };
    named.or_else(token).map(|node| code.nodes.text(node))
}

fn parts(code: &GuardCode<'_>, node: usize) -> Vec<usize> {
    let kind = code.nodes.kind(node);
    if logical_operator(code, node).is_some() {
        return ["left", "right"].iter().filter_map(|field| code.nodes.child(node, field)).collect();
    }
    if kind == "not_operator" || (kind == "unary_expression" && code.nodes.text(node).starts_with('!')) {
        return code.nodes.children(node).filter(|child| !matches!(code.nodes.kind(*child), "!" | "not")).collect();
    }
    if kind == "let_chain" {
        return code.nodes.children(node).filter(|child| code.nodes.kind(*child) != "&&").collect();
    }
    Vec::new()
}

static SIZE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^len \( (.+) \)$|^(.+) \. (?:length|len|size|count|Length|Count)(?: \( \))?$").ok());

/// Returns the node whose length is taken.
fn length_argument(said: &str) -> Option<&str> {
    let groups = SIZE.as_ref()?.captures(said)?;
    groups.iter().skip(1).flatten().next().map(|found| found.as_str())
}

fn question(code: &GuardCode<'_>, node: usize, decides: usize) -> GuardCondition {
    let (asks, about) = classify_test(code, node).unwrap_or((GuardTest::Other, String::new()));
    GuardCondition { asks, about, node, decides }
}

fn classify_test(code: &GuardCode<'_>, node: usize) -> Option<(GuardTest, String)> {
    let kind = code.nodes.kind(node);
    match kind {
        "binary_expression" | "comparison_operator" => classify_comparison(code, node),
        "instanceof_expression" => {
            code.nodes.child(node, "left").map(|left| (GuardTest::Kind, code.normalized_text(left)))
        }
        "let_condition" => code.nodes.child(node, "value").map(|value| (GuardTest::Null, code.normalized_text(value))),
        _ if is_call(kind) => classify_call(code, node),
        "identifier" if code.grammar == Grammar::Go => go_lookup_source(code, node),
        _ if code.is_path(node) && is_truthy(code.grammar) => {
            let said = code.normalized_text(node);
            Some(
                length_argument(&said)
                    .map_or_else(|| (GuardTest::Null, said.clone()), |of| (GuardTest::Size, of.to_owned())),
            )
        }
        _ => None,
    }
}

fn is_truthy(grammar: Grammar) -> bool {
    matches!(
        grammar,
        Grammar::JavaScript | Grammar::TypeScript | Grammar::Tsx | Grammar::Python | Grammar::C | Grammar::Cpp
    )
}

fn is_null(said: &str) -> bool {
    matches!(said, "nil" | "null" | "None" | "NULL" | "nullptr" | "undefined" | "void 0")
}

fn classify_comparison(code: &GuardCode<'_>, node: usize) -> Option<(GuardTest, String)> {
    let mut sides = code.nodes.children(node).filter(|child| {
        !code.nodes.is_token(*child)
            || code.nodes.text(*child).starts_with(|letter: char| {
                letter.is_alphanumeric() || letter == '_' || letter == '\'' || letter == '"'
            })
    });
    let (left, mut right) = (sides.next()?, sides.next()?);
    if matches!(code.nodes.text(right), "is" | "not" | "in" | "is not" | "not in" | "instanceof") {
        right = sides.last()?;
    }
    let word = operator(code, node).unwrap_or_default();
    let said =
        [code.normalized_text(code.strip_parentheses(left)), code.normalized_text(code.strip_parentheses(right))];
    if matches!(word, "in" | "not in" | "instanceof")
        || code.nodes.children(node).any(|child| matches!(code.nodes.text(child), "in" | "instanceof"))
    {
        let about = if word == "instanceof" { &said[0] } else { &said[1] };
        return Some((GuardTest::Kind, about.clone()));
    }
    for (at, other) in [(0, 1), (1, 0)] {
        let asked = if at == 0 { left } else { right };
        if is_null(&said[other]) && code.is_path(asked) {
            return Some((GuardTest::Null, said[at].clone()));
        }
        if let Some(typed) = said[at].strip_prefix("typeof ") {
            return Some((GuardTest::Kind, typed.to_owned()));
        }
        if let Some(of) = length_argument(&said[at]) {
            return Some((GuardTest::Size, of.to_owned()));
        }
        if said[other] == "0" && code.is_path(asked) {
            return Some((GuardTest::Zero, said[at].clone()));
        }
    }
    None
}

fn classify_call(code: &GuardCode<'_>, node: usize) -> Option<(GuardTest, String)> {
    let call = code.call(node)?;
    let name = code.nodes.text(call.name);
    let receiver = call.receiver.map(|receiver| code.normalized_text(receiver));
    let helper = receiver.as_deref().is_none_or(|said| {
        matches!(
            said,
            "Objects"
                | "StringUtils"
                | "CollectionUtils"
                | "Utils"
                | "Array"
                | "Object"
                | "_"
                | "reflect"
                | "lang"
                | "util"
        )
    });
    let about = if helper { call.arguments.first().map(|first| code.normalized_text(*first)) } else { receiver };
    let asks = match name {
        "isNull" | "isNone" | "is_null" | "isNil" | "IsNil" | "is_none" | "is_some" | "is_ok" | "is_err"
        | "isPresent" | "isUndefined" | "isDefined" | "nonNull" | "notNull" | "Boolean" | "exists" | "bool"
        | "is_some_and" | "isValid" | "valid" => GuardTest::Null,
        "is_empty" | "isEmpty" | "empty" | "isBlank" | "isNotEmpty" | "hasNext" => GuardTest::Size,
        "containsKey" | "has" | "contains" | "hasOwnProperty" | "includes" | "contains_key" | "isinstance"
        | "isArray" | "hasattr" | "callable" => GuardTest::Kind,
        _ if code.is_path(node) && is_truthy(code.grammar) && call.arguments.is_empty() => {
            return Some((GuardTest::Null, code.normalized_text(node)));
        }
        _ => return None,
    };
    about.filter(|about| !about.is_empty()).map(|about| (asks, about))
}

/// Returns what `ok` is about in Go: `v, ok := m[k]`.
fn go_lookup_source(code: &GuardCode<'_>, node: usize) -> Option<(GuardTest, String)> {
    let name = code.nodes.text(node);
    if !matches!(name, "ok" | "found" | "exists" | "exist" | "has") {
        return None;
    }
    let declared = |at: usize| -> Option<String> {
        if !matches!(code.nodes.kind(at), "short_var_declaration" | "assignment_statement") {
            return None;
        }
        let left = code.nodes.child(at, "left")?;
        let mut names = code.nodes.children(left).filter(|child| code.nodes.kind(*child) != ",");
        let (first, last) = (names.next()?, names.last()?);
        (code.nodes.text(last) == name && code.nodes.text(first) != "_").then(|| code.normalized_text(first))
    };
    let guard = code.nodes.ancestors(node).find(|at| is_if(code.nodes.kind(*at)))?;
    let inside = code.nodes.child(guard, "initializer").and_then(declared);
    let before = || {
        let list = code.nodes.parent(guard)?;
        let before: Vec<usize> = code.nodes.children(list).take_while(|at| *at < guard).collect();
        before.into_iter().rev().find_map(declared)
    };
    inside.or_else(before).map(|about| (GuardTest::Null, about))
}

/// A place that requires a value to be present.
#[derive(Debug, Clone)]
pub(super) struct GuardedUse {
    pub(super) needs: GuardTest,
    /// The kind of the required test.
    pub(super) of: String,
    /// The expression, normalized.
    pub(super) said: String,
    pub(super) node: usize,
}

/// Returns every place in a range of nodes that uses a value which must be present.
pub(super) fn find_guarded_uses(code: &GuardCode<'_>, range: Range<usize>) -> Vec<GuardedUse> {
    let mut found = Vec::new();
    for node in range {
        let kind = code.nodes.kind(node);
        let is_safe = || code.nodes.child(node, "optional_chain").is_some();
        let mut need = |needs: GuardTest, of: usize, said: String| {
            let of = code.strip_parentheses(of);
            if code.is_path(of) {
                found.push(GuardedUse { needs, of: code.normalized_text(of), said, node });
            }
        };
        if is_member(kind) || super::code::is_index(kind) {
            if is_safe() {
                continue;
            }
            if let Some(object) = code.object(node) {
                need(
                    if is_member(kind) { GuardTest::Null } else { GuardTest::Size },
                    object,
                    code.normalized_text(node),
                );
            }
        } else if kind == "method_invocation" {
            if let Some((object, name)) = code.nodes.child(node, "object").zip(code.nodes.child(node, "name")) {
                need(GuardTest::Null, object, format!("{} . {}", code.normalized_text(object), code.nodes.text(name)));
            }
        } else if kind == "pointer_expression" && code.nodes.text(node).starts_with('*') {
            if let Some(object) = code.nodes.child(node, "argument") {
                need(GuardTest::Null, object, code.normalized_text(node));
            }
        } else if kind == "unary_expression" && code.grammar == Grammar::Go && code.nodes.text(node).starts_with('*') {
            if let Some(object) = code.nodes.child(node, "operand") {
                need(GuardTest::Null, object, code.normalized_text(node));
            }
        } else if matches!(kind, "binary_expression" | "binary_operator")
            && matches!(operator(code, node), Some("/" | "//" | "%"))
        {
            if let Some(right) = code.nodes.child(node, "right") {
                need(GuardTest::Zero, right, code.normalized_text(node));
            }
        } else if is_call(kind)
            && let Some(function) = code.nodes.child(node, "function")
            && code.nodes.kind(function) == "identifier"
            && !is_safe()
        {
            need(GuardTest::Null, function, code.normalized_text(function));
        }
    }
    found
}
