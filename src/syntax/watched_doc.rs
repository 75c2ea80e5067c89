//! A parsed text with a budget of steps from node to node, so that no rule can run forever. Main type: [`WatchedDoc`].
//!
//! The library evaluates a rule's conditions on other nodes in one call, which cannot be interrupted: nested relations take quadratic or
//! cubic time in the size of a text. That call takes a step of this document for each node; when the budget is spent, there are no more
//! nodes, and the call ends. Its result is then invalid.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use ast_grep_core::source::{Edit, SgNode};
use ast_grep_core::{Doc, Position};
use ast_grep_language::SupportLang;
use tree_sitter::{Node, TreeCursor};

use super::grammar::{ParseFailure, ParseLimits};
use crate::sys::cancel::Cancel;

/// Number of steps between two checks of the clock.
const STEPS: u64 = 4096;
/// Number of read bytes that cost as much as a step.
const BYTES_A_STEP: u64 = 512;

/// The remaining budget.
struct ParseBudget {
    left: Cell<u64>,
    cancel: Cancel,
    until: Option<std::time::Instant>,
    /// Why nothing is left, unless all was spent.
    fault: Cell<Option<ParseFailure>>,
}

impl ParseBudget {
    /// Spends a step; `None` if there is none left.
    fn step(&self) -> Option<()> {
        self.steps(1)
    }

    /// Spends some steps.
    fn steps(&self, count: u64) -> Option<()> {
        let before = self.left.get();
        let Some(left) = before.checked_sub(count) else {
            self.left.set(0);
            return None;
        };
        self.left.set(left);
        if before / STEPS != left / STEPS
            && let Err(fault) = ParseLimits::until(&self.cancel, self.until).check()
        {
            self.fault.set(Some(fault));
            self.left.set(0);
            return None;
        }
        Some(())
    }
}

/// A text and its tree.
#[derive(Clone)]
pub(super) struct WatchedDoc {
    text: String,
    lang: SupportLang,
    tree: tree_sitter::Tree,
    fuel: Rc<ParseBudget>,
}

impl WatchedDoc {
    pub(super) fn new(text: String, lang: SupportLang, tree: tree_sitter::Tree, watch: &ParseLimits<'_>) -> Self {
        let (cancel, until) = watch.parts();
        let fuel = ParseBudget { left: Cell::new(u64::MAX), cancel, until, fault: Cell::new(None) };
        Self { text, lang, tree, fuel: Rc::new(fuel) }
    }

    /// Sets the number of steps from here on.
    pub(super) fn set_budget(&self, steps: u64) {
        self.fuel.left.set(steps);
    }

    /// Returns the remaining steps; 0 also when time ran out.
    pub(super) fn remaining(&self) -> u64 {
        self.fuel.left.get()
    }

    /// Returns whether the time is over, or the run was stopped.
    pub(super) fn fault(&self) -> Option<ParseFailure> {
        self.fuel.fault.get()
    }

    /// Wraps one of its nodes.
    pub(super) fn node<'r>(&'r self, node: Node<'r>) -> WatchedNode<'r> {
        WatchedNode { node, fuel: &self.fuel }
    }
}

impl Doc for WatchedDoc {
    type Source = String;
    type Lang = SupportLang;
    type Node<'r> = WatchedNode<'r>;

    fn get_lang(&self) -> &SupportLang {
        &self.lang
    }

    fn get_source(&self) -> &String {
        &self.text
    }

    fn do_edit(&mut self, _: &Edit<String>) -> Result<(), String> {
        Err("a watched text is not edited".to_owned())
    }

    fn root_node(&self) -> WatchedNode<'_> {
        self.node(self.tree.root_node())
    }

    fn get_node_text<'a>(&'a self, node: &WatchedNode<'a>) -> Cow<'a, str> {
        // Callers read it, mostly with a regex: nested nodes are read once for each level.
        let bytes = node.node.byte_range();
        let text = self.fuel.steps(bytes.len() as u64 / BYTES_A_STEP).and_then(|()| self.text.get(bytes));
        Cow::Borrowed(text.unwrap_or_default())
    }
}

/// A node of a [`WatchedDoc`].
#[derive(Clone)]
pub(super) struct WatchedNode<'r> {
    node: Node<'r>,
    fuel: &'r ParseBudget,
}

impl<'r> WatchedNode<'r> {
    /// Returns the parser's node.
    pub(super) fn inner(&self) -> Node<'r> {
        self.node
    }

    fn of(&self, node: Option<Node<'r>>) -> Option<Self> {
        self.fuel.step()?;
        node.map(|node| Self { node, fuel: self.fuel })
    }
}

/// The children of a node.
struct WatchedChildren<'r> {
    cursor: TreeCursor<'r>,
    count: usize,
    fuel: &'r ParseBudget,
}

impl<'r> Iterator for WatchedChildren<'r> {
    type Item = WatchedNode<'r>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.count == 0 || self.fuel.step().is_none() {
            self.count = 0;
            return None;
        }
        let node = self.cursor.node();
        self.count -= 1;
        self.cursor.goto_next_sibling();
        Some(WatchedNode { node, fuel: self.fuel })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl ExactSizeIterator for WatchedChildren<'_> {}

/// A node and its descendants, in the order of the text.
struct WatchedDescendants<'r> {
    cursor: TreeCursor<'r>,
    done: bool,
    fuel: &'r ParseBudget,
}

impl<'r> Iterator for WatchedDescendants<'r> {
    type Item = WatchedNode<'r>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done || self.fuel.step().is_none() {
            self.done = true;
            return None;
        }
        let node = self.cursor.node();
        if !self.cursor.goto_first_child() {
            while !self.cursor.goto_next_sibling() {
                if !self.cursor.goto_parent() {
                    self.done = true;
                    break;
                }
            }
        }
        Some(WatchedNode { node, fuel: self.fuel })
    }
}

impl<'r> SgNode<'r> for WatchedNode<'r> {
    fn parent(&self) -> Option<Self> {
        self.of(self.node.parent())
    }

    fn ancestors(&self, root: Self) -> impl Iterator<Item = Self> {
        let mut found = Vec::new();
        let mut next = Some(root.node);
        while let Some(node) = next.filter(|node| node.id() != self.node.id()) {
            let Some(watched) = self.of(Some(node)) else { break };
            found.push(watched);
            next = node.child_with_descendant(self.node);
        }
        found.into_iter().rev()
    }

    fn dfs(&self) -> impl Iterator<Item = Self> {
        WatchedDescendants { cursor: self.node.walk(), done: false, fuel: self.fuel }
    }

    fn child(&self, nth: usize) -> Option<Self> {
        self.of(u32::try_from(nth).ok().and_then(|nth| self.node.child(nth)))
    }

    fn children(&self) -> impl ExactSizeIterator<Item = Self> {
        let mut cursor = self.node.walk();
        cursor.goto_first_child();
        WatchedChildren { cursor, count: self.node.child_count() as usize, fuel: self.fuel }
    }

    fn child_by_field_id(&self, field: u16) -> Option<Self> {
        self.of(self.node.child_by_field_id(field))
    }

    fn next(&self) -> Option<Self> {
        self.of(self.node.next_sibling())
    }

    fn prev(&self) -> Option<Self> {
        self.of(self.node.prev_sibling())
    }

    fn next_all(&self) -> impl Iterator<Item = Self> {
        let mut cursor = self.node.parent().unwrap_or(self.node).walk();
        cursor.goto_first_child_for_byte(self.node.start_byte());
        let fuel = self.fuel;
        std::iter::from_fn(move || {
            fuel.step()?;
            cursor.goto_next_sibling().then(|| Self { node: cursor.node(), fuel })
        })
    }

    fn prev_all(&self) -> impl Iterator<Item = Self> {
        let mut cursor = self.node.parent().unwrap_or(self.node).walk();
        cursor.goto_first_child_for_byte(self.node.start_byte());
        let fuel = self.fuel;
        std::iter::from_fn(move || {
            fuel.step()?;
            cursor.goto_previous_sibling().then(|| Self { node: cursor.node(), fuel })
        })
    }

    fn is_named(&self) -> bool {
        self.node.is_named()
    }

    fn is_named_leaf(&self) -> bool {
        self.node.named_child_count() == 0
    }

    fn is_leaf(&self) -> bool {
        self.node.child_count() == 0
    }

    fn kind(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.node.kind())
    }

    fn kind_id(&self) -> u16 {
        self.node.kind_id()
    }

    fn node_id(&self) -> usize {
        self.node.id()
    }

    fn range(&self) -> Range<usize> {
        self.node.byte_range()
    }

    fn start_pos(&self) -> Position {
        let at = self.node.start_position();
        Position::new(at.row, at.column, self.node.start_byte())
    }

    fn end_pos(&self) -> Position {
        let at = self.node.end_position();
        Position::new(at.row, at.column, self.node.end_byte())
    }

    fn is_missing(&self) -> bool {
        self.node.is_missing()
    }

    fn is_error(&self) -> bool {
        self.node.is_error()
    }

    fn is_extra(&self) -> bool {
        self.node.is_extra()
    }

    fn field(&self, name: &str) -> Option<Self> {
        self.of(self.node.child_by_field_name(name))
    }

    fn field_children(&self, field: Option<u16>) -> impl Iterator<Item = Self> {
        let field = field.and_then(std::num::NonZero::new);
        let mut cursor = self.node.walk();
        let mut more = field.is_some() && cursor.goto_first_child();
        let fuel = self.fuel;
        std::iter::from_fn(move || {
            while more {
                fuel.step()?;
                let found = (cursor.field_id() == field).then(|| cursor.node());
                more = cursor.goto_next_sibling();
                if let Some(node) = found {
                    return Some(Self { node, fuel });
                }
            }
            None
        })
    }
}
