//! Limits of a grammar's external scanner, checked before parsing. Main function: [`beyond_scanner`].
//!
//! A scanner writes its state into 1024 bytes for each token. One that writes more ends the process; one that writes nothing instead
//! loses its place, and misparses the rest of the text.
//!
//! | grammar | state, in bytes | how it stays within 1024 |
//! | --- | --- | --- |
//! | YAML | 10, and 4 for each open collection or block scalar; more than 253 end the process | [`yaml_depth`] |
//! | Python | 2, 1 for each open string (255 at most), and 2 for each indentation; 511 with a string open end the process | [`indentations`] |
//! | Bash | 4, and 7 with the delimiter for each pending here-document; gives up above | [`pending_delimiters`] |
//! | C++ | 4 for each character of a raw string's delimiter, 64 at most; one of 16 characters, which C++ allows, is not read | [`has_longest_delimiter`] |
//! | Rust | 1, the hashes of a raw string; 256 of them are no Rust | always |
//! | JavaScript, TypeScript, TSX | none | always |
//! | C, Go, Java | no scanner | always |

use std::collections::BTreeSet;

use super::carriage_returns::LoneReturns;
use super::grammar::{Grammar, ParseFailure};

/// Maximum nesting of a YAML text: the scanner holds 253.
const YAML_DEPTH: usize = 240;
/// Maximum number of indentations of a Python text: with 255 open strings, the scanner holds 383. Python itself refuses more than 100.
const INDENTATIONS: usize = 380;
/// Maximum size of all pending here-document delimiters, in bytes.
const DELIMITERS: usize = 1000;
/// Maximum length of the delimiter that C++ allows in a raw string, in characters.
const LONGEST_DELIMITER: usize = 16;

impl Grammar {
    /// Checks that its scanner can hold a text, without parsing it.
    pub fn check_limits(self, text: &str) -> Result<(), ParseFailure> {
        match beyond_scanner(self, text) {
            Some(why) => Err(ParseFailure::BeyondScanner(why)),
            None => LoneReturns::of(self, text).map(drop),
        }
    }
}

/// Returns why the external scanner of a grammar cannot hold a text; `None` if it can. The bounds are upper ones: they may refuse a text
/// that would just fit, which does not occur in practice.
pub(super) fn beyond_scanner(grammar: Grammar, text: &str) -> Option<&'static str> {
    let bytes = text.as_bytes();
    match grammar {
        Grammar::Yaml => {
            (yaml_depth(bytes) > YAML_DEPTH).then_some("its collections are nested deeper than the parser can hold")
        }
        Grammar::Python => {
            (indentations(bytes) > INDENTATIONS).then_some("its blocks are nested deeper than the parser can hold")
        }
        Grammar::Bash => (pending_delimiters(bytes) > DELIMITERS)
            .then_some("the delimiters of its here-documents are longer than the parser can hold"),
        Grammar::Cpp => {
            has_longest_delimiter(bytes).then_some("the delimiter of a raw string is longer than the parser can hold")
        }
        Grammar::Rust
        | Grammar::JavaScript
        | Grammar::TypeScript
        | Grammar::Tsx
        | Grammar::Go
        | Grammar::Java
        | Grammar::C => None,
    }
}

/// Returns an upper bound of the collections that are open at once. Those that begin a line, or follow another one's mark there, each
/// have a column of their own, or share it with one other; those elsewhere on a line, which only a text with errors has, end with it.
fn yaml_depth(text: &[u8]) -> usize {
    let is_blank = |byte: u8| matches!(byte, b' ' | b'\t');
    let mut columns = BTreeSet::new();
    let mut most_within = 0;
    for line in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
        let is_mark = |at: usize| {
            line.get(at).is_some_and(|byte| matches!(byte, b'-' | b'?' | b':'))
                && line.get(at + 1).is_none_or(|next| is_blank(*next))
        };
        let content = |from: usize| line[from..].iter().position(|byte| !is_blank(*byte)).map(|at| from + at);
        let Some(mut at) = content(0).filter(|at| line[*at] != b'#') else { continue };
        columns.insert(at);
        while is_mark(at) {
            let Some(next) = content(at + 1) else { break };
            columns.insert(next);
            at = next;
        }
        let begins = |at: &usize| {
            is_mark(*at) && matches!(line[*at - 1], b' ' | b'\t' | b',' | b'[' | b']' | b'{' | b'}' | b'"' | b'\'')
        };
        most_within = most_within.max((at + 1..line.len()).filter(begins).count());
    }
    2 * columns.len() + most_within
}

/// Counts the different indentations, computed as the scanner does. There are at most as many open blocks, since each is indented further
/// than the one around it.
fn indentations(text: &[u8]) -> usize {
    let mut widths = BTreeSet::new();
    let mut at = 0;
    while let Some(feed) = memchr::memchr2(b'\n', b'\r', &text[at..]) {
        at += feed + 1;
        let mut width = 0u16;
        while let Some(byte) = text.get(at) {
            width = match byte {
                b' ' => width.wrapping_add(1),
                b'\t' => width.wrapping_add(8),
                b'\r' | b'\n' | b'\x0c' => 0,
                // A continued line does not change the count.
                b'\\' => width,
                _ => break,
            };
            at += if byte == &b'\\' { 1 + line_end(&text[at + 1..]) } else { 1 };
        }
        widths.insert(width);
    }
    widths.len()
}

/// Returns the length of the line end at the start of some bytes.
fn line_end(bytes: &[u8]) -> usize {
    match bytes {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}

/// Returns the maximum number of bytes that the delimiters of one line's here-documents take in the scanner's state. Counting ends once
/// they are too many: a delimiter can hold others, so that to count each to its end takes quadratic time.
fn pending_delimiters(text: &[u8]) -> usize {
    let (mut most, mut pending, mut from) = (0, 0, 0);
    for at in memchr::memmem::find_iter(text, b"<<") {
        if at < from {
            continue;
        }
        // A backslash continues the line.
        let ends = |feed: usize| from + feed == 0 || text[from + feed - 1] != b'\\';
        if memchr::memchr_iter(b'\n', &text[from..at]).any(ends) {
            pending = 0;
        }
        let rest = &text[at + 2..];
        // No other `<<` is among these bytes, so that each is scanned once.
        let word = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'-')).unwrap_or(rest.len());
        let length = match rest.get(word) {
            Some(quote @ (b'"' | b'\'')) => length_of(&rest[word + 1..], |byte| byte == quote || *byte == b'\n'),
            _ => length_of(&rest[word..], u8::is_ascii_whitespace),
        };
        pending += 8 + length;
        if pending > DELIMITERS {
            return pending;
        }
        most = most.max(pending);
        from = at + 2;
    }
    most
}

/// Returns the length of the delimiter at the start of some bytes; of one that is too long, only enough to show that.
fn length_of(bytes: &[u8], ends: impl Fn(&u8) -> bool) -> usize {
    let most = bytes.len().min(DELIMITERS + 1);
    bytes[..most].iter().position(ends).unwrap_or(most)
}

/// Checks whether a raw string has a delimiter of the maximum length.
fn has_longest_delimiter(text: &[u8]) -> bool {
    memchr::memmem::find_iter(text, b"R\"").any(|at| {
        let delimiter = &text[at + 2..];
        let end = |byte: &u8| matches!(byte, b'(' | b')' | b'\\' | b'"') || byte.is_ascii_whitespace();
        let length = delimiter.iter().take(4 * LONGEST_DELIMITER + 1).position(end);
        length.is_some_and(|length| {
            delimiter[length] == b'('
                && delimiter[..length].iter().filter(|byte| **byte & 0xc0 != 0x80).count() >= LONGEST_DELIMITER
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::grammar::ParseLimits;
    use super::super::tree::SyntaxTree;
    use super::*;
    use crate::sys::cancel::Cancel;
    use std::time::Duration;

    fn parsed(grammar: Grammar, text: &str) -> Result<(), ParseFailure> {
        let cancel = Cancel::never();
        SyntaxTree::parse(grammar, text, &ParseLimits::new(&cancel, Duration::from_mins(1))).map(drop)
    }

    fn stairs(steps: usize, line: &str) -> String {
        (0..steps).map(|step| format!("{}{line}\n", " ".repeat(step))).collect::<Vec<_>>().concat()
    }

    #[test]
    fn nothing_that_a_scanner_cannot_hold_reaches_it() {
        // Some 1 000 characters of delimiters, on one line, and on a continued one.
        let many = format!("cat {}\n", (0..60).map(|at| format!("<<DELIMITER_{at} ")).collect::<Vec<_>>().concat());
        for (grammar, text) in [
            (Grammar::Yaml, format!("{}a\n", "- ".repeat(254))),
            (Grammar::Yaml, format!("{}a\n", "? ".repeat(254))),
            (Grammar::Yaml, format!("{}a\n", ": ".repeat(254))),
            (Grammar::Yaml, format!("{}a\n", "- ? : ".repeat(90))),
            (Grammar::Yaml, format!("a: {}b\n", "- ".repeat(254))),
            (Grammar::Yaml, format!("[{}b]\n", "- ".repeat(254))),
            (Grammar::Yaml, stairs(254, "a:")),
            (Grammar::Yaml, stairs(130, "- a:\n")),
            (Grammar::Yaml, stairs(254, "-").replace('\n', "\r")),
            (Grammar::Python, format!("{}{}f'a{{b}}'\n", stairs(515, "if x:"), " ".repeat(515))),
            (Grammar::Python, format!("{}{}f'a{{b}}'\n", stairs(515, "if x:"), " ".repeat(515)).replace('\n', "\r")),
            (Grammar::Bash, format!("cat <<{0}\nx\n{0}\n", "A".repeat(1100))),
            (Grammar::Bash, format!("cat <<-'{0}'\nx\n{0}\n", "A b".repeat(400))),
            (Grammar::Bash, many.clone()),
            (Grammar::Bash, many.replace(' ', " \\\n")),
            (Grammar::Cpp, "auto a = R\"0123456789abcdef(x)0123456789abcdef\";\n".to_owned()),
        ] {
            let why = parsed(grammar, &text).unwrap_err();
            assert!(matches!(why, ParseFailure::BeyondScanner(_)), "{why:?} {}", &text[..60]);
        }
    }

    #[test]
    fn delimiters_are_counted_until_they_are_too_many() {
        let quoted = "<<'a ".repeat(20_000);
        for text in ["<<<\u{2039}".repeat(20_000), format!("<<{}", "A".repeat(80_000)), quoted] {
            let pending = pending_delimiters(text.as_bytes());
            assert!(pending > DELIMITERS && pending <= 2 * DELIMITERS + 9, "{pending}");
        }
        // What fits is counted to its end, and the count restarts on the next line.
        for (text, bytes) in
            [("cat <<A <<-'B c'\n", 8 + 1 + 8 + 3), ("cat <<A\nA\ncat <<AB", 8 + 2), ("cat <<A \\\n<<B\n", 18), ("", 0)]
        {
            assert_eq!(pending_delimiters(text.as_bytes()), bytes, "{text}");
        }
    }

    #[test]
    fn a_text_may_end_anywhere() {
        for grammar in Grammar::ALL {
            for text in [
                "",
                "\n",
                "a\n\\",
                "\n\\\r",
                "\r",
                "<<",
                "a <<'",
                "R\"",
                "R\"0123456789abcdef",
                "-",
                "- ",
                "\u{e4}-\u{e4}: ",
            ] {
                let _ = beyond_scanner(*grammar, text);
            }
        }
    }

    #[test]
    fn what_people_write_is_parsed() {
        let rule = "- ".repeat(40);
        let many = (0..300).map(|at| format!("cat <<END_{at}\n{at}\nEND_{at}\n")).collect::<Vec<_>>().concat();
        for (grammar, text) in [
            (Grammar::Yaml, stairs(60, "a:")),
            (Grammar::Yaml, format!("a: |\n  {rule}\n  {rule}\nb: \"{}\"\n", "c - d: e ".repeat(100))),
            (Grammar::Python, stairs(90, "if x:")),
            (Grammar::Bash, many),
            (Grammar::Bash, format!("a=$((1<<20)) b='<<{0}' c=<<<{0}\n", "A".repeat(300))),
            (Grammar::Cpp, "auto a = R\"0123456789abcde(x)0123456789abcde\";\n".to_owned()),
        ] {
            assert_eq!(parsed(grammar, &text), Ok(()), "{}", &text[..60.min(text.len())]);
        }
    }
}
