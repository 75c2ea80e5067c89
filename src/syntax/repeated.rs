//! What stands a second time among its neighbours, found in one walk: a rule that compares each with all before it takes the square of their
//! number. Main type: [`Repeated`].

use std::collections::HashSet;

use tree_sitter::Node;

/// The texts that were seen so far, while a tree is walked in its order.
#[derive(Default)]
pub(super) struct Repeated<'t> {
    /// The rule, the nodes that have one parent, and the text.
    seen: HashSet<(usize, u32, &'t [u8])>,
    /// For each level above the place of the walk, which nodes of one parent it is among.
    among: Vec<u32>,
    next: u32,
}

impl<'t> Repeated<'t> {
    /// The walk goes to the first child.
    pub(super) fn enter(&mut self) {
        self.next = self.next.wrapping_add(1);
        self.among.push(self.next);
    }

    /// The walk goes back to the parent.
    pub(super) fn leave(&mut self) {
        self.among.pop();
    }

    /// How many parents there are above the place of the walk.
    pub(super) fn depth(&self) -> u32 {
        u32::try_from(self.among.len()).unwrap_or(u32::MAX)
    }

    /// Whether what the node has in `field` stood in the same field of a node before it, for that rule. A node without one repeats nothing.
    pub(super) fn is_one(&mut self, rule: usize, node: &Node<'_>, field: &str, text: &'t [u8]) -> bool {
        let told = node.child_by_field_name(field).and_then(|told| text.get(told.byte_range()));
        let among = self.among.last().copied().unwrap_or_default();
        told.is_some_and(|told| !self.seen.insert((rule, among, told)))
    }
}
