//! Splits source text into words, strings and signs, without comments. Main function: [`tokens`].
//!
//! It knows the comments and strings of a few languages and nothing of their grammar: it is an order of magnitude faster than a parser, and
//! no text can make it fail. The time grows with the text alone.

use crate::domain::text::is_word_byte;

/// The lexical family of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LexicalFamily {
    Rust,
    Python,
    Script,
    Go,
    Java,
}

/// A token of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name or a keyword.
    Word(&'a str),
    /// The contents of a string.
    Text(&'a str),
    /// Any other character; `::` is `:` twice.
    Sign(u8),
}

/// A token and its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedToken<'a> {
    pub(super) token: Token<'a>,
    /// `true` if it is the first one of its line.
    pub(super) begins_line: bool,
    /// `true` if it stands at the left margin.
    pub(super) at_margin: bool,
}

/// Returns the word at an index; `None` if something else is there.
pub(super) fn word_at<'a>(tokens: &[PlacedToken<'a>], at: usize) -> Option<&'a str> {
    match tokens.get(at)?.token {
        Token::Word(word) => Some(word),
        Token::Text(_) | Token::Sign(_) => None,
    }
}

/// Checks for a sign at an index.
pub(super) fn is_sign(tokens: &[PlacedToken<'_>], at: usize, sign: u8) -> bool {
    tokens.get(at).is_some_and(|token| token.token == Token::Sign(sign))
}

/// Number of bytes of a text for each of its tokens, as a rule.
const BYTES_A_TOKEN: usize = 6;
/// Maximum nesting of code in strings.
const DEEPEST: usize = 8;

/// Splits a text. Numbers are left out.
pub(super) fn tokens(family: LexicalFamily, text: &str) -> Vec<PlacedToken<'_>> {
    let mut lexer = Lexer {
        family,
        text,
        bytes: text.as_bytes(),
        at: 0,
        // Growing it step by step would copy it each time.
        found: Vec::with_capacity(text.len() / BYTES_A_TOKEN),
        fresh: true,
        templates: Vec::new(),
        unclosed: [(0, 0); 2],
    };
    lexer.run();
    lexer.found
}

struct Lexer<'a> {
    family: LexicalFamily,
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    found: Vec<PlacedToken<'a>>,
    /// `true` until the first token of a line.
    fresh: bool,
    /// Open braces in each open template string.
    templates: Vec<usize>,
    /// Quotes that are not closed on their line, with the end of that line: a long line is not searched for each of them.
    unclosed: [(u8, usize); 2],
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Counts the bytes from here on up to the first one of another kind.
    fn count(&self, is_one: impl Fn(u8) -> bool) -> usize {
        self.bytes.get(self.at..).unwrap_or_default().iter().take_while(|byte| is_one(**byte)).count()
    }

    fn slice(&self, from: usize, until: usize) -> &'a str {
        self.text.get(from..until.min(self.text.len())).unwrap_or_default()
    }

    fn add(&mut self, token: Token<'a>, from: usize) {
        let at_margin = from == 0 || self.bytes.get(from - 1) == Some(&b'\n');
        self.found.push(PlacedToken { token, begins_line: self.fresh, at_margin });
        self.fresh = false;
    }

    /// Moves past the first `end` at or after `from`, or to the end of the text.
    fn skip_past(&mut self, from: usize, end: &str) {
        let rest = self.bytes.get(from..).unwrap_or_default();
        self.at = memchr::memmem::find(rest, end.as_bytes()).map_or(self.bytes.len(), |at| from + at + end.len());
    }

    fn run(&mut self) {
        while self.at < self.bytes.len() {
            let (byte, next) = (self.peek(0), self.peek(1));
            match (byte, next) {
                (b'\n', _) => {
                    self.fresh = true;
                    self.at += 1;
                }
                (b' ' | b'\t' | b'\r', _) => self.at += self.count(|byte| matches!(byte, b' ' | b'\t' | b'\r')),
                (b'#', _) if self.family == LexicalFamily::Python => self.line_comment(),
                (b'/', b'/') if self.family != LexicalFamily::Python => self.line_comment(),
                (b'/', b'*') if self.family != LexicalFamily::Python => self.block_comment(),
                (b'/', _) if self.family == LexicalFamily::Script && self.expects_value() => self.pattern(),
                (b'"' | b'\'' | b'`', _) => self.quoted(byte),
                (b'{', _) => {
                    if let Some(open) = self.templates.last_mut() {
                        *open += 1;
                    }
                    self.sign(byte);
                }
                (b'}', _) => self.closing_brace(),
                (b'0'..=b'9', _) => self.number(),
                _ if is_word_byte(byte) || byte == b'$' && self.family == LexicalFamily::Script => self.word(),
                _ => self.sign(byte),
            }
        }
    }

    fn sign(&mut self, byte: u8) {
        self.add(Token::Sign(byte), self.at);
        self.at += 1;
    }

    fn line_comment(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    fn block_comment(&mut self) {
        let start = self.at;
        self.skip_past(start + 2, "*/");
        // Comments nest in Rust only.
        let mut seen = start + 2;
        while self.family == LexicalFamily::Rust {
            let inside = self.bytes.get(seen..self.at).unwrap_or_default();
            let Some(nested) = memchr::memmem::find(inside, b"/*") else { break };
            seen += nested + 2;
            self.skip_past(self.at, "*/");
        }
    }

    fn number(&mut self) {
        let start = self.at;
        while is_word_byte(self.peek(0)) || self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            self.at += 1;
        }
        self.add(Token::Sign(b'0'), start);
    }

    fn word(&mut self) {
        let (start, is_script) = (self.at, self.family == LexicalFamily::Script);
        self.at += self.count(|byte| is_word_byte(byte) || byte == b'$' && is_script);
        let word = self.slice(start, self.at);
        let quote = self.peek(0);
        match self.family {
            LexicalFamily::Rust if matches!(word, "r" | "br" | "cr") && matches!(quote, b'"' | b'#') => {
                if !self.raw_string() {
                    self.add(Token::Word(word), start);
                }
            }
            LexicalFamily::Rust if matches!(word, "b" | "c") && matches!(quote, b'"' | b'\'') => self.quoted(quote),
            LexicalFamily::Python if word.len() <= 2 && matches!(quote, b'"' | b'\'') => {
                let from = self.at;
                self.quoted(quote);
                if word.contains(['f', 'F', 't']) {
                    self.formatted(from);
                }
            }
            _ => self.add(Token::Word(word), start),
        }
    }

    /// Reads `#"…"#`; returns `false` if it is something else.
    fn raw_string(&mut self) -> bool {
        let hashes = self.bytes.get(self.at..).unwrap_or_default().iter().take_while(|byte| **byte == b'#').count();
        if hashes > 255 || self.peek(hashes) != b'"' {
            return false;
        }
        let start = self.at + hashes + 1;
        let end = format!("\"{}", "#".repeat(hashes));
        self.skip_past(start, &end);
        let text = self.slice(start, self.at.saturating_sub(end.len()).max(start));
        self.add(Token::Text(text), start);
        true
    }

    fn quoted(&mut self, quote: u8) {
        let start = self.at;
        let is_triple = self.peek(1) == quote && self.peek(2) == quote;
        match self.family {
            LexicalFamily::Rust if quote == b'\'' => self.character(),
            LexicalFamily::Rust if quote == b'"' => self.string(quote, true),
            LexicalFamily::Python | LexicalFamily::Java if is_triple => {
                let end = if quote == b'"' { "\"\"\"" } else { "'''" };
                self.skip_past(start + 3, end);
                self.add(Token::Text(self.slice(start + 3, self.at.saturating_sub(3).max(start + 3))), start);
            }
            LexicalFamily::Go if quote == b'`' => {
                self.skip_past(start + 1, "`");
                self.add(Token::Text(self.slice(start + 1, self.at.saturating_sub(1).max(start + 1))), start);
            }
            LexicalFamily::Script if quote == b'`' => {
                self.at += 1;
                self.template();
            }
            _ if quote == b'`' => self.sign(quote),
            _ => self.string(quote, false),
        }
    }

    /// `'x'`, or the `'a` of a lifetime.
    fn character(&mut self) {
        if self.peek(1) == b'\\' {
            return self.string(b'\'', false);
        }
        let width = self.slice(self.at + 1, self.text.len()).chars().next().map_or(1, char::len_utf8);
        if self.peek(1 + width) == b'\'' {
            self.at += width + 2;
            return;
        }
        self.at += 1;
        while is_word_byte(self.peek(0)) {
            self.at += 1;
        }
    }

    /// Records that a quote at this place is not closed on its line, which ends at `end`, and passes over it.
    fn leave_unclosed(&mut self, quote: u8, end: usize) {
        self.unclosed = [(quote, end), self.unclosed[0]];
        self.sign(quote);
    }

    fn is_unclosed(&self, quote: u8) -> bool {
        self.unclosed.iter().any(|(known, end)| *known == quote && self.at < *end)
    }

    /// A string with escapes. One that is not closed on its line, if it must be, is only a sign.
    fn string(&mut self, quote: u8, over_lines: bool) {
        if self.is_unclosed(quote) {
            return self.sign(quote);
        }
        let start = self.at + 1;
        let mut at = start;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let found = if over_lines {
                memchr::memchr2(quote, b'\\', rest)
            } else {
                memchr::memchr3(quote, b'\\', b'\n', rest)
            };
            at += found.unwrap_or(rest.len());
            match self.bytes.get(at) {
                Some(b'\\') => at += 2,
                Some(byte) if *byte == quote => break,
                _ => return self.leave_unclosed(quote, at),
            }
        }
        self.add(Token::Text(self.slice(start, at)), self.at);
        self.at = at + 1;
    }

    /// The text of a template string up to its end, or to the code in it.
    fn template(&mut self) {
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\\', _) => self.at += 2,
                (b'`', _) => {
                    self.at += 1;
                    self.add(Token::Text(""), self.at - 1);
                    return;
                }
                (b'$', b'{') => {
                    self.at += 2;
                    if self.templates.len() < DEEPEST {
                        self.templates.push(0);
                        return;
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    fn closing_brace(&mut self) {
        match self.templates.last_mut() {
            Some(0) => {
                self.templates.pop();
                self.at += 1;
                self.template();
            }
            Some(open) => {
                *open -= 1;
                self.sign(b'}');
            }
            None => self.sign(b'}'),
        }
    }

    /// The code in the string that was just read, whose quotes begin at `from`.
    fn formatted(&mut self, from: usize) {
        let (start, end) = (from, self.at);
        let text = self.slice(start, end);
        for piece in text.split('{').skip(1).filter_map(|piece| piece.split('}').next()) {
            for token in tokens(self.family, piece) {
                self.found.push(PlacedToken { begins_line: false, at_margin: false, ..token });
            }
        }
    }

    /// Checks whether a value may begin here, so that a slash begins a pattern.
    fn expects_value(&self) -> bool {
        match self.found.last().map(|last| last.token) {
            None => true,
            Some(Token::Word(word)) => {
                matches!(word, "return" | "typeof" | "case" | "in" | "of" | "delete" | "void" | "do" | "else")
            }
            Some(Token::Text(_)) => false,
            Some(Token::Sign(sign)) => !matches!(sign, b')' | b']' | b'}' | b'0' | b'<'),
        }
    }

    /// A regular expression, if it ends on this line.
    fn pattern(&mut self) {
        if self.is_unclosed(b'/') {
            return self.sign(b'/');
        }
        let (mut at, mut in_class) = (self.at + 1, false);
        loop {
            match self.bytes.get(at) {
                Some(b'\\') => at += 1,
                Some(b'[') => in_class = true,
                Some(b']') => in_class = false,
                Some(b'/') if !in_class => break,
                Some(b'\n') | None => return self.leave_unclosed(b'/', at),
                Some(_) => {}
            }
            at += 1;
        }
        self.add(Token::Text(""), self.at);
        self.at = at + 1;
        while self.peek(0).is_ascii_alphabetic() {
            self.at += 1;
        }
    }
}
