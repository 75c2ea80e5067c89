//! GitHub Copilot: nothing in its texts tells severity, so it is guessed from their words.

use super::Bot;
use crate::domain::forge::{RemarkSeverity, Source};

/// Its account has another name where comments are asked for one by one.
pub(super) const BOT: Bot = Bot {
    logins: &["copilot-pull-request-reviewer", "github-copilot", "copilot"],
    by_words: Some(by_words),
    is_all_prompt: true,
    has_sure_suggestions: true,
    ..Bot::new(Source::Copilot)
};

const WORDS: &[(RemarkSeverity, &[&str])] = &[
    (RemarkSeverity::Critical, &["security", "vulnerability", "critical", "dangerous"]),
    (RemarkSeverity::Major, &["bug", "error", "incorrect", "wrong", "broken", "unused"]),
    (RemarkSeverity::Minor, &["consider", "should", "could", "suggestion", "redundant", "simplif"]),
];

fn by_words(shown: &str) -> RemarkSeverity {
    // To debug is no bug.
    let shown = shown.to_lowercase().replace("debug", "");
    let told = WORDS.iter().find(|(_, words)| words.iter().any(|word| shown.contains(word)));
    told.map_or(RemarkSeverity::Unknown, |(severity, _)| *severity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_word_tells() {
        for (text, severity) in [
            ("You should fix this error: it is Dangerous", "CRIT"),
            ("You could say that it is WRONG", "MAJOR"),
            ("This can be simplified", "MINOR"),
            ("The debugger is started twice", "N/A"),
            ("", "N/A"),
        ] {
            assert_eq!(by_words(text).word(), severity, "{text}");
        }
    }
}
