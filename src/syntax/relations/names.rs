//! Reads definitions and uses from the words of a text. Main function: [`read`].

use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::imports::read_import;
use super::lexer::{LexicalFamily, PlacedToken, Token, is_sign, word_at};
use super::{LONGEST, MOST, Relations};

/// Contents of a pair of braces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    /// Members of a class, an interface or a trait.
    Members,
    /// Functions with names given by a trait.
    OfTrait,
    /// Names of variants or fields.
    Fields,
    Other,
}

/// Maximum number of tokens that are searched for the other names of a declaration.
const FARTHEST: usize = 500;

/// Checks for a word after which `(` does not make a call, over all languages here.
fn is_no_call(word: &str) -> bool {
    matches!(
        word,
        "await"
            | "case"
            | "catch"
            | "def"
            | "elif"
            | "else"
            | "except"
            | "fn"
            | "for"
            | "func"
            | "function"
            | "if"
            | "in"
            | "lambda"
            | "match"
            | "not"
            | "of"
            | "or"
            | "and"
            | "return"
            | "super"
            | "switch"
            | "synchronized"
            | "throw"
            | "try"
            | "typeof"
            | "while"
            | "with"
            | "yield"
            | "self"
            | "this"
            | "import"
    )
}

/// Checks for a word before the name of a method.
fn is_modifier(word: &str) -> bool {
    matches!(
        word,
        "abstract"
            | "async"
            | "declare"
            | "get"
            | "override"
            | "private"
            | "protected"
            | "public"
            | "readonly"
            | "set"
            | "static"
    )
}

/// Reads the relations of a text, with the names that it uses or without them.
pub(super) fn read(family: LexicalFamily, tokens: &[PlacedToken<'_>], has_uses: bool) -> Relations {
    let mut reader = NameReader {
        family,
        tokens,
        closing: closing_signs(tokens),
        blocks: Vec::new(),
        brackets: 0,
        pending: BlockKind::Other,
        margin_word: "",
        types: NameSet::default(),
        names: NameLists { has_uses, ..NameLists::default() },
    };
    reader.run();
    reader.names.into_relations(&reader.types)
}

/// Returns the index of the closing sign of each opening one; that of the last token where it is missing.
fn closing_signs(tokens: &[PlacedToken<'_>]) -> Vec<usize> {
    let mut closing = vec![tokens.len(); tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::Sign(b'(' | b'[' | b'{') => open.push(at),
            Token::Sign(b')' | b']' | b'}') => {
                if let Some(slot) = open.pop().and_then(|start| closing.get_mut(start)) {
                    *slot = at;
                }
            }
            _ => {}
        }
    }
    closing
}

/// A set of names of a text.
type NameSet<'a> = HashSet<&'a str, RandomState>;

/// The names found so far.
#[derive(Default)]
struct NameLists<'a> {
    imports: Vec<String>,
    imported: HashSet<String>,
    /// Names that imports bring in.
    modules: NameSet<'a>,
    defines: Vec<&'a str>,
    defined: NameSet<'a>,
    uses: NameSet<'a>,
    /// `true` to collect uses.
    has_uses: bool,
}

impl<'a> NameLists<'a> {
    fn import(&mut self, path: String) {
        let fits = !path.is_empty() && path.len() <= LONGEST && self.imports.len() < MOST;
        if fits && self.imported.insert(path.clone()) {
            self.imports.push(path);
        }
    }

    fn define(&mut self, name: &'a str) {
        let worth = name != "_" && name != "constructor" && !name.starts_with("__") && name.len() <= LONGEST;
        if worth && self.defines.len() < MOST && self.defined.insert(name) {
            self.defines.push(name);
        }
    }

    fn use_name(&mut self, name: &'a str) {
        if self.has_uses && name.len() <= LONGEST && name != "_" {
            self.uses.insert(name);
        }
    }

    fn into_relations(self, types: &NameSet<'_>) -> Relations {
        let mut uses: Vec<&str> = self.uses.into_iter().filter(|name| !types.contains(name)).collect();
        uses.sort_unstable();
        uses.truncate(MOST);
        Relations {
            imports: self.imports,
            defines: self.defines.into_iter().map(str::to_owned).collect(),
            uses: uses.into_iter().map(str::to_owned).collect(),
        }
    }
}

struct NameReader<'t, 'a> {
    family: LexicalFamily,
    tokens: &'t [PlacedToken<'a>],
    /// Index of the closing sign, by that of the opening one.
    closing: Vec<usize>,
    /// The open braces.
    blocks: Vec<BlockKind>,
    /// Number of open parentheses and square brackets.
    brackets: usize,
    /// Kind of the next block.
    pending: BlockKind,
    /// The last word at the left margin.
    margin_word: &'a str,
    /// Type parameters.
    types: NameSet<'a>,
    names: NameLists<'a>,
}

fn is_large(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

impl<'a> NameReader<'_, 'a> {
    fn word(&self, at: usize) -> Option<&'a str> {
        word_at(self.tokens, at)
    }

    fn is(&self, at: usize, sign: u8) -> bool {
        is_sign(self.tokens, at, sign)
    }

    fn is_before(&self, at: usize, signs: &[u8]) -> bool {
        at > 0 && signs.iter().any(|sign| self.is(at - 1, *sign))
    }

    fn word_before(&self, at: usize) -> Option<&'a str> {
        at.checked_sub(1).and_then(|before| self.word(before))
    }

    fn begins_line(&self, at: usize) -> bool {
        self.tokens.get(at).is_none_or(|token| token.begins_line)
    }

    fn closing(&self, at: usize) -> usize {
        self.closing.get(at).copied().unwrap_or(self.tokens.len())
    }

    fn block(&self) -> BlockKind {
        self.blocks.last().copied().unwrap_or(BlockKind::Other)
    }

    fn is_top(&self) -> bool {
        self.blocks.is_empty() && self.brackets == 0
    }

    fn run(&mut self) {
        let mut at = 0;
        while let Some(token) = self.tokens.get(at) {
            let next = match token.token {
                Token::Sign(sign) => self.sign(at, sign),
                Token::Text(_) => at + 1,
                Token::Word(word) => {
                    if token.at_margin {
                        self.margin_word = word;
                    }
                    match read_import(self.family, self.tokens, at) {
                        Some(import) => {
                            import.paths.into_iter().for_each(|path| self.names.import(path));
                            for name in import.names {
                                self.names.use_name(name);
                                self.names.modules.insert(name);
                            }
                            import.end
                        }
                        None => self.named(at, word),
                    }
                }
            };
            at = next.max(at + 1);
        }
    }

    fn sign(&mut self, at: usize, sign: u8) -> usize {
        match sign {
            b'{' => self.blocks.push(std::mem::replace(&mut self.pending, BlockKind::Other)),
            b'}' => drop(self.blocks.pop()),
            b'(' | b'[' => self.brackets += 1,
            b')' | b']' => self.brackets = self.brackets.saturating_sub(1),
            b';' => self.pending = BlockKind::Other,
            // Names in attributes are not names of code.
            b'#' if self.family == LexicalFamily::Rust => {
                let open = at + 1 + usize::from(self.is(at + 1, b'!'));
                if self.is(open, b'[') {
                    return self.closing(open) + 1;
                }
            }
            _ => {}
        }
        at + 1
    }

    /// Reads a word; returns the index of the next token to read.
    fn named(&mut self, at: usize, word: &'a str) -> usize {
        let defined = match self.family {
            LexicalFamily::Rust => self.rust(at, word),
            LexicalFamily::Python => self.python(at, word),
            LexicalFamily::Script => self.script(at, word),
            LexicalFamily::Go => self.go(at, word),
            LexicalFamily::Java => self.java(at, word),
        };
        if let Some(next) = defined {
            return next;
        }
        if self.names.has_uses && self.is_used(at, word) {
            self.names.use_name(word);
        }
        at + 1
    }

    /// Records a definition whose name is at `name`, with its type parameters.
    fn define(&mut self, name: usize) -> usize {
        let Some(word) = self.word(name) else { return name };
        self.names.define(word);
        self.type_parameters(name + 1);
        name + 1
    }

    /// Type parameters are no uses of anything.
    fn type_parameters(&mut self, open: usize) {
        let (start, end) = match (self.is(open, b'<'), self.is(open, b'[')) {
            (true, _) => (b'<', b'>'),
            (_, true) if self.family == LexicalFamily::Go && self.word(open + 1).is_some() => (b'[', b']'),
            _ => return,
        };
        let mut depth = 0_usize;
        for at in open..self.tokens.len().min(open + 100) {
            if self.is(at, start) {
                depth += 1;
            } else if self.is(at, end) {
                depth -= 1;
            }
            if depth == 0 {
                return;
            }
            let is_first = self.is_before(at, &[start, b',']) || self.word_before(at) == Some("const");
            if let Some(name) = self.word(at).filter(|_| depth == 1 && is_first) {
                self.types.insert(name);
            }
        }
    }

    /// Checks whether a word is a call, or the name of a type or a constant.
    fn is_used(&self, at: usize, word: &str) -> bool {
        let is_path = self.is(at + 1, b':') && self.is(at + 2, b':');
        let of_module = || {
            let of = at.checked_sub(2).and_then(|of| self.word(of)).filter(|_| self.is_before(at, b"."));
            self.family == LexicalFamily::Python && of.is_some_and(|of| self.names.modules.contains(of))
        };
        let is_call = self.is(at + 1, b'(')
            || of_module()
            || self.family == LexicalFamily::Rust
                && (self.is(at + 1, b'!') && (self.is(at + 2, b'(') || self.is(at + 2, b'[') || self.is(at + 2, b'{'))
                    || is_path && self.is(at + 3, b'<'))
            || self.is_before(at, b"@")
            || self.word_before(at) == Some("new");
        (is_call || is_large(word) && !self.is_label(at, is_path)) && !is_no_call(word)
    }

    /// Checks whether a name is that of a field or an argument.
    fn is_label(&self, at: usize, is_path: bool) -> bool {
        let starts = self.begins_line(at) || self.is_before(at, b"{,;(");
        let before_type = self.is(at + 1, b':') && !is_path || self.is(at + 1, b'?') && self.is(at + 2, b':');
        match self.family {
            LexicalFamily::Python => self.is_before(at, b"(,") && self.is(at + 1, b'=') && !self.is(at + 2, b'='),
            _ if self.block() == BlockKind::Fields && starts => true,
            LexicalFamily::Script | LexicalFamily::Go => starts && before_type,
            LexicalFamily::Rust | LexicalFamily::Java => false,
        }
    }

    fn rust(&mut self, at: usize, word: &str) -> Option<usize> {
        let next = self.word(at + 1);
        match word {
            "fn" => {
                if self.block() == BlockKind::OfTrait {
                    self.names.use_name(next?);
                    self.type_parameters(at + 2);
                    return Some(at + 2);
                }
                next.map(|_| self.define(at + 1))
            }
            "struct" | "trait" | "type" | "enum" | "union" if next.is_some() => {
                self.pending = match word {
                    "enum" | "struct" => BlockKind::Fields,
                    _ => BlockKind::Other,
                };
                Some(self.define(at + 1))
            }
            "const" | "static" if !matches!(next, None | Some("fn" | "unsafe" | "async" | "extern")) => {
                let name = at + 1 + usize::from(next == Some("mut"));
                // The parameter of a type is no item.
                (!self.is_before(at, b"<,*")).then(|| self.define(name))
            }
            "macro_rules" if self.is(at + 1, b'!') => Some(self.define(at + 2)),
            "mod" => Some(at + 2),
            "impl"
                if at == 0
                    || self.begins_line(at)
                    || self.is_before(at, b"{};]")
                    || matches!(self.word_before(at), Some("unsafe" | "default")) =>
            {
                self.type_parameters(at + 1);
                let head =
                    (at..self.tokens.len().min(at + 200)).take_while(|at| !self.is(*at, b'{') && !self.is(*at, b';'));
                let is_of_trait = head.into_iter().any(|at| self.word(at) == Some("for") && !self.is(at + 1, b'<'));
                self.pending = if is_of_trait { BlockKind::OfTrait } else { BlockKind::Other };
                None
            }
            _ => None,
        }
    }

    fn python(&mut self, at: usize, word: &str) -> Option<usize> {
        if matches!(word, "def" | "class") && self.word(at + 1).is_some() {
            return Some(self.define(at + 1));
        }
        let token = self.tokens.get(at)?;
        let of_branch = matches!(self.margin_word, "if" | "else" | "elif" | "try" | "except" | "finally");
        if !token.begins_line || self.brackets > 0 || !(token.at_margin || of_branch) {
            return None;
        }
        // `A = `, `A, B = `, `A: int = `.
        let mut names = vec![at];
        let mut end = at + 1;
        while self.is(end, b',') && self.word(end + 1).is_some() {
            names.push(end + 1);
            end += 2;
        }
        let is_typed = names.len() == 1 && self.is(end, b':') && !self.begins_line(end + 1) && !is_no_call(word);
        let is_assigned = self.is(end, b'=') && !self.is(end + 1, b'=');
        if !is_assigned && (!is_typed || matches!(word, "else" | "try" | "finally")) {
            return None;
        }
        for name in names {
            self.define(name);
        }
        Some(end)
    }

    fn script(&mut self, at: usize, word: &'a str) -> Option<usize> {
        let next = self.word(at + 1);
        if self.is_before(at, b".") {
            if self.is(at + 1, b'=') && !self.is(at + 2, b'=') && !self.is(at + 2, b'>') {
                let of = at.checked_sub(2).and_then(|of| self.word(of));
                let is_export = of == Some("exports");
                return is_export.then(|| self.define(at));
            }
            return None;
        }
        match word {
            "function" => {
                let name = at + 1 + usize::from(self.is(at + 1, b'*'));
                return self.word(name).map(|_| self.define(name));
            }
            "class" | "interface" | "enum" if next.is_some_and(|next| next != "extends") || word == "class" => {
                self.pending = if word == "enum" { BlockKind::Fields } else { BlockKind::Members };
                return next.filter(|next| *next != "extends").map(|_| self.define(at + 1));
            }
            "type" if next.is_some() && (self.is(at + 2, b'=') || self.is(at + 2, b'<')) => {
                self.pending = BlockKind::Members;
                return Some(self.define(at + 1));
            }
            "const" | "let" | "var" if self.is_top() && next != Some("enum") => {
                self.declared(at + 1);
                return next.map(|_| at + 2);
            }
            _ => {}
        }
        self.is_method(at, word).then(|| self.define(at))
    }

    /// Records the names of `const a = 1, b = 2`.
    fn declared(&mut self, first: usize) {
        let mut at = first;
        let mut is_name = true;
        while let Some(token) = self.tokens.get(at).filter(|_| at < first + FARTHEST) {
            match token.token {
                Token::Word(name) if is_name => {
                    self.names.define(name);
                    is_name = false;
                }
                Token::Sign(b';' | b')' | b']' | b'}') => return,
                Token::Sign(b'(' | b'[' | b'{') => {
                    is_name = false;
                    at = self.closing(at);
                }
                Token::Sign(b',') => is_name = true,
                // The next statement.
                Token::Word(_) if token.begins_line && at > first && !self.is_before(at, b",=.+-*/&|?:(<>") => return,
                _ => is_name = false,
            }
            at += 1;
        }
    }

    /// Checks for a method, or a field of a class that holds a function.
    fn is_method(&self, at: usize, word: &str) -> bool {
        // Most words end here, so nothing else is asked of them.
        if !(self.is(at + 1, b'(') || self.is(at + 1, b'<') || self.is(at + 1, b'=')) || is_no_call(word) {
            return false;
        }
        let before = self.word_before(at);
        let starts = self.begins_line(at) || self.is_before(at, b"{};,*#") || before.is_some_and(is_modifier);
        if !starts || before == Some("new") {
            return false;
        }
        let is_member = self.block() == BlockKind::Members;
        let list = if self.is(at + 1, b'<') { self.after_angles(at + 1) } else { at + 1 };
        if self.is(list, b'(') {
            let after = self.closing(list) + 1;
            return self.is(after, b'{')
                || is_member && (self.is(after, b':') || self.is(after, b';') || self.begins_line(after));
        }
        // `name = (a) => b`, with or without a type.
        if is_member && self.is(at + 1, b'=') && !self.is(at + 2, b'=') {
            let value = at + 2 + usize::from(self.word(at + 2) == Some("async"));
            let end = if self.is(value, b'(') { self.closing(value) + 1 } else { value + 1 };
            return self.word(value) == Some("function")
                || self.is(end, b'=') && self.is(end + 1, b'>')
                || self.is(value, b'(') && self.is(end, b':');
        }
        false
    }

    /// Returns the index after `<…>`.
    fn after_angles(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..self.tokens.len().min(open + 60) {
            if self.is(at, b'<') {
                depth += 1;
            } else if self.is(at, b'>') && !self.is_before(at, b"=") {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            } else if self.is(at, b';') {
                break;
            }
        }
        open
    }

    fn go(&mut self, at: usize, word: &str) -> Option<usize> {
        match word {
            "func" => {
                let name = if self.is(at + 1, b'(') { self.closing(at + 1) + 1 } else { at + 1 };
                // A literal has parameters and no name.
                let is_named = self.word(name).is_some() && (self.is(name + 1, b'(') || self.is(name + 1, b'['));
                return is_named.then(|| self.define(name));
            }
            "type" => self.go_list(at + 1, |reader, name| {
                reader.define(name);
            }),
            "const" | "var" if self.is_top() => self.go_list(at + 1, |reader, name| {
                reader.define(name);
                let mut more = name + 1;
                while reader.is(more, b',') && !reader.begins_line(more) {
                    reader.define(more + 1);
                    more += 2;
                }
            }),
            "struct" => self.pending = BlockKind::Fields,
            "interface" => self.pending = BlockKind::Members,
            _ => {
                let is_method = self.block() == BlockKind::Members
                    && (self.begins_line(at) || self.is_before(at, b"{;"))
                    && self.is(at + 1, b'(');
                return is_method.then(|| self.define(at));
            }
        }
        // The name itself is read again, and is no use of what it defines.
        Some(at + 1 + usize::from(word == "type" && self.word(at + 1).is_some()))
    }

    /// Calls `take` for each name of a declaration, or of a list of them in parentheses.
    fn go_list(&mut self, from: usize, mut take: impl FnMut(&mut Self, usize)) {
        if self.word(from).is_some() {
            return take(self, from);
        }
        if !self.is(from, b'(') {
            return;
        }
        let end = self.closing(from);
        let mut at = from + 1;
        while at < end {
            if self.word(at).is_some() && (self.begins_line(at) || self.is_before(at, b"(;")) {
                take(self, at);
            }
            at = match self.tokens.get(at).map(|token| token.token) {
                Some(Token::Sign(b'(' | b'[' | b'{')) => self.closing(at),
                _ => at,
            } + 1;
        }
    }

    fn java(&mut self, at: usize, word: &str) -> Option<usize> {
        if matches!(word, "class" | "interface" | "enum" | "record")
            && self.word(at + 1).is_some()
            && !self.is_before(at, b".")
        {
            self.pending = if word == "enum" { BlockKind::Fields } else { BlockKind::Members };
            return Some(self.define(at + 1));
        }
        let is_typed = self.is_before(at, b">]")
            || self.word_before(at).is_some_and(|before| {
                !is_no_call(before)
                    && !is_modifier(before)
                    && !matches!(before, "new" | "final" | "default" | "extends")
            });
        let is_member = matches!(self.block(), BlockKind::Members | BlockKind::Fields) && self.brackets == 0;
        (is_member && is_typed && self.is(at + 1, b'(')).then(|| self.define(at))
    }
}
