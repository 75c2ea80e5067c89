//! Attributes that asked for permissions and are gone while what they stood on stays. Main function: [`attributes`].

use std::sync::LazyLock;

use regex::Regex;

use super::super::super::target::ChangedLineIndex;
use super::pair::{ChangedText, LostCheck, squeeze};
use crate::domain::place::LineRange;
use crate::domain::text::FileText;

/// The attributes that are sought, by the extension of the file, and what is lost with them.
const SOUGHT: &[(&[&str], &str, &str)] = &[
    (
        &["py"],
        r"^\s*@(?:[\w.]+\.)?(?:login_required|permission_required|permissions_required|user_passes_test|staff_member_required|superuser_required|admin_required|requires_auth|auth_required|jwt_required|token_required|roles_required|roles_accepted|authenticated|requires_permission)\b",
        "The decorator turned away whoever is not allowed to.",
    ),
    (
        &["java", "kt"],
        r"^\s*@(?:PreAuthorize|PostAuthorize|RolesAllowed|Secured|RequiresPermissions|RequiresRoles|RequiresAuthentication|DenyAll)\b",
        "The annotation turned away whoever is not allowed to.",
    ),
    (
        &["ts", "js"],
        r"^\s*@(?:UseGuards|Roles|Authorized|RequirePermissions?|Auth)\(",
        "The decorator turned away whoever is not allowed to.",
    ),
    (
        &["py"],
        r"^\s*permission_classes\s*=\s*[(\[]\s*\w",
        "The view asked for permissions here; now those of the project's settings hold.",
    ),
    (
        &["py"],
        r"^\s*@(?:csrf_protect|sensitive_post_parameters|sensitive_variables)\b",
        "The decorator guarded this view.",
    ),
];

static PATTERNS: LazyLock<Vec<Option<Regex>>> =
    LazyLock::new(|| SOUGHT.iter().map(|(_, pattern, ..)| Regex::new(pattern).ok()).collect());

/// The attributes that a file lost.
pub(super) fn attributes(
    extension: &str,
    old: &FileText,
    new: &FileText,
    removed: &ChangedLineIndex,
    around: &ChangedText,
) -> Vec<LostCheck> {
    let mut lost = Vec::new();
    let may_be = |line: &str| line.contains('@') || line.contains("permission_classes");
    // Before any pattern is compiled: hardly any change removes one.
    if !old.all_lines().any(|(number, line)| removed.covers(number) && may_be(line)) {
        return lost;
    }
    for (at, (extensions, _, detail)) in SOUGHT.iter().enumerate() {
        let Some(pattern) = PATTERNS.get(at).and_then(Option::as_ref).filter(|_| extensions.contains(&extension))
        else {
            continue;
        };
        for (number, line) in old.all_lines().filter(|(number, line)| removed.covers(*number) && pattern.is_match(line))
        {
            let last = |line: &str| pattern.is_match(line);
            if lost_its_attribute(old, new, number, line, &last) && !around.adds(line) {
                lost.push(LostCheck { lines: LineRange::line(number), detail: (*detail).to_owned() });
            }
        }
    }
    lost
}

/// Checks whether what the attribute stood on stands in the new text, in the same place, without one.
fn lost_its_attribute(old: &FileText, new: &FileText, number: u32, line: &str, is_one: &dyn Fn(&str) -> bool) -> bool {
    let is_mark = |line: &str| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with(['@', '#', '/', '*', ')'])
    };
    let next = (number + 1..number + 12).find_map(|at| old.line(at).filter(|line| !is_mark(line)));
    let indent = |line: &str| line.len() - line.trim_start().len();
    let Some(next) = next.filter(|next| indent(next) == indent(line)) else { return false };
    // A line like others says nothing about which one it is.
    let target = squeeze(next);
    let lines: Vec<(u32, &str)> = new.all_lines().filter(|(_, line)| squeeze(line) == target).collect();
    let &[(at, _)] = lines.as_slice() else { return false };
    if target.len() < 8 || old.all_lines().filter(|(_, line)| squeeze(line) == target).count() != 1 {
        return false;
    }
    let above = (1..at)
        .rev()
        .take(12)
        .filter_map(|at| new.line(at))
        .take_while(|line| is_mark(line) && !line.trim().is_empty());
    !above.into_iter().any(is_one)
}
