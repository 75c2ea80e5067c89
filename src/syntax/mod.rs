//! Parses texts and matches structural rules on them.
//!
//! Main types: [`Grammar`] (a language), [`Tree`] (a parsed text), [`RuleSet`] (rules compiled for one grammar). This is the only place
//! that names tree-sitter and ast-grep. The meaning of a rule (its description, its severity, whether a match counts) belongs in `rules`.
//! A language is one line in [`Grammar`]'s table.

mod beside;
mod found;
mod grammar;
mod limits;
mod matching;
mod misread;
mod nodes;
mod probe;
mod relations;
mod repeated;
mod returns;
mod scan;
mod scopes;
mod symbol;
mod symbols;
mod trees;
mod watched;

pub use beside::Beside;
pub use found::{Edit, Found, Scan};
pub use grammar::{Grammar, Tree, Unparsed, Watch, error_count, parses};
pub use matching::{RuleParts, RuleSet, RuleSource, SyntaxError, documents};
pub use misread::Misread;
pub use nodes::Nodes;
pub use probe::{HELPER, ParserProbe, ProbeScope, serve as serve_probe};
pub use relations::{Relations, relations};
pub use scopes::Scope;
pub use symbol::enclosing_symbol;
pub use symbols::{
    Arguments, Definition, DefinitionKind, How, Import, Parameters, Switch, Symbols, Use, outline, symbols,
};
pub use trees::Trees;
