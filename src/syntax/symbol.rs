//! The names of the functions and types around a place. Main function: [`enclosing_symbol`].

use std::time::Duration;

use super::grammar::{Grammar, ParseLimits, SyntaxTree};
use super::tree_cache::TreeCache;
use crate::sys::cancel::Cancel;

/// Time limit for a query.
const QUESTION: Duration = Duration::from_secs(2);

/// The kinds of nodes that name what is inside them, over all grammars here.
const NAMING: &[&str] = &[
    "class_declaration",
    "class_definition",
    "enum_item",
    "function_declaration",
    "function_definition",
    "function_item",
    "impl_item",
    "interface_declaration",
    "method_declaration",
    "method_definition",
    "mod_item",
    "struct_item",
    "trait_item",
    "type_spec",
    "variable_declarator",
];

/// Returns the name of the innermost function or type around `line` (1-indexed); `None` at the top level of a file, or without a grammar.
/// The text is parsed once per `trees`.
pub fn enclosing_symbol(language: &str, text: &str, line: u32, trees: &TreeCache) -> Option<String> {
    let grammar = Grammar::of(language)?;
    let row = usize::try_from(line.checked_sub(1)?).ok()?;
    let answer = || {
        let cancel = Cancel::never();
        let tree = trees.parse(grammar, text, &ParseLimits::new(&cancel, QUESTION)).ok()?;
        Some(innermost(&tree, row).into_iter().collect::<Vec<String>>())
    };
    trees.get_or_compute((grammar, text), |said| said.names.entry(line).or_default(), answer)?.pop()
}

fn innermost(tree: &SyntaxTree, row: usize) -> Option<String> {
    let mut node = tree.root.root();
    let mut name = None;
    loop {
        if NAMING.contains(&&*node.kind()) {
            let named = node.field("name").or_else(|| node.field("type"));
            name = named.map(|named| named.text().into_owned()).or(name);
        }
        let inside = node.children().find(|child| child.start_pos().line() <= row && row <= child.end_pos().line());
        match inside {
            Some(child) => node = child,
            None => return name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_name_is_given() {
        let trees = TreeCache::default();
        let enclosing_symbol = |language, text, line| super::enclosing_symbol(language, text, line, &trees);
        let rust = "struct A;\nimpl A {\n    fn b() {\n        1;\n    }\n}\n";
        assert_eq!(enclosing_symbol("rust", rust, 4).as_deref(), Some("b"));
        assert_eq!(enclosing_symbol("rust", rust, 2).as_deref(), Some("A"));
        let python = "x = 1\nclass A:\n    def b(self):\n        return 1\n";
        assert_eq!(enclosing_symbol("python", python, 4).as_deref(), Some("b"));
        assert_eq!(enclosing_symbol("python", python, 1), None);
        assert_eq!(enclosing_symbol("go", "package p\n\nfunc (t T) C() {\n\treturn\n}\n", 4).as_deref(), Some("C"));
        assert_eq!(enclosing_symbol("typescript", "const f = () => {\n  g();\n};\n", 2).as_deref(), Some("f"));
        assert_eq!(enclosing_symbol("cobol", "x", 1), None);
    }
}
