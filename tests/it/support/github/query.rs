//! GraphQL documents, read. Main types: [`Document`], [`Selection`], [`Input`].

use serde_json::Value;

/// A document with one operation.
#[derive(Debug, Clone)]
pub struct Document {
    /// `query` or `mutation`.
    pub kind: String,
    /// Variables with their defaults; whether one must be given.
    pub variables: Vec<(String, bool, Option<Input>)>,
    /// What is asked for.
    pub set: Vec<Selection>,
    /// Fragments: name, type, selections.
    pub fragments: Vec<(String, String, Vec<Selection>)>,
}

/// Something that is asked for.
#[derive(Debug, Clone)]
pub enum Selection {
    /// A field.
    Field {
        /// The name in the answer.
        key: String,
        /// The field.
        name: String,
        /// Its arguments.
        args: Vec<(String, Input)>,
        /// `include` and `skip`.
        only: Vec<(String, Input)>,
        /// What is asked of it.
        set: Vec<Selection>,
    },
    /// A named fragment.
    Spread(String),
    /// A fragment in place, for one type or for all.
    Inline(Option<String>, Vec<Selection>),
}

/// A value in a document.
#[derive(Debug, Clone)]
pub enum Input {
    /// A variable.
    Variable(String),
    /// A value; words are texts.
    Plain(Value),
    /// A list.
    List(Vec<Input>),
    /// An object.
    Object(Vec<(String, Input)>),
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Number(String),
    Mark(char),
    Dots,
}

/// Reads a document.
pub fn read(text: &str) -> Result<Document, String> {
    let mut reader = Reader { tokens: tokens(text)?, at: 0 };
    let mut found = None;
    let mut fragments = Vec::new();
    while reader.at < reader.tokens.len() {
        if reader.is('{') {
            found = Some(("query".to_owned(), Vec::new(), reader.set()?));
            continue;
        }
        let word = reader.name()?;
        if word == "fragment" {
            let name = reader.name()?;
            reader.word("on")?;
            let on = reader.name()?;
            fragments.push((name, on, reader.set()?));
            continue;
        }
        if !matches!(word.as_str(), "query" | "mutation") {
            return Err(format!("{word} is no operation"));
        }
        if !reader.is('{') && !reader.is('(') {
            reader.name()?;
        }
        let variables = reader.variables()?;
        if found.is_some() {
            return Err("two operations".to_owned());
        }
        found = Some((word, variables, reader.set()?));
    }
    let (kind, variables, set) = found.ok_or("no operation")?;
    Ok(Document { kind, variables, set, fragments })
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is(&self, mark: char) -> bool {
        self.peek() == Some(&Token::Mark(mark))
    }

    fn take(&mut self, mark: char) -> bool {
        let is = self.is(mark);
        self.at += usize::from(is);
        is
    }

    fn need(&mut self, mark: char) -> Result<(), String> {
        if self.take(mark) { Ok(()) } else { Err(format!("{mark:?} is missing before {:?}", self.peek())) }
    }

    fn name(&mut self) -> Result<String, String> {
        match self.peek().cloned() {
            Some(Token::Name(name)) => {
                self.at += 1;
                Ok(name)
            }
            other => Err(format!("a name is missing before {other:?}")),
        }
    }

    fn word(&mut self, wanted: &str) -> Result<(), String> {
        let name = self.name()?;
        if name == wanted { Ok(()) } else { Err(format!("{wanted} is missing before {name}")) }
    }

    fn variables(&mut self) -> Result<Vec<(String, bool, Option<Input>)>, String> {
        let mut variables = Vec::new();
        if self.take('(') {
            while !self.take(')') {
                self.need('$')?;
                let name = self.name()?;
                self.need(':')?;
                let mut depth = 0;
                while self.take('[') {
                    depth += 1;
                }
                self.name()?;
                let mut must = self.take('!');
                for _ in 0..depth {
                    self.need(']')?;
                    must = self.take('!');
                }
                let default = if self.take('=') { Some(self.input()?) } else { None };
                variables.push((name, must, default));
            }
        }
        Ok(variables)
    }

    fn set(&mut self) -> Result<Vec<Selection>, String> {
        self.need('{')?;
        let mut set = Vec::new();
        while !self.take('}') {
            set.push(self.selection()?);
        }
        if set.is_empty() { Err("nothing is asked for".to_owned()) } else { Ok(set) }
    }

    fn selection(&mut self) -> Result<Selection, String> {
        if self.peek() == Some(&Token::Dots) {
            self.at += 1;
            if self.is('{') {
                return Ok(Selection::Inline(None, self.set()?));
            }
            let name = self.name()?;
            if name == "on" {
                let on = self.name()?;
                return Ok(Selection::Inline(Some(on), self.set()?));
            }
            return Ok(Selection::Spread(name));
        }
        let key = self.name()?;
        let name = if self.take(':') { self.name()? } else { key.clone() };
        let args = self.args()?;
        let mut only = Vec::new();
        while self.take('@') {
            let directive = self.name()?;
            let (_, value) = self.args()?.pop().ok_or("a directive without its condition")?;
            only.push((directive, value));
        }
        let set = if self.is('{') { self.set()? } else { Vec::new() };
        Ok(Selection::Field { key, name, args, only, set })
    }

    fn args(&mut self) -> Result<Vec<(String, Input)>, String> {
        let mut args = Vec::new();
        if self.take('(') {
            while !self.take(')') {
                let name = self.name()?;
                self.need(':')?;
                args.push((name, self.input()?));
            }
        }
        Ok(args)
    }

    fn input(&mut self) -> Result<Input, String> {
        if self.take('$') {
            return Ok(Input::Variable(self.name()?));
        }
        if self.take('[') {
            let mut list = Vec::new();
            while !self.take(']') {
                list.push(self.input()?);
            }
            return Ok(Input::List(list));
        }
        if self.take('{') {
            let mut object = Vec::new();
            while !self.take('}') {
                let name = self.name()?;
                self.need(':')?;
                object.push((name, self.input()?));
            }
            return Ok(Input::Object(object));
        }
        let token = self.peek().cloned();
        self.at += 1;
        Ok(Input::Plain(match token {
            Some(Token::Text(text)) => text.into(),
            Some(Token::Number(digits)) => serde_json::from_str(&digits).map_err(|error| error.to_string())?,
            Some(Token::Name(name)) => match name.as_str() {
                "true" => true.into(),
                "false" => false.into(),
                "null" => Value::Null,
                _ => name.into(),
            },
            other => return Err(format!("a value is missing before {other:?}")),
        }))
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            ',' => 1,
            _ if first.is_whitespace() || first == '\u{feff}' => first.len_utf8(),
            '.' if rest.starts_with("...") => {
                tokens.push(Token::Dots);
                3
            }
            '"' => {
                let end = end_of_text(rest).ok_or("a text without its end")?;
                tokens.push(Token::Text(serde_json::from_str(&rest[..end]).map_err(|error| error.to_string())?));
                end
            }
            _ if first.is_ascii_alphabetic() || first == '_' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                tokens.push(Token::Name(rest[..end].to_owned()));
                end
            }
            _ if first.is_ascii_digit() || first == '-' => {
                let end = rest[1..].find(|c: char| !c.is_ascii_digit() && c != '.').map_or(rest.len(), |at| at + 1);
                tokens.push(Token::Number(rest[..end].to_owned()));
                end
            }
            '{' | '}' | '(' | ')' | '[' | ']' | ':' | '=' | '!' | '$' | '@' => {
                tokens.push(Token::Mark(first));
                1
            }
            other => return Err(format!("{other:?} has no meaning here")),
        };
        rest = &rest[end..];
    }
    Ok(tokens)
}

/// Where a text in quotes ends; texts in three quotes are not read.
fn end_of_text(rest: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}
