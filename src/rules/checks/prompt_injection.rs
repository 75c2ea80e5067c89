//! Prompt injections aimed at reviewers: no program should follow such text, and people want to know of it.

use super::super::target::{RuleMatch, RuleTarget};
use super::{CheckInfo, MOST_MATCHES};
use crate::domain::finding::{Category, Severity};
use crate::domain::place::LineRange;
use crate::domain::text::find_prompt_injection;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "general/steers-reviewer",
    title: "Prompt injection aimed at AI reviewers",
    message: "It reads like an instruction to whoever reviews this change, a program above all, and has no effect on what the code does. This \
              review did not follow it. Remove it, or say why it is there; look at the rest of the change with care.",
    severity: Severity::Medium,
    category: Category::Security,
    cwe: Some("CWE-1427"),
};

/// Finds the lines of a text that steer whoever reviews it.
pub(super) fn find(subject: &RuleTarget<'_>) -> Vec<RuleMatch> {
    let mut hits: Vec<RuleMatch> = Vec::new();
    // These ask people not to report something.
    let path = subject.path.as_bytes().to_ascii_uppercase();
    if memchr::memmem::find(&path, b"ISSUE_TEMPLATE").is_some() {
        return hits;
    }
    let mut last = 0;
    for found in find_prompt_injection(subject.text.text()) {
        let line = subject.text.line_at(found.start);
        if line != last {
            hits.push(RuleMatch::from_lines(subject.text, LineRange::line(line)));
        }
        last = line;
        if hits.len() > MOST_MATCHES {
            break;
        }
    }
    hits
}
