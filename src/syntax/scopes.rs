//! The functions and types of a text, by name. Main type: [`CodeScope`].

use tree_sitter::Node;

use super::grammar::{ParseFailure, ParseLimits};
use super::kinds::{GrammarKinds, KindGroup};
use super::tree::SyntaxTree;
use super::walk::walk;
use crate::domain::place::LineRange;

/// Maximum depth of named nodes.
const DEEPEST: u32 = 1000;

/// A function or a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeScope {
    /// Its qualified name, with dots: `Store.open`.
    pub name: String,
    /// Its lines.
    pub lines: LineRange,
    /// Its bytes.
    pub bytes: std::ops::Range<usize>,
    /// The byte at which its body begins, after its name and its parameters.
    pub body: usize,
}

impl CodeScope {
    /// Returns the smallest function or type around a line. The list is ordered by begin.
    pub fn innermost(scopes: &[Self], line: u32) -> Option<&Self> {
        scopes.iter().rev().find(|scope| scope.lines.contains(line))
    }
}

impl SyntaxTree {
    /// Returns its functions and types ordered by begin: inner ones follow the outer one.
    pub fn scopes(&self, watch: &ParseLimits<'_>) -> Result<Vec<CodeScope>, ParseFailure> {
        let root = self.root.root();
        let kinds = GrammarKinds::of(self.grammar);
        let mut scopes: Vec<CodeScope> = Vec::new();
        let mut around: Vec<usize> = Vec::new();
        walk(root.get_inner_node(), (), watch, |cursor, ()| {
            let node = cursor.node();
            if let Some(own) = name_of(&node, kinds, self.text()) {
                around.retain(|at| scopes.get(*at).is_some_and(|scope| scope.bytes.end >= node.end_byte()));
                let outer = around.last().and_then(|at| scopes.get(*at));
                let name = outer.map_or_else(|| own.clone(), |outer| format!("{}.{own}", outer.name));
                let line = |row: usize| u32::try_from(row).unwrap_or(u32::MAX - 1) + 1;
                let (first, last) = (line(node.start_position().row), line(node.end_position().row));
                let lines = LineRange::new(first, last).unwrap_or_else(|_| LineRange::line(first));
                around.push(scopes.len());
                let value = node.child_by_field_name("value").unwrap_or(node);
                let body = value.child_by_field_name("body").map_or(node.start_byte(), |body| body.start_byte());
                scopes.push(CodeScope { name, lines, bytes: node.byte_range(), body });
            }
            (cursor.depth() < DEEPEST).then_some(())
        })?;
        Ok(scopes)
    }
}

/// Returns the node with the name of a function or type; `None` if the node is neither.
pub(super) fn name_node<'t>(node: &Node<'t>, kinds: &GrammarKinds) -> Option<Node<'t>> {
    let field = |name: &str| node.child_by_field_name(name);
    match kinds.group(node.kind_id()) {
        KindGroup::Scope => field("name").or_else(|| field("declarator")).or_else(|| field("type")),
        KindGroup::FunctionName => {
            field("value").filter(|value| is_function(kinds.name(value.kind_id())))?;
            field("name").or_else(|| field("key")).or_else(|| field("property"))
        }
        KindGroup::Other | KindGroup::Name | KindGroup::Attribute | KindGroup::Token => None,
    }
}

fn is_function(kind: &str) -> bool {
    matches!(kind, "arrow_function" | "function_expression" | "generator_function" | "function")
}

fn name_of(node: &Node<'_>, kinds: &GrammarKinds, text: &[u8]) -> Option<String> {
    // In C the name is inside the declarator: `static char *name(int a)`.
    let mut innermost = name_node(node, kinds)?;
    while let Some(inner) = innermost.child_by_field_name("declarator") {
        innermost = inner;
    }
    let text_of =
        |node: Node<'_>| String::from_utf8_lossy(text.get(node.byte_range()).unwrap_or_default()).into_owned();
    let name = text_of(innermost);
    // A Go method is qualified by its type as well.
    let receiver = node.child_by_field_name("receiver").map(text_of);
    let of = receiver.as_deref().and_then(|text| text.trim_matches(['(', ')', ' ']).rsplit([' ', '*']).next());
    Some(of.map_or_else(|| name.clone(), |of| format!("{of}.{name}")))
}

#[cfg(test)]
mod tests {
    use super::super::grammar::Grammar;
    use super::*;
    use crate::sys::cancel::Cancel;
    use std::time::Duration;

    fn names(grammar: Grammar, text: &str) -> Vec<String> {
        let cancel = Cancel::never();
        let watch = ParseLimits::new(&cancel, Duration::from_mins(1));
        let tree = SyntaxTree::parse(grammar, text, &watch).unwrap();
        tree.scopes(&watch).unwrap().into_iter().map(|scope| scope.name).collect()
    }

    #[test]
    fn functions_are_named_after_what_they_stand_in() {
        assert_eq!(names(Grammar::Rust, "impl A {\n fn b() {}\n}\nfn c() {}\n"), ["A", "A.b", "c"]);
        assert_eq!(names(Grammar::Python, "class A:\n  def b(self):\n    pass\ndef c(): pass\n"), ["A", "A.b", "c"]);
        assert_eq!(names(Grammar::Go, "package p\nfunc (t *T) A() {}\nfunc b() {}\n"), ["T.A", "b"]);
        assert_eq!(names(Grammar::C, "static char *a(int b) { return 0; }\n"), ["a"]);
        assert_eq!(names(Grammar::Java, "class A { A() {} int b() { return 1; } }"), ["A", "A.A", "A.b"]);
        assert_eq!(names(Grammar::Bash, "a() { b; }\n"), ["a"]);
        let script = "const a = () => {};\nconst b = 1;\nclass C { d() {} }\nconst e = { f: function () {} };\n";
        assert_eq!(names(Grammar::TypeScript, script), ["a", "C", "C.d", "f"]);
    }
}
