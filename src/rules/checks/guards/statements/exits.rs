//! Removed exits of error branches.

use super::super::code::{GuardCode, is_if};
use super::super::conditions::{GuardTest, find_conditions};
use super::super::pair::{FunctionPair, GuardLoss, GuardRule};
use super::super::removed_conditions::is_error;

/// Returns the statements of the error branches of `code` inside `function`, with the condition that enters them.
pub(super) fn error_branches(code: &GuardCode<'_>, function: usize) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for node in code.nodes.subtree(function) {
        match code.nodes.kind(node) {
            kind if is_if(kind) => {
                let (Some(condition), Some(branch)) =
                    (code.nodes.child(node, "condition"), code.nodes.child(node, "consequence"))
                else {
                    continue;
                };
                if code.nodes.child(node, "alternative").is_none() && is_failure_exit(code, node) {
                    found.push((code.normalized_text(code.strip_parentheses(condition)), node, branch));
                }
            }
            "catch_clause" | "except_clause" => {
                let body = code.nodes.child(node, "body").or_else(|| code.nodes.children(node).last());
                let Some(body) = body else { continue };
                let header: String =
                    code.normalized_text(node).chars().take_while(|letter| !matches!(letter, '{' | ':')).collect();
                found.push((header, node, body));
            }
            _ => {}
        }
    }
    found
}

/// Checks whether an `if` is entered on failure.
pub(super) fn is_failure_exit(code: &GuardCode<'_>, node: usize) -> bool {
    let asked = find_conditions(code, node..node + 1);
    asked.iter().any(|question| {
        let said = code.normalized_text(question.node);
        let failed = is_error(&question.about) && question.asks == GuardTest::Null && !said.ends_with("== nil");
        let nothing = question.asks == GuardTest::Null
            && (said.ends_with("== nil")
                || said.ends_with("== null")
                || said.ends_with("== NULL")
                || said.ends_with("is None")
                || said.ends_with("=== undefined"));
        failed || (nothing && !is_error(&question.about) && asked.len() == 1)
    })
}

/// A removed `return`, `throw` or `continue` of an error branch, which now falls through to code that needs what failed.
pub(super) fn removed_error_exit(pair: &FunctionPair<'_>, node: usize) -> Option<GuardLoss> {
    let (old, new) = (pair.old, pair.new);
    if !old.exits_block(node) || !old.following(node).is_empty() {
        return None;
    }
    let all = error_branches(old, pair.base_function());
    let (header, entered, branch) = all.iter().find(|(_, _, branch)| old.statements(*branch).last() == Some(&node))?;
    let number = all.iter().filter(|(other, at, _)| other == header && at < entered).count();
    let now: Vec<_> =
        error_branches(new, pair.head_function()).into_iter().filter(|(other, ..)| other == header).collect();
    if now.len() != all.iter().filter(|(other, ..)| other == header).count() {
        return None;
    }
    let (_, entered_now, branch_now) = now.get(number)?;
    let (was, is) = (old.statements(*branch), new.statements(*branch_now));
    let kept: Vec<String> =
        was.iter().filter(|other| **other != node).map(|other| old.normalized_text(*other)).collect();
    let stands: Vec<String> = is.iter().map(|other| new.normalized_text(*other)).collect();
    let is_catch = !is_if(new.nodes.kind(*entered_now));
    // A failure handled in another way is not a loss.
    if stands.len() != kept.len() || stands.iter().any(|said| !kept.contains(said)) || (is.is_empty() && !is_catch) {
        return None;
    }
    if new.nodes.subtree(*branch_now).any(|inner| new.is_statement(inner) && new.exits_block(inner)) {
        return None;
    }
    let outer = if is_catch { new.nodes.parent(*entered_now)? } else { *entered_now };
    let goes_on = std::iter::once(outer)
        .chain(new.nodes.ancestors(outer))
        .take_while(|at| new.owner(*at) == Some(pair.is))
        .any(|at| new.is_statement(at) && !new.following(at).is_empty());
    let throws = matches!(old.nodes.kind(node), "throw_statement" | "raise_statement");
    if !goes_on && !throws {
        return None;
    }
    let detail = if throws {
        "The error was passed on here; now it ends here and the caller is told nothing.".to_owned()
    } else {
        "This branch left here when something had failed; now what comes after it runs all the same.".to_owned()
    };
    pair.build_loss(GuardRule::ErrorPath, node, detail)
}

/// `Thread.currentThread().interrupt()` removed from a `catch` that remains.
pub(super) fn removed_interrupt(pair: &FunctionPair<'_>, node: usize, said: &str) -> Option<GuardLoss> {
    if said != "Thread . currentThread ( ) . interrupt ( )" {
        return None;
    }
    let handler = pair.old.nodes.ancestors(node).find(|at| pair.old.nodes.kind(*at) == "catch_clause")?;
    let caught = pair.old.normalized_text(handler);
    if !caught.split('{').next()?.contains("InterruptedException") {
        return None;
    }
    let is_caught = pair.new.nodes.subtree(pair.head_function()).any(|at| {
        pair.new.nodes.kind(at) == "catch_clause"
            && pair
                .new
                .normalized_text(at)
                .split('{')
                .next()
                .is_some_and(|header| header.contains("InterruptedException"))
            && !pair.new.normalized_text(at).contains("interrupt ( )")
    });
    let detail = "The thread was marked as interrupted again here; now nobody above learns that it should stop.";
    is_caught.then(|| pair.build_loss(GuardRule::ErrorPath, node, detail.to_owned())).flatten()
}
