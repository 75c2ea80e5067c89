//! What a text defines, imports and uses, with the places. Main type: [`Symbols`]; main function: [`symbols`].
//!
//! Names, not meanings: which definition a use means is for whoever knows the other files. What is not understood is kept too, as a name in
//! [`Symbols::others`], so that nobody takes silence for absence.

mod c;
mod go;
mod java;
mod python;
mod rust;
mod script;
mod seer;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::beside::Beside;
use super::grammar::{Grammar, Watch};
use super::trees::Trees;
use crate::sys::cancel::Cancel;
use seer::{Frame, See, Seer};
use serde::{Deserialize, Serialize};

/// How long one text may take.
const QUESTION: Duration = Duration::from_secs(2);
/// Larger texts are not looked at, in bytes.
const LARGEST: usize = 1 << 20;
/// A list holds no more.
const MOST: usize = 20_000;
/// Longer names are no names, in bytes.
const LONGEST: usize = 200;
/// Nodes that are only names.
const NAMES: &[&str] = &[
    "field_identifier",
    "identifier",
    "property_identifier",
    "shorthand_field_identifier",
    "shorthand_property_identifier",
    "shorthand_property_identifier_pattern",
    "type_identifier",
];

/// What one text defines, imports and uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbols {
    /// In the order of the text.
    pub definitions: Vec<Definition>,
    /// Likewise.
    pub imports: Vec<Import>,
    /// Calls, and names that are asked of a module, a type or a value. Not all mentions: see `others`.
    pub uses: Vec<Use>,
    /// Choices among values.
    pub switches: Vec<Switch>,
    /// Names that stand anywhere else: locals, parameters, plain mentions, macros.
    pub others: BTreeSet<String>,
    /// Whether it may give names that are not written in it: it passes on all of another file, or a macro makes them.
    pub open: bool,
    /// The package it says it belongs to, in languages where a text does.
    pub package: Option<String>,
    /// Whether something was left out.
    pub cut: bool,
}

/// What is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DefinitionKind {
    /// A function or a method.
    Function,
    /// A class or a structure, an alias of a type.
    Type,
    /// What others implement: a trait, an interface, a class.
    Interface,
    /// A type that lists its values.
    Enum,
    /// One of those values.
    Variant,
    /// A member that is no function.
    Field,
    /// A name for a value.
    Constant,
    /// Members for a type that is defined elsewhere: an `impl`.
    Implementation,
    /// A macro.
    Macro,
}

/// One definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "any of them may hold with any other")]
pub struct Definition {
    /// Its name; that of the type for an [`Implementation`](DefinitionKind::Implementation).
    pub name: String,
    /// What it is.
    pub kind: DefinitionKind,
    /// Its first line and the last one of what is said before its body, 1-indexed.
    pub lines: (u32, u32),
    /// The definition it is a member of, as counted in the list.
    pub owner: Option<usize>,
    /// How it is called; `None` where nobody can say (it is decorated, or no function).
    pub parameters: Option<Parameters>,
    /// Whether more than its head is given: a body, a default.
    pub body: bool,
    /// What it extends and implements, by the last parts of the names.
    pub bases: Vec<String>,
    /// Whether it only sometimes stands there (`cfg`, `#ifdef`, `try`).
    pub conditional: bool,
    /// Whether it stands in a function or in a module that is written within the text.
    pub nested: bool,
    /// Whether it may have more members than are listed.
    pub open: bool,
    /// Whether other files may name it; in Go, those of other folders.
    pub public: bool,
}

/// What a function takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// So many must be given.
    pub required: u32,
    /// No more may be given; `None` where any number may.
    pub most: Option<u32>,
    /// Whether the object it is called on is the first one that is given when it is called by its path.
    pub of_object: bool,
}

/// One import of one name, or of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The module, or the whole path, as written.
    pub path: String,
    /// What is taken from it; `None` for the module itself, `*` for everything.
    pub name: Option<String>,
    /// What it is called here.
    pub alias: Option<String>,
    /// Where, 1-indexed.
    pub line: u32,
    /// Whether it may fail, or only sometimes stands there.
    pub conditional: bool,
    /// In how many modules within the text it stands.
    pub depth: u32,
}

/// How a name is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// By itself.
    Plain,
    /// By a path before it: `a::b` in Rust.
    Path(String),
    /// Of a value or a module: the name of that, or empty where it is more than a name.
    Member(String),
    /// As a type of which an object is made.
    New,
}

/// One use of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// The name.
    pub name: String,
    /// How.
    pub how: How,
    /// What it is called with; `None` where it is not called.
    pub call: Option<Arguments>,
    /// Where, 1-indexed.
    pub line: u32,
    /// Whether it only sometimes stands there.
    pub conditional: bool,
    /// The definition it stands in a member of.
    pub owner: Option<usize>,
}

/// What a call gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arguments {
    /// How many.
    pub count: u32,
    /// Whether more or fewer may arrive than are written.
    pub open: bool,
    /// Those that are given by name, which are counted too.
    pub keywords: Vec<String>,
}

/// A choice among values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    /// Where it begins, 1-indexed.
    pub line: u32,
    /// The last parts of the names that are told apart; empty where one of them is no name.
    pub labels: Vec<String>,
    /// Whether it says what to do with any other.
    pub otherwise: bool,
}

impl Symbols {
    /// Whether the parts belong together, as those do that were read from a text: what was kept may be broken.
    pub fn is_sound(&self) -> bool {
        let known = |owner: Option<usize>| owner.is_none_or(|owner| owner < self.definitions.len());
        !(self.definitions.is_empty() && self.imports.is_empty() && self.others.is_empty())
            && self.definitions.iter().all(|one| known(one.owner))
            && self.uses.iter().all(|one| known(one.owner))
    }

    /// The members of a definition.
    pub fn members(&self, owner: usize) -> impl Iterator<Item = &Definition> {
        self.definitions.iter().filter(move |definition| definition.owner == Some(owner))
    }

    /// The name of what a definition is a member of.
    pub fn owner(&self, definition: &Definition) -> Option<&str> {
        definition.owner.and_then(|owner| self.definitions.get(owner)).map(|owner| owner.name.as_str())
    }
}

impl Definition {
    /// Whether it is a method that stands outside of its type, as those of Go do; `bases` names the type.
    pub fn is_attached(&self) -> bool {
        self.kind == DefinitionKind::Function && !self.bases.is_empty()
    }
}

impl Parameters {
    /// Whether so many arguments fit.
    pub fn fit(&self, count: u32) -> bool {
        count >= self.required && self.most.is_none_or(|most| count <= most)
    }
}

/// What `text` defines, imports and uses; `None` where the language has no grammar here, the text is very large, or parsing took too long.
/// It is parsed and read once for all who ask `trees`.
pub fn symbols(language: &str, text: &str, trees: &Trees, cancel: &Cancel) -> Option<Arc<Symbols>> {
    seen(language, (text, None), trees, cancel, false)
}

/// Likewise, without what stands inside functions: what a text offers to others, at a fraction of the work. `beside` is another version of it.
pub fn outline(
    language: &str,
    text: &str,
    beside: Option<&Beside<'_>>,
    trees: &Trees,
    cancel: &Cancel,
) -> Option<Arc<Symbols>> {
    seen(language, (text, beside), trees, cancel, true)
}

fn seen(
    language: &str,
    (text, beside): (&str, Option<&Beside<'_>>),
    trees: &Trees,
    cancel: &Cancel,
    outline: bool,
) -> Option<Arc<Symbols>> {
    let grammar = Grammar::of(language)?;
    let see: See = match grammar {
        Grammar::Rust => rust::see,
        Grammar::Python => python::see,
        Grammar::JavaScript | Grammar::TypeScript | Grammar::Tsx => script::see,
        Grammar::Go => go::see,
        Grammar::Java => java::see,
        Grammar::C | Grammar::Cpp => c::see,
        Grammar::Bash | Grammar::Yaml => return None,
    };
    if text.len() > LARGEST {
        return None;
    }
    let read = || {
        let watch = Watch::new(cancel, QUESTION);
        let tree = trees.parse_beside(grammar, text, beside, &watch).ok()?;
        let root = tree.root.root();
        let mut seer =
            Seer { text, grammar, symbols: Symbols::default(), claimed: HashSet::new(), pending: false, outline };
        seer.all(&mut root.get_inner_node().walk(), see, &watch)?;
        Some(Arc::new(seer.symbols))
    };
    trees.once((grammar, text), |said| if outline { &mut said.outline } else { &mut said.symbols }, read)
}

/// The last part of a path of names, `c` of `a.b::c`; `None` where it is something else.
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
