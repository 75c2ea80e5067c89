//! The definitions, imports and uses in a text, with their places. Main type: [`Symbols`]; main function: [`extract`].
//!
//! Names, not meanings: resolving a use to its definition needs the other files, and is done by callers. Names in constructs that are not
//! understood are listed in [`Symbols::others`], so that a missing use is never taken for an absent one.

mod c;
mod extractor;
mod go;
mod java;
mod python;
mod rust;
mod script;

use std::collections::{BTreeSet, HashSet};

use super::grammar::{Grammar, ParseLimits};
use super::kinds::GrammarKinds;
use super::tree::SyntaxTree;
use super::walk::walk;
use extractor::{NodeVisitor, SymbolExtractor, SymbolFrame};

/// Maximum length of a list.
const MOST: usize = 20_000;
/// Maximum length of a name, in bytes.
const LONGEST: usize = 200;

/// The definitions, imports and uses in one text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Symbols {
    /// In the order of the text.
    pub definitions: Vec<SymbolDefinition>,
    /// In the order of the text.
    pub imports: Vec<SymbolImport>,
    /// Calls, and names accessed through a module, a type or a value. Not all mentions: see `others`.
    pub uses: Vec<SymbolUse>,
    /// Names anywhere else: locals, parameters, plain mentions, macros.
    pub others: BTreeSet<String>,
    /// `true` if it may provide names that are not written in it: it re-exports all of another file, or a macro defines them.
    pub open: bool,
    /// The package that it declares, in languages that have such declarations.
    pub package: Option<String>,
    /// `true` if something was left out.
    pub cut: bool,
}

/// The kind of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DefinitionKind {
    /// A function or a method.
    Function,
    /// A class or a structure, an alias of a type.
    Type,
    /// An interface for others to implement: a trait, an interface, a class.
    Interface,
    /// A type that lists its values.
    Enum,
    /// One of those values.
    Variant,
    /// A member that is not a function.
    Field,
    /// A name for a value.
    Constant,
    /// Members for a type that is defined elsewhere: an `impl`.
    Implementation,
    /// A macro.
    Macro,
}

/// One definition.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "any of them may hold with any other")]
pub struct SymbolDefinition {
    /// Its name; that of the type for an [`Implementation`](DefinitionKind::Implementation).
    pub name: String,
    /// Its kind.
    pub kind: DefinitionKind,
    /// Its first line, and the last one before its body, 1-indexed.
    pub lines: (u32, u32),
    /// The index of the definition that it is a member of.
    pub owner: Option<usize>,
    /// Its parameters; `None` if unknown (it is decorated, or not a function).
    pub parameters: Option<Parameters>,
    /// `true` if it has more than a head: a body, a default.
    pub body: bool,
    /// The types it extends and implements, by the last parts of the names.
    pub bases: Vec<String>,
    /// `true` if it is conditional (`cfg`, `#ifdef`, `try`).
    pub conditional: bool,
    /// `true` if it is in a function or in a module within the text.
    pub nested: bool,
    /// `true` if it may have more members than are listed.
    pub open: bool,
    /// `true` if other files may name it; in Go, those of other folders.
    pub public: bool,
}

/// The number of arguments that a function takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    /// Required arguments.
    pub required: u32,
    /// Maximum number of arguments; `None` if unlimited.
    pub most: Option<u32>,
    /// `true` if the receiver is the first argument when the function is called by its path.
    pub of_object: bool,
}

/// An import of one name, or of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolImport {
    /// The module, or the whole path, as written.
    pub path: String,
    /// The imported name; `None` for the module itself, `*` for everything.
    pub name: Option<String>,
    /// Its local name.
    pub alias: Option<String>,
    /// The line, 1-indexed.
    pub line: u32,
    /// `true` if it is conditional, or may fail.
    pub conditional: bool,
    /// The number of enclosing modules within the text.
    pub depth: u32,
}

/// The way a name is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UseKind {
    /// Unqualified.
    Plain,
    /// Qualified by a path: `a::b` in Rust.
    Path(String),
    /// A member of a value or a module: the name of that, or empty if it is more than a name.
    Member(String),
    /// As a type that is constructed.
    New,
}

/// A use of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolUse {
    /// The name.
    pub name: String,
    /// The way it is used.
    pub how: UseKind,
    /// The arguments of the call; `None` if it is not called.
    pub call: Option<ArgumentShape>,
    /// The line, 1-indexed.
    pub line: u32,
    /// `true` if it is conditional.
    pub conditional: bool,
    /// The definition whose member contains it.
    pub owner: Option<usize>,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentShape {
    /// Their number.
    pub count: u32,
    /// `true` if more or fewer may be passed than are written.
    pub open: bool,
    /// Named arguments, which are counted too.
    pub keywords: Vec<String>,
}

impl Symbols {
    /// Returns the number of entries.
    pub fn entry_count(&self) -> usize {
        self.definitions.len() + self.imports.len() + self.uses.len() + self.others.len()
    }

    /// Returns the members of a definition.
    pub fn members(&self, owner: usize) -> impl Iterator<Item = &SymbolDefinition> {
        self.definitions.iter().filter(move |definition| definition.owner == Some(owner))
    }

    /// Returns the name of the definition that another one is a member of.
    pub fn owner(&self, definition: &SymbolDefinition) -> Option<&str> {
        definition.owner.and_then(|owner| self.definitions.get(owner)).map(|owner| owner.name.as_str())
    }
}

impl SymbolDefinition {
    /// `true` for a method outside of its type, as in Go; `bases` names the type.
    pub fn is_attached(&self) -> bool {
        self.kind == DefinitionKind::Function && !self.bases.is_empty()
    }
}

impl Parameters {
    /// Checks whether a call with `count` arguments is valid.
    pub fn accepts(&self, count: u32) -> bool {
        count >= self.required && self.most.is_none_or(|most| count <= most)
    }
}

/// Checks whether the symbols of a language can be extracted.
pub(super) fn are_known(grammar: Grammar) -> bool {
    visitor(grammar).is_some()
}

fn visitor(grammar: Grammar) -> Option<NodeVisitor> {
    Some(match grammar {
        Grammar::Rust => rust::see,
        Grammar::Python => python::see,
        Grammar::JavaScript | Grammar::TypeScript | Grammar::Tsx => script::see,
        Grammar::Go => go::see,
        Grammar::Java => java::see,
        Grammar::C | Grammar::Cpp => c::see,
        Grammar::Bash | Grammar::Yaml => return None,
    })
}

/// Extracts the symbols of a tree and its text; `None` if they are not known, or that took too long. An outline omits the bodies of
/// functions.
pub(super) fn extract(tree: &SyntaxTree, text: &str, outline: bool, watch: &ParseLimits<'_>) -> Option<Symbols> {
    let see = visitor(tree.grammar)?;
    let mut seer = SymbolExtractor {
        text,
        grammar: tree.grammar,
        kinds: GrammarKinds::of(tree.grammar),
        symbols: Symbols::default(),
        claimed: HashSet::new(),
        pending: false,
    };
    let root = tree.root.root();
    walk(root.get_inner_node(), SymbolFrame::default(), watch, |cursor, around| {
        seer.visit(cursor.node(), see, *around).filter(|inside| !(outline && inside.function))
    })
    .ok()?;
    let mut symbols = seer.symbols;
    // They are cached until the end of a run.
    symbols.definitions.shrink_to_fit();
    symbols.imports.shrink_to_fit();
    symbols.uses.shrink_to_fit();
    Some(symbols)
}

/// Returns the last part of a path of names, `c` of `a.b::c`; `None` if it is something else.
fn last_name(text: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '$');
    let whole = !text.is_empty() && text.len() <= LONGEST && text.chars().all(is_part);
    let last = text.rsplit(['.', ':']).next().filter(|_| whole)?;
    (last.starts_with(|c: char| c.is_alphabetic() || c == '_')).then(|| last.to_owned())
}

fn line_of(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX - 1) + 1
}

#[cfg(test)]
mod tests;
