//! Reads the strings of JSON, and of an object exported by a JavaScript or TypeScript module. Main function: [`parse_object`].
//!
//! A lenient parser: it accepts comments, unquoted keys, trailing commas, and values that are code.

use super::KeyedString;
use crate::domain::text::LazyPattern;

/// Maximum depth of a string.
const DEEPEST: usize = 16;

static BEGINS: LazyPattern = LazyPattern::new(
    r"(?m)^[ \t]*(?:(?:export[ \t]+)?(?:const|let|var)[ \t]+\w+[^=\n{]*=|export[ \t]+default|module\.exports[ \t]*=)[ \t]*\{",
);

/// Returns every string of the file with its key path.
pub(super) fn parse_object(text: &str, is_module: bool) -> Vec<KeyedString> {
    let mut found = Vec::new();
    if is_module {
        let mut end = 0;
        for begin in BEGINS.regex().into_iter().flat_map(|pattern| pattern.find_iter(text)) {
            if begin.end() > end {
                let at = begin.end() - 1;
                let line = 1 + text[..at].matches('\n').count();
                let mut reader = ObjectReader { text, at, line: u32::try_from(line).unwrap_or(u32::MAX) };
                reader.object(&mut found);
                end = reader.at;
            }
        }
    } else if text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '/']) {
        ObjectReader { text, at: 0, line: 1 }.object(&mut found);
    }
    found
}

enum ObjectToken<'a> {
    Open(bool),
    Close,
    Colon,
    Comma,
    Text(&'a str, u32),
    Word(&'a str),
    Other,
}

struct ObjectReader<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

/// A parsed `key: value`.
#[derive(Clone, Copy, Default)]
struct ObjectMember<'a> {
    key: Option<&'a str>,
    /// Position after the colon.
    named: bool,
    value: Option<(&'a str, u32, u32)>,
    /// The value is not a single string.
    mixed: bool,
}

impl<'a> ObjectReader<'a> {
    /// Reads to the end of the object that begins here.
    fn object(&mut self, found: &mut Vec<KeyedString>) {
        // The key of each level, and `true` for objects.
        let mut open: Vec<(String, bool)> = Vec::new();
        let mut member = ObjectMember::default();
        while let Some(token) = self.token() {
            match token {
                ObjectToken::Open(is_object) => {
                    if !is_object {
                        keep(found, &open, &ObjectMember { mixed: true, ..member }, self.line);
                    }
                    open.push((member.key.unwrap_or_default().to_owned(), is_object));
                    member = ObjectMember::default();
                }
                ObjectToken::Close => {
                    keep(found, &open, &member, self.line);
                    open.pop();
                    member = ObjectMember { mixed: true, ..ObjectMember::default() };
                    if open.is_empty() {
                        return;
                    }
                }
                ObjectToken::Comma => {
                    keep(found, &open, &member, self.line);
                    member = ObjectMember::default();
                }
                ObjectToken::Colon => member.named |= member.key.is_some(),
                ObjectToken::Text(value, line) if member.named => {
                    member.mixed |= member.value.is_some();
                    member.value = Some((value, line, self.line));
                }
                ObjectToken::Text(word, _) | ObjectToken::Word(word) if !member.named => member.key = Some(word),
                _ => member.mixed = true,
            }
        }
    }

    fn token(&mut self) -> Option<ObjectToken<'a>> {
        self.skip();
        let rest = self.text.get(self.at..)?;
        let c = rest.chars().next()?;
        let one = |token| (1, token);
        let (length, token) = match c {
            '{' => one(ObjectToken::Open(true)),
            '[' => one(ObjectToken::Open(false)),
            '}' | ']' => one(ObjectToken::Close),
            ':' => one(ObjectToken::Colon),
            ',' => one(ObjectToken::Comma),
            '"' | '\'' | '`' => return Some(self.quoted(c)),
            c if c.is_alphanumeric() || c == '_' || c == '$' => {
                let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-');
                let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
                (end, ObjectToken::Word(&rest[..end]))
            }
            c => (c.len_utf8(), ObjectToken::Other),
        };
        self.at += length;
        Some(token)
    }

    /// Skips white space and comments.
    fn skip(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len();
            let length = if blank > 0 {
                blank
            } else if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                return;
            };
            self.pass(length);
        }
    }

    fn pass(&mut self, length: usize) {
        let lines = self.text[self.at..self.at + length].matches('\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.at += length;
    }

    fn quoted(&mut self, quote: char) -> ObjectToken<'a> {
        let rest = &self.text[self.at + 1..];
        let mut escaped = false;
        let end = rest.char_indices().find(|(_, c)| {
            let ends = !escaped && (*c == quote || (*c == '\n' && quote != '`'));
            escaped = !escaped && *c == '\\';
            ends
        });
        let length = end.map_or(rest.len(), |(at, _)| at);
        let (value, line) = (&rest[..length], self.line);
        self.pass((length + 2).min(rest.len() + 1));
        if quote == '`' && value.contains("${") { ObjectToken::Other } else { ObjectToken::Text(value, line) }
    }
}

/// Adds a string; a value that is not a single string counts as empty.
fn keep(found: &mut Vec<KeyedString>, open: &[(String, bool)], member: &ObjectMember<'_>, line: u32) {
    let Some(key) = member.key.filter(|_| member.named) else { return };
    let (value, from, to) = member.value.filter(|_| !member.mixed).unwrap_or(("", line, line));
    if open.len() > DEEPEST || open.iter().any(|(_, is_object)| !is_object) {
        return;
    }
    // The outermost is the object of the file.
    let mut path: Vec<&str> = open.iter().skip(1).map(|(name, _)| name.as_str()).collect();
    path.push(key);
    found.push(KeyedString { key: path.join("."), value: value.to_owned(), from, to });
}
