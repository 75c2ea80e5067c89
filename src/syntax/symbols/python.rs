//! Python.

use tree_sitter::Node;

use super::{DefinitionKind, Parameters, SymbolExtractor, SymbolFrame, UseKind, last_name};

/// Decorators that do not change the signature of a function.
const PLAIN: &[&str] =
    &["abstractmethod", "cache", "lru_cache", "classmethod", "final", "override", "wraps", "contextmanager"];

pub(super) fn see(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> Option<SymbolFrame> {
    match seer.kind(node) {
        "function_definition" => return function(seer, node, around),
        "class_definition" => return class(seer, node, around),
        "decorated_definition" => {
            let mut inside = around;
            for decorator in node.named_children(&mut node.walk()).filter(|child| child.kind() == "decorator") {
                let text = seer.text_of(decorator).trim_start_matches('@').trim();
                let name = last_name(text.split('(').next().unwrap_or_default().trim()).unwrap_or_default();
                inside.of_type |= name == "staticmethod";
                inside.decorated |= name != "staticmethod" && !PLAIN.contains(&name.as_str());
            }
            return Some(inside);
        }
        "try_statement" | "if_statement" | "with_statement" if !around.function => {
            return Some(SymbolFrame { conditional: true, ..around });
        }
        "try_statement" => return Some(SymbolFrame { conditional: true, ..around }),
        "assignment" if !around.function => {
            let kind = if around.owner.is_some() { DefinitionKind::Field } else { DefinitionKind::Constant };
            let left = node.child_by_field_name("left").filter(|left| left.kind() == "identifier");
            if let Some(left) = left {
                seer.define(kind, node, left, around);
            }
        }
        "import_from_statement" => {
            record_from_import(seer, node, around);
            return None;
        }
        "import_statement" => {
            for name in node.children_by_field_name("name", &mut node.walk()).take(100) {
                let alias = seer.field(name, "alias");
                let path = seer.text_of(name.child_by_field_name("name").unwrap_or(name)).to_owned();
                seer.import(node, path, None, alias, around);
            }
            return None;
        }
        "call" => call(seer, node, around),
        "attribute" => {
            let (of, name) = (node.child_by_field_name("object")?, node.child_by_field_name("attribute")?);
            if !seer.claimed.contains(&name.start_byte()) {
                let of = of_name(seer, of);
                seer.record_use(name, UseKind::Member(of), None, around);
            }
        }
        _ => {}
    }
    Some(around)
}

/// Returns `a` and `a.b` as written; empty for anything else.
fn of_name(seer: &SymbolExtractor<'_>, of: Node<'_>) -> String {
    let text = seer.text_of(of);
    last_name(text)
        .filter(|_| matches!(of.kind(), "identifier" | "attribute"))
        .map_or_else(String::new, |_| text.to_owned())
}

fn function(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> Option<SymbolFrame> {
    let at = seer.define(DefinitionKind::Function, node, node.child_by_field_name("name")?, around);
    let list = node.child_by_field_name("parameters")?;
    seer.extend_to(at, list);
    let is_method = around.owner.is_some() && !around.function && !around.of_type;
    let mut found = Parameters { required: 0, most: Some(0), of_object: is_method };
    let mut unsure = around.decorated;
    for child in list.named_children(&mut list.walk()).filter(|child| !child.is_extra()) {
        match child.kind() {
            "list_splat_pattern" | "dictionary_splat_pattern" => found.most = None,
            "typed_parameter" if seer.text_of(child).starts_with('*') => found.most = None,
            "keyword_separator" | "positional_separator" => {}
            kind => {
                // Keyword-only parameters, and counted as they are at the call.
                found.required += u32::from(matches!(kind, "identifier" | "typed_parameter"));
                found.most = found.most.map(|most| most + 1);
                unsure |=
                    !matches!(kind, "identifier" | "typed_parameter" | "default_parameter" | "typed_default_parameter");
            }
        }
    }
    if is_method {
        found.required = found.required.saturating_sub(1);
        found.most = found.most.map(|most| most.saturating_sub(1));
    }
    if let Some(definition) = seer.definition(at) {
        definition.body = true;
        definition.parameters = (!unsure).then_some(found);
    }
    Some(around.inside_function())
}

fn class(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> Option<SymbolFrame> {
    let at = seer.define(DefinitionKind::Interface, node, node.child_by_field_name("name")?, around);
    let mut bases = Vec::new();
    let mut open = around.decorated;
    if let Some(list) = node.child_by_field_name("superclasses") {
        for child in list.named_children(&mut list.walk()).filter(|child| !child.is_extra()) {
            match last_name(seer.text_of(child)) {
                Some(name) => bases.push(name),
                None => open = true,
            }
        }
    }
    if let Some(definition) = seer.definition(at) {
        definition.bases = bases;
        definition.open = open;
    }
    Some(SymbolFrame { owner: Some(at), decorated: false, of_type: false, ..around })
}

fn record_from_import(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) {
    let Some(module) = seer.field(node, "module_name").map(str::to_owned) else { return };
    if node.named_children(&mut node.walk()).any(|child| child.kind() == "wildcard_import") {
        seer.symbols.open = true;
        seer.import(node, module, Some("*"), None, around);
        return;
    }
    for name in node.children_by_field_name("name", &mut node.walk()).take(1000) {
        let alias = seer.field(name, "alias");
        let what = seer.text_of(name.child_by_field_name("name").unwrap_or(name));
        seer.import(name, module.clone(), Some(what), alias, around);
    }
}

fn call(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) {
    let (Some(function), Some(list)) = (node.child_by_field_name("function"), node.child_by_field_name("arguments"))
    else {
        return;
    };
    if list.kind() != "argument_list" {
        return;
    }
    let arguments = seer.arguments(list, &["list_splat", "dictionary_splat", "ERROR"], "keyword_argument");
    match function.kind() {
        "identifier" => seer.record_use(function, UseKind::Plain, Some(arguments), around),
        "attribute" => {
            let (Some(of), Some(name)) =
                (function.child_by_field_name("object"), function.child_by_field_name("attribute"))
            else {
                return;
            };
            let of = of_name(seer, of);
            seer.record_use(name, UseKind::Member(of), Some(arguments), around);
        }
        _ => {}
    }
}
