//! Rust.

use tree_sitter::Node;

use super::super::grammar::Grammar;
use super::super::imports::collect_imports;
use super::{DefinitionKind, Parameters, SymbolExtractor, SymbolFrame, UseKind};

pub(super) fn see(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> Option<SymbolFrame> {
    let kind = seer.kind(node);
    if matches!(kind, "attribute_item" | "inner_attribute_item") {
        seer.pending |= seer.text_of(node).contains("cfg");
        return None;
    }
    let around = SymbolFrame { conditional: around.conditional | std::mem::take(&mut seer.pending), ..around };
    // Needed of few nodes: the field is searched among all.
    let named = || node.child_by_field_name("name");
    match kind {
        "function_item" | "function_signature_item" => return function(seer, node, around),
        "trait_item" | "struct_item" | "enum_item" | "union_item" | "type_item" => {
            let kind = match kind {
                "trait_item" => DefinitionKind::Interface,
                "enum_item" => DefinitionKind::Enum,
                _ => DefinitionKind::Type,
            };
            let at = seer.define(kind, node, named()?, around);
            return Some(SymbolFrame { owner: Some(at), ..around });
        }
        "impl_item" => return Some(implementation(seer, node, around)),
        "const_item" | "static_item" => drop(seer.define(DefinitionKind::Constant, node, named()?, around)),
        "macro_definition" => drop(seer.define(DefinitionKind::Macro, node, named()?, around)),
        "enum_variant" => drop(seer.define(DefinitionKind::Variant, node, named()?, around)),
        "field_declaration" => drop(seer.define(DefinitionKind::Field, node, named()?, around)),
        "mod_item" if node.child_by_field_name("body").is_some() => {
            return Some(SymbolFrame { depth: around.depth + 1, ..around });
        }
        "use_declaration" => {
            record_use(seer, node, around);
            return None;
        }
        "macro_invocation" if !around.function => match around.owner.and_then(|owner| seer.definition(owner)) {
            Some(owner) => owner.open = true,
            None => seer.symbols.open = true,
        },
        "call_expression" => call(seer, node, around),
        "scoped_identifier" | "scoped_type_identifier" => {
            let name = named()?;
            if !seer.claimed.contains(&name.start_byte()) {
                let path = seer.field(node, "path").unwrap_or_default().to_owned();
                seer.record_use(name, UseKind::Path(path), None, around);
            }
        }
        _ => {}
    }
    Some(around)
}

fn function(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> Option<SymbolFrame> {
    let at = seer.define(DefinitionKind::Function, node, node.child_by_field_name("name")?, around);
    let list = node.child_by_field_name("parameters")?;
    let mut count = 0;
    let (mut of_object, mut unsure) = (false, false);
    for child in list.named_children(&mut list.walk()).filter(|child| !child.is_extra()) {
        match child.kind() {
            "self_parameter" => of_object = true,
            "attribute_item" | "variadic_parameter" | "ERROR" => unsure = true,
            _ => count += 1,
        }
    }
    seer.extend_to(at, list);
    let body = node.child_by_field_name("body").is_some();
    let is_public = node.children(&mut node.walk()).any(|child| child.kind() == "visibility_modifier");
    // A member of a trait is as public as the trait.
    let of_trait = around
        .owner
        .and_then(|owner| seer.definition(owner))
        .is_some_and(|owner| owner.kind == DefinitionKind::Interface || !owner.bases.is_empty());
    if let Some(definition) = seer.definition(at) {
        definition.public = is_public || of_trait;
        definition.body = body;
        definition.parameters = (!unsure).then_some(Parameters { required: count, most: Some(count), of_object });
    }
    Some(around.inside_function())
}

fn implementation(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) -> SymbolFrame {
    let of = |field: &str| node.child_by_field_name(field).and_then(base);
    let (of_type, of_trait) = (of("type"), of("trait"));
    let name = of_type.map(|name| seer.text_of(name)).unwrap_or_default();
    let at = seer.define_as(DefinitionKind::Implementation, node, name, around);
    let bases: Vec<String> = of_trait.map(|name| seer.text_of(name).to_owned()).into_iter().collect();
    // `impl !Send for A` has none.
    let negative = node.children(&mut node.walk()).any(|child| child.kind() == "!");
    if let Some(definition) = seer.definition(at) {
        definition.bases = bases;
        definition.open |= negative;
    }
    SymbolFrame { owner: Some(at), ..around }
}

/// Returns the name of a type without its path and arguments.
fn base(mut node: Node<'_>) -> Option<Node<'_>> {
    loop {
        node = match node.kind() {
            "type_identifier" => return Some(node),
            "generic_type" | "reference_type" => node.child_by_field_name("type")?,
            "scoped_type_identifier" => node.child_by_field_name("name")?,
            _ => return None,
        };
    }
}

fn record_use(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) {
    let mut paths = Vec::new();
    collect_imports(Grammar::Rust, node, seer.text, &mut |path| paths.push(path));
    let text = seer.text_of(node);
    seer.symbols.open |= text.starts_with("pub") && text.contains('*');
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let alias_of = |name: &str| words.windows(3).find(|three| three[..2] == [name, "as"]).map(|three| three[2]);
    // A renamed import is known by both names.
    for word in words.iter().filter(|_| text.contains(" as ")) {
        seer.symbols.others.insert((*word).to_owned());
    }
    if text.contains('*') {
        seer.import(node, "*".to_owned(), Some("*"), None, around);
    }
    for path in paths {
        let name = path.rsplit("::").next().map(str::to_owned);
        let alias = name.as_deref().and_then(alias_of);
        seer.import(node, path, name.as_deref(), alias, around);
    }
}

fn call(seer: &mut SymbolExtractor<'_>, node: Node<'_>, around: SymbolFrame) {
    let (Some(mut function), Some(list)) =
        (node.child_by_field_name("function"), node.child_by_field_name("arguments"))
    else {
        return;
    };
    if function.kind() == "generic_function" {
        let Some(inner) = function.child_by_field_name("function") else { return };
        function = inner;
    }
    let arguments = seer.arguments(list, &["attribute_item", "ERROR"], "");
    let (name, how) = match function.kind() {
        "identifier" => (Some(function), UseKind::Plain),
        "scoped_identifier" => {
            let path = seer.field(function, "path").unwrap_or_default();
            (function.child_by_field_name("name"), UseKind::Path(path.to_owned()))
        }
        "field_expression" => {
            let of = function.child_by_field_name("value");
            let of = of.filter(|of| matches!(of.kind(), "identifier" | "self")).map(|of| seer.text_of(of));
            (function.child_by_field_name("field"), UseKind::Member(of.unwrap_or_default().to_owned()))
        }
        _ => return,
    };
    if let Some(name) = name {
        seer.record_use(name, how, Some(arguments), around);
    }
}
