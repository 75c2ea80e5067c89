//! Merge conflicts that were committed unresolved.

use super::super::target::{RuleMatch, RuleTarget, is_prose, is_test_path};
use super::{CheckInfo, MOST_MATCHES};
use crate::domain::finding::{Category, Severity};
use crate::domain::place::LineRange;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "general/conflict-marker",
    title: "Unresolved merge conflict committed",
    message: "The file holds both versions and the markers between them, so it does not compile or means something nobody wrote. \
              Choose what should stand and remove the three markers.",
    severity: Severity::High,
    category: Category::Logic,
    cwe: None,
};

/// Finds the conflicts in a text.
pub(super) fn find(subject: &RuleTarget<'_>) -> Vec<RuleMatch> {
    let mut hits = Vec::new();
    // Prose shows what a conflict looks like; tests of merge tools hold them on purpose.
    if memchr::memmem::find(subject.text.text().as_bytes(), b"<<<<<<<").is_none()
        || is_prose(&subject.extension())
        || is_test_path(subject.path)
    {
        return hits;
    }
    let mut open: Option<(u32, bool)> = None;
    for (number, line) in subject.text.all_lines() {
        if is_marker(line, "<<<<<<<") {
            // Programs that edit with a model show it blocks of this form.
            open = (line != "<<<<<<< SEARCH").then_some((number, false));
        } else if line == "=======" {
            open = open.map(|(start, _)| (start, true));
        } else if is_marker(line, ">>>>>>>")
            && let Some((start, true)) = open.take()
            && let Ok(lines) = LineRange::new(start, number)
        {
            hits.push(RuleMatch::from_lines(subject.text, lines));
            if hits.len() > MOST_MATCHES {
                break;
            }
        }
    }
    hits
}

/// Seven characters and a name, as git writes them.
fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.starts_with(' ') && rest.trim().len() < 200)
}
