//! Codex: severity is a badge, `P0` to `P3`.

use super::Bot;
use crate::domain::forge::RemarkSeverity::{Critical, Major, Minor, Trivial};
use crate::domain::forge::Source;

/// `P3` is read here and is not in `pr-review-mcp`.
pub(super) const BOT: Bot = Bot {
    logins: &["chatgpt-codex-connector"],
    marks: &[
        (r"!\[P0 Badge\]\(https://img\.shields\.io/badge/P0\b", Critical),
        (r"!\[P1 Badge\]\(https://img\.shields\.io/badge/P1\b", Major),
        (r"!\[P2 Badge\]\(https://img\.shields\.io/badge/P2\b", Minor),
        (r"!\[P3 Badge\]\(https://img\.shields\.io/badge/P3\b", Trivial),
    ],
    traces: &[
        "img.shields.io/badge/p0-",
        "img.shields.io/badge/p1-",
        "img.shields.io/badge/p2-",
        "img.shields.io/badge/p3-",
        "useful? react with",
    ],
    is_all_prompt: true,
    ..Bot::new(Source::Codex)
};
