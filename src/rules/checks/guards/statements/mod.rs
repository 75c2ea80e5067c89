//! Removed statements whose context remains: exits of error branches, releases, authorization checks. Main function:
//! [`find_removed_statements`].

use std::sync::LazyLock;

use regex::Regex;

use super::code::{GuardCode, is_call, is_if};
use super::pair::{FunctionPair, GuardLoss, GuardRule};

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
    };
}

pattern!(
    DENIES,
    r"(?i)forbidden|unauthori[sz]ed|permission_?denied|access_?denied|not_?allowed|not_?authori[sz]ed|\b40[13]\b|no_?access|invalid_?token|login_?required"
);
pattern!(
    AUTHORISES,
    r"(?i)\b\w*(?:authori[sz]\w*|authenticat\w*|permi(?:ssion|tted)\w*|isAdmin|is_admin|is_staff|is_superuser|is_owner|isOwner|has_?role|has_perm\w*|hasAccess|canAccess|can_\w+|checkAccess|csrf\w*|hmac\.\w+|signature\w*|logged_?in|currentUser|req \. user|request \. user)\b"
);

mod exits;
mod failures;
mod held;

/// Finds removed statements other than checks of used values.
pub(super) fn find_removed_statements(pair: &FunctionPair<'_>) -> Vec<GuardLoss> {
    let mut lost = Vec::new();
    let then = pair.base_function();
    for node in pair.old.nodes.subtree(then) {
        if !pair.is_removed(node) || !pair.old.is_statement(node) || pair.old.owner(node) != Some(pair.was) {
            continue;
        }
        let said = pair.old.normalized_text(node);
        if said.is_empty() || !pair.is_rarer(&said) {
            continue;
        }
        let found = exits::removed_error_exit(pair, node)
            .or_else(|| exits::removed_interrupt(pair, node, &said))
            .or_else(|| held::release(pair, node))
            .or_else(|| authorisation(pair, node))
            .or_else(|| failures::added_unwrap(pair, node))
            .or_else(|| failures::removed_handler(pair, node))
            .or_else(|| failures::removed_failure_case(pair, node));
        lost.extend(found);
    }
    lost
}

/// Returns the call that a statement consists of, possibly deferred or awaited.
fn call_of(code: &GuardCode<'_>, statement: usize) -> Option<usize> {
    let mut at = statement;
    for _ in 0..4 {
        if is_call(code.nodes.kind(at)) {
            return Some(at);
        }
        at = match code.nodes.kind(at) {
            "expression_statement" | "defer_statement" | "await_expression" | "await" => code
                .nodes
                .children(at)
                .find(|child| !matches!(code.nodes.kind(*child), "await" | "defer") || !code.nodes.is_token(*child))?,
            _ => return None,
        };
    }
    None
}

/// Returns the name of the called function, and its object.
fn done_to(code: &GuardCode<'_>, statement: usize) -> Option<(String, String)> {
    let call = code.call(call_of(code, statement)?)?;
    let about = match (call.receiver, call.arguments.as_slice()) {
        (_, [first, ..])
            if matches!(code.nodes.text(call.name), "clearTimeout" | "clearInterval" | "cancelAnimationFrame") =>
        {
            *first
        }
        (Some(receiver), _) => receiver,
        (None, [first, ..]) => *first,
        (None, []) => call.name,
    };
    let about = code.normalized_text(about);
    Some((code.nodes.text(call.name).to_owned(), about.trim_start_matches("& ").to_owned()))
}

fn is(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Checks whether any statement of the function calls something on `about` that `pattern` matches.
fn still_does(code: &GuardCode<'_>, function: usize, pattern: &LazyLock<Option<Regex>>, about: &str) -> bool {
    code.nodes.subtree(function).filter(|node| is_call(code.nodes.kind(*node))).any(|node| {
        code.call(node).is_some_and(|call| {
            is(pattern, code.nodes.text(call.name))
                && (call.receiver.is_some_and(|receiver| code.normalized_text(receiver) == about)
                    || call
                        .arguments
                        .first()
                        .is_some_and(|first| code.normalized_text(*first).trim_start_matches("& ") == about))
        })
    })
}

fn last_word(said: &str) -> &str {
    let mut words = said.rsplit(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    words.find(|word| !word.is_empty()).unwrap_or_default()
}

/// Unauthorized callers were rejected here.
fn authorisation(pair: &FunctionPair<'_>, node: usize) -> Option<GuardLoss> {
    let (old, new) = (pair.old, pair.new);
    let after = old.following(node);
    let stays = after.iter().filter(|statement| pair.is_kept(**statement)).count();
    if after.is_empty() || stays * 2 < after.len() {
        return None;
    }
    let guard =
        if old.nodes.kind(node) == "expression_statement" && is_if(old.nodes.kind(node + 1)) { node + 1 } else { node };
    let said = old.normalized_text(node);
    let asked = if is_if(old.nodes.kind(guard)) {
        let condition = old.normalized_text(old.nodes.child(guard, "condition")?);
        let branch = old.nodes.child(guard, "consequence")?;
        let leaves = old.statements(branch).last().is_some_and(|last| old.exits_block(*last));
        if !leaves
            || !is(&AUTHORISES, &condition)
            || !(is(&DENIES, &old.normalized_text(branch)) || is(&DENIES, &condition))
        {
            return None;
        }
        condition
    } else {
        let (called, _) = done_to(old, node)?;
        let asks = Regex::new(r"(?i)^(?:require|check|assert|verify|ensure|enforce|validate|authori[sz]e)_?\w*(?:auth\w*|access|permission\w*|role\w*|admin|csrf\w*|owner\w*|signature)\w*$|^(?:authori[sz]e\w*|isAuthori[sz]ed\w*)$").ok()?;
        if !asks.is_match(&called) {
            return None;
        }
        said
    };
    let still = new.count_statements(pair.head_function());
    let fresh = pair.fresh.iter().any(|line| is(&AUTHORISES, line) || is(&DENIES, line));
    if fresh || still.keys().any(|other| *other == asked) || pair.around.adds(&asked) {
        return None;
    }
    pair.build_loss(
        GuardRule::Authorisation,
        node,
        "Whoever is not allowed to was turned away here; the code after it is unchanged.".to_owned(),
    )
}
