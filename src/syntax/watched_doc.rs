//! A parsed text with a budget of steps from node to node, so that no rule can run forever. Main type: [`WatchedDoc`].
//!
//! The library evaluates a rule's conditions on other nodes in one call, which cannot be interrupted: nested relations take quadratic or
//! cubic time in the size of a text. That call takes a step of this document for each node; when the budget is spent, there are no more
//! nodes, and the call ends. Its result is then invalid.
//!
//! If the tree is of an excerpt, it also records whether the call went past code that was left out. Fields are of nodes that an excerpt has
//! whole or not at all, and the text of a node is all of it.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use ast_grep_core::source::{Edit, SgNode};
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{Doc, Position};
use ast_grep_language::SupportLang;
use tree_sitter::{Node, TreeCursor};

use super::grammar::{ParseFailure, ParseLimits};
use super::matches::{ExcerptGap, PassedGaps};
use super::tree::SyntaxTree;
use crate::sys::cancel::Cancel;

/// Number of steps between two checks of the clock.
const STEPS: u64 = 4096;
/// Number of read bytes that cost as much as a step.
const BYTES_A_STEP: u64 = 512;

/// The remaining budget, and the code that was left out.
struct WatchState {
    left: Cell<u64>,
    cancel: Cancel,
    until: Option<std::time::Instant>,
    /// Why nothing is left, unless all was spent.
    fault: Cell<Option<ParseFailure>>,
    /// Places where code was left out, ascending.
    gaps: Vec<ExcerptGap>,
    passed: Cell<PassedGaps>,
}

impl WatchState {
    /// Spends a step; `None` if there is none left.
    fn step(&self) -> Option<()> {
        self.steps(1)
    }

    /// Records the gaps from a byte up to another one.
    fn pass(&self, from: usize, to: usize) {
        if self.gaps.is_empty() || self.passed.get() == PassedGaps::InFunction {
            return;
        }
        let first = self.gaps.partition_point(|gap| gap.at < from);
        for gap in self.gaps[first..].iter().take_while(|gap| gap.at < to) {
            let passed = if gap.is_in_function { PassedGaps::InFunction } else { PassedGaps::Outside };
            self.passed.set(self.passed.get().max(passed));
        }
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
    state: Rc<WatchState>,
}

impl WatchedDoc {
    pub(super) fn new(tree: &SyntaxTree, watch: &ParseLimits<'_>) -> Self {
        let (cancel, until) = watch.parts();
        let StrDoc { src, lang, tree: parsed } = tree.root.root().get_doc();
        let (fault, passed, gaps) = (Cell::new(None), Cell::default(), tree.gaps.clone());
        let state = WatchState { left: Cell::new(u64::MAX), cancel, until, fault, gaps, passed };
        Self { text: src.clone(), lang: *lang, tree: parsed.clone(), state: Rc::new(state) }
    }

    /// Returns what was passed since it was last called.
    pub(super) fn take_passed(&self) -> PassedGaps {
        self.state.passed.take()
    }

    /// Sets the number of steps from here on.
    pub(super) fn set_budget(&self, steps: u64) {
        self.state.left.set(steps);
    }

    /// Returns the remaining steps; 0 also when time ran out.
    pub(super) fn remaining(&self) -> u64 {
        self.state.left.get()
    }

    /// Returns whether the time is over, or the run was stopped.
    pub(super) fn fault(&self) -> Option<ParseFailure> {
        self.state.fault.get()
    }

    /// Wraps one of its nodes.
    pub(super) fn node<'r>(&'r self, node: Node<'r>) -> WatchedNode<'r> {
        WatchedNode { node, state: &self.state }
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
        let text = self.state.steps(bytes.len() as u64 / BYTES_A_STEP).and_then(|()| self.text.get(bytes));
        Cow::Borrowed(text.unwrap_or_default())
    }
}

/// A node of a [`WatchedDoc`].
#[derive(Clone)]
pub(super) struct WatchedNode<'r> {
    node: Node<'r>,
    state: &'r WatchState,
}

impl<'r> WatchedNode<'r> {
    /// Returns the parser's node.
    pub(super) fn inner(&self) -> Node<'r> {
        self.node
    }

    fn of(&self, node: Option<Node<'r>>) -> Option<Self> {
        self.state.step()?;
        node.map(|node| Self { node, state: self.state })
    }
}

/// The children of a node.
struct WatchedChildren<'r> {
    cursor: TreeCursor<'r>,
    count: usize,
    /// The bytes of the parent that were not read yet.
    rest: Range<usize>,
    state: &'r WatchState,
}

impl<'r> Iterator for WatchedChildren<'r> {
    type Item = WatchedNode<'r>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.count == 0 || self.state.step().is_none() {
            self.state.pass(self.rest.start, self.rest.end);
            self.count = 0;
            return None;
        }
        let node = self.cursor.node();
        self.state.pass(self.rest.start, node.start_byte());
        self.rest.start = node.end_byte();
        self.count -= 1;
        self.cursor.goto_next_sibling();
        Some(WatchedNode { node, state: self.state })
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
    /// The bytes that were not read yet.
    rest: Range<usize>,
    state: &'r WatchState,
}

impl<'r> Iterator for WatchedDescendants<'r> {
    type Item = WatchedNode<'r>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done || self.state.step().is_none() {
            self.state.pass(self.rest.start, self.rest.end);
            self.done = true;
            return None;
        }
        let node = self.cursor.node();
        self.state.pass(self.rest.start, node.start_byte());
        self.rest.start = node.start_byte();
        if !self.cursor.goto_first_child() {
            while !self.cursor.goto_next_sibling() {
                if !self.cursor.goto_parent() {
                    self.done = true;
                    break;
                }
            }
        }
        Some(WatchedNode { node, state: self.state })
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
        WatchedDescendants { cursor: self.node.walk(), done: false, rest: self.node.byte_range(), state: self.state }
    }

    fn child(&self, nth: usize) -> Option<Self> {
        let child = u32::try_from(nth).ok().and_then(|nth| self.node.child(nth));
        self.state.pass(self.node.start_byte(), child.map_or(self.node.end_byte(), |child| child.start_byte()));
        self.of(child)
    }

    fn children(&self) -> impl ExactSizeIterator<Item = Self> {
        let mut cursor = self.node.walk();
        cursor.goto_first_child();
        WatchedChildren {
            cursor,
            count: self.node.child_count() as usize,
            rest: self.node.byte_range(),
            state: self.state,
        }
    }

    fn child_by_field_id(&self, field: u16) -> Option<Self> {
        self.of(self.node.child_by_field_id(field))
    }

    fn next(&self) -> Option<Self> {
        let next = self.node.next_sibling();
        self.state.pass(self.node.end_byte(), next.map_or(0, |next| next.start_byte()));
        self.of(next)
    }

    fn prev(&self) -> Option<Self> {
        let before = self.node.prev_sibling();
        self.state.pass(before.map_or(usize::MAX, |before| before.end_byte()), self.node.start_byte());
        self.of(before)
    }

    fn next_all(&self) -> impl Iterator<Item = Self> {
        let mut cursor = self.node.parent().unwrap_or(self.node).walk();
        cursor.goto_first_child_for_byte(self.node.start_byte());
        let (state, mut end) = (self.state, self.node.end_byte());
        std::iter::from_fn(move || {
            state.step()?;
            cursor.goto_next_sibling().then(|| {
                let node = cursor.node();
                state.pass(end, node.start_byte());
                end = node.end_byte();
                Self { node, state }
            })
        })
    }

    fn prev_all(&self) -> impl Iterator<Item = Self> {
        let mut cursor = self.node.parent().unwrap_or(self.node).walk();
        cursor.goto_first_child_for_byte(self.node.start_byte());
        let (state, mut start) = (self.state, self.node.start_byte());
        std::iter::from_fn(move || {
            state.step()?;
            cursor.goto_previous_sibling().then(|| {
                let node = cursor.node();
                state.pass(node.end_byte(), start);
                start = node.start_byte();
                Self { node, state }
            })
        })
    }

    fn is_named(&self) -> bool {
        self.node.is_named()
    }

    fn is_named_leaf(&self) -> bool {
        let is_leaf = self.node.named_child_count() == 0;
        if is_leaf {
            self.state.pass(self.node.start_byte(), self.node.end_byte());
        }
        is_leaf
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
        let state = self.state;
        std::iter::from_fn(move || {
            while more {
                state.step()?;
                let found = (cursor.field_id() == field).then(|| cursor.node());
                more = cursor.goto_next_sibling();
                if let Some(node) = found {
                    return Some(Self { node, state });
                }
            }
            None
        })
    }
}
