//! Renders untrusted text as inert Markdown, keeping its code and lists.
//!
//! Kept: paragraphs, list items, emphasis, code spans and fenced code. Removed: HTML, entities, images, links, reference definitions,
//! footnotes, headings, quotations and GitHub's alerts, tables, task lists, mathematics, and fences that are drawn or committed.
//! Text that a forge would turn into a link or a notice on its own (URLs, `@name`, `#12`, the id of a commit) is shown as code, which no
//! forge links.
//!
//! Escapes follow `CommonMark` 0.31 §2.4 and the table extension of GFM 0.29 §4.10.

mod autolinks;

use std::borrow::Cow;
use std::collections::BTreeSet;

use autolinks::is_live;
pub(crate) use autolinks::plain_language;

use crate::domain::text::{fence_for as long_fence, strip_block, strip_line};

#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkdownContext {
    /// A paragraph or a list item, where emphasis is kept.
    Body,
    /// A line of ours, where only code is kept.
    Line,
    /// A table cell, likewise.
    Cell,
}

/// Renders one line, as plain text with code spans.
pub(crate) fn inline(text: &str) -> String {
    let mut out = InlineEscaper::new(MarkdownContext::Line);
    out.line(without_empty_code(&strip_line(text)).trim());
    out.out
}

/// Renders one line for a table cell.
pub(crate) fn table_cell(text: &str) -> String {
    let mut out = InlineEscaper::new(MarkdownContext::Cell);
    out.text(without_empty_code(&strip_line(text)).trim());
    out.out
}

/// Renders a code span.
pub(crate) fn code(text: &str) -> String {
    let mut out = InlineEscaper::new(MarkdownContext::Line);
    out.code(&strip_line(text));
    out.out
}

/// Renders a code span for a table cell.
pub(crate) fn cell_code(text: &str) -> String {
    let mut out = InlineEscaper::new(MarkdownContext::Cell);
    out.code(&strip_line(text));
    out.out
}

/// Renders a fenced block whose fence is longer than any run of backticks in it. The language stays if it is only highlighted.
pub(crate) fn fenced(language: &str, text: &str) -> String {
    let text = strip_block(text);
    let fence = long_fence(&text);
    format!("{fence}{}\n{}\n{fence}", plain_language(language), text.trim_end_matches('\n'))
}

/// Renders text of several lines.
pub(crate) fn prose(markdown: &str) -> String {
    let stripped = strip_block(markdown);
    let mut out: Vec<String> = Vec::new();
    let mut lines = stripped.trim().lines();
    while let Some(line) = lines.next() {
        if let Some((mark, length)) = fence(line) {
            let info = line.trim().trim_start_matches(mark).trim();
            let inner: Vec<&str> = lines
                .by_ref()
                .take_while(|line| !fence(line).is_some_and(|(m, n)| m == mark && n >= length && closes(line, mark)))
                .collect();
            out.push(fenced(info, &inner.join("\n")));
        } else {
            out.push(paragraph_line(line));
        }
    }
    out.join("\n")
}

fn fence(line: &str) -> Option<(char, usize)> {
    let trimmed = line.trim_start();
    let mark = trimmed.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = trimmed.chars().take_while(|c| *c == mark).count();
    // A further backtick makes it a code span.
    let rest = &trimmed[length..];
    (length >= 3 && !(mark == '`' && rest.contains('`'))).then_some((mark, length))
}

fn closes(line: &str, mark: char) -> bool {
    line.trim().trim_start_matches(mark).is_empty()
}

fn paragraph_line(line: &str) -> String {
    let depth = line.chars().take_while(|c| c.is_whitespace()).count();
    // A tab would be white space to a list and to a heading as well.
    let line = line.replace('\t', " ");
    let line = without_empty_code(&line);
    let trimmed = line.trim();
    if trimmed.is_empty() {
        return String::new();
    }
    let mut out = InlineEscaper::new(MarkdownContext::Body);
    let bullet = list_mark(trimmed);
    if bullet > 0 {
        out.out.push_str(&" ".repeat(depth.min(8)));
        out.out.push_str(&trimmed[..bullet]);
    }
    let text = trimmed[bullet..].trim_start();
    let hashes = text.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&hashes) && text[hashes..].starts_with(' ') {
        // A heading would change the structure of the page; its words are shown in bold.
        let heading = inline(text[hashes..].trim_end_matches('#'));
        return format!("{}{}", out.out, if heading.is_empty() { heading } else { format!("**{heading}**") });
    }
    out.line(text);
    out.out
}

/// Returns the length in bytes of a list marker and the space after it.
fn list_mark(line: &str) -> usize {
    if ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark)) {
        return 2;
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    if (1..=3).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") ")) { digits + 2 } else { 0 }
}

/// Returns the lengths of the runs of backticks in a text.
fn runs(text: &str) -> BTreeSet<usize> {
    text.split(|c| c != '`').map(str::len).filter(|length| *length > 0).collect()
}

struct InlineEscaper {
    out: String,
    place: MarkdownContext,
}

impl InlineEscaper {
    fn new(place: MarkdownContext) -> Self {
        Self { out: String::new(), place }
    }

    /// Renders a line of text, or the text after a list marker: nothing at its beginning changes the structure of the page.
    fn line(&mut self, text: &str) {
        // Rules, underlines of headings, table columns and fences would change it; two colons are a command to a runner, and a slash is one
        // to bots that read comments.
        let is_rule = text.chars().all(|c| matches!(c, '-' | '=' | '*' | '_' | ':' | ' '));
        let is_mark = list_mark(text) > 0 || matches!(text, "-" | "+" | "*");
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        // A list number has nine digits at most.
        if (1..=9).contains(&digits) && text[digits..].starts_with(['.', ')']) {
            // A number that begins a line begins a list; a digit cannot be escaped.
            self.out.push_str(&text[..digits]);
            self.out.push('\\');
            self.out.push_str(&text[digits..=digits]);
            self.text(&text[digits + 1..]);
            return;
        }
        let is_escaped = self.place != MarkdownContext::Body && text.starts_with(['*', '_', '~']);
        if !text.is_empty()
            && (text.starts_with(['#', ':', '~', '/']) || is_rule || is_mark)
            && !is_escaped
            && !begins_with_live(text)
        {
            self.out.push('\\');
        }
        self.text(text);
    }

    /// Renders text of one line: its code spans stay, words that would become links turn into code, the rest is escaped.
    fn text(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let Some(at) = rest.find('`') else {
                self.words(rest);
                return;
            };
            self.words(&rest[..at]);
            rest = &rest[at..];
            let run = rest.bytes().take_while(|byte| *byte == b'`').count();
            match closing(&rest[run..], run) {
                Some(end) => {
                    self.code(&rest[run..run + end]);
                    rest = &rest[run + end + run..];
                }
                None => {
                    (0..run).for_each(|_| self.out.push_str("\\`"));
                    rest = &rest[run..];
                }
            }
        }
    }

    fn words(&mut self, text: &str) {
        for word in text.split_inclusive(' ') {
            let bare = word.trim_end_matches(' ');
            if is_live(bare) {
                let (before, core, after) = split_punctuation(bare);
                self.out.push_str(before);
                self.code(core);
                self.out.push_str(after);
            } else {
                bare.chars().for_each(|c| self.escaped(c));
            }
            self.out.push_str(&word[bare.len()..]);
        }
    }

    fn escaped(&mut self, c: char) {
        match c {
            '<' => self.out.push_str("&lt;"),
            '>' => self.out.push_str("&gt;"),
            '&' => self.out.push_str("&amp;"),
            '|' => self.out.push_str("&#124;"),
            '\\' | '[' | ']' | '$' | '`' => {
                self.out.push('\\');
                self.out.push(c);
            }
            '*' | '_' | '~' if self.place != MarkdownContext::Body => {
                self.out.push('\\');
                self.out.push(c);
            }
            '\t' => self.out.push(' '),
            _ => self.out.push(c),
        }
    }

    /// Renders a code span. In a table cell each pipe goes between two spans: tables are split before code is parsed.
    fn code(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if self.place == MarkdownContext::Cell && text.contains('|') {
            for (at, part) in text.split('|').enumerate() {
                if at > 0 {
                    self.out.push_str(if part.starts_with(' ') { "&#124; " } else { "&#124;" });
                }
                self.code(part);
                if part.ends_with(' ') && !part.trim().is_empty() {
                    self.out.push(' ');
                }
            }
            return;
        }
        if self.out.ends_with('`') {
            self.out.push(' ');
        }
        let runs = runs(text);
        let fence = "`".repeat((1..=runs.len()).find(|length| !runs.contains(length)).unwrap_or(runs.len() + 1));
        let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
        self.out.push_str(&fence);
        self.out.push_str(pad);
        self.out.push_str(text);
        self.out.push_str(pad);
        self.out.push_str(&fence);
    }
}

/// Returns a line without the code spans that hold nothing: they cannot be shown, and what is around them must be looked at as it will stand there.
fn without_empty_code(text: &str) -> Cow<'_, str> {
    if !text.contains('`') {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('`') {
        let run = rest[at..].bytes().take_while(|byte| *byte == b'`').count();
        let end = closing(&rest[at + run..], run).map(|end| at + run + end);
        let is_empty = end.is_some_and(|end| rest[at + run..end].trim().is_empty());
        let next = end.unwrap_or(at) + run;
        out.push_str(&rest[..if is_empty { at } else { next }]);
        rest = &rest[next..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Finds the start of a run of exactly `run` backticks in `text`.
fn closing(text: &str, run: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'`', bytes.get(at..)?) {
        let start = at + found;
        let length = bytes[start..].iter().take_while(|byte| **byte == b'`').count();
        if length == run {
            return Some(start);
        }
        at = start + length;
    }
    None
}

/// Splits a word that becomes code from the parentheses and the punctuation of the sentence around it.
fn split_punctuation(word: &str) -> (&str, &str, &str) {
    let inner = word.trim_start_matches('(');
    let is_closed = !inner.contains('(');
    let core = inner.trim_end_matches(|c| matches!(c, ',' | '.' | ':' | ';' | '!' | '?') || (c == ')' && is_closed));
    if is_live(core) { (&word[..word.len() - inner.len()], core, &inner[core.len()..]) } else { ("", word, "") }
}

/// Checks whether a line begins with a word that becomes code, before which a backslash would show.
fn begins_with_live(text: &str) -> bool {
    text.split([' ', '`']).next().is_some_and(is_live)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn html_links_and_images_become_text() {
        assert_eq!(inline("<img src=x> ![a](b) [c](d) &lt;"), "&lt;img src=x&gt; !\\[a\\](b) \\[c\\](d) &amp;lt;");
        assert_eq!(inline("a\\[b"), "a\\\\\\[b");
        assert_eq!(prose("[x]: http://e.example/ \"t\""), "\\[x\\]: `http://e.example/` \"t\"");
    }

    #[test]
    fn what_would_notify_or_link_is_code() {
        assert_eq!(inline("fixes #12, cc @octo/team"), "fixes `#12`, cc `@octo/team`");
        assert_eq!(inline("see www.e.example and a@b.example"), "see `www.e.example` and `a@b.example`");
        assert_eq!(inline("done (see #12, #13). Is it @octo?"), "done (see `#12`, `#13`). Is it `@octo`?");
        assert_eq!(inline("(#12) https://e.example/a_(b), GH-1:"), "(`#12`) `https://e.example/a_(b)`, `GH-1`:");
        assert_eq!(inline("`a`@b"), "`a` `@b`");
    }

    #[test]
    fn code_spans_stay_and_are_closed() {
        assert_eq!(inline("use `a | <b>` now"), "use `a | <b>` now");
        assert_eq!(inline("an `open one"), "an \\`open one");
        assert_eq!(inline("``a`b``"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
    }

    #[test]
    fn nothing_that_is_left_out_lets_a_line_begin_anew() {
        for (text, shown) in [
            ("` `# a", "**a**"),
            ("a ` `# b", "a # b"),
            ("` `#", "\\#"),
            ("` ` ``  `` - a", "- a"),
            ("- ` `/close", "- \\/close"),
            ("` `/close", "\\/close"),
            ("`\u{a0}`1. a", "1. a"),
            ("` `", ""),
            ("`` ` ``# a", "`` ` ``# a"),
            ("1` `. a", "1. a"),
            ("-` ` a", "- a"),
            ("Title\n-` `--", "Title\n\\---"),
            ("Title\n=` `=", "Title\n\\=="),
            ("see #` `12 and http:/` `/e.example", "see `#12` and `http://e.example`"),
            ("a ` `b` `` c", "a b\\` \\`\\` c"),
        ] {
            assert_eq!(prose(text), shown, "{text}");
        }
    }

    #[test]
    fn a_cell_holds_its_pipes() {
        assert_eq!(table_cell("a | b\\| `c|d`"), "a &#124; b\\\\&#124; `c`&#124;`d`");
        assert_eq!(cell_code("a|b.rs:1"), "`a`&#124;`b.rs:1`");
        assert_eq!(cell_code("a | b||"), "`a` &#124; `b`&#124;&#124;");
        let live = "www.e.example|GH-12|CVE-2025-30066|a1b2c3d|@octo|#1|`|";
        let cell = "`www.e.example`&#124;`GH-12`&#124;`CVE-2025-30066`&#124;`a1b2c3d`&#124;`@octo`&#124;`#1`&#124;`` ` ``&#124;";
        assert_eq!(cell_code(live), cell);
    }

    #[test]
    fn headings_and_rules_lose_their_shape() {
        assert_eq!(prose("## big *x*\n- ~~~\n#\n# #"), "**big \\*x\\***\n- \\~~~\n\\#\n");
        assert_eq!(prose("#big\n---\n===\n- item\n  - nested # x"), "\\#big\n\\---\n\\===\n- item\n  - nested # x");
    }

    #[test]
    fn a_line_that_begins_with_a_sign_is_escaped_whatever_follows() {
        assert_eq!(prose("a\n::x`@"), "a\n\\::x\\` `@`");
        assert_eq!(prose("::x@y"), "`::x@y`");
        assert_eq!(prose("/approve\n  /merge now\na /b"), "\\/approve\n\\/merge now\na /b");
        assert_eq!(prose("1234567. ~~~suggestion\nx"), "1234567\\. ~~~suggestion\nx");
        assert_eq!(prose("123456789) # x\n1234567890. x"), "123456789\\) # x\n1234567890. x");
    }

    #[test]
    fn code_blocks_are_fenced_anew() {
        assert_eq!(prose("```rust\na\n````\nafter <b>"), "```rust\na\n```\nafter &lt;b&gt;");
        assert_eq!(prose("~~~\n```\nx"), "````\n```\nx\n````");
        assert_eq!(fenced("", "a\n`````\n"), "``````\na\n`````\n``````");
    }

    proptest! {
        #[test]
        fn nothing_active_is_left_outside_code(text in "[a-z`<>&|@#!\\[\\]()\\\\ 1:/*_~$.-]{0,40}") {
            for (rendered, cell) in [(inline(&text), false), (table_cell(&text), true)] {
                let ours = outside_code(&rendered);
                prop_assert!(!ours.contains('<') && !ours.contains('>'), "{rendered:?}");
                prop_assert!(!ours.contains('@') && !ours.contains("://"), "{rendered:?}");
                prop_assert!(!unescaped(&ours, '['), "{rendered:?}");
                prop_assert!(!unescaped(&ours, '`'), "{rendered:?}");
                if cell {
                    prop_assert!(!rendered.contains('|'), "{rendered:?}");
                }
            }
        }
    }

    fn unescaped(text: &str, wanted: char) -> bool {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c == '\\' {
                chars.next();
            } else if c == wanted {
                return true;
            }
        }
        false
    }

    /// Returns the text without its code spans, found as `CommonMark` finds them.
    fn outside_code(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if c == '\\' {
                let length = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                out.push_str(&rest[..length]);
                rest = &rest[length..];
            } else if c == '`' {
                let run = rest.bytes().take_while(|byte| *byte == b'`').count();
                match closing(&rest[run..], run) {
                    Some(end) => rest = &rest[run + end + run..],
                    None => {
                        out.push_str(&rest[..run]);
                        rest = &rest[run..];
                    }
                }
            } else {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        out
    }
}
