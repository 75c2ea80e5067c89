//! Blocks of private keys (RFC 7468 and its relatives, and the files of PuTTY): every line of the body is a secret of its own, so that lines stay lines.

use std::ops::Range;

use super::super::lazy_pattern::LazyPattern;

static BEGIN: LazyPattern = LazyPattern::new(
    r"\A-----BEGIN(?: |%20|\+)(?:[A-Z0-9]{1,12}(?: |%20|\+)){0,3}PRIVATE(?: |%20|\+)KEY(?:(?: |%20|\+)BLOCK)?-----",
);

/// The header of the private half in a file of `PuTTY`: its number of lines.
static PUTTY: LazyPattern = LazyPattern::new(r"\APrivate-Lines: ([0-9]{1,3})\b");

/// A body is no longer than this many lines.
const MOST_LINES: usize = 400;
/// Nor than this many bytes.
const LONGEST: usize = 1 << 16;
/// A line of a body in which nothing but the key stands need not be long; elsewhere a run of this length is part of it.
const RUN: usize = 16;
/// How long a run must be for there to be a key at all, rather than talk about one.
const FIRST_RUN: usize = 40;

/// The parts to mask of a block whose `-----BEGIN` or `Private-Lines` stands at `at`; none where no key follows.
pub(super) fn body_lines(text: &str, at: usize) -> Vec<Range<usize>> {
    let begins = |pattern: &LazyPattern| Some(pattern.regex()?.find(&text[at..])?.end());
    let (mut from, begin_mark, end_mark, most) = match (begins(&BEGIN), begins(&PUTTY)) {
        (Some(end), _) => (at + end, &b"-----BEGIN "[..], &b"-----END"[..], MOST_LINES),
        (None, Some(end)) => {
            // And the rest of the line that says how many.
            let lines = text[at..at + end].rsplit(' ').next().and_then(|lines| lines.parse::<usize>().ok());
            (
                at + end,
                &b"Private-Lines: "[..],
                &b"Private-MAC"[..],
                lines.map_or(0, |lines| lines.saturating_add(1)).min(MOST_LINES),
            )
        }
        (None, None) => return Vec::new(),
    };
    let mut found = Vec::new();
    // No further than the next block, so that many of them cost no more than their length.
    let mut reach = (from + LONGEST).min(text.len());
    if let Some(next) = memchr::memmem::find(&text.as_bytes()[from..reach], begin_mark) {
        reach = from + next;
    }
    let text = &text.as_bytes()[..reach];
    let mut is_key = false;
    for number in 0..most {
        if from >= text.len() {
            break;
        }
        let end = memchr::memchr(b'\n', &text[from..]).map_or(text.len(), |newline| from + newline);
        let last = memchr::memmem::find(&text[from..end], end_mark);
        let line = from..last.map_or(end, |at| from + at);
        let runs = if is_header(&text[line.clone()]) { Vec::new() } else { runs(text, line) };
        is_key |= runs.iter().any(|run| run.len() >= FIRST_RUN);
        // A few lines of headers may come first.
        if !is_key && number >= 6 {
            return Vec::new();
        }
        found.extend(runs);
        if last.is_some() {
            break;
        }
        from = end + 1;
    }
    if is_key { found } else { Vec::new() }
}

/// Checks whether a line is a header of the block (`DEK-Info: …`, RFC 1421).
fn is_header(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let Some(colon) = memchr::memmem::find(line, b": ") else { return false };
    let name = &line[..colon];
    (name.contains(&b'-') && name.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'-'))
        || matches!(name, b"Version" | b"Comment" | b"Hash")
}

/// The runs of base64 in a line: all of it where the line has nothing else, else the long ones.
fn runs(text: &[u8], line: Range<usize>) -> Vec<Range<usize>> {
    let bytes = &text[line.clone()];
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let least = if is_alone(bytes, is_key) { 2 } else { RUN };
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        // An escaped line break inside a string is not part of the key.
        if bytes[at] == b'\\' {
            at += 2;
            continue;
        }
        let start = at;
        loop {
            match &bytes[at..] {
                // As in a URL, signs and line breaks of the key alike.
                [b'%', first, second, ..] if first.is_ascii_hexdigit() && second.is_ascii_hexdigit() => at += 3,
                [byte, ..] if is_key(*byte) => at += 1,
                _ => break,
            }
        }
        if at - start >= least {
            found.push(line.start + start..line.start + at);
        }
        at = at.max(start + 1);
    }
    found
}

/// Checks whether a line holds nothing but the key, besides indentation and what a string or a comment needs.
fn is_alone(line: &[u8], is_key: impl Fn(u8) -> bool) -> bool {
    let dressing = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,+\\#/*".contains(byte);
    let Some(first) = line.iter().position(|byte| !dressing(byte)) else { return false };
    let last = line.iter().rposition(|byte| !dressing(byte)).unwrap_or(first);
    let line = &line[first..=last];
    let line = line.strip_suffix(b"\\n").unwrap_or(line);
    !line.is_empty() && line.iter().all(|byte| is_key(*byte))
}
