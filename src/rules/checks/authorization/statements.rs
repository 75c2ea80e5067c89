//! Removed statements that asked for permissions, and whose context remains. Main function: [`find_removed_checks`].

use super::code::{FunctionCode, is_call, is_if};
use super::pair::{FunctionPair, LostCheck};
use crate::domain::text::LazyPattern;

// Names are searched in ASCII: a Unicode class that is repeated so often takes milliseconds to compile.
static DENIES: LazyPattern = LazyPattern::new(
    r"(?i-u)forbidden|unauthori[sz]ed|permission_?denied|access_?denied|not_?allowed|not_?authori[sz]ed|\b40[13]\b|no_?access|invalid_?token|login_?required",
);
static AUTHORISES: LazyPattern = LazyPattern::new(
    r"(?i-u)\b\w*(?:authori[sz]\w*|authenticat\w*|permi(?:ssion|tted)\w*|isAdmin|is_admin|is_staff|is_superuser|is_owner|isOwner|has_?role|has_perm\w*|hasAccess|canAccess|can_\w+|checkAccess|csrf\w*|hmac\.\w+|signature\w*|logged_?in|currentUser|req \. user|request \. user)\b",
);

/// Words of which code that asks for the user of a request, or compares a digest, has all, however it is written.
static PARTS: LazyPattern = LazyPattern::new(r"(?i-u:\breq(?:uest)?\b)(?s:.*)(?i-u:\buser\b)|(?i-u:\bhmac\b)");
/// Names of functions that turn callers away by themselves; in lines they are searched, and a called name must be one from end to end.
static ASKS: LazyPattern = LazyPattern::new(
    r"(?i-u)\b(?:(?:require|check|assert|verify|ensure|enforce|validate|authori[sz]e)_?\w*(?:auth\w*|access|permission\w*|role\w*|admin|csrf\w*|owner\w*|signature)\w*|authori[sz]e\w*|isAuthori[sz]ed\w*)\b",
);

/// Checks whether lines may begin a statement that turns callers away. What [`find_removed_checks`] finds there is normalized: `?.` is a dot, and
/// comments are gone.
pub(super) fn may_deny(lines: &str) -> bool {
    ASKS.is_in(lines) || AUTHORISES.is_in(lines) || PARTS.is_in(lines)
}

/// Finds the removed statements that turned callers away.
pub(super) fn find_removed_checks(pair: &FunctionPair<'_>) -> Vec<LostCheck> {
    let then = pair.base_function();
    let lost = pair.old.nodes.subtree(then).filter_map(|node| {
        if !pair.is_removed(node) || !pair.old.is_statement(node) || pair.old.owner(node) != Some(pair.was) {
            return None;
        }
        let said = pair.old.normalized_text(node);
        (!said.is_empty() && pair.is_rarer(&said)).then(|| authorisation(pair, node)).flatten()
    });
    lost.collect()
}

/// Returns the call that a statement consists of, possibly deferred or awaited.
fn call_of(code: &FunctionCode<'_>, statement: usize) -> Option<usize> {
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

/// Unauthorized callers were rejected here.
fn authorisation(pair: &FunctionPair<'_>, node: usize) -> Option<LostCheck> {
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
            || !AUTHORISES.is_in(&condition)
            || !(DENIES.is_in(&old.normalized_text(branch)) || DENIES.is_in(&condition))
        {
            return None;
        }
        condition
    } else {
        let called = old.nodes.text(old.called_name(call_of(old, node)?)?);
        if ASKS.regex()?.find(called)?.as_str() != called {
            return None;
        }
        said
    };
    let still = new.count_statements(pair.head_function());
    let fresh = pair.fresh.iter().any(|line| AUTHORISES.is_in(line) || DENIES.is_in(line));
    if fresh || still.keys().any(|other| *other == asked) || pair.around.adds(&asked) {
        return None;
    }
    pair.build_loss(node, "Whoever is not allowed to was turned away here; the code after it is unchanged.".to_owned())
}
