//! The severity and source of a remark. Main function: [`read_label`].

use std::sync::LazyLock;

use regex::{RegexSet, RegexSetBuilder};

use super::visible_text::{BlankedParts, blank_hidden};
use super::{BOTS, Bot};
use crate::domain::forge::{Actor, RemarkSeverity, Source};

/// Every mark of every bot, in the order of the table. A set finds them all in one pass, and its numbers are in that order.
static MARKS: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let patterns = BOTS.iter().flat_map(|bot| bot.marks).map(|(pattern, _)| pattern);
    RegexSetBuilder::new(patterns).case_insensitive(true).build().ok()
});

/// Reads the severity and source from a text and its author. Marks in code, in quotes and in HTML comments do not count.
pub(super) fn read_label(text: &str, author: Option<&Actor>) -> (RemarkSeverity, Source) {
    let shown = blank_hidden(text, BlankedParts { quotes: true, comments: true });
    let account = author.and_then(|author| label_by_login(&author.login));
    if let Some(Bot { by_words: Some(by_words), source, .. }) = account {
        return (by_words(&shown), *source);
    }
    if let Some((bot, severity)) = mark(&shown) {
        return (severity, bot.source);
    }
    let source = account.map(|bot| bot.source).or_else(|| by_text(text, author)).unwrap_or(Source::Unknown);
    (RemarkSeverity::Unknown, source)
}

/// Returns the source that has this login.
pub(super) fn label_by_login(login: &str) -> Option<&'static Bot> {
    let login = login.to_lowercase();
    let login = login.strip_suffix("[bot]").unwrap_or(&login);
    BOTS.iter().find(|bot| {
        bot.logins.iter().any(|one| match one.strip_suffix('*') {
            Some(start) => login.starts_with(start),
            None => login == *one,
        })
    })
}

fn mark(shown: &str) -> Option<(&'static Bot, RemarkSeverity)> {
    let first = MARKS.as_ref()?.matches(shown).iter().next()?;
    let all = BOTS.iter().flat_map(|bot| bot.marks.iter().map(move |(_, severity)| (bot, *severity)));
    all.into_iter().nth(first)
}

/// HTML comments count here: bots sign their texts in them.
fn by_text(text: &str, author: Option<&Actor>) -> Option<Source> {
    let shown = blank_hidden(text, BlankedParts { quotes: true, comments: false }).to_lowercase();
    let is_person = author.is_some_and(|author| !author.is_bot);
    let tells = |bot: &&Bot| {
        bot.traces.iter().any(|trace| shown.contains(trace))
            || (!is_person && bot.names.iter().any(|name| shown.contains(name)))
    };
    BOTS.iter().find(tells).map(|bot| bot.source)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(login: &str, is_bot: bool, text: &str) -> (&'static str, &'static str) {
        let (severity, source) = read_label(text, Some(&Actor { login: login.to_owned(), is_bot }));
        (severity.word(), source.word())
    }

    #[test]
    fn every_pattern_is_one() {
        assert!(MARKS.is_some());
        let lower = |word: &str| word == word.to_lowercase();
        assert!(BOTS.iter().all(|bot| bot.logins.iter().chain(bot.traces).chain(bot.names).all(|word| lower(word))));
    }

    #[test]
    fn the_first_mark_of_the_table_wins_wherever_it_stands() {
        assert_eq!(by("x", true, "_🔵 trivial_ | _⚠️ Potential issue_ | _🔴 CRITICAL_"), ("CRIT", "coderabbit"));
        assert_eq!(by("x", true, "_⚠ issue_"), ("ISSUE", "coderabbit"));
        assert_eq!(by("x", true, "**suggestion (testing):** a\n\n**issue (security):** b"), ("CRIT", "sourcery"));
    }

    #[test]
    fn every_row_of_the_table_tells() {
        let gemini = |level: &str| format!("![{level}](https://www.gstatic.com/codereviewagent/{level}-priority.svg)");
        let codex =
            |level: u8| format!("**<sub>![P{level} Badge](https://img.shields.io/badge/P{level}-red)</sub> T**");
        let own = |text: &str| text.to_owned();
        for (text, severity, source) in [
            (own("_🔴 Critical_"), "CRIT", "coderabbit"),
            (own("🟠  MAJOR"), "MAJOR", "coderabbit"),
            (own("🟡 minor"), "MINOR", "coderabbit"),
            (own("🔵 Trivial"), "TRIVIAL", "coderabbit"),
            (own("⚠️ Potential issue"), "ISSUE", "coderabbit"),
            (own("🛠️ Refactor suggestion"), "REFACTOR", "coderabbit"),
            (own("🧹 Nitpick (assertive)"), "NITPICK", "coderabbit"),
            (own("📝 Documentation"), "DOCS", "coderabbit"),
            (gemini("critical"), "CRIT", "gemini"),
            (gemini("high"), "MAJOR", "gemini"),
            (gemini("medium"), "MINOR", "gemini"),
            (gemini("low"), "TRIVIAL", "gemini"),
            (codex(0), "CRIT", "codex"),
            (codex(1), "MAJOR", "codex"),
            (codex(2), "MINOR", "codex"),
            (codex(3), "TRIVIAL", "codex"),
            (own("**issue (security):** x"), "CRIT", "sourcery"),
            (own("**Issue (bug_risk):** x"), "MAJOR", "sourcery"),
            (own("**issue (other):** x"), "ISSUE", "sourcery"),
            (own("**suggestion (performance):** x"), "MINOR", "sourcery"),
        ] {
            assert_eq!(by("x", true, &text), (severity, source), "{text}");
            assert_eq!(by("x", true, &format!("A word before it.\n\n{text}\n> _🔴 Critical_")), (severity, source));
        }
        for other in [
            "🔴 Criticism",
            "![high](https://evil.example/codereviewagent/high.svg)",
            "![P4 Badge](https://img.shields.io/badge/P4-x)",
        ] {
            assert_eq!(by("ana", false, other).0, "N/A", "{other}");
        }
    }

    #[test]
    fn what_is_quoted_or_shown_as_code_says_nothing() {
        for text in ["> _🔴 Critical_\n\nFixed.", "`🔴 Critical`", "```\n🔴 Critical\n```", "<!-- 🔴 Critical -->"]
        {
            assert_eq!(by("ana", false, text), ("N/A", "unknown"), "{text}");
        }
    }

    #[test]
    fn an_account_tells_the_source_and_people_may_name_a_bot() {
        assert_eq!(by("sourcery-ai-experiments", true, "x"), ("N/A", "sourcery"));
        assert_eq!(by("CodeRabbitAI[bot]", true, "x"), ("N/A", "coderabbit"));
        assert_eq!(by("ana", false, "@coderabbitai resolve"), ("N/A", "unknown"));
        assert_eq!(by("ci", true, "<!-- auto-generated comment by CodeRabbit -->"), ("N/A", "coderabbit"));
        assert_eq!(by("ana", false, "Useful? React with 👍 / 👎."), ("N/A", "codex"));
        assert_eq!(read_label("Confidence Score: 4/5", None).1, Source::Greptile);
    }

    #[test]
    fn the_account_of_copilot_is_judged_by_its_words_alone() {
        assert_eq!(by("copilot-pull-request-reviewer", true, "🟡 Minor: this is a vulnerability"), ("CRIT", "copilot"));
        assert_eq!(by("github-copilot", true, "Looks fine"), ("N/A", "copilot"));
    }
}
