//! `CodeRabbit`: severity and sort stand before the title of a remark; nitpicks and remarks outside the diff stand in the text of a review.

use super::Bot;
use crate::domain::forge::RemarkSeverity::{Critical, Docs, Issue, Major, Minor, Nitpick, Refactor, Trivial};
use crate::domain::forge::Source;

/// Sorts stand beside severities, so they count only where no severity stands.
pub(super) const BOT: Bot = Bot {
    logins: &["coderabbitai", "coderabbit"],
    marks: &[
        (r"🔴\s*Critical", Critical),
        (r"🟠\s*Major", Major),
        (r"🟡\s*Minor", Minor),
        (r"🔵\s*Trivial", Trivial),
        (r"⚠\x{fe0f}?\s*(?:Potential\s+)?issue", Issue),
        (r"🛠\x{fe0f}?\s*Refactor", Refactor),
        (r"🧹\s*Nitpick", Nitpick),
        (r"📝\s*Documentation", Docs),
    ],
    traces: &["🤖 prompt for ai agents", "🧩 analysis chain"],
    names: &["coderabbit"],
    ..Bot::new(Source::CodeRabbit)
};
