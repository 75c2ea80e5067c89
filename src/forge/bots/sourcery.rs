//! Sourcery: a remark begins with what sort it is, `**issue (bug_risk):**`.

use super::Bot;
use crate::domain::forge::RemarkSeverity::{Critical, Issue, Major, Minor, Nitpick};
use crate::domain::forge::Source;

/// Some remarks on security have a light before the word. Nitpicks are read here and are not in `pr-review-mcp`.
pub(super) const BOT: Bot = Bot {
    logins: &["sourcery-ai*"],
    marks: &[
        (r"\*\*(?:🚨 ?)?issue \(security\):\*\*", Critical),
        (r"\*\*(?:🚨 ?)?issue \(bug_risk\):\*\*", Major),
        (r"\*\*(?:🚨 ?)?issue(?: \([a-z0-9_ -]{1,40}\))?:\*\*", Issue),
        (r"\*\*(?:🚨 ?)?suggestion(?: \([a-z0-9_ -]{1,40}\))?:\*\*", Minor),
        (r"\*\*nitpick(?: \([a-z0-9_ -]{1,40}\))?:\*\*", Nitpick),
    ],
    ..Bot::new(Source::Sourcery)
};
