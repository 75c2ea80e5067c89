//! A text's own words, separated from the code and the quotations that it shows. Main function: [`blank_hidden`].
//!
//! Marks are looked for in what is left: a person who quotes a bot, or a suggestion whose code holds a bot's mark, says nothing about severity.
//! Every function takes time in proportion to the text. The rules are those of `CommonMark` as far as they matter here: fences, code spans,
//! quotes and HTML comments; indented code is not told apart, because what stands deep in a list looks the same.

use std::collections::HashMap;
use std::ops::Range;

/// The parts to blank besides code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlankedParts {
    /// Lines that quote somebody (`> …`).
    pub(super) quotes: bool,
    /// HTML comments.
    pub(super) comments: bool,
}

/// The text with code, and what else is asked for, turned into spaces. Its length and its line breaks stay, so that places agree.
pub(super) fn blank_hidden(text: &str, what: BlankedParts) -> String {
    let mut out = text.as_bytes().to_vec();
    let mut fence: Option<Fence> = None;
    let mut paragraph = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        let (depth, inner) = unquoted(line);
        let is_fence_mark = match &fence {
            Some(open) if depth < open.depth => {
                fence = None;
                Fence::opened_by(inner, depth)
            }
            Some(open) => {
                let closes = depth == open.depth && open.is_closed_by(inner);
                cover_with_spaces(&mut out, at, end);
                if closes {
                    fence = None;
                }
                paragraph = end;
                at = end;
                continue;
            }
            None => Fence::opened_by(inner, depth),
        };
        if is_fence_mark.is_some() || inner.trim().is_empty() {
            spans(text, paragraph, at, &mut out);
            paragraph = end;
        }
        if is_fence_mark.is_some() {
            cover_with_spaces(&mut out, at, end);
        }
        fence = is_fence_mark.or(fence);
        if what.quotes && depth > 0 {
            cover_with_spaces(&mut out, at, end);
        }
        at = end;
    }
    spans(text, paragraph, at, &mut out);
    if what.comments {
        comments(&mut out);
    }
    between(&mut out, b"<pre", b"</pre>");
    between(&mut out, b"<code", b"</code>");
    // Only whole characters were covered, by ASCII.
    String::from_utf8(out).unwrap_or_default()
}

/// The text without one level of quoting.
pub(super) fn unquote(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| match line.strip_prefix('>') {
        Some(rest) => rest.strip_prefix(' ').unwrap_or(rest),
        None => line,
    });
    lines.collect()
}

/// A fenced piece of code.
pub(super) struct FencedCode<'t> {
    /// The text after the opening fence on its line.
    pub(super) info: &'t str,
    /// The range between the fences.
    pub(super) text: &'t str,
    /// Both fences and what they hold.
    pub(super) whole: Range<usize>,
}

/// The fenced pieces of a text, in order; one that is never closed goes to the end.
pub(super) fn fenced_blocks(text: &str) -> Vec<FencedCode<'_>> {
    let mut found = Vec::new();
    let mut open: Option<(Fence, usize, Range<usize>)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        let (depth, inner) = unquoted(line);
        match &open {
            None => open = Fence::opened_by(inner, depth).map(|fence| (fence, at, at..end)),
            Some((fence, start, first)) if depth == fence.depth && fence.is_closed_by(inner) => {
                found.push(code(text, fence, first, first.end..at, *start..end));
                open = None;
            }
            Some(_) => {}
        }
        at = end;
    }
    if let Some((fence, start, first)) = open {
        found.push(code(text, &fence, &first, first.end..text.len(), start..text.len()));
    }
    found
}

fn code<'t>(
    text: &'t str,
    fence: &Fence,
    first: &Range<usize>,
    inside: Range<usize>,
    whole: Range<usize>,
) -> FencedCode<'t> {
    let (_, opening) = unquoted(&text[first.clone()]);
    let info = opening.trim_start_matches(' ')[fence.length..].trim();
    FencedCode { info, text: &text[inside], whole }
}

struct Fence {
    mark: u8,
    length: usize,
    depth: usize,
}

impl Fence {
    fn opened_by(line: &str, depth: usize) -> Option<Self> {
        let line = line.trim_start_matches(' ').as_bytes();
        let mark = line.first().copied().filter(|mark| matches!(mark, b'`' | b'~'))?;
        let length = line.iter().take_while(|byte| **byte == mark).count();
        // Code in the middle of a line begins with backticks too.
        let is_fence = length >= 3 && (mark == b'~' || !line[length..].contains(&b'`'));
        is_fence.then_some(Self { mark, length, depth })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.bytes().all(|byte| byte == self.mark)
    }
}

/// Returns the quote depth of a line and its text.
fn unquoted(line: &str) -> (usize, &str) {
    let mut depth = 0;
    let mut rest = line;
    loop {
        let inner = rest.trim_start_matches(' ');
        match inner.strip_prefix('>') {
            Some(after) => {
                depth += 1;
                rest = after;
            }
            None => return (depth, rest),
        }
    }
}

/// Turns bytes into spaces, but for line breaks.
pub(super) fn cover_with_spaces(out: &mut [u8], start: usize, end: usize) {
    for byte in &mut out[start..end] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

/// Blanks the code spans of one paragraph: a run of backticks up to the next run of the same length.
fn spans(text: &str, start: usize, end: usize, out: &mut [u8]) {
    let bytes = text.as_bytes();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut at = start;
    while let Some(found) = memchr::memchr(b'`', &bytes[at..end]) {
        let from = at + found;
        let length = bytes[from..end].iter().take_while(|byte| **byte == b'`').count();
        runs.push((from, length));
        at = from + length;
    }
    let mut later: HashMap<usize, Vec<usize>> = HashMap::new();
    for (index, (_, length)) in runs.iter().enumerate().rev() {
        later.entry(*length).or_default().push(index);
    }
    let mut index = 0;
    while let Some((from, length)) = runs.get(index) {
        let same = later.entry(*length).or_default();
        while same.last().is_some_and(|one| *one <= index) {
            same.pop();
        }
        match same.last() {
            Some(closing) => {
                cover_with_spaces(out, *from, runs[*closing].0 + length);
                index = closing + 1;
            }
            None => index += 1,
        }
    }
}

fn comments(out: &mut [u8]) {
    let mut at = 0;
    while let Some(found) = memchr::memmem::find(&out[at..], b"<!--") {
        let start = at + found;
        let end = memchr::memmem::find(&out[start..], b"-->").map_or(out.len(), |close| start + close + 3);
        cover_with_spaces(out, start, end);
        at = end;
    }
}

/// Blanks what stands between two tags, where both are there.
fn between(out: &mut [u8], open: &[u8], close: &[u8]) {
    let lower = out.to_ascii_lowercase();
    let mut at = 0;
    while let Some(found) = memchr::memmem::find(&lower[at..], open) {
        let start = at + found;
        at = start + open.len();
        if !lower.get(at).is_some_and(|byte| matches!(byte, b'>' | b' ')) {
            continue;
        }
        let Some(length) = memchr::memmem::find(&lower[at..], close) else { return };
        let end = at + length + close.len();
        cover_with_spaces(out, start, end);
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: BlankedParts = BlankedParts { quotes: true, comments: true };

    fn left(text: &str) -> String {
        blank_hidden(text, ALL).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn code_and_quotes_and_comments_say_nothing() {
        for (text, said) in [
            ("a `b` c", "a c"),
            ("a ``b ` c`` d", "a d"),
            ("a ` b", "a ` b"),
            ("a `b\n\nc` d", "a `b c` d"),
            ("a\n```rust\nb\n```\nc", "a c"),
            ("a\n````\n```\nb\n````\nc", "a c"),
            ("a\n~~~\nb", "a"),
            ("```x``` a", "a"),
            ("a\n> b\n> c\n\nd", "a d"),
            ("> ```\n> b\nc", "c"),
            ("a <!-- b --> c <!-- d", "a c"),
            ("a <pre>b</pre> c <code class=x>d</code> e <codex>f</codex>", "a c e <codex>f</codex>"),
            ("a <pre>b", "a <pre>b"),
        ] {
            assert_eq!(left(text), said, "{text:?}");
        }
    }

    #[test]
    fn a_quote_is_kept_where_it_is_wanted_but_its_code_is_not() {
        let kept = blank_hidden("> a `b`\n> ```\n> c\n> ```\n> d\n", BlankedParts { quotes: false, comments: false });
        assert_eq!(kept.split_whitespace().collect::<String>(), ">a>d");
    }

    #[test]
    fn one_level_of_quoting_goes() {
        assert_eq!(unquote("> a\n>b\n> > c\nd"), "a\nb\n> c\nd");
    }

    proptest! {
        #[test]
        fn places_stay_what_they_are(text in "[`~>a é\n<!-]{0,80}", quotes: bool, comments: bool) {
            let blanked = blank_hidden(&text, BlankedParts { quotes, comments });
            prop_assert_eq!(blanked.len(), text.len());
            for (at, c) in text.char_indices() {
                let kept = blanked.get(at..at + c.len_utf8());
                prop_assert!(kept.is_some_and(|kept| kept.starts_with(c) || kept.chars().all(|c| c == ' ')));
                prop_assert!(c != '\n' || kept == Some("\n"));
            }
        }
    }
}
