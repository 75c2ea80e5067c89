//! Links that `CommonMark` rejects because their destination has spaces or unbalanced parentheses: `[t](path?pattern with spaces)`.

use super::markdown::is_escaped;
use super::target::{DestinationSyntax, LinkTarget, find_path_end, is_path_like, is_quoted_path, parse_destination};

/// Upper bound on a destination, in bytes; it bounds the search for its end.
const LONGEST: usize = 600;

/// A destination that was found.
pub(super) struct LenientLink<'s> {
    /// The end of the link.
    pub(super) end: usize,
    /// The destination as written.
    pub(super) written: &'s str,
    /// The file that the destination names.
    pub(super) target: LinkTarget,
}

/// Finds the link whose text is between the brackets at `open` and `close`, with `](` at `close`. It may not reach beyond `limit`.
pub(super) fn parse_link(source: &str, open: usize, close: usize, limit: usize) -> Option<LenientLink<'_>> {
    if source[..open].ends_with('!') && !is_escaped(source, open - 1) {
        return None;
    }
    let start = close + 2;
    let rest = source.get(start..source.floor_char_boundary(limit.min(start + LONGEST)))?;
    // Most text that is not a link is rejected here, cheaply.
    memchr::memchr3(b')', b'\n', b'\r', rest.as_bytes()).filter(|end| rest.as_bytes()[*end] == b')')?;
    let line = rest.split(['\n', '\r']).next()?;
    let length = balanced(line).or_else(|| first(line))?;
    let written = line[..length].trim();
    let target = parse_destination(written, DestinationSyntax::Loose)?;
    is_intended(written).then_some(LenientLink { end: start + length + 1, written, target })
}

/// Finds the first closing parenthesis that is not opened inside.
fn balanced(line: &str) -> Option<usize> {
    let (mut depth, mut escaped) = (0usize, false);
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'(' => depth += 1,
            b')' if depth == 0 => return Some(at),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Finds the first closing parenthesis, unless another link begins before it.
fn first(line: &str) -> Option<usize> {
    let end = line.bytes().enumerate().find(|(at, byte)| *byte == b')' && !is_escaped(line, *at))?.0;
    (!line[..end].contains("](")).then_some(end)
}

/// Checks whether this is an intended reference, not just words in parentheses.
fn is_intended(written: &str) -> bool {
    let rest = written.strip_prefix("dialectic:").or_else(|| written.strip_prefix("file:"));
    let cut = find_path_end(written);
    let path = &written[..cut.unwrap_or(written.len())];
    if path.starts_with('"') {
        return is_quoted_path(path);
    }
    let spaced = path.contains(char::is_whitespace);
    rest.is_some() || (is_path_like(path) && (!spaced || cut.is_some() || path.contains('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(&str, String)> {
        let close = text.find("](").unwrap();
        let loose = parse_link(text, text.find('[').unwrap(), close, text.len())?;
        Some((loose.written, text[loose.end..].to_owned()))
    }

    #[test]
    fn patterns_may_have_spaces_and_parentheses() {
        for (text, written, rest) in [
            ("[t](a.rs?fn load) and (b)", "a.rs?fn load", " and (b)"),
            ("[t](a.rs?fn load(x: u8)) b", "a.rs?fn load(x: u8)", " b"),
            ("[t](a.rs?fn load\\(x) b)", "a.rs?fn load\\(x", " b)"),
            ("[t](a.rs?fn load(x) b", "a.rs?fn load(x", " b"),
            ("[t](my docs/a b.md#L4)", "my docs/a b.md#L4", ""),
            ("[t](dialectic:a.rs?regex=a b)", "dialectic:a.rs?regex=a b", ""),
            ("[t](\"a b\\377?.rs\"?fn load) c", "\"a b\\377?.rs\"?fn load", " c"),
        ] {
            assert_eq!(read(text), Some((written, rest.to_owned())), "{text}");
        }
    }

    #[test]
    fn words_between_parentheses_are_no_path() {
        for text in [
            "[really](why? because)",
            "[x](see a.rs)",
            "![x](a.rs?b c)",
            "[x](a.rs?b c\nd)",
            "[x](https://e.example/a b)",
            "[x](a.rs?f( [y](b.rs)",
            "[x](\"he said\")",
            "[x](\"src/a b.rs\")",
            "[x](\"a\\9 b.rs\")",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
