//! Parses texts and matches structural rules on them.
//!
//! Main types: [`Grammar`] (a language), [`SyntaxTree`] (a parsed text), [`RuleSet`] (rules compiled for one grammar). This is the only place
//! that names tree-sitter and ast-grep. The meaning of a rule (its description, its severity, whether a match counts) belongs in `rules`.
//! A language is one line in [`Grammar`]'s table.

mod asynchronous;
mod blocks;
mod carriage_returns;
mod defined_names;
mod excerpt;
mod focus;
mod grammar;
mod imports;
mod kinds;
mod limits;
mod matches;
mod matching;
mod misread;
mod nesting;
mod nodes;
mod other_version;
mod probe;
mod queries;
mod relations;
mod repeated;
mod scan;
mod scopes;
mod symbols;
mod text_need;
mod tree;
mod tree_cache;
mod walk;
mod watched_doc;

pub use excerpt::{Excerpt, ExcerptQuery, WordSet};
pub use focus::ScanFocus;
pub use grammar::{Grammar, ParseFailure, ParseLimits};
pub use matches::{ByteEdit, PassedGaps, SyntaxMatch, SyntaxScan};
pub use matching::{RuleParts, RuleSet, RuleSource, SyntaxError, documents};
pub use misread::MisreadLines;
pub use nodes::NodeTable;
pub use other_version::OtherVersion;
pub use probe::{HELPER, ParserProbe, ProbeScope, serve as serve_probe};
pub use queries::{SymbolDepth, different_outlines, different_trees, enclosing_symbol, error_count, symbols};
pub use relations::{Relations, definitions, has_relations, relations};
pub use scopes::CodeScope;
pub use symbols::{
    ArgumentShape, DefinitionKind, Parameters, SymbolDefinition, SymbolImport, SymbolUse, Symbols, UseKind,
};
pub use text_need::TextNeed;
pub use tree::SyntaxTree;
pub use tree_cache::{ParseWork, TreeCache};
