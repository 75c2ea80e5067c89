//! Expressions that were wrapped in something and now stand bare: awaited, escaped, limited, copied. Main function: [`weaker`].

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::code::{GuardCode, is_call};
use super::pair::{FunctionPair, GuardLoss, GuardRule, squeeze};
use super::removed_conditions::quote_condition;
use crate::syntax::Grammar;

/// Words fewer than this say too little to know an expression again.
const FEWEST_WORDS: usize = 5;

static SANITISES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?x)^(?:escape\w*|html_?escape|escapeHTML|escapeHtml\w*|EscapeString|encodeURIComponent|encodeURI|QueryEscape|PathEscape|sanitize\w*|Sanitize\w*|sanitise\w*|purify|clean_html|bleach|shlex\.quote|quote|quote_plus|urlencode|basename|secure_filename|mark_safe_escape|normalizePath|realpath|htmlspecialchars|escapeRegExp|forHtml\w*|escapeXml|escapeSql|quoteIdentifier|quote_ident|redact\w*|maskSecret\w*)$").ok()
});
static LIMITS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?:min|clamp|Min|constrain|limit|truncate|LimitReader|MaxBytesReader)$").ok());
static COPIES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:DeepCopy|deepCopy|deepcopy|structuredClone|cloneDeep|copyOf|unmodifiable\w+|deepCopyObject\w*|deepClone|ArrayList|HashMap|HashSet|LinkedHashMap|TreeMap|Clone)$").ok()
});
static TIMES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?:WithTimeout|WithDeadline|wait_for|timeout|withTimeout|orTimeout)$").ok());

/// Expressions of the old function that stand bare in the new one.
pub(super) fn weaker(pair: &FunctionPair<'_>) -> Vec<GuardLoss> {
    let mut lost = Vec::new();
    let mut new_units: Option<HashMap<String, usize>> = None;
    for node in pair.old.nodes.subtree(pair.base_function()) {
        if !pair.is_removed(node) || pair.old.owner(node) != Some(pair.was) {
            continue;
        }
        let Some((rule, stays, detail)) = wrapped(pair.old, node) else { continue };
        let Some(unit) = unit(pair.old, node, stays) else { continue };
        let said = handed_to(pair.old, unit) + &pair.old.normalized_text_with(unit, &[(node, stays)]);
        let units = new_units.get_or_insert_with(|| fresh_units(pair));
        let stands = units.get(&said).copied().unwrap_or(0);
        if stands == 0 || pair.said.contains_key(&pair.old.normalized_text_with(unit, &[(node, stays)])) {
            continue;
        }
        if rule == GuardRule::Await && is_no_promise(pair, stays) {
            continue;
        }
        if matches!(rule, GuardRule::Sanitiser | GuardRule::Copy | GuardRule::Limit)
            && pair.old.call(node).is_some_and(|call| pair.around.adds(&format!("{}(", pair.old.nodes.text(call.name))))
        {
            continue;
        }
        lost.extend(pair.build_loss(rule, node, detail));
    }
    lost
}

/// The effect of an expression on another, and that other one.
fn wrapped(code: &GuardCode<'_>, node: usize) -> Option<(GuardRule, usize, String)> {
    let kind = code.nodes.kind(node);
    if matches!(kind, "await_expression" | "await") && !code.nodes.is_token(node) && code.grammar != Grammar::Rust {
        let inner = code
            .nodes
            .children(node)
            .find(|child| !(code.nodes.is_token(*child) && code.nodes.text(*child) == "await"))?;
        let alone = code.nodes.parent(node).is_some_and(|parent| code.nodes.kind(parent) == "expression_statement");
        let called = code.call(inner).map(|call| code.nodes.text(call.name).to_owned())?;
        return alone.then(|| (GuardRule::Await, inner, format!("`{called}` was awaited here.")));
    }
    if !is_call(kind) && kind != "object_creation_expression" {
        return None;
    }
    let call = code.call(node)?;
    let called = code.nodes.text(call.name).split(['<', '.']).next().unwrap_or_default();
    let is = |pattern: &LazyLock<Option<Regex>>| pattern.as_ref().is_some_and(|pattern| pattern.is_match(called));
    let first = call.arguments.first().copied();
    if is(&SANITISES) {
        let stays = if call.arguments.len() <= 2 { first.or(call.receiver)? } else { first? };
        return Some((
            GuardRule::Sanitiser,
            stays,
            format!("`{}` went through `{called}` here.", quote_condition(&code.normalized_text(stays))),
        ));
    }
    if is(&LIMITS) {
        let stays = call
            .arguments
            .iter()
            .copied()
            .filter(|argument| {
                !code
                    .nodes
                    .text(*argument)
                    .starts_with(|letter: char| letter.is_ascii_digit() || letter.is_ascii_uppercase())
            })
            .find(|argument| code.is_path(*argument) || is_call(code.nodes.kind(*argument)))?;
        return Some((
            GuardRule::Limit,
            stays,
            format!("`{}` was limited with `{called}` here.", quote_condition(&code.normalized_text(stays))),
        ));
    }
    if is(&COPIES) && code.grammar != Grammar::Rust {
        let stays = first.or(call.receiver)?;
        return Some((
            GuardRule::Copy,
            stays,
            format!("A copy of `{}` was made here.", quote_condition(&code.normalized_text(stays))),
        ));
    }
    if is(&TIMES) {
        return Some((
            GuardRule::Timeout,
            first?,
            format!("`{}` ended after a time here.", quote_condition(&code.normalized_text(first?))),
        ));
    }
    None
}

/// The smallest thing around `node` that is known again by its words when only `stays` is left of the node.
fn unit(code: &GuardCode<'_>, node: usize, stays: usize) -> Option<usize> {
    std::iter::once(node).chain(code.nodes.ancestors(node)).take(12).find(|at| {
        let is_unit = code.is_statement(*at) || is_part(code, *at);
        is_unit && {
            let said = code.normalized_text_with(*at, &[(node, stays)]);
            code.is_statement(*at) || said.split(' ').count() >= FEWEST_WORDS
        }
    })
}

/// Checks whether it is one of a list.
fn is_part(code: &GuardCode<'_>, node: usize) -> bool {
    matches!(
        code.nodes.kind(node),
        "pair" | "keyed_element" | "variable_declarator" | "keyword_argument" | "jsx_attribute" | "field_initializer"
    ) || code.nodes.parent(node).is_some_and(|parent| {
        matches!(code.nodes.kind(parent), "arguments" | "argument_list" | "array" | "template_substitution")
    })
}

/// The receiver of an argument, or else nothing: in another call, even one in its place, it does not stand bare.
fn handed_to(code: &GuardCode<'_>, node: usize) -> String {
    let arguments = code.nodes.parent(node).filter(|at| matches!(code.nodes.kind(*at), "arguments" | "argument_list"));
    let call = arguments.and_then(|at| code.nodes.parent(at)).and_then(|at| code.call(at));
    call.map_or_else(String::new, |call| format!("{}( ", code.nodes.text(call.name)))
}

/// The words of what the change adds to the new function.
fn fresh_units(pair: &FunctionPair<'_>) -> HashMap<String, usize> {
    let mut units = HashMap::new();
    let code = pair.new;
    for node in code.nodes.subtree(pair.head_function()) {
        if pair.is_added(node)
            && (code.is_statement(node) || is_part(code, node))
            && code.nodes.subtree_end(node) - node < 600
        {
            *units.entry(handed_to(code, node) + &code.normalized_text(node)).or_default() += 1;
        }
    }
    units
}

/// Checks whether the change says that there is nothing to wait for: the function it calls, or this one, is not asynchronous any more.
fn is_no_promise(pair: &FunctionPair<'_>, call: usize) -> bool {
    let Some(called) = pair.old.call(call) else { return true };
    let called = pair.old.nodes.text(called.name);
    // Routers go on by themselves, and what changes data by a hook is told by callbacks when it is done.
    if matches!(called, "push" | "replace" | "navigate" | "refresh" | "reload" | "back" | "mutate" | "refetch") {
        return true;
    }
    let gone = &pair.around.gone;
    let ways = [
        format!("async function {called}("),
        format!("async {called}("),
        format!("{called}=async"),
        format!("async def {called}("),
        format!("{called}:async"),
    ];
    let head = squeeze(pair.new.nodes.text(pair.head_function()));
    let was = squeeze(pair.old.nodes.text(pair.base_function()));
    ways.iter().any(|way| gone.contains(way.as_str()))
        || (was.contains("async") && !head.contains("async"))
        || head.contains(&format!("void {called}("))
}
