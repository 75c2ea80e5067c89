//! C and C++.

use tree_sitter::Node;

use super::{DefinitionKind, Parameters, SymbolExtractor, SymbolFrame, UseKind};

pub(super) fn see(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> Option<SymbolFrame> {
    // Needed of few nodes: the field is searched among all.
    let named = || node.child_by_field_name("name");
    match seer.kind(node) {
        "function_definition" | "declaration" | "field_declaration" => {
            let is_body = node.kind() == "function_definition";
            let declared: Vec<_> = node.children_by_field_name("declarator", &mut node.walk()).take(100).collect();
            for declarator in declared {
                function(seer, node, declarator, around, is_body);
            }
            return Some(if is_body { around.inside_function() } else { around });
        }
        "preproc_def" | "preproc_function_def" => {
            seer.define(DefinitionKind::Macro, node, named()?, around);
            // The body of a macro is not parsed: its words may be anything.
            let value = seer.field(node, "value").unwrap_or_default();
            for word in value.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()) {
                seer.symbols.others.insert(word.to_owned());
            }
        }
        "preproc_ifdef" | "preproc_if" => {
            let name = named().map(|name| seer.text_of(name)).unwrap_or_default();
            let is_guard =
                name.ends_with("_H") || name.ends_with("_H_") || name.ends_with("_H__") || name == "__cplusplus";
            return Some(SymbolFrame { conditional: around.conditional || !is_guard, ..around });
        }
        "preproc_else" | "preproc_elif" => return Some(SymbolFrame { conditional: true, ..around }),
        "enum_specifier" => {
            let body = node.child_by_field_name("body")?;
            let at = match named() {
                Some(name) => seer.define(DefinitionKind::Enum, node, name, around),
                None => seer.define_as(DefinitionKind::Enum, node, "", around),
            };
            for child in body.named_children(&mut body.walk()).take(1000).filter(|child| child.kind() == "enumerator") {
                if let Some(name) = child.child_by_field_name("name") {
                    seer.define(DefinitionKind::Variant, child, name, SymbolFrame { owner: Some(at), ..around });
                }
            }
        }
        "struct_specifier" | "union_specifier" | "class_specifier" if node.child_by_field_name("body").is_some() => {
            let at = seer.define(DefinitionKind::Type, node, named()?, around);
            return Some(SymbolFrame { owner: Some(at), ..around });
        }
        "call_expression" => {
            let function = node.child_by_field_name("function").filter(|function| function.kind() == "identifier")?;
            let list = node.child_by_field_name("arguments")?;
            let arguments = seer.arguments(list, &["ERROR", "parameter_pack_expansion"], "");
            seer.record_use(function, UseKind::Plain, Some(arguments), around);
        }
        _ => {}
    }
    Some(around)
}

fn function(seer: &mut SymbolExtractor<'_>, node: Node<'_>, mut declarator: Node<'_>, around: SymbolFrame, body: bool) {
    while matches!(declarator.kind(), "pointer_declarator" | "reference_declarator") {
        let Some(inner) = declarator.child_by_field_name("declarator") else { return };
        declarator = inner;
    }
    if declarator.kind() != "function_declarator" {
        return;
    }
    let Some(name) = declarator.child_by_field_name("declarator").filter(|name| name.kind() == "identifier") else {
        return;
    };
    let Some(list) = declarator.child_by_field_name("parameters") else { return };
    let at = seer.define(DefinitionKind::Function, node, name, around);
    seer.extend_to(at, list);
    let mut found = Some(Parameters { required: 0, most: Some(0), of_object: false });
    let mut any = false;
    for child in list.children(&mut list.walk()).filter(|child| !child.is_extra()) {
        any |= child.is_named();
        match (child.kind(), &mut found) {
            ("parameter_declaration", Some(found)) if seer.text_of(child) != "void" => {
                found.required += 1;
                found.most = found.most.map(|most| most + 1);
            }
            ("optional_parameter_declaration", Some(found)) => found.most = found.most.map(|most| most + 1),
            ("variadic_parameter" | "...", Some(found)) => found.most = None,
            ("parameter_declaration" | "(" | ")" | "," | "optional_parameter_declaration", _) => {}
            _ => found = None,
        }
    }
    let mut specifiers = node
        .named_children(&mut node.walk())
        .filter(|child| child.kind() == "storage_class_specifier")
        .collect::<Vec<_>>()
        .into_iter();
    let is_static = specifiers.any(|specifier| seer.text_of(specifier) == "static");
    if let Some(definition) = seer.definition(at) {
        definition.public = !is_static;
        definition.body = body;
        // `()` does not declare what is taken.
        definition.parameters = found.filter(|_| any);
    }
}
