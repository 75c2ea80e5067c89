//! Reads the imports of a text from its words. Main function: [`read_import`].

use super::lexer::{LexicalFamily, PlacedToken, Token, is_sign, word_at};
use super::{LONGEST, MOST};

/// Maximum nesting of imports in braces.
const DEEPEST: usize = 16;

/// An import statement.
#[derive(Default)]
pub(super) struct ReadImport<'a> {
    /// The paths as written.
    pub(super) paths: Vec<String>,
    /// The names that it brings into the text.
    pub(super) names: Vec<&'a str>,
    /// The index of the first token after it.
    pub(super) end: usize,
}

/// Reads the import that begins at a word; `None` if none does.
pub(super) fn read_import<'a>(family: LexicalFamily, tokens: &[PlacedToken<'a>], at: usize) -> Option<ReadImport<'a>> {
    let word = word_at(tokens, at)?;
    let starts = at == 0 || tokens.get(at).is_some_and(|token| token.begins_line) || is_sign(tokens, at - 1, b';');
    match (family, word) {
        (LexicalFamily::Rust, "use") => Some(rust_use(tokens, at + 1)),
        (LexicalFamily::Rust, "include" | "include_str" | "include_bytes") if is_sign(tokens, at + 1, b'!') => {
            let path = text_at(tokens, at + 3)?.to_owned();
            Some(ReadImport { paths: vec![path], end: at + 4, ..ReadImport::default() })
        }
        (LexicalFamily::Rust, "mod") if is_sign(tokens, at + 2, b';') => {
            let paths = vec![format!("self::{}", word_at(tokens, at + 1)?)];
            Some(ReadImport { paths, end: at + 2, ..ReadImport::default() })
        }
        (LexicalFamily::Rust, "crate") if at > 0 && word_at(tokens, at - 1) == Some("extern") => {
            let paths = vec![word_at(tokens, at + 1)?.to_owned()];
            Some(ReadImport { paths, end: at + 2, ..ReadImport::default() })
        }
        (LexicalFamily::Python, "import") if starts => Some(python_import(tokens, at + 1)),
        (LexicalFamily::Python, "from") if starts => python_from(tokens, at + 1),
        (LexicalFamily::Script, "import" | "export") if starts => script_import(tokens, at),
        (LexicalFamily::Script, "require" | "import") if is_sign(tokens, at + 1, b'(') => {
            let path = text_at(tokens, at + 2)?.to_owned();
            Some(ReadImport { paths: vec![path], end: at + 3, ..ReadImport::default() })
        }
        (LexicalFamily::Go, "import") if starts => Some(go_import(tokens, at + 1)),
        _ => None,
    }
}

fn text_at<'a>(tokens: &[PlacedToken<'a>], at: usize) -> Option<&'a str> {
    match tokens.get(at)?.token {
        Token::Text(text) => Some(text),
        Token::Word(_) | Token::Sign(_) => None,
    }
}

fn is_end_of_line(tokens: &[PlacedToken<'_>], at: usize) -> bool {
    tokens.get(at).is_none_or(|token| token.begins_line)
}

/// `use a::{b, c::{self, D as E}};`, up to the semicolon.
fn rust_use<'a>(tokens: &[PlacedToken<'a>], from: usize) -> ReadImport<'a> {
    let mut found = ReadImport { end: from, ..ReadImport::default() };
    // The path before each open brace, and the one that is being read.
    let mut open: Vec<String> = Vec::new();
    let mut path = String::new();
    let mut name: Option<&str> = None;
    let mut at = from;
    let join = |before: Option<&String>, path: &str| match (before.map_or("", String::as_str), path) {
        ("", path) | (path, "" | "self") => path.to_owned(),
        (before, path) => format!("{before}::{path}"),
    };
    while let Some(token) = tokens.get(at) {
        let is_end = matches!(token.token, Token::Sign(b';'));
        match token.token {
            Token::Word("as") => at += 1,
            Token::Word(word) => {
                if !path.is_empty() {
                    path.push_str("::");
                }
                if path.len() <= LONGEST {
                    path.push_str(word);
                }
                name = Some(word);
            }
            Token::Sign(b'{') => {
                open.push(join(open.last(), &path));
                (path, name) = (String::new(), None);
            }
            Token::Sign(b'*') => {
                found.paths.push(join(open.last(), &path));
                (path, name) = (String::new(), None);
            }
            Token::Sign(b',' | b'}' | b';') => {
                if !path.is_empty() && found.paths.len() < MOST {
                    found.paths.push(join(open.last(), &path));
                    found.names.extend(name.filter(|name| !matches!(*name, "self" | "super" | "crate")));
                }
                (path, name) = (String::new(), None);
                if matches!(token.token, Token::Sign(b'}')) {
                    open.pop();
                }
            }
            Token::Sign(_) | Token::Text(_) => {}
        }
        at += 1;
        if is_end || open.len() > DEEPEST {
            break;
        }
    }
    ReadImport { end: at, ..found }
}

/// Reads `a.b.c`; returns it with the index after it.
fn dotted(tokens: &[PlacedToken<'_>], from: usize) -> (String, usize) {
    let mut path = String::new();
    let mut at = from;
    let mut after_word = false;
    while let Some(token) = tokens.get(at) {
        match token.token {
            Token::Sign(b'.') => {
                path.push('.');
                after_word = false;
            }
            Token::Word(word) if !after_word && word != "import" && path.len() <= LONGEST => {
                path.push_str(word);
                after_word = true;
            }
            _ => break,
        }
        at += 1;
    }
    (path, at)
}

/// `import a.b, c as d`.
fn python_import<'a>(tokens: &[PlacedToken<'a>], from: usize) -> ReadImport<'a> {
    let mut found = ReadImport::default();
    let mut at = from;
    while !is_end_of_line(tokens, at) && found.paths.len() < MOST {
        let (path, end) = dotted(tokens, at);
        if path.is_empty() {
            break;
        }
        found.paths.push(path);
        at = if word_at(tokens, end) == Some("as") { end + 2 } else { end };
        if !is_sign(tokens, at, b',') {
            break;
        }
        at += 1;
    }
    ReadImport { end: at, ..found }
}

/// `from a.b import c, d as e`, also over several lines in parentheses.
fn python_from<'a>(tokens: &[PlacedToken<'a>], from: usize) -> Option<ReadImport<'a>> {
    let (module, mut at) = dotted(tokens, from);
    if module.is_empty() || word_at(tokens, at) != Some("import") {
        return None;
    }
    at += 1;
    let mut found = ReadImport::default();
    let in_brackets = is_sign(tokens, at, b'(');
    at += usize::from(in_brackets);
    while let Some(token) = tokens.get(at).filter(|token| in_brackets || !token.begins_line) {
        match token.token {
            Token::Word("as") => at += 1,
            Token::Word(name) if found.paths.len() < MOST => {
                let dot = if module.ends_with('.') { "" } else { "." };
                found.paths.push(format!("{module}{dot}{name}"));
                found.names.push(name);
            }
            Token::Sign(b',' | b'*') => {}
            _ => break,
        }
        at += 1;
    }
    if found.paths.is_empty() {
        found.paths.push(module);
    }
    Some(ReadImport { end: at, ..found })
}

/// `import a, { b as c } from "d"`, `import "d"`, `export { a } from "d"`, `import a = require("d")`.
fn script_import<'a>(tokens: &[PlacedToken<'a>], from: usize) -> Option<ReadImport<'a>> {
    let is_import = word_at(tokens, from) == Some("import");
    let mut found = ReadImport::default();
    let mut at = from + 1;
    // `import type { A }`, but not a type that is called `type`.
    if word_at(tokens, at) == Some("type")
        && (is_sign(tokens, at + 1, b'{')
            || is_sign(tokens, at + 1, b'*')
            || word_at(tokens, at + 1).is_some_and(|word| word != "from"))
    {
        at += 1;
    }
    let is_list = matches!(tokens.get(at)?.token, Token::Sign(b'{' | b'*'));
    if !is_import && !is_list {
        return None;
    }
    while let Some(token) = tokens.get(at) {
        match token.token {
            Token::Text(path) => {
                found.paths.push(path.to_owned());
                return Some(ReadImport { end: at + 1, ..found });
            }
            Token::Word("as") => {
                // Without a name before it: a namespace.
                let namespace = is_sign(tokens, at - 1, b'*').then(|| word_at(tokens, at + 1)).flatten();
                found.names.extend(namespace);
                at += 1;
            }
            Token::Word("require") if is_sign(tokens, at + 1, b'(') => {
                found.paths.extend(text_at(tokens, at + 2).map(str::to_owned));
                return Some(ReadImport { end: at + 3, ..found });
            }
            // The next statement.
            Token::Word("import" | "export") => return None,
            Token::Word("from" | "type") | Token::Sign(b',' | b'*' | b'{' | b'}' | b'=') => {}
            Token::Word(name) if found.names.len() < MOST => found.names.push(name),
            _ => return None,
        }
        // An export of own names ends at its brace.
        if matches!(token.token, Token::Sign(b'}')) && word_at(tokens, at + 1) != Some("from") {
            return None;
        }
        at += 1;
    }
    None
}

/// `import "a"` and `import ( "a"; b "c" )`.
fn go_import<'a>(tokens: &[PlacedToken<'a>], from: usize) -> ReadImport<'a> {
    let in_brackets = is_sign(tokens, from, b'(');
    let mut found = ReadImport::default();
    let mut at = from + usize::from(in_brackets);
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.token {
            Token::Text(path) if found.paths.len() < MOST => {
                found.paths.push(path.to_owned());
                if !in_brackets {
                    break;
                }
            }
            Token::Sign(b')') => break,
            _ => {}
        }
    }
    ReadImport { end: at, ..found }
}
