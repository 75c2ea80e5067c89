//! Entries that ask for nothing. Main function: [`is_praise`].

use std::sync::LazyLock;

use regex::RegexSet;

/// The words that praise begins with or consists of, in English and in Russian. Adverbs that also begin requests ("correctly close it") are left to be remarks.
const PRAISE: &[&str] = &[
    r"\blgtm\b",
    r"^✅",
    r"^looks (?:good|great)\b",
    r"^(?:well|nicely) done\b",
    r"^(?:good|great|nice|excellent) (?:job|work)\b",
    r"^(?:отличн(?:ая|ое|ый|ые|о)|хорош(?:ая|ее|ий|ие|о)|прекрасн(?:ая|ое|ый|ые|о)|замечательн(?:ая|ое|ый|ые|о))(?:\P{L}|$)",
    r"^(?:корректн|правильн|над[её]жн|чист)(?:ая|ое|ый|ые)\s",
    r"^(?:молодец|так держать)(?:\P{L}|$)",
    r"^\p{L}+\s+(?:реализован[аоы]?\s+)?корректн(?:а|о|ы|ен)\P{L}*$",
    r"\s(?:корректно|корректны|корректна|корректен)\.$",
];

/// The words that turn praise into a remark.
const BUT: &[&str] = &[
    r"\b(?:but|however|except|consider|should|could)\b",
    r"(?:^|\P{L})(?:но|однако|кроме|не|стоит|следует|лучше|нужно)(?:\P{L}|$)",
];

static SETS: LazyLock<Option<(RegexSet, RegexSet)>> = LazyLock::new(|| {
    let set = |patterns: &[&str]| {
        let lower = patterns.iter().map(|pattern| format!("(?i){pattern}"));
        RegexSet::new(lower).ok()
    };
    Some((set(PRAISE)?, set(BUT)?))
});

/// Checks whether a title only says that something is well.
pub(super) fn is_praise(title: &str) -> bool {
    let title = title.trim();
    SETS.as_ref().is_some_and(|(praise, but)| praise.is_match(title) && !but.is_match(title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn praise_is_told_from_requests() {
        for title in [
            "LGTM! The lock is held.",
            "✅ Tests cover it",
            "Looks good",
            "Отличное покрытие тестами.",
            "Хорошо сделано!",
            "Корректная обработка ошибок.",
            "Импорты корректны.",
            "Порядок полей теперь корректен.",
        ] {
            assert!(is_praise(title), "{title}");
        }
        for title in [
            "Use a constant.",
            "Looks good, but the lock is never released",
            "Правильно закрывайте файл",
            "Чистить кэш нужно раньше",
            "Имя поля не корректно.",
            "Отличная идея, но тест падает",
            "Goodness of fit is computed twice",
            "",
        ] {
            assert!(!is_praise(title), "{title}");
        }
    }
}
