//! Relations of a file to others: its imports, and the names that it defines and uses. Main function: [`relations`].
//!
//! They are read from the words of the text, without a parser: dividing a change must cost no more than reading it. Names, not meanings:
//! nothing is resolved, and a name that many files define is weak evidence. Resolving an import to a file is left to callers that know the files.

mod imports;
mod lexer;
mod names;

use std::collections::BTreeSet;

use lexer::LexicalFamily;

/// Maximum size of a text, in bytes; larger ones are hardly ever handwritten.
const LARGEST: usize = 1 << 20;
/// Maximum length of a list.
const MOST: usize = super::imports::MOST;
/// Maximum length of a name, in bytes.
const LONGEST: usize = super::imports::LONGEST;

/// The imports, definitions and uses in one text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Relations {
    /// As written, in order, each once: the path of a module, or the name of a file. If a name is imported from a module it is the last
    /// part: `crate::a::Name`, `a.b.name`, `.name`. A Rust `mod name;` is `self::name`.
    pub imports: Vec<String>,
    /// Names of functions, methods, types, and of top-level constants and variables, in order, each once.
    pub defines: Vec<String>,
    /// Names that are called, imported, or look like those of types or constants. May include the text's own definitions.
    pub uses: BTreeSet<String>,
}

/// Checks whether texts of a language can have relations.
pub fn has_relations(language: &str) -> bool {
    family(language).is_some()
}

fn family(language: &str) -> Option<LexicalFamily> {
    match language {
        "rust" => Some(LexicalFamily::Rust),
        "python" => Some(LexicalFamily::Python),
        "javascript" | "typescript" | "tsx" => Some(LexicalFamily::Script),
        "go" => Some(LexicalFamily::Go),
        "java" => Some(LexicalFamily::Java),
        _ => None,
    }
}

/// Extracts the relations of `text`; `None` if its language is not known here, or the text is very large.
pub fn relations(language: &str, text: &str) -> Option<Relations> {
    read(language, text, true)
}

/// Extracts the relations of `text` without its uses.
pub fn definitions(language: &str, text: &str) -> Option<Relations> {
    read(language, text, false)
}

fn read(language: &str, text: &str, has_uses: bool) -> Option<Relations> {
    let family = family(language)?;
    (text.len() <= LARGEST).then(|| names::read(family, &lexer::tokens(family, text), has_uses))
}

#[cfg(test)]
mod tests;
