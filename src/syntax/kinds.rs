//! The kinds of nodes and the fields of a grammar, by their numbers. Main type: [`GrammarKinds`].
//!
//! The parser makes the name of a kind from a C string each time; a walk over a tree asks for one at each node.

use std::sync::OnceLock;

use ast_grep_core::tree_sitter::LanguageExt as _;

use super::grammar::Grammar;

/// The kinds that share what a walk does with them, over all grammars here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KindGroup {
    /// Any other.
    Other,
    /// It is only a name.
    Name,
    /// It contains other code under a name.
    Scope,
    /// It does if what it names is a function.
    FunctionName,
    /// An attribute of Rust.
    Attribute,
    /// Its children are left out of a table of nodes: a string without code in it, or a comment.
    Token,
}

impl KindGroup {
    fn of(kind: &str) -> Self {
        match kind {
            "field_identifier"
            | "identifier"
            | "property_identifier"
            | "shorthand_field_identifier"
            | "shorthand_property_identifier"
            | "shorthand_property_identifier_pattern"
            | "type_identifier" => Self::Name,
            "class_declaration"
            | "class_definition"
            | "class_specifier"
            | "constructor_declaration"
            | "enum_declaration"
            | "function_declaration"
            | "function_definition"
            | "function_item"
            | "generator_function_declaration"
            | "impl_item"
            | "interface_declaration"
            | "method_declaration"
            | "method_definition"
            | "mod_item"
            | "namespace_definition"
            | "record_declaration"
            | "struct_specifier"
            | "trait_item" => Self::Scope,
            "variable_declarator" | "pair" | "public_field_definition" | "field_definition" => Self::FunctionName,
            "attribute_item" => Self::Attribute,
            "string"
            | "string_literal"
            | "interpreted_string_literal"
            | "raw_string_literal"
            | "char_literal"
            | "character_literal"
            | "regex"
            | "concatenated_string"
            | "comment"
            | "line_comment"
            | "block_comment" => Self::Token,
            _ => Self::Other,
        }
    }
}

/// The kinds and fields of a grammar; a field of number 0 is none.
#[derive(Debug)]
pub(super) struct GrammarKinds {
    names: Vec<String>,
    groups: Vec<KindGroup>,
    fields: Vec<String>,
}

impl GrammarKinds {
    /// Returns those of a grammar, built once: they are many hundred.
    pub(super) fn of(grammar: Grammar) -> &'static Self {
        static ALL: [OnceLock<GrammarKinds>; Grammar::ALL.len()] = [const { OnceLock::new() }; Grammar::ALL.len()];
        ALL[grammar as usize].get_or_init(|| {
            let language = grammar.support().get_ts_language();
            let count = |count: usize| 0..u16::try_from(count).unwrap_or(u16::MAX);
            let names = count(language.node_kind_count());
            let names: Vec<String> =
                names.map(|kind| language.node_kind_for_id(kind).unwrap_or_default().to_owned()).collect();
            let fields = count(language.field_count() + 1);
            let fields = fields.map(|field| language.field_name_for_id(field).unwrap_or_default().to_owned()).collect();
            let groups = names.iter().map(|name| KindGroup::of(name)).collect();
            Self { names, groups, fields }
        })
    }

    /// Returns the name of a kind; a syntax error has one of its own, which is in no grammar.
    pub(super) fn name(&self, kind: u16) -> &str {
        self.names.get(usize::from(kind)).map_or("ERROR", String::as_str)
    }

    /// Returns the group of a kind.
    pub(super) fn group(&self, kind: u16) -> KindGroup {
        self.groups.get(usize::from(kind)).copied().unwrap_or(KindGroup::Other)
    }

    /// Returns the name of a field.
    pub(super) fn field(&self, field: u16) -> Option<&str> {
        self.fields.get(usize::from(field)).map(String::as_str)
    }
}
