//! The relations that a parser finds: those that the reader of words is compared with. Main function: [`relations_by_tree`].

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use tree_sitter::Node;

use super::{LONGEST, MOST, Relations};
use crate::syntax::grammar::{Grammar, ParseLimits};
use crate::syntax::imports::collect_imports;
use crate::syntax::tree_cache::TreeCache;
use crate::syntax::walk::walk;
use crate::sys::cancel::Cancel;

/// Extracts the relations of `text`; `None` if the language has no grammar here.
pub(super) fn relations_by_tree(language: &str, text: &str) -> Option<Relations> {
    let cancel = Cancel::never();
    let watch = ParseLimits::new(&cancel, Duration::from_hours(1));
    let grammar = Grammar::of(language)?;
    let tree = TreeCache::default().parse(grammar, text, &watch).ok()?;
    let root = tree.root.root();
    let mut reader = RelationReader { grammar, text, names: RelationNames::default() };
    let top = RelationFrame { kind: "", top: true, binding: false, path: false, of_trait: false };
    walk(root.get_inner_node(), top, &watch, |cursor, around| reader.see(cursor.node(), cursor.field_name(), *around))
        .ok()?;
    Some(reader.names.settle())
}

/// Nodes whose field `name` is a definition, at any level.
const DEFINING: &[&str] = &[
    "abstract_class_declaration",
    "abstract_method_signature",
    "class_declaration",
    "class_definition",
    "const_item",
    "enum_declaration",
    "enum_item",
    "function_declaration",
    "function_definition",
    "function_item",
    "function_signature",
    "function_signature_item",
    "generator_function_declaration",
    "interface_declaration",
    "macro_definition",
    "method_declaration",
    "method_definition",
    "method_elem",
    "method_signature",
    "static_item",
    "struct_item",
    "trait_item",
    "type_alias",
    "type_alias_declaration",
    "type_item",
    "type_spec",
    "union_item",
];

/// Nodes whose contents stay at the top level of the file.
const TRANSPARENT: &[&str] = &[
    "ambient_declaration",
    "assignment",
    "block",
    "const_declaration",
    "const_spec",
    "else_clause",
    "except_clause",
    "export_statement",
    "expression_statement",
    "if_statement",
    "lexical_declaration",
    "pattern_list",
    "try_statement",
    "var_declaration",
    "var_spec",
    "var_spec_list",
    "variable_declaration",
    "variable_declarator",
];

/// The context of a node.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "any of them may hold with any other")]
struct RelationFrame<'t> {
    kind: &'t str,
    /// At the top level of the file.
    top: bool,
    /// Names in it are bound.
    binding: bool,
    /// It contains a name, and is not the name itself.
    path: bool,
    /// Functions in it have names given by a trait.
    of_trait: bool,
}

struct RelationReader<'a> {
    grammar: Grammar,
    text: &'a str,
    names: RelationNames<'a>,
}

/// The names found so far.
#[derive(Default)]
struct RelationNames<'a> {
    imports: Vec<String>,
    imported: HashSet<String>,
    defines: Vec<&'a str>,
    defined: HashSet<&'a str>,
    bound: HashSet<&'a str>,
    called: HashSet<&'a str>,
    named: HashSet<&'a str>,
    /// Members that were named and not called, each with its object.
    members: HashSet<(&'a str, &'a str)>,
}

impl<'a> RelationNames<'a> {
    fn import(&mut self, path: String) {
        let fits = !path.is_empty() && path.len() <= LONGEST && self.imports.len() < MOST;
        if fits && self.imported.insert(path.clone()) {
            self.imports.push(path);
        }
    }

    fn define(&mut self, name: &'a str) {
        let worth = !name.is_empty()
            && name != "_"
            && name != "constructor"
            && !name.starts_with("__")
            && name.len() <= LONGEST;
        if worth && self.defines.len() < MOST && self.defined.insert(name) {
            self.defines.push(name);
        }
    }

    fn settle(self) -> Relations {
        let bound = &self.bound;
        let named = self.named.into_iter().filter(|name| !bound.contains(name));
        let members = self.members.into_iter().filter(|(of, name)| is_large(name) || !bound.contains(of));
        let all = self.called.into_iter().chain(named).chain(members.map(|(_, name)| name));
        let mut uses: BTreeSet<&str> = all.filter(|name| (1..=LONGEST).contains(&name.len()) && *name != "_").collect();
        while uses.len() > MOST {
            uses.pop_last();
        }
        Relations {
            imports: self.imports,
            defines: self.defines.into_iter().map(str::to_owned).collect(),
            uses: uses.into_iter().map(str::to_owned).collect(),
        }
    }
}

fn is_large(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

impl<'a> RelationReader<'a> {
    fn of(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Records a node; returns the context of its children if there may be more in it.
    fn see<'t>(&mut self, node: Node<'t>, field: Option<&str>, around: RelationFrame<'_>) -> Option<RelationFrame<'t>> {
        if !node.is_named() {
            return None;
        }
        let kind = node.kind();
        match kind {
            "identifier"
            | "type_identifier"
            | "field_identifier"
            | "property_identifier"
            | "shorthand_field_identifier"
            | "shorthand_property_identifier"
            | "shorthand_property_identifier_pattern" => {
                self.name(node, field, around);
                return None;
            }
            // Names in these are not names of code, or are names of fields.
            "attribute_item" | "inner_attribute_item" | "lifetime" | "label" => return None,
            _ if around.kind == "keyed_element" && field == Some("key") => return None,
            "attribute" | "member_expression" | "selector_expression" | "field_expression" => {
                self.member(node, field, around);
            }
            "public_field_definition" | "field_definition" => self.field(node),
            _ => collect_imports(self.grammar, node, self.text, &mut |path| self.names.import(path)),
        }
        let place = matches!(kind, "attribute" | "member_expression" | "selector_expression" | "subscript");
        Some(RelationFrame {
            kind,
            top: around.kind.is_empty() || around.top && TRANSPARENT.contains(&kind),
            binding: !place && binds(kind, field, around),
            path: leads(field, around),
            of_trait: match kind {
                "impl_item" => node.child_by_field_name("trait").is_some(),
                _ => around.of_trait && matches!(kind, "declaration_list" | "function_item"),
            },
        })
    }

    /// Records a name: defined, bound, called or only mentioned.
    fn name(&mut self, node: Node<'_>, field: Option<&str>, around: RelationFrame<'_>) {
        let name = self.of(node);
        let (path, large) = (leads(field, around), is_large(name));
        let names = &mut self.names;
        let set = match (around.kind, field) {
            ("function_item", Some("name")) if around.of_trait => &mut names.called,
            (kind, Some("name")) if DEFINING.contains(&kind) => return names.define(name),
            ("variable_declarator" | "const_spec" | "var_spec", Some("name")) | ("assignment", Some("left"))
                if around.top =>
            {
                return names.define(name);
            }
            ("pattern_list", _) if around.top => return names.define(name),
            (
                "const_spec" | "var_spec" | "type_parameter" | "type_parameter_declaration" | "const_parameter",
                Some("name"),
            ) => &mut names.bound,
            // Members are recorded with their objects; the rest are fields, arguments and local names.
            _ if matches!(node.kind(), "field_identifier" | "property_identifier") => return,
            ("attribute", Some("attribute"))
            | ("keyword_argument" | "enum_variant" | "mod_item", Some("name"))
            | ("import_specifier" | "export_specifier" | "aliased_import" | "use_as_clause", Some("alias")) => return,
            ("jsx_opening_element" | "jsx_closing_element" | "jsx_self_closing_element", Some("name")) if !large => {
                return;
            }
            _ if path && !large => return,
            ("token_tree", _) => match self.text.get(node.end_byte()..).unwrap_or_default().trim_start() {
                rest if rest.starts_with(['(', '!']) || large => &mut names.called,
                rest if rest.starts_with("::") => return,
                _ => &mut names.named,
            },
            ("call_expression" | "call" | "generic_function", Some("function"))
            | ("macro_invocation", Some("macro"))
            | ("new_expression", Some("constructor"))
            | ("scoped_identifier" | "scoped_type_identifier" | "qualified_type", Some("name")) => &mut names.called,
            // In a Rust pattern it is a constant or a variant.
            _ if binds(node.kind(), field, around) && !(large && self.grammar == Grammar::Rust) => &mut names.bound,
            _ => &mut names.named,
        };
        set.insert(name);
    }

    /// `a.b`: a called method, or a name of the module `a`.
    fn member(&mut self, node: Node<'_>, field: Option<&str>, around: RelationFrame<'_>) {
        let child = |fields: [&str; 3]| fields.iter().find_map(|field| node.child_by_field_name(field));
        let Some(name) = child(["attribute", "property", "field"]).map(|name| self.of(name)) else { return };
        let Some(of) = child(["object", "operand", "value"]) else { return };
        if matches!(field, Some("function" | "constructor")) {
            self.names.called.insert(name);
        } else if around.kind == "assignment_expression" && field == Some("left") {
            if matches!(self.of(of), "exports" | "module.exports") {
                self.names.define(name);
            }
        } else if self.grammar != Grammar::Rust && of.kind() == "identifier" {
            self.names.members.insert((self.of(of), name));
        }
    }

    /// A class field that holds a function counts as a method.
    fn field(&mut self, node: Node<'_>) {
        let value = node.child_by_field_name("value").map(|value| value.kind());
        if let Some("arrow_function" | "function_expression") = value {
            let name = node.child_by_field_name("name").or_else(|| node.child_by_field_name("property"));
            if let Some(name) = name {
                self.names.define(self.of(name));
            }
        }
    }
}

/// Checks whether the names in a node are bound by it.
fn binds(kind: &str, field: Option<&str>, around: RelationFrame<'_>) -> bool {
    match (around.kind, field) {
        (_, Some("pattern" | "parameter"))
        | (
            "variable_declarator" | "named_expression" | "parameter_declaration" | "variadic_parameter_declaration",
            Some("name"),
        )
        | (
            "assignment"
            | "for_statement"
            | "for_in_statement"
            | "for_in_clause"
            | "short_var_declaration"
            | "range_clause",
            Some("left"),
        )
        | ("type_switch_statement", Some("alias"))
        | ("as_pattern_target", _) => true,
        ("pair_pattern", Some("value")) => around.binding,
        (_, Some("value" | "right" | "type" | "condition" | "return_type" | "body")) => false,
        _ if matches!(kind, "parameters" | "lambda_parameters" | "formal_parameters" | "closure_parameters") => true,
        _ => around.binding,
    }
}

/// Checks whether a node only contains a name.
fn leads(field: Option<&str>, around: RelationFrame<'_>) -> bool {
    around.path
        || matches!(field, Some("path" | "module_name"))
        || around.kind == "import_statement" && field == Some("name")
}
