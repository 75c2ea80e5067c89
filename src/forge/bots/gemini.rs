//! Gemini Code Assist: severity is the name of a picture.

use super::{Bot, Title};
use crate::domain::forge::RemarkSeverity::{Critical, Major, Minor, Trivial};
use crate::domain::forge::Source;

/// Its pictures are called after the level, some with `security-` before it and `-priority` in the file's name.
pub(super) const BOT: Bot = Bot {
    logins: &["gemini-code-assist"],
    marks: &[
        (
            r"!\[(?:security-)?critical\]\(https://www\.gstatic\.com/codereviewagent/[a-z-]*critical[a-z-]*\.svg\)",
            Critical,
        ),
        (r"!\[(?:security-)?high\]\(https://www\.gstatic\.com/codereviewagent/[a-z-]*high[a-z-]*\.svg\)", Major),
        (r"!\[(?:security-)?medium\]\(https://www\.gstatic\.com/codereviewagent/[a-z-]*medium[a-z-]*\.svg\)", Minor),
        (r"!\[(?:security-)?low\]\(https://www\.gstatic\.com/codereviewagent/[a-z-]*low[a-z-]*\.svg\)", Trivial),
    ],
    traces: &["gstatic.com/codereviewagent/"],
    names: &["gemini-code-assist"],
    title: Title::Sentence,
    is_all_prompt: true,
    ..Bot::new(Source::Gemini)
};
