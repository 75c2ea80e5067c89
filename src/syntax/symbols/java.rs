//! Java.

use tree_sitter::Node;

use super::{DefinitionKind, Parameters, SymbolExtractor, SymbolFrame, UseKind, last_name};

pub(super) fn see(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> Option<SymbolFrame> {
    // Needed of few nodes: the field is searched among all.
    let named = || node.child_by_field_name("name");
    match seer.kind(node) {
        "package_declaration" => {
            seer.symbols.package =
                node.named_children(&mut node.walk()).last().map(|name| seer.text_of(name).to_owned());
            return None;
        }
        "import_declaration" => {
            let path = node.named_children(&mut node.walk()).find(|child| child.kind().ends_with("identifier"));
            let path = path.map(|path| seer.text_of(path).to_owned()).unwrap_or_default();
            let all = node.named_children(&mut node.walk()).any(|child| child.kind() == "asterisk");
            seer.import(node, path, all.then_some("*"), None, around);
            return None;
        }
        "class_declaration" | "interface_declaration" | "enum_declaration" | "record_declaration" => {
            return class(seer, node, around);
        }
        "annotation_type_declaration" => drop(seer.define(DefinitionKind::Type, node, named()?, around)),
        "method_declaration" | "constructor_declaration" => return method(seer, node, around),
        "lambda_expression" => return Some(around.inside_function()),
        "class_body" if around.function => return Some(SymbolFrame { owner: None, ..around }),
        "enum_constant" => drop(seer.define(DefinitionKind::Variant, node, named()?, around)),
        "field_declaration" | "constant_declaration" => {
            for declarator in node.children_by_field_name("declarator", &mut node.walk()).take(100) {
                if let Some(name) = declarator.child_by_field_name("name") {
                    seer.define(DefinitionKind::Field, node, name, around);
                }
            }
        }
        "method_invocation" => {
            let list = node.child_by_field_name("arguments")?;
            let arguments = seer.arguments(list, &["ERROR"], "");
            let how = match node.child_by_field_name("object") {
                None => UseKind::Plain,
                Some(of) if matches!(of.kind(), "identifier" | "this") => UseKind::Member(seer.text_of(of).to_owned()),
                Some(_) => UseKind::Member(String::new()),
            };
            seer.record_use(named()?, how, Some(arguments), around);
        }
        "object_creation_expression" => {
            let what = node.child_by_field_name("type")?;
            let what = if what.kind() == "generic_type" { what.named_child(0)? } else { what };
            if what.kind() == "type_identifier" {
                let list = node.child_by_field_name("arguments")?;
                let arguments = seer.arguments(list, &["ERROR"], "");
                seer.record_use(what, UseKind::New, Some(arguments), around);
            }
        }
        _ => {}
    }
    Some(around)
}

fn class(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> Option<SymbolFrame> {
    let kind = match node.kind() {
        "interface_declaration" => DefinitionKind::Interface,
        "enum_declaration" => DefinitionKind::Enum,
        _ => DefinitionKind::Type,
    };
    let at = seer.define(kind, node, node.child_by_field_name("name")?, around);
    let text = seer.text_of(node);
    let head = &text[..text.find('{').unwrap_or(text.len())];
    // Annotation processors generate members, and so does a record.
    let is_made = head.contains('@') && !head.contains("@Override") || node.kind() == "record_declaration";
    let is_abstract = head.split_whitespace().any(|word| word == "abstract");
    let mut bases = Vec::new();
    let mut extends = false;
    for child in node.named_children(&mut node.walk()) {
        match child.kind() {
            "superclass" => extends = true,
            "super_interfaces" | "extends_interfaces" => {
                extends |= child.kind() == "extends_interfaces";
                let lists = child.named_children(&mut child.walk()).collect::<Vec<_>>();
                for base in lists.iter().flat_map(|list| list.named_children(&mut list.walk()).collect::<Vec<_>>()) {
                    let name = if base.kind() == "generic_type" { base.named_child(0).unwrap_or(base) } else { base };
                    bases.extend(last_name(seer.text_of(name)));
                }
            }
            _ => {}
        }
    }
    if let Some(definition) = seer.definition(at) {
        definition.bases = bases;
        definition.open = extends || is_made;
        definition.body = is_abstract;
        definition.nested |= around.owner.is_some();
    }
    Some(SymbolFrame { owner: Some(at), function: false, ..around })
}

fn method(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> Option<SymbolFrame> {
    let name = node.child_by_field_name("name")?;
    let at = seer.define(DefinitionKind::Function, node, name, around);
    let list = node.child_by_field_name("parameters")?;
    seer.extend_to(at, list);
    let mut found = Parameters { required: 0, most: Some(0), of_object: false };
    for child in list.named_children(&mut list.walk()).filter(|child| !child.is_extra()) {
        match child.kind() {
            "formal_parameter" => {
                found.required += 1;
                found.most = found.most.map(|most| most + 1);
            }
            "spread_parameter" => found.most = None,
            _ => {}
        }
    }
    let modifiers = node.named_children(&mut node.walk()).find(|child| child.kind() == "modifiers");
    let is_static =
        modifiers.is_some_and(|modifiers| seer.text_of(modifiers).split_whitespace().any(|word| word == "static"));
    found.of_object = !is_static;
    let is_private =
        modifiers.is_some_and(|modifiers| seer.text_of(modifiers).split_whitespace().any(|word| word == "private"));
    let body = node.child_by_field_name("body").is_some();
    if let Some(definition) = seer.definition(at) {
        definition.body = body;
        definition.public = !is_private;
        definition.parameters = Some(found);
    }
    Some(around.inside_function())
}
