//! Extracts the imports in a node, language by language. Main function: [`collect_imports`].

use tree_sitter::Node;

use super::grammar::Grammar;

/// Maximum length of a list.
pub(super) const MOST: usize = 4_000;
/// Maximum length of a name, in bytes.
pub(super) const LONGEST: usize = 200;
/// Maximum nesting of imports in braces.
const DEEPEST_IMPORT: usize = 16;

/// Passes every import in `node` itself, as written, to `take`.
pub(super) fn collect_imports(grammar: Grammar, node: Node<'_>, text: &str, take: &mut dyn FnMut(String)) {
    match (grammar, node.kind()) {
        (Grammar::Rust, "use_declaration") => {
            if let Some(argument) = node.child_by_field_name("argument") {
                used(argument, text, take);
            }
        }
        (Grammar::Rust, "mod_item") if node.child_by_field_name("body").is_none() => {
            take_field(node, "name", text, &mut |name| {
                if !name.is_empty() {
                    take(format!("self::{name}"));
                }
            });
        }
        (Grammar::Rust, "extern_crate_declaration") => take_field(node, "name", text, take),
        (Grammar::Rust, "macro_invocation") => included(node, text, take),
        (Grammar::Python, "import_statement") => {
            for name in node.children_by_field_name("name", &mut node.walk()).take(MOST) {
                take(plain(name, text));
            }
        }
        (Grammar::Python, "import_from_statement") => from(node, text, take),
        (Grammar::JavaScript | Grammar::TypeScript | Grammar::Tsx, kind) => match kind {
            "import_statement" | "export_statement" | "import_require_clause" => {
                take_field(node, "source", text, take);
            }
            "call_expression" => required(node, text, take),
            _ => {}
        },
        (Grammar::Go, "import_spec") => take_field(node, "path", text, take),
        _ => {}
    }
}

fn take_field(node: Node<'_>, field: &str, text: &str, take: &mut dyn FnMut(String)) {
    if let Some(child) = node.child_by_field_name(field) {
        take(unquoted(child, text));
    }
}

fn unquoted(node: Node<'_>, text: &str) -> String {
    written(node, text).trim_matches(['"', '\'', '`']).to_owned()
}

/// Returns the text of a node without white space; empty if it is too long to be a name.
fn written(node: Node<'_>, text: &str) -> String {
    let text = text.get(node.byte_range()).filter(|text| text.len() <= 4 * LONGEST).unwrap_or_default();
    text.split_whitespace().collect()
}

/// Strips the local name: `a.b as c` is `a.b`.
fn plain(node: Node<'_>, text: &str) -> String {
    written(node.child_by_field_name("name").unwrap_or(node), text)
}

/// Walks the tree of a `use`, with one path for each of its names.
fn used(argument: Node<'_>, text: &str, take: &mut dyn FnMut(String)) {
    let join = |before: &str, after: &str| match (before, after) {
        ("", path) | (path, "" | "self") => path.to_owned(),
        (before, after) => format!("{before}::{after}"),
    };
    let mut open = vec![(argument, String::new(), 0)];
    let mut seen = 0;
    while let Some((node, before, depth)) = open.pop() {
        seen += 1;
        if seen > MOST || depth > DEEPEST_IMPORT {
            return;
        }
        match node.kind() {
            "use_list" => {
                let mut inside: Vec<_> = node.named_children(&mut node.walk()).take(MOST).collect();
                inside.reverse();
                open.extend(inside.into_iter().map(|child| (child, before.clone(), depth + 1)));
            }
            "scoped_use_list" => {
                let path = node.child_by_field_name("path").map(|path| written(path, text)).unwrap_or_default();
                if let Some(list) = node.child_by_field_name("list") {
                    open.push((list, join(&before, &path), depth + 1));
                }
            }
            "use_wildcard" => {
                let path = node.named_child(0).map(|path| written(path, text)).unwrap_or_default();
                take(join(&before, &path));
            }
            "use_as_clause" => {
                let path = node.child_by_field_name("path").map(|path| written(path, text)).unwrap_or_default();
                take(join(&before, &path));
            }
            "line_comment" | "block_comment" => {}
            _ => take(join(&before, &written(node, text))),
        }
    }
}

/// `include_str!("a.md")` and its like.
fn included(node: Node<'_>, text: &str, take: &mut dyn FnMut(String)) {
    let name = node.child_by_field_name("macro").map(|name| written(name, text)).unwrap_or_default();
    if !matches!(name.as_str(), "include" | "include_str" | "include_bytes") {
        return;
    }
    let tokens = node.named_children(&mut node.walk()).find(|child| child.kind() == "token_tree");
    let literal = tokens.and_then(|tokens| tokens.named_child(0)).filter(|token| token.kind() == "string_literal");
    if let Some(literal) = literal {
        take(unquoted(literal, text));
    }
}

/// `from a import b`: `a.b`. A wildcard import is the module.
fn from(node: Node<'_>, text: &str, take: &mut dyn FnMut(String)) {
    let Some(module) = node.child_by_field_name("module_name").map(|module| written(module, text)) else { return };
    let mut any = false;
    for name in node.children_by_field_name("name", &mut node.walk()).take(MOST) {
        any = true;
        let dot = if module.ends_with('.') { "" } else { "." };
        take(format!("{module}{dot}{}", plain(name, text)));
    }
    if !any {
        take(module);
    }
}

/// `require("./a")` and `import("./a")`.
fn required(node: Node<'_>, text: &str, take: &mut dyn FnMut(String)) {
    let name = node.child_by_field_name("function").map(|function| written(function, text)).unwrap_or_default();
    if !matches!(name.as_str(), "require" | "import") {
        return;
    }
    let first = node.child_by_field_name("arguments").and_then(|arguments| arguments.named_child(0));
    if let Some(first) = first.filter(|first| first.kind() == "string") {
        take(unquoted(first, text));
    }
}
