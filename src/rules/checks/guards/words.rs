//! Titles and messages of the rules of this folder. Main table: [`GUARDS`].

use super::super::CheckInfo;
use super::GuardRuleInfo;
use super::pair::GuardRule;
use crate::domain::finding::{Category, Severity};

const fn guard(
    rule: GuardRule,
    (name, title): (&'static str, &'static str),
    message: &'static str,
    (severity, category, cwe): (Severity, Category, Option<&'static str>),
) -> GuardRuleInfo {
    GuardRuleInfo { rule, info: CheckInfo { name, title, message, severity, category, cwe } }
}

/// Every rule about removed guards.
pub(in crate::rules) static GUARDS: [GuardRuleInfo; 6] = [
    guard(
        GuardRule::NullCheck,
        ("general/null-check-removed", "Null check removed, but the value is still used"),
        "Where the value is missing, the code now fails instead of taking the other way. Keep the check, or say in the commit why the value \
         cannot be missing any more.",
        (Severity::Medium, Category::Logic, Some("CWE-476")),
    ),
    guard(
        GuardRule::SizeCheck,
        ("general/bounds-check-removed", "Bounds check removed, but the guarded code remains"),
        "Where there is nothing to take, the code now fails or reads what is not its own. Keep the check, or say in the commit why it cannot \
         be empty any more.",
        (Severity::Medium, Category::Logic, Some("CWE-129")),
    ),
    guard(
        GuardRule::Authorisation,
        ("general/authorisation-removed", "Authorization check removed, but the guarded code remains"),
        "Unless something before it turns them away, whoever reaches this code can now do what it does. Bring the check back, or name in the \
         commit what asks instead.",
        (Severity::High, Category::AccessControl, Some("CWE-862")),
    ),
    guard(
        GuardRule::Release,
        ("general/release-removed", "Resource leak: release removed"),
        "Every run now keeps one more of them, until the system has no more to give. Let it go again, on the ways that fail as well.",
        (Severity::Medium, Category::Logic, Some("CWE-772")),
    ),
    guard(
        GuardRule::ErrorPath,
        ("general/error-path-goes-on", "Error branch no longer exits"),
        "After the failure the code goes on with what is not there or not right. Leave the branch again, or give what follows something it \
         can work with.",
        (Severity::Medium, Category::Logic, Some("CWE-755")),
    ),
    guard(
        GuardRule::ErrorHandling,
        ("general/error-handling-removed", "Error handling removed, but the failing code remains"),
        "When it fails, the failure now goes unnoticed or ends what runs around it. Handle it again, or say in the commit who does.",
        (Severity::Medium, Category::Logic, Some("CWE-755")),
    ),
];
