//! The title of a remark, and its plain text without markup. Main functions: [`find_title`], [`shorten`].

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::Title;
use super::blocks::HtmlBlocks;
use super::visible_text::{BlankedParts, blank_hidden, cover_with_spaces};
use crate::domain::text::{mask, strip_line};

/// The longest title, in characters.
const LONGEST: usize = 100;

/// The length of the text that is searched for a title, in bytes.
const LOOKED_AT: usize = 1 << 15;

/// Names a remark: one line, at most 100 characters. What is folded away is looked at only where nothing else is there.
pub(super) fn find_title(text: &str, how: Title) -> String {
    let text = &text[..text.floor_char_boundary(LOOKED_AT)];
    let mut shown = blank_hidden(text, BlankedParts { quotes: true, comments: true }).into_bytes();
    let folded = HtmlBlocks::of(text);
    for block in folded.outermost_in(&(0..text.len())) {
        cover_with_spaces(&mut shown, block.whole.start, block.whole.end);
    }
    let shown = String::from_utf8(shown).unwrap_or_default();
    let said = match how {
        Title::Bold => bold(text, &shown).or_else(|| heading(text, &shown)).or_else(|| opening(text, &shown)),
        Title::Sentence => first_line(text, &shown).map(|line| sentence(&line).to_owned()),
    };
    // Nothing is said outside quotes, code and folds: whatever stands first.
    let said = said.or_else(|| text.lines().map(plain_words).find(|line| !line.is_empty()));
    truncate_title(&strip_line(&said.unwrap_or_default()))
}

/// The text, or as much of it as ends with a word within so many characters, and `...`.
pub fn shorten(text: &str, most: usize) -> Cow<'_, str> {
    let Some((end, _)) = text.char_indices().nth(most) else { return Cow::Borrowed(text) };
    // A text without spaces is cut anywhere.
    let word = text[..end].rfind(char::is_whitespace).filter(|at| *at > end / 2).unwrap_or(end);
    Cow::Owned(format!("{}...", text[..word].trim_end()))
}

/// A title that is no longer than titles may be, without secrets: half of one would not be known as one any more.
pub(super) fn truncate_title(text: &str) -> String {
    let text = &mask(text).text;
    if text.chars().nth(LONGEST).is_none() { text.to_owned() } else { shorten(text, LONGEST - 3).into_owned() }
}

/// The lines of a text that say something themselves, with what is shown of them.
fn lines<'t>(text: &'t str, shown: &'t str) -> impl Iterator<Item = &'t str> {
    let mut at = 0;
    shown.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        (!line.trim().is_empty()).then(|| text[start..at].trim())
    })
}

fn bold(text: &str, shown: &str) -> Option<String> {
    let mut at = 0;
    for line in shown.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let mut from = start;
        while let Some(open) = shown[from..end].find("**").map(|found| from + found + 2) {
            let Some(close) = shown[open..end].find("**").map(|found| open + found) else { break };
            let inside = plain_words(&text[open..close]);
            from = close + 2;
            // A label is not what the remark says.
            let rest = if inside.ends_with(':') { plain_words(&text[from..end]) } else { String::new() };
            if !rest.is_empty() {
                return Some(rest);
            }
            if inside.chars().any(char::is_alphanumeric) {
                return Some(inside);
            }
        }
    }
    None
}

fn heading(text: &str, shown: &str) -> Option<String> {
    let mut headings = lines(text, shown).filter_map(|line| {
        let rest = line.trim_start_matches('#');
        (rest.len() < line.len() && rest.starts_with(' ')).then(|| plain_words(rest.trim_end_matches('#')))
    });
    headings.find(|line| !line.is_empty())
}

/// The first line; below a badge, which is no line of the text itself, the first sentence.
fn opening(text: &str, shown: &str) -> Option<String> {
    let has_badge = lines(text, shown).next().is_some_and(is_badge);
    first_line(text, shown).map(|line| if has_badge { sentence(&line).to_owned() } else { line })
}

fn first_line(text: &str, shown: &str) -> Option<String> {
    lines(text, shown)
        .filter(|line| !is_badge(line))
        .map(plain_words)
        .find(|line| line.chars().any(char::is_alphanumeric))
}

/// Checks whether a line is but signs and their words, as in `_🧹 Nitpick (assertive)_ | _🔵 Trivial_`: it says what sort of remark follows.
pub(super) fn is_badge(line: &str) -> bool {
    let sign = |part: &str| {
        let inner = part.trim().strip_prefix('_')?.strip_suffix('_')?;
        inner.chars().next().filter(|first| !first.is_alphanumeric() && !first.is_ascii())
    };
    line.split('|').all(|part| sign(part).is_some())
}

/// The shortest first sentence that is not an abbreviation.
fn sentence(line: &str) -> &str {
    const SHORTEST: usize = 12;
    let mut ends = line.match_indices(['.', '!', '?']).map(|(at, _)| at + 1);
    let end = ends.find(|end| {
        let is_end = line[*end..].chars().next().is_none_or(char::is_whitespace);
        is_end && *end >= SHORTEST && !line[..*end].ends_with("e.g.") && !line[..*end].ends_with("i.e.")
    });
    &line[..end.unwrap_or(line.len())]
}

/// Pictures, links, tags and their like, each with what stays of it.
static DRESS: LazyLock<Option<[(Regex, &'static str); 3]>> = LazyLock::new(|| {
    let picture = Regex::new(r"!\[[^\[\]\n]*\]\([^()\n]*\)").ok()?;
    let link = Regex::new(r"\[([^\[\]\n]+)\]\([^()\n]*\)").ok()?;
    let tag = Regex::new(r"</?[A-Za-z][^<>\n]*>|<!--[^<>\n]*-->").ok()?;
    Some([(picture, " "), (link, "$1"), (tag, " ")])
});

/// A text without its tags; breaks of lines stay.
pub(super) fn strip_tags(text: &str) -> String {
    static TAGS: LazyLock<Option<(Regex, Regex)>> = LazyLock::new(|| {
        let line = Regex::new(r"(?i)<br\s*/?>|</p>|</li>|</h[1-6]>").ok()?;
        Some((line, Regex::new(r"</?[A-Za-z][^<>]*>").ok()?))
    });
    let Some((line, tag)) = TAGS.as_ref() else { return text.to_owned() };
    let lines = line.replace_all(text, "\n");
    tag.replace_all(&lines, "").replace("&nbsp;", " ")
}

/// Takes the marks of bold words away, but not what looks like them in code.
fn without_bold(line: &str) -> String {
    let shown = blank_hidden(line, BlankedParts { quotes: false, comments: false });
    let mut out = String::with_capacity(line.len());
    let mut from = 0;
    for (at, mark) in shown.match_indices("**") {
        out.push_str(&line[from..at]);
        from = at + mark.len();
    }
    out.push_str(&line[from..]);
    out
}

/// The words of a line: no pictures, links, tags, heading or list marks, and no emphasis around it.
pub(super) fn plain_words(line: &str) -> String {
    let mut words = line.to_owned();
    for (pattern, left) in DRESS.iter().flatten() {
        words = pattern.replace_all(&words, *left).into_owned();
    }
    let words = without_bold(&words.replace("&nbsp;", " "));
    let words: Vec<&str> = words.split_whitespace().collect();
    let words = words.join(" ");
    let bare = words.trim_start_matches(['#', '>', ' ']).trim();
    let bare = bare.strip_prefix("- ").or_else(|| bare.strip_prefix("* ")).unwrap_or(bare);
    let inner = ["_", "*"].iter().find_map(|mark| {
        let inner = bare.strip_prefix(mark)?.strip_suffix(mark)?;
        (!inner.contains(mark)).then_some(inner)
    });
    inner.unwrap_or(bare).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_bold_words_are_the_title() {
        for (text, said) in [
            ("_🧹 Nitpick (assertive)_ | _🔵 Trivial_\n\nTake `a` here. It is shorter.\n", "Take `a` here."),
            ("_🧹 Nitpick_", "🧹 Nitpick"),
            ("_Quite_ | _so_\n\nAnd more.", "_Quite_ | _so_"),
            ("_⚠️ Potential issue_ | _🟠 Major_\n\n**Use `a**b` here.**\n\nmore", "Use `a**b` here."),
            ("> **quoted**\n\n`**code**` **real** x", "real"),
            ("<details><summary>x</summary>\n\n**folded**\n\n</details>\n\n**said**", "said"),
            ("**issue (bug_risk):** Read after `free`.\n\nx", "Read after `free`."),
            (
                "**<sub><sub>![P1 Badge](https://img.shields.io/badge/P1-orange?style=flat)</sub></sub>  Keep it**",
                "Keep it",
            ),
            ("** **\n# A [b](https://c) `d` #", "A b `d`"),
            ("\n- _only_ this\nthat", "_only_ this"),
            ("```\ncode\n```\n`x` is read twice", "`x` is read twice"),
            ("<details><summary>folded</summary>x</details>", "folded x"),
            ("", ""),
        ] {
            assert_eq!(find_title(text, Title::Bold), said, "{text:?}");
        }
    }

    #[test]
    fn a_sentence_ends_where_it_ends() {
        let text = "![high](https://www.gstatic.com/codereviewagent/high-priority.svg)\n\nThe value, e.g. `a.b`, is lost. **Then** more.";
        assert_eq!(find_title(text, Title::Sentence), "The value, e.g. `a.b`, is lost.");
        assert_eq!(find_title("No end", Title::Sentence), "No end");
    }

    #[test]
    fn a_long_text_is_cut_after_a_word() {
        let long = "word ".repeat(40);
        let cut = find_title(&long, Title::Bold);
        assert!(cut.ends_with("word...") && cut.chars().count() <= 100, "{cut}");
        assert_eq!(shorten("abc def", 7), "abc def");
        assert_eq!(shorten("abc def ghi", 9), "abc def...");
        assert_eq!(shorten("äöüäöü", 3), "äöü...");
    }

    proptest! {
        #[test]
        fn a_title_is_one_short_line(text in "\\PC{0,300}|[*#>`_ \na!\\[\\]()<-]{0,200}", sentence: bool) {
            let said = find_title(&text, if sentence { Title::Sentence } else { Title::Bold });
            prop_assert!(!said.contains('\n') && said.chars().count() <= 100, "{:?}", said);
        }
    }
}
