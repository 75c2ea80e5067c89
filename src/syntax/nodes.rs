//! A parsed text as a flat list of nodes that can be walked in all directions. Main type: [`NodeTable`].
//!
//! Nodes are identified by their index, in the order of the text: those inside node `i` are `i + 1 .. until(i)`. Kinds and fields are the
//! names in the grammar. Their meaning belongs in `rules`.

use std::ops::Range;

use super::grammar::{Grammar, ParseFailure, ParseLimits};
use super::kinds::{GrammarKinds, KindGroup};
use super::tree::SyntaxTree;

/// Maximum depth; deeper code is generated.
const DEEPEST: usize = 400;

/// The end of a node that is still open.
const OPEN: u32 = u32::MAX;

/// One node, compact because there are many: texts are far smaller than what these numbers hold.
#[derive(Debug, Clone, Copy)]
struct NodeRow {
    kind: u16,
    field: u16,
    start: u32,
    end: u32,
    first_line: u32,
    last_line: u32,
    parent: u32,
    until: u32,
}

/// A parsed text, node by node.
#[derive(Debug)]
pub struct NodeTable<'a> {
    text: &'a str,
    rows: Vec<NodeRow>,
    kinds: &'static GrammarKinds,
}

/// The same numbering as the parser's.
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX - 1)
}

fn large(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl<'a> NodeTable<'a> {
    /// Parses `text`. Syntax errors are no obstacle: they become nodes of the kind `ERROR`.
    pub fn parse(grammar: Grammar, text: &'a str, watch: &ParseLimits<'_>) -> Result<Self, ParseFailure> {
        Self::of(&SyntaxTree::parse(grammar, text, watch)?, text, watch)
    }

    /// Lists the nodes of a tree; `text` is the one it was parsed from.
    pub fn of(tree: &SyntaxTree, text: &'a str, watch: &ParseLimits<'_>) -> Result<Self, ParseFailure> {
        let kinds = GrammarKinds::of(tree.grammar);
        let root = tree.root.root();
        let mut cursor = root.get_inner_node().walk();
        let mut nodes = Self { text, rows: Vec::new(), kinds };
        let mut open: Vec<u32> = Vec::new();
        loop {
            let at = nodes.rows.len();
            if at.is_multiple_of(4096) {
                watch.check()?;
            }
            let node = cursor.node();
            let (start, end) = (node.start_position(), node.end_position());
            // A node that swallowed its line ending stops at the start of the next line.
            let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
            let (kind, field) = (node.kind_id(), cursor.field_id().map(std::num::NonZero::get));
            nodes.rows.push(NodeRow {
                kind,
                field: field.unwrap_or(0),
                start: small(node.start_byte()),
                end: small(node.end_byte()),
                first_line: small(start.row) + 1,
                last_line: small(last) + 1,
                parent: open.last().copied().unwrap_or(0),
                until: OPEN,
            });
            if kinds.group(kind) != KindGroup::Token && open.len() < DEEPEST && cursor.goto_first_child() {
                open.push(small(at));
                continue;
            }
            let count = small(nodes.rows.len());
            if let Some(last) = nodes.rows.last_mut() {
                last.until = count;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    for row in nodes.rows.iter_mut().filter(|row| row.until == OPEN) {
                        row.until = count;
                    }
                    return Ok(nodes);
                }
                if let Some(row) = open.pop().and_then(|at| nodes.rows.get_mut(large(at))) {
                    row.until = count;
                }
            }
        }
    }

    /// Returns the number of nodes.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// Returns the kind of a node, as named in the grammar, `ERROR` for a syntax error; empty if there is no such node.
    pub fn kind(&self, node: usize) -> &str {
        self.rows.get(node).map_or("", |row| self.kinds.name(row.kind))
    }

    /// Returns the field of the parent that the node is in.
    pub fn field(&self, node: usize) -> Option<&str> {
        let row = self.rows.get(node).filter(|row| row.field != 0)?;
        self.kinds.field(row.field)
    }

    /// Returns the parent; `None` for the whole text.
    pub fn parent(&self, node: usize) -> Option<usize> {
        self.rows.get(node).filter(|_| node > 0).map(|row| large(row.parent))
    }

    /// Returns the ancestors, the nearest first.
    pub fn ancestors(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.parent(node), |node| self.parent(*node))
    }

    /// Returns the index after the last node inside it.
    pub fn subtree_end(&self, node: usize) -> usize {
        self.rows.get(node).map_or(node + 1, |row| large(row.until))
    }

    /// Returns its descendants.
    pub fn subtree(&self, node: usize) -> Range<usize> {
        node + 1..self.subtree_end(node)
    }

    /// Returns its children, tokens included.
    pub fn children(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.subtree_end(node);
        let within = move |node: usize| (node < end).then_some(node);
        std::iter::successors(within(node + 1), move |node| within(self.subtree_end(*node)))
    }

    /// Returns its child in `field`.
    pub fn child(&self, node: usize, field: &str) -> Option<usize> {
        self.children(node).find(|child| self.field(*child) == Some(field))
    }

    /// Returns its text, verbatim.
    pub fn text(&self, node: usize) -> &'a str {
        self.rows.get(node).and_then(|row| self.text.get(large(row.start)..large(row.end))).unwrap_or_default()
    }

    /// Returns its bytes.
    pub fn bytes(&self, node: usize) -> Range<usize> {
        self.rows.get(node).map_or(0..0, |row| large(row.start)..large(row.end))
    }

    /// Returns its first and its last line.
    pub fn lines(&self, node: usize) -> (u32, u32) {
        self.rows.get(node).map_or((1, 1), |row| (row.first_line, row.last_line))
    }

    /// Checks whether nothing is inside it: a word or a punctuation mark, or a whole string or comment.
    pub fn is_token(&self, node: usize) -> bool {
        self.subtree_end(node) == node + 1
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sys::cancel::Cancel;

    #[test]
    fn every_node_knows_its_place() {
        let cancel = Cancel::never();
        let text = "package a\n\nfunc f(b *T) {\n\tif b == nil {\n\t\treturn\n\t}\n\tb.c(\"d\")\n}\n";
        let nodes = NodeTable::parse(Grammar::Go, text, &ParseLimits::new(&cancel, Duration::from_mins(1))).unwrap();
        let at = |kind: &str| (0..nodes.count()).find(|node| nodes.kind(*node) == kind).unwrap();
        let guard = at("if_statement");
        assert_eq!(nodes.text(nodes.child(guard, "condition").unwrap()), "b == nil");
        assert_eq!(nodes.lines(guard), (4, 6));
        assert!(nodes.ancestors(guard).any(|node| nodes.kind(node) == "function_declaration"));
        assert!(nodes.subtree(at("function_declaration")).contains(&guard));
        assert!(nodes.is_token(at("interpreted_string_literal")));
        for node in 1..nodes.count() {
            let parent = nodes.parent(node).unwrap();
            assert!(nodes.children(parent).any(|child| child == node), "{node}");
        }
    }

    #[test]
    fn nesting_without_end_is_cut() {
        let cancel = Cancel::never();
        let text = format!("a = {}{}\n", "[".repeat(20_000), "]".repeat(20_000));
        let nodes =
            NodeTable::parse(Grammar::Python, &text, &ParseLimits::new(&cancel, Duration::from_mins(1))).unwrap();
        assert!(nodes.count() < 2_000);
    }
}
