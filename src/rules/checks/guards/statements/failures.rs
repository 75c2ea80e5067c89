//! Failures that are no longer handled: added unwraps, `try` without a handler, removed cases.

use regex::Regex;

use super::super::code::{GuardCode, is_call, is_if};
use super::super::pair::{FunctionPair, GuardLoss, GuardRule, squeeze};
use super::super::removed_conditions::{is_error, quote_condition};
use super::exits;
use crate::syntax::Grammar;

/// Resources that a block closed at its end: `with`, `try (…)`.
pub(super) fn added_unwrap(pair: &FunctionPair<'_>, node: usize) -> Option<GuardLoss> {
    let (old, new) = (pair.old, pair.new);
    let kind = old.nodes.kind(node);
    let opened = match kind {
        "with_statement" => {
            let clause = old.nodes.children(node).find(|child| old.nodes.kind(*child) == "with_clause")?;
            let call = old.nodes.subtree(clause).find(|inner| is_call(old.nodes.kind(*inner)))?;
            let opens = Regex::new(r"^(?:[\w.]+\.)?(?:open|connect|urlopen|Popen|socket|Session|Client|ThreadPoolExecutor|ProcessPoolExecutor|Pool|NamedTemporaryFile|TemporaryDirectory|ZipFile|TarFile|GzipFile|cursor)\(").ok()?;
            if !opens.is_match(&squeeze(old.nodes.text(call))) {
                return None;
            }
            old.normalized_text(call)
        }
        "try_with_resources_statement" => {
            let list = old.nodes.child(node, "resources")?;
            let value = old.nodes.subtree(list).find(|inner| old.nodes.field(*inner) == Some("value"))?;
            old.normalized_text(value)
        }
        _ => return None,
    };
    let body = old.statements(old.nodes.child(node, "body")?);
    let stays = body.iter().filter(|statement| pair.is_kept(**statement)).count();
    let still = new.nodes.subtree(pair.head_function()).find(|at| {
        (is_call(new.nodes.kind(*at)) || new.nodes.kind(*at) == "object_creation_expression")
            && new.normalized_text(*at) == opened
    })?;
    let held = new
        .nodes
        .ancestors(still)
        .any(|at| matches!(new.nodes.kind(at), "with_clause" | "resource" | "return_statement"));
    if body.is_empty()
        || stays * 2 < body.len()
        || held
        || pair
            .fresh
            .iter()
            .any(|line| line.contains("close") || line.contains("enter_context") || line.contains("shutdown"))
    {
        return None;
    }
    pair.build_loss(
        GuardRule::Release,
        node,
        "It was closed here at the end of the block, whatever happened; now nothing closes it.".to_owned(),
    )
}

/// Errors that were caught or tested here.
pub(super) fn removed_handler(pair: &FunctionPair<'_>, node: usize) -> Option<GuardLoss> {
    let (old, new) = (pair.old, pair.new);
    match old.nodes.kind(node) {
        "if_statement" if old.grammar == Grammar::Go => {
            let asked = pair.asked.iter().find(|question| question.decides == node && is_error(&question.about))?;
            let branch = old.nodes.child(node, "consequence")?;
            if old.nodes.child(node, "initializer").is_some()
                || !old.statements(branch).last().is_some_and(|last| old.exits_block(*last))
            {
                return None;
            }
            let block = old.nodes.parent(node)?;
            let before =
                old.nodes.children(block).take_while(|at| *at < node).filter(|at| old.is_statement(*at)).last()?;
            let sets = matches!(old.nodes.kind(before), "short_var_declaration" | "assignment_statement");
            let said = old.normalized_text(before);
            let now = new
                .nodes
                .subtree(pair.head_function())
                .find(|at| new.is_statement(*at) && new.normalized_text(*at) == said)?;
            let next = new.following(now);
            let asks = next
                .iter()
                .take_while(|at| !reassigns_error(new, **at, &asked.about))
                .any(|at| new.normalized_text(*at).split(' ').any(|word| word == asked.about));
            if !sets || asks || next.is_empty() {
                return None;
            }
            pair.build_loss(
                GuardRule::ErrorHandling,
                node,
                format!("`{}` was looked at here; the call that sets it is still there.", asked.about),
            )
        }
        "try_statement" => {
            let body = old.statements(old.nodes.child(node, "body")?);
            let catches =
                old.nodes.children(node).any(|child| matches!(old.nodes.kind(child), "catch_clause" | "except_clause"));
            let own = new.nodes.subtree(pair.head_function()).filter(|at| new.is_statement(*at));
            let bare: Vec<String> = own
                .filter(|at| {
                    !new.nodes
                        .ancestors(*at)
                        .take_while(|at| new.owner(*at) == Some(pair.is))
                        // Testing beforehand replaces the `try`.
                        .any(|at| {
                            let kind = new.nodes.kind(at);
                            kind == "try_statement" || (is_if(kind) && pair.is_added(at))
                        })
                })
                .map(|at| new.normalized_text(at))
                .collect();
            let stays = body.iter().filter(|statement| bare.contains(&old.normalized_text(**statement))).count();
            // A handler that rethrows every failure only cleaned up, and one that returns an empty value hid it.
            let clauses = old.nodes.children(node);
            let mut clauses = clauses.filter(|at| matches!(old.nodes.kind(*at), "catch_clause" | "except_clause"));
            let passes_on = clauses.all(|clause| {
                let body = old.nodes.child(clause, "body").or_else(|| old.nodes.children(clause).last());
                let last = body.and_then(|body| old.statements(body).last().copied());
                last.is_some_and(|last| {
                    matches!(old.nodes.kind(last), "throw_statement" | "raise_statement")
                        || matches!(
                            old.normalized_text(last).as_str(),
                            "return null ;" | "return null" | "return None" | "return undefined ;"
                        )
                })
            });
            if !catches
                || passes_on
                || body.is_empty()
                || stays != body.len()
                || pair.fresh.iter().any(|line| line.contains("catch") || line.contains("try"))
            {
                return None;
            }
            pair.build_loss(
                GuardRule::ErrorHandling,
                node,
                "What failed in here was caught; the same statements now run without.".to_owned(),
            )
        }
        _ => None,
    }
}

/// Checks whether a Go statement assigns another value to an error that was set before, so that the following test applies to the new
/// one.
fn reassigns_error(code: &GuardCode<'_>, node: usize, error: &str) -> bool {
    let sets = match code.nodes.kind(node) {
        "if_statement" | "expression_switch_statement" => code.nodes.child(node, "initializer"),
        "short_var_declaration" | "assignment_statement" => Some(node),
        _ => None,
    };
    let left = sets.and_then(|at| code.nodes.child(at, "left"));
    left.is_some_and(|left| code.normalized_text(left).split(' ').any(|word| word == error))
}

/// A failure with a branch of its own, inside an error branch that still exists.
pub(super) fn removed_failure_case(pair: &FunctionPair<'_>, node: usize) -> Option<GuardLoss> {
    let (old, new) = (pair.old, pair.new);
    let guard =
        if old.nodes.kind(node) == "expression_statement" && is_if(old.nodes.kind(node + 1)) { node + 1 } else { node };
    if !is_if(old.nodes.kind(guard)) {
        return None;
    }
    let asked: Vec<String> = {
        let condition = old.nodes.child(guard, "condition")?;
        let names = old.nodes.subtree(condition).chain([condition]).filter(|at| old.nodes.kind(*at) == "identifier");
        names.map(|at| old.nodes.text(at).to_owned()).collect()
    };
    let branch = old.nodes.child(guard, "consequence")?;
    let all = exits::error_branches(old, pair.base_function());
    let (header, entered, body) = all.iter().rfind(|(_, at, _)| old.nodes.subtree(*at).contains(&node))?;
    let caught = header
        .split([' ', '(', ')', ':'])
        .filter(|word| is_error(word))
        .any(|word| asked.iter().any(|name| name == word));
    let leaves = old.statements(branch).last().is_some_and(|last| old.exits_block(*last));
    let after = old.following(node);
    let stays = after.iter().filter(|statement| pair.is_kept(**statement)).count();
    if !caught
        || !leaves
        || after.is_empty()
        || stays != after.len()
        || *entered == guard
        || !old.statements(*body).contains(&node)
    {
        return None;
    }
    let there = exits::error_branches(new, pair.head_function()).into_iter().find(|(other, _, body)| {
        other == header
            && new
                .statements(*body)
                .iter()
                .any(|statement| after.iter().any(|left| old.normalized_text(*left) == new.normalized_text(*statement)))
    })?;
    // Another way of distinguishing them is equivalent.
    let tells = new.nodes.subtree(there.2).any(|at| pair.is_added(at) && is_if(new.nodes.kind(at)));
    if tells || pair.fresh.iter().any(|line| asked.iter().any(|name| name.len() > 1 && line.contains(name.as_str()))) {
        return None;
    }
    let said = quote_condition(&old.normalized_text(old.nodes.child(guard, "condition")?));
    pair.build_loss(
        GuardRule::ErrorHandling,
        node,
        format!("A failure with `{said}` had a way of its own here and is now treated as all others."),
    )
}
