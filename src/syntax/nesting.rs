//! Where the lines of a text begin: how many brackets are open there, and whether a string or a comment goes on. Main type: [`NestedLine`].
//!
//! It reads characters, not grammar: some thirty times as fast as parsing. Where a language is ambiguous without its grammar it takes what
//! is more frequent. A text whose brackets do not match then has no lines; what depends on them parses all of it.

use super::grammar::Grammar;
use crate::domain::text::byte_set;

/// A line by what is open at its begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NestedLine {
    /// Offset in bytes.
    pub(super) start: usize,
    /// Number of open brackets.
    pub(super) depth: u32,
    /// Minimum number of them in the line.
    pub(super) lowest: u32,
    /// `true` if a string, a comment or the line before goes on.
    pub(super) goes_on: bool,
}

/// A pair whose end is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opened {
    /// By the byte that closes it.
    Bracket(u8),
    Comment,
    /// A string that may have several lines.
    Text {
        quote: u8,
        /// Number of quotation marks at each end.
        marks: usize,
        /// Number of `#` after the last one.
        hashes: usize,
        has_escapes: bool,
    },
}

/// Reads the lines of a text, the last of which is empty and begins at its end; `None` if brackets do not match, or something stays open.
pub(super) fn lines(grammar: Grammar, text: &str) -> Option<Vec<NestedLine>> {
    let mut reader = Reader { grammar, bytes: text.as_bytes(), at: 0, open: Vec::new(), lowest: 0 };
    let mut lines = vec![NestedLine { start: 0, depth: 0, lowest: 0, goes_on: false }];
    while reader.at < text.len() {
        let end = memchr::memchr(b'\n', &reader.bytes[reader.at..]).map_or(text.len(), |feed| reader.at + feed);
        reader.lowest = reader.open.len();
        reader.read_line(end)?;
        if let Some(line) = lines.last_mut() {
            line.lowest = u32::try_from(reader.lowest).ok()?;
        }
        reader.at = (end + 1).min(text.len());
        let is_joined = end.checked_sub(1).is_some_and(|last| reader.bytes[last] == b'\\');
        lines.push(NestedLine {
            start: reader.at,
            depth: u32::try_from(reader.open.len()).ok()?,
            lowest: 0,
            goes_on: is_joined || !matches!(reader.open.last(), None | Some(Opened::Bracket(_))),
        });
    }
    reader.open.is_empty().then_some(lines)
}

struct Reader<'t> {
    grammar: Grammar,
    bytes: &'t [u8],
    at: usize,
    open: Vec<Opened>,
    /// Minimum number of open ones in the line so far.
    lowest: usize,
}

impl Reader<'_> {
    /// Reads up to the end of a line; `None` if a bracket is closed that is not open.
    fn read_line(&mut self, end: usize) -> Option<()> {
        while self.at < end {
            match self.open.last().copied() {
                Some(Opened::Comment) => self.read_comment(end),
                Some(Opened::Text { quote, marks, hashes, has_escapes }) => {
                    self.read_text(end, quote, (marks, hashes), has_escapes);
                }
                None | Some(Opened::Bracket(_)) => self.read_code(end)?,
            }
        }
        Some(())
    }

    fn read_comment(&mut self, end: usize) {
        match memchr::memchr2(b'*', b'/', &self.bytes[self.at..end]) {
            None => self.at = end,
            Some(found) => {
                let at = self.at + found;
                self.at = at + 1;
                if self.bytes[at..end].starts_with(b"*/") {
                    self.at = at + 2;
                    self.open.pop();
                } else if self.grammar == Grammar::Rust && self.bytes[at..end].starts_with(b"/*") {
                    self.at = at + 2;
                    self.open.push(Opened::Comment);
                }
            }
        }
    }

    fn read_text(&mut self, end: usize, quote: u8, (marks, hashes): (usize, usize), has_escapes: bool) {
        while self.at < end {
            let rest = &self.bytes[self.at..end];
            let is_end = || {
                let after = rest.iter().take_while(|byte| **byte == quote).count();
                after >= marks && rest[marks..].iter().take_while(|byte| **byte == b'#').count() >= hashes
            };
            match rest[0] {
                b'\\' if has_escapes => self.at += 2,
                b'$' if quote == b'`' && has_escapes && rest.starts_with(b"${") => {
                    self.at += 2;
                    self.open.push(Opened::Bracket(b'}'));
                    return;
                }
                byte if byte == quote && is_end() => {
                    self.at += marks + hashes;
                    self.open.pop();
                    return;
                }
                _ => self.at += 1,
            }
        }
        self.at = end;
    }

    /// Reads code up to the end of the line, or to where a string or a comment goes on.
    fn read_code(&mut self, end: usize) -> Option<()> {
        let is_stop = |byte: &u8| STOPS[usize::from(*byte)];
        while let Some(found) = self.bytes[self.at..end].iter().position(is_stop) {
            let at = self.at + found;
            self.at = at + 1;
            match self.bytes[at] {
                b'(' => self.open.push(Opened::Bracket(b')')),
                b'[' => self.open.push(Opened::Bracket(b']')),
                b'{' => self.open.push(Opened::Bracket(b'}')),
                closing @ (b')' | b']' | b'}') => {
                    self.open.pop().filter(|open| *open == Opened::Bracket(closing))?;
                    self.lowest = self.lowest.min(self.open.len());
                }
                b'#' if self.grammar == Grammar::Python => self.at = end,
                b'/' if self.grammar != Grammar::Python => self.open_slash(at, end),
                quote @ (b'"' | b'\'' | b'`') => self.open_quote(at, end, quote),
                _ => {}
            }
            if !matches!(self.open.last(), None | Some(Opened::Bracket(_))) {
                return Some(());
            }
        }
        self.at = end;
        Some(())
    }

    fn open_slash(&mut self, at: usize, end: usize) {
        match self.bytes[at + 1..end].first() {
            Some(b'/') => self.at = end,
            Some(b'*') => {
                self.at = at + 2;
                self.open.push(Opened::Comment);
            }
            _ if self.grammar.is_script() && self.begins_pattern(at) => {
                // Up to the next slash that is not in brackets.
                let (mut is_escaped, mut is_class) = (false, false);
                let is_end = |byte: &u8| {
                    let ends = *byte == b'/' && !is_escaped && !is_class;
                    is_class = if is_escaped { is_class } else { *byte == b'[' || is_class && *byte != b']' };
                    is_escaped = *byte == b'\\' && !is_escaped;
                    ends
                };
                self.at = self.bytes[at + 1..end].iter().position(is_end).map_or(at + 1, |close| at + close + 2);
            }
            _ => {}
        }
    }

    /// Checks whether a slash begins a regular expression: no value stands before it.
    fn begins_pattern(&self, at: usize) -> bool {
        let before = self.bytes[..at].trim_ascii_end();
        before.last().is_none_or(|last| b"(,=:[!&|?{;+>".contains(last)) || before.ends_with(b"return")
    }

    fn open_quote(&mut self, at: usize, end: usize, quote: u8) {
        use Grammar::{Bash, C, Cpp, Go, Java, JavaScript, Python, Rust, Tsx, TypeScript, Yaml};
        let rest = &self.bytes[at..end];
        let is_triple = rest.starts_with(&[quote; 3]);
        let (marks, hashes, has_escapes) = match (self.grammar, quote) {
            (Rust, b'"') => {
                let hashes = self.bytes[..at].iter().rev().take_while(|byte| **byte == b'#').count();
                let is_raw = self.bytes[..at - hashes].ends_with(b"r");
                (1, if is_raw { hashes } else { 0 }, !is_raw)
            }
            (Python, b'"' | b'\'') | (Java, b'"') if is_triple => (3, 0, true),
            (JavaScript | TypeScript | Tsx, b'`') => (1, 0, true),
            (Go, b'`') => (1, 0, false),
            (Rust | Go | C | Cpp | Java, b'\'') => {
                self.at = after_character(rest).map_or(at + 1, |after| at + after);
                return;
            }
            (JavaScript | TypeScript | Tsx | Python, b'"' | b'\'') | (Go | C | Cpp | Java, b'"') => {
                self.at = after_text(rest).map_or(at + 1, |after| at + after);
                return;
            }
            (Rust | Go | Python | C | Cpp | Java | JavaScript | TypeScript | Tsx | Bash | Yaml, _) => return,
        };
        self.at = at + marks;
        self.open.push(Opened::Text { quote, marks, hashes, has_escapes });
    }
}

/// Returns the length of a string that ends on its line, with its quotation marks; `None` if it does not end there.
fn after_text(rest: &[u8]) -> Option<usize> {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == rest[0] => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Returns the length of a character with its quotation marks; `None` for a single mark, as that of a lifetime.
fn after_character(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        return after_text(rest);
    }
    let close = memchr::memchr(b'\'', rest.get(2..)?)? + 2;
    let is_one = std::str::from_utf8(&rest[1..close]).is_ok_and(|inside| inside.chars().count() == 1);
    is_one.then_some(close + 1)
}

/// The bytes that open or close something.
static STOPS: [bool; 256] = byte_set(b"()[]{}\"'`/#");

#[cfg(test)]
mod tests {
    use super::*;

    /// Depths of the lines; `-` where a string, a comment or a line goes on.
    fn depths(grammar: Grammar, text: &str) -> Option<String> {
        let lines = lines(grammar, text)?;
        let one = |line: &NestedLine| format!("{}{}", line.depth, if line.goes_on { "-" } else { "" });
        Some(lines.iter().map(one).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn what_a_line_closes_and_opens_again_is_known() {
        let lines = lines(Grammar::Rust, "a {\n} else {\n\"}\" }\n").unwrap();
        let lowest: Vec<_> = lines.iter().map(|line| (line.depth, line.lowest)).collect();
        assert_eq!(lowest, [(0, 0), (1, 0), (1, 0), (0, 0)]);
    }

    #[test]
    fn what_is_open_is_known_at_each_line() {
        for (grammar, text, expected) in [
            (Grammar::Rust, "a {\n(\n)}\nb", Some("0 1 2 0 0")),
            (Grammar::Rust, "'{' 'a '\\'' '\\u{1}'\n\"{\n\\\"\"\nr#\"{\"\n\"#\n", Some("0 0 1- 0 1- 0")),
            (Grammar::Rust, "/* /* {\n*/\n*/ // (\n", Some("0 2- 1- 0")),
            (Grammar::TypeScript, "`{\n${ a(\n`}`)\n}`\n", Some("0 1- 3 2 0")),
            (Grammar::TypeScript, "a = /[/(]\\/{/; b / (c\n/ d)\n\"**/*\" + '\\''\n", Some("0 1 0 0")),
            (Grammar::Tsx, "<p>don't {a\n}</p>\n", Some("0 1 0")),
            (Grammar::Python, "a = '''(\n''' # (\n\"\"\"\n'\"\"\"\nb \\\n  c\n", Some("0 1- 0 1- 0 0- 0")),
            (Grammar::Go, "`(\\`\n'{'\n", Some("0 0 0")),
            (Grammar::C, "#define A \\\n  b\n// (\n", Some("0 0- 0 0")),
            (Grammar::Java, "\"\"\"\n(\n\"\"\"\n", Some("0 1- 1- 0")),
            (Grammar::Rust, "(]\n", None),
            (Grammar::Rust, "}\n", None),
            (Grammar::Rust, "(\n", None),
            (Grammar::Rust, "", Some("0")),
        ] {
            assert_eq!(depths(grammar, text).as_deref(), expected, "{grammar:?} {text:?}");
        }
    }
}
