//! A walk over a tree without recursion, so that deep nesting takes no stack. Main function: [`walk`].

use tree_sitter::{Node, TreeCursor};

use super::grammar::{ParseFailure, ParseLimits};

/// Number of nodes between two checks of the time.
const NODES_BETWEEN_CHECKS: u32 = 1024;

/// Walks the nodes in the order of the text. `enter` gets each with the context that its parent gave it, and returns the context of its children,
/// or `None` to leave them out.
pub(super) fn walk<'t, C>(
    root: Node<'t>,
    mut around: C,
    watch: &ParseLimits<'_>,
    mut enter: impl FnMut(&TreeCursor<'t>, &C) -> Option<C>,
) -> Result<(), ParseFailure> {
    let mut cursor = root.walk();
    let mut outer = Vec::new();
    let mut steps = 0u32;
    loop {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(NODES_BETWEEN_CHECKS) {
            watch.check()?;
        }
        if let Some(inside) = enter(&cursor, &around)
            && cursor.goto_first_child()
        {
            outer.push(std::mem::replace(&mut around, inside));
            continue;
        }
        while !cursor.goto_next_sibling() {
            match outer.pop() {
                Some(context) if cursor.goto_parent() => around = context,
                _ => return Ok(()),
            }
        }
    }
}
