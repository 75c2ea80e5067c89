//! Removed exits of error branches.

use super::super::code::{Code, is_if};
use super::super::conditions::{Asks, questions};
use super::super::pair::{Lost, Pair, Rule};
use super::super::unguarded::is_error;

/// Returns the statements of the error branches of `code` inside `function`, with the condition that enters them.
pub(super) fn error_branches(code: &Code<'_>, function: usize) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for node in code.nodes.inside(function) {
        match code.nodes.kind(node) {
            kind if is_if(kind) => {
                let (Some(condition), Some(branch)) =
                    (code.nodes.child(node, "condition"), code.nodes.child(node, "consequence"))
                else {
                    continue;
                };
                if code.nodes.child(node, "alternative").is_none() && fails(code, node) {
                    found.push((code.say(code.bare(condition)), node, branch));
                }
            }
            "catch_clause" | "except_clause" => {
                let body = code.nodes.child(node, "body").or_else(|| code.nodes.children(node).last());
                let Some(body) = body else { continue };
                let header: String = code.say(node).chars().take_while(|letter| !matches!(letter, '{' | ':')).collect();
                found.push((header, node, body));
            }
            _ => {}
        }
    }
    found
}

/// Checks whether an `if` is entered on failure.
pub(super) fn fails(code: &Code<'_>, node: usize) -> bool {
    let asked = questions(code, node..node + 1);
    asked.iter().any(|question| {
        let said = code.say(question.node);
        let failed = is_error(&question.about) && question.asks == Asks::Null && !said.ends_with("== nil");
        let nothing = question.asks == Asks::Null
            && (said.ends_with("== nil")
                || said.ends_with("== null")
                || said.ends_with("== NULL")
                || said.ends_with("is None")
                || said.ends_with("=== undefined"));
        failed || (nothing && !is_error(&question.about) && asked.len() == 1)
    })
}

/// A removed `return`, `throw` or `continue` of an error branch, which now falls through to code that needs what failed.
pub(super) fn way_out(pair: &Pair<'_>, node: usize) -> Option<Lost> {
    let (old, new) = (pair.old, pair.new);
    if !old.leaves(node) || !old.following(node).is_empty() {
        return None;
    }
    let all = error_branches(old, pair.then());
    let (header, entered, branch) = all.iter().find(|(_, _, branch)| old.statements(*branch).last() == Some(&node))?;
    let number = all.iter().filter(|(other, at, _)| other == header && at < entered).count();
    let now: Vec<_> = error_branches(new, pair.now()).into_iter().filter(|(other, ..)| other == header).collect();
    if now.len() != all.iter().filter(|(other, ..)| other == header).count() {
        return None;
    }
    let (_, entered_now, branch_now) = now.get(number)?;
    let (was, is) = (old.statements(*branch), new.statements(*branch_now));
    let kept: Vec<String> = was.iter().filter(|other| **other != node).map(|other| old.say(*other)).collect();
    let stands: Vec<String> = is.iter().map(|other| new.say(*other)).collect();
    let is_catch = !is_if(new.nodes.kind(*entered_now));
    // A failure handled in another way is not a loss.
    if stands.len() != kept.len() || stands.iter().any(|said| !kept.contains(said)) || (is.is_empty() && !is_catch) {
        return None;
    }
    if new.nodes.inside(*branch_now).any(|inner| new.is_statement(inner) && new.leaves(inner)) {
        return None;
    }
    let outer = if is_catch { new.nodes.parent(*entered_now)? } else { *entered_now };
    let goes_on = std::iter::once(outer)
        .chain(new.nodes.around(outer))
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
    pair.lost(Rule::ErrorPath, node, detail)
}

/// `Thread.currentThread().interrupt()` removed from a `catch` that remains.
pub(super) fn interrupt(pair: &Pair<'_>, node: usize, said: &str) -> Option<Lost> {
    if said != "Thread . currentThread ( ) . interrupt ( )" {
        return None;
    }
    let handler = pair.old.nodes.around(node).find(|at| pair.old.nodes.kind(*at) == "catch_clause")?;
    let caught = pair.old.say(handler);
    if !caught.split('{').next()?.contains("InterruptedException") {
        return None;
    }
    let is_caught = pair.new.nodes.inside(pair.now()).any(|at| {
        pair.new.nodes.kind(at) == "catch_clause"
            && pair.new.say(at).split('{').next().is_some_and(|header| header.contains("InterruptedException"))
            && !pair.new.say(at).contains("interrupt ( )")
    });
    let detail = "The thread was marked as interrupted again here; now nobody above learns that it should stop.";
    is_caught.then(|| pair.lost(Rule::ErrorPath, node, detail.to_owned())).flatten()
}
