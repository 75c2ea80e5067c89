//! Detects repeated siblings in one walk: a rule that compares each with all before it takes time quadratic in their number. Main type:
//! [`RepeatedTexts`].

use std::collections::HashSet;

use tree_sitter::Node;

/// The texts seen so far, while a tree is walked in order.
#[derive(Default)]
pub(super) struct RepeatedTexts<'t> {
    /// The rule, the group of siblings, and the text.
    seen: HashSet<(usize, u32, &'t [u8])>,
    /// For each ancestor level of the current node, its group of siblings.
    among: Vec<u32>,
    next: u32,
}

impl<'t> RepeatedTexts<'t> {
    /// Moves to the first child.
    pub(super) fn enter(&mut self) {
        self.next = self.next.wrapping_add(1);
        self.among.push(self.next);
    }

    /// Moves back to the parent.
    pub(super) fn leave(&mut self) {
        self.among.pop();
    }

    /// The number of ancestors of the current node.
    pub(super) fn depth(&self) -> u32 {
        u32::try_from(self.among.len()).unwrap_or(u32::MAX)
    }

    /// Checks whether the text of the node's `field` was in the same field of an earlier sibling, for that rule. A node without the field
    /// repeats nothing.
    pub(super) fn is_one(&mut self, rule: usize, node: &Node<'_>, field: &str, text: &'t [u8]) -> bool {
        let told = node.child_by_field_name(field).and_then(|told| text.get(told.byte_range()));
        let among = self.among.last().copied().unwrap_or_default();
        told.is_some_and(|told| !self.seen.insert((rule, among, told)))
    }
}
