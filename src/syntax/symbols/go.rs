//! Go.

use tree_sitter::Node;

use super::{DefinitionKind, Parameters, SymbolExtractor, SymbolFrame, UseKind, last_name};

pub(super) fn see(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> Option<SymbolFrame> {
    // Needed of few nodes: the field is searched among all.
    let named = || node.child_by_field_name("name");
    match seer.kind(node) {
        "source_file" => {
            let head = seer.text.lines().take(40);
            let conditional =
                head.take_while(|line| !line.starts_with("package ")).any(|line| line.starts_with("//go:build"));
            return Some(SymbolFrame { conditional, ..around });
        }
        "package_clause" => {
            seer.symbols.package = node.named_child(0).map(|name| seer.text_of(name).to_owned());
            return None;
        }
        "function_declaration" | "method_declaration" => return function(seer, node, around),
        "func_literal" | "block" => return Some(around.inside_function()),
        "type_spec" | "type_alias" => return Some(type_spec(seer, node, around, named()?)),
        "method_elem" => {
            let at = seer.define(DefinitionKind::Function, node, named()?, around);
            parameters(seer, at, node);
        }
        "const_declaration" if !around.function => return Some(constants(seer, node, around)),
        "const_spec" | "var_spec" if !around.function => {
            let kind = if around.owner.is_some() { DefinitionKind::Variant } else { DefinitionKind::Constant };
            for name in node.children_by_field_name("name", &mut node.walk()).take(100) {
                seer.define(kind, node, name, around);
            }
            return Some(SymbolFrame { owner: None, ..around });
        }
        "field_declaration" => {
            let mut any = false;
            for name in node.children_by_field_name("name", &mut node.walk()).take(100) {
                seer.define(DefinitionKind::Field, node, name, around);
                any = true;
            }
            if let Some(owner) = around.owner.filter(|_| !any).and_then(|owner| seer.definition(owner)) {
                owner.open = true;
            }
        }
        "import_spec" => {
            let path = seer.field(node, "path")?.trim_matches(['"', '`']).to_owned();
            let alias = seer.field(node, "name");
            seer.symbols.open |= alias == Some(".");
            seer.import(node, path, None, alias, around);
            return None;
        }
        "call_expression" => call(seer, node, around),
        "selector_expression" => {
            let (of, name) = (node.child_by_field_name("operand")?, node.child_by_field_name("field")?);
            if !seer.claimed.contains(&name.start_byte()) {
                let of = if of.kind() == "identifier" { seer.text_of(of) } else { "" };
                seer.record_use(name, UseKind::Member(of.to_owned()), None, around);
            }
        }
        "qualified_type" => {
            let of = seer.field(node, "package").unwrap_or_default().to_owned();
            seer.record_use(named()?, UseKind::Member(of), None, around);
        }
        _ => {}
    }
    Some(around)
}

fn function(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> Option<SymbolFrame> {
    let name = node.child_by_field_name("name")?;
    let at = seer.define(DefinitionKind::Function, node, name, around);
    parameters(seer, at, node);
    if let Some(receiver) = node.child_by_field_name("receiver") {
        let of = seer.text_of(receiver).trim_matches(['(', ')']).trim();
        let of = of.rsplit([' ', '*']).next().unwrap_or_default();
        let of = of.split('[').next().unwrap_or_default().to_owned();
        if let Some(definition) = seer.definition(at) {
            definition.bases = vec![of];
            definition.open = true;
        }
    }
    Some(around.inside_function())
}

fn parameters(seer: &mut SymbolExtractor<'_>, at: usize, node: Node<'_>) {
    let Some(list) = node.child_by_field_name("parameters") else { return };
    seer.extend_to(at, list);
    let mut found = Parameters { required: 0, most: Some(0), of_object: false };
    for child in list.named_children(&mut list.walk()).filter(|child| !child.is_extra()) {
        if child.kind() == "variadic_parameter_declaration" {
            found.most = None;
            continue;
        }
        let names = child.children_by_field_name("name", &mut child.walk()).count();
        let count = u32::try_from(names.max(1)).unwrap_or(1);
        found.required += count;
        found.most = found.most.map(|most| most + count);
    }
    if let Some(definition) = seer.definition(at) {
        definition.body = node.child_by_field_name("body").is_some();
        definition.parameters = Some(found);
    }
}

fn type_spec(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame, name: Node<'_>) -> SymbolFrame {
    let what = node.child_by_field_name("type");
    let is_interface = what.is_some_and(|what| what.kind() == "interface_type");
    let kind = if is_interface { DefinitionKind::Interface } else { DefinitionKind::Type };
    let at = seer.define(kind, node, name, around);
    // An interface that embeds others requires more than it lists.
    let takes_in = |what: Node<'_>| what.named_children(&mut what.walk()).any(|child| child.kind() == "type_elem");
    if let Some(definition) = seer.definition(at) {
        definition.open = what.is_some_and(takes_in);
    }
    SymbolFrame { owner: Some(at), ..around }
}

/// Consecutive constants of one type are its values.
fn constants(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> SymbolFrame {
    let first = node.named_children(&mut node.walk()).find(|child| child.kind() == "const_spec");
    let of = first.and_then(|first| seer.field(first, "type")).filter(|of| last_name(of).is_some());
    let counts = first.and_then(|first| seer.field(first, "value")).is_some_and(|value| value.contains("iota"));
    match of.filter(|_| counts) {
        Some(of) => {
            let at = seer.define_as(DefinitionKind::Enum, node, of, around);
            SymbolFrame { owner: Some(at), ..around }
        }
        None => around,
    }
}

fn call(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) {
    let (Some(function), Some(list)) = (node.child_by_field_name("function"), node.child_by_field_name("arguments"))
    else {
        return;
    };
    let mut arguments = seer.arguments(list, &["ERROR", "variadic_argument"], "");
    // One call may provide all arguments.
    let only = list.named_child(0).filter(|_| list.named_child_count() == 1);
    arguments.open |= only.is_some_and(|only| only.kind() == "call_expression");
    match function.kind() {
        "identifier" => seer.record_use(function, UseKind::Plain, Some(arguments), around),
        "selector_expression" => {
            let of = function.child_by_field_name("operand").filter(|of| of.kind() == "identifier");
            let of = of.map(|of| seer.text_of(of)).unwrap_or_default().to_owned();
            if let Some(name) = function.child_by_field_name("field") {
                seer.record_use(name, UseKind::Member(of), Some(arguments), around);
            }
        }
        _ => {}
    }
}
