//! JavaScript and TypeScript.

use tree_sitter::Node;

use super::super::grammar::Grammar;
use super::{DefinitionKind, Parameters, SymbolExtractor, SymbolFrame, UseKind, last_name};

pub(super) fn see(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> Option<SymbolFrame> {
    // Needed of few nodes: the field is searched among all.
    let named = || node.child_by_field_name("name");
    match seer.kind(node) {
        "function_declaration" | "generator_function_declaration" | "function_signature" => {
            let at = seer.define(DefinitionKind::Function, node, named()?, around);
            function(seer, at, node);
            return Some(around.inside_function());
        }
        "method_definition" | "method_signature" | "abstract_method_signature" => {
            let optional = seer
                .text_of(node)
                .get(..LOOK.min(seer.text_of(node).len()))
                .is_some_and(|text| text.contains("?(") || text.contains("? ("));
            let at = seer.define(DefinitionKind::Function, node, named()?, around);
            function(seer, at, node);
            if let Some(definition) = seer.definition(at).filter(|_| optional) {
                definition.body = true;
            }
            return Some(around.inside_function());
        }
        "arrow_function" | "function_expression" | "class_static_block" | "statement_block" => {
            return Some(around.inside_function());
        }
        // What is listed in the type of a member is not a member.
        "object_type" if around.owner.is_some() => return Some(around.inside_function()),
        "class_declaration" | "abstract_class_declaration" | "interface_declaration" => {
            return class(seer, node, around);
        }
        "type_alias_declaration" => drop(seer.define(DefinitionKind::Type, node, named()?, around)),
        "enum_declaration" => return Some(listed(seer, node, around, named()?)),
        "property_signature" | "public_field_definition" | "field_definition" => {
            let name = named().or_else(|| node.child_by_field_name("property"))?;
            let at = seer.define(DefinitionKind::Field, node, name, around);
            let optional = node.children(&mut node.walk()).any(|child| child.kind() == "?");
            if let Some(definition) = seer.definition(at) {
                definition.body = optional;
            }
        }
        "variable_declarator" if !around.function => variable(seer, node, around),
        "import_statement" => {
            record_import(seer, node, around);
            return None;
        }
        "export_statement" => {
            record_export(seer, node, around);
            return Some(SymbolFrame { exported: true, ..around });
        }
        "call_expression" => call(seer, node, around, "function"),
        "new_expression" => call(seer, node, around, "constructor"),
        "assignment_expression" => {
            let left = seer.field(node, "left").unwrap_or_default();
            seer.symbols.open |= left.starts_with("module.exports") || left.starts_with("exports");
        }
        "member_expression" => {
            let (of, name) = (node.child_by_field_name("object")?, node.child_by_field_name("property")?);
            if !seer.claimed.contains(&name.start_byte()) {
                let of = if matches!(of.kind(), "identifier" | "this") { seer.text_of(of) } else { "" };
                seer.record_use(name, UseKind::Member(of.to_owned()), None, around);
            }
        }
        _ => {}
    }
    Some(around)
}

/// Length of a member's beginning that shows whether it is optional, in bytes.
const LOOK: usize = 200;

fn function(seer: &mut SymbolExtractor<'_>, at: usize, node: Node<'_>) {
    let body = node.child_by_field_name("body").is_some();
    let found = match node.child_by_field_name("parameters") {
        Some(list) => {
            seer.extend_to(at, list);
            parameters(seer, list)
        }
        None => {
            node.child_by_field_name("parameter").map(|_| Parameters { required: 1, most: Some(1), of_object: false })
        }
    };
    // A caller in JavaScript may pass any number of arguments.
    let found = found.filter(|_| seer.grammar != Grammar::JavaScript);
    if let Some(definition) = seer.definition(at) {
        definition.body = body;
        definition.parameters = found;
    }
}

fn parameters(seer: &SymbolExtractor<'_>, list: Node<'_>) -> Option<Parameters> {
    let mut found = Parameters { required: 0, most: Some(0), of_object: false };
    for child in list.named_children(&mut list.walk()).filter(|child| !child.is_extra()) {
        let pattern = child.child_by_field_name("pattern").map(|pattern| pattern.kind());
        match (child.kind(), pattern) {
            ("required_parameter", Some("this")) => {}
            ("rest_pattern", _) | ("required_parameter", Some("rest_pattern")) => found.most = None,
            ("required_parameter", _) => {
                let may_lack = child.child_by_field_name("value").is_some()
                    || seer.field(child, "type").is_none_or(|kind| kind.contains("void") || kind.contains("any"));
                found.required += u32::from(!may_lack);
                found.most = found.most.map(|most| most + 1);
            }
            ("optional_parameter", _) => found.most = found.most.map(|most| most + 1),
            _ => return None,
        }
    }
    Some(found)
}

fn class(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> Option<SymbolFrame> {
    let is_interface = node.kind() == "interface_declaration";
    let kind = if is_interface { DefinitionKind::Interface } else { DefinitionKind::Type };
    let at = seer.define(kind, node, node.child_by_field_name("name")?, around);
    let mut bases = Vec::new();
    let mut open = false;
    for child in node.named_children(&mut node.walk()) {
        let clauses = match child.kind() {
            "class_heritage" => child.named_children(&mut child.walk()).collect(),
            "extends_type_clause" | "extends_clause" => vec![child],
            _ => Vec::new(),
        };
        for clause in clauses {
            // The base class provides members that are not listed here.
            open |= clause.kind() != "implements_clause";
            for base in clause.named_children(&mut clause.walk()) {
                let name = base.child_by_field_name("name").unwrap_or(base);
                bases.extend(last_name(seer.text_of(name)));
            }
        }
    }
    seer.extend_to(at, node.child_by_field_name("name")?);
    if let Some(definition) = seer.definition(at) {
        definition.bases = bases;
        definition.open = open;
        definition.body = node.kind() == "abstract_class_declaration";
    }
    Some(SymbolFrame { owner: Some(at), ..around })
}

fn listed(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame, name: Node<'_>) -> SymbolFrame {
    let at = seer.define(DefinitionKind::Enum, node, name, around);
    let inside = SymbolFrame { owner: Some(at), ..around };
    if let Some(body) = node.child_by_field_name("body") {
        for child in body.named_children(&mut body.walk()).take(1000) {
            let name = child.child_by_field_name("name").unwrap_or(child);
            if name.kind() == "property_identifier" {
                seer.define(DefinitionKind::Variant, child, name, inside);
            }
        }
    }
    inside
}

fn variable(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) {
    let Some(name) = node.child_by_field_name("name").filter(|name| name.kind() == "identifier") else { return };
    let value = node.child_by_field_name("value");
    match value.filter(|value| matches!(value.kind(), "arrow_function" | "function_expression")) {
        Some(value) => {
            let at = seer.define(DefinitionKind::Function, node, name, around);
            function(seer, at, value);
            // A type annotation may say otherwise.
            if node.child_by_field_name("type").is_some()
                && let Some(definition) = seer.definition(at)
            {
                definition.parameters = None;
            }
        }
        None => drop(seer.define(DefinitionKind::Constant, node, name, around)),
    }
}

fn unquoted(text: &str) -> String {
    text.trim_matches(['"', '\'', '`']).to_owned()
}

fn record_import(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) {
    let Some(path) = seer.field(node, "source").map(unquoted) else { return };
    let clause = node.named_children(&mut node.walk()).find(|child| child.kind() == "import_clause");
    let Some(clause) = clause else { return seer.import(node, path, None, None, around) };
    for child in clause.named_children(&mut clause.walk()) {
        match child.kind() {
            "identifier" => seer.import(child, path.clone(), Some("default"), Some(seer.text_of(child)), around),
            "namespace_import" => {
                let alias = child.named_child(0).map(|alias| seer.text_of(alias));
                seer.import(child, path.clone(), None, alias, around);
            }
            "named_imports" => specifiers(seer, child, &path, around),
            _ => {}
        }
    }
}

fn specifiers(seer: &mut SymbolExtractor<'_>, list: Node<'_>, path: &str, around: SymbolFrame) {
    for child in list.named_children(&mut list.walk()).take(1000) {
        if let Some(name) = seer.field(child, "name") {
            let alias = seer.field(child, "alias");
            seer.import(child, path.to_owned(), Some(name), alias, around);
        }
    }
}

fn record_export(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) {
    let clause = node.named_children(&mut node.walk()).find(|child| child.kind() == "export_clause");
    let is_default = node.children(&mut node.walk()).any(|child| child.kind() == "default");
    if is_default {
        seer.symbols.others.insert("default".to_owned());
    }
    let Some(path) = seer.field(node, "source").map(unquoted) else { return };
    match clause {
        Some(clause) => specifiers(seer, clause, &path, around),
        None => {
            // A wildcard re-export: any name may come from there.
            seer.symbols.open = true;
            seer.import(node, path, Some("*"), None, around);
        }
    }
}

fn call(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame, callee: &str) {
    let Some(function) = node.child_by_field_name(callee) else { return };
    let list = node.child_by_field_name("arguments");
    if list.is_some_and(|list| list.kind() != "arguments") {
        return;
    }
    if function.kind() == "identifier" && matches!(seer.text_of(function), "require") || function.kind() == "import" {
        let first = list.and_then(|list| list.named_child(0)).filter(|first| first.kind() == "string");
        if let Some(path) = first.map(|first| unquoted(seer.text_of(first))) {
            seer.import(
                node,
                path,
                None,
                None,
                SymbolFrame { conditional: around.conditional || around.function, ..around },
            );
        }
        return;
    }
    let arguments = list.map(|list| seer.arguments(list, &["spread_element", "ERROR"], ""));
    match function.kind() {
        "identifier" if callee == "constructor" => seer.record_use(function, UseKind::New, arguments, around),
        "identifier" => seer.record_use(function, UseKind::Plain, arguments, around),
        "member_expression" => {
            let of = function.child_by_field_name("object");
            let of = of
                .filter(|of| matches!(of.kind(), "identifier" | "this"))
                .map(|of| seer.text_of(of))
                .unwrap_or_default();
            if let Some(name) = function.child_by_field_name("property") {
                seer.record_use(name, UseKind::Member(of.to_owned()), arguments, around);
            }
        }
        _ => {}
    }
}
