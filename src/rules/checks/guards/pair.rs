//! A function before and after the change. Main types: [`FunctionPair`], [`ChangedText`] (the lines of the whole change).

use std::collections::HashMap;

use super::super::super::target::ChangedLineIndex;
use super::code::{GuardCode, is_if};
use super::conditions::{GuardCondition, GuardedUse, find_conditions, find_guarded_uses};
use crate::domain::place::LineRange;

/// A loss: what the change removes, and its place.
pub(super) struct GuardLoss {
    pub(super) rule: GuardRule,
    /// Lines of the old side; the first of them is a deleted one.
    pub(super) lines: LineRange,
    /// Description of the loss, one sentence.
    pub(super) detail: String,
}

/// The rules of this folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::rules) enum GuardRule {
    NullCheck,
    SizeCheck,
    Authorisation,
    Release,
    ErrorPath,
    ErrorHandling,
}

/// All lines that a change adds and removes, over all files, each as returned by [`squeeze`].
#[derive(Default)]
pub(in crate::rules) struct ChangedText {
    pub(super) come: String,
    pub(super) gone: String,
}

impl ChangedText {
    /// Checks whether the change adds `text` anywhere.
    pub(super) fn adds(&self, text: &str) -> bool {
        let squeezed = squeeze(text);
        !squeezed.is_empty() && memchr::memmem::find(self.come.as_bytes(), squeezed.as_bytes()).is_some()
    }
}

/// Removes the white space of `text`, except for one space between two words.
pub(super) fn squeeze(text: &str) -> String {
    let is_wordy = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '$' => true,
        letter => !letter.is_ascii() && letter.is_alphanumeric(),
    };
    let mut squeezed = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if squeezed.ends_with(is_wordy) && word.starts_with(is_wordy) {
            squeezed.push(' ');
        }
        squeezed.push_str(word);
    }
    squeezed
}

/// A function on both sides.
pub(super) struct FunctionPair<'a> {
    pub(super) old: &'a GuardCode<'a>,
    pub(super) new: &'a GuardCode<'a>,
    pub(super) was: usize,
    pub(super) is: usize,
    pub(super) removed: &'a ChangedLineIndex,
    pub(super) added: &'a ChangedLineIndex,
    pub(super) around: &'a ChangedText,
    /// The tests in the old function.
    pub(super) asked: Vec<GuardCondition>,
    /// The tests in the new function and the functions around it.
    pub(super) asks: Vec<GuardCondition>,
    /// Uses in the new function that require a value.
    pub(super) needs: Vec<GuardedUse>,
    /// Counts of the old function's statements and conditions, normalized.
    pub(super) said: HashMap<String, usize>,
    /// Counts of the new function's.
    pub(super) says: HashMap<String, usize>,
    /// Lines that the change adds to it.
    pub(super) fresh: Vec<&'a str>,
}

impl<'a> FunctionPair<'a> {
    #[allow(clippy::too_many_arguments, reason = "what stands on both sides is twice as much")]
    pub(super) fn new(
        old: &'a GuardCode<'a>,
        new: &'a GuardCode<'a>,
        (was, is): (usize, usize),
        removed: &'a ChangedLineIndex,
        added: &'a ChangedLineIndex,
        around: &'a ChangedText,
        new_lines: &[&'a str],
    ) -> Option<Self> {
        let (then, now) = (old.functions.get(was)?.node, new.functions.get(is)?.node);
        let outermost = new.functions.get(new.functions.get(is)?.outermost)?.node;
        let mut asked = find_conditions(old, then..old.nodes.subtree_end(then));
        asked.retain(|question| old.owner(question.node) == Some(was));
        let (first, last) = new.nodes.lines(now);
        let fresh = (first..=last).filter(|line| added.covers(*line));
        let fresh = fresh.filter_map(|line| new_lines.get(usize::try_from(line).ok()? - 1).copied()).collect();
        Some(Self {
            asked,
            asks: find_conditions(new, outermost..new.nodes.subtree_end(outermost)),
            needs: find_guarded_uses(new, now..new.nodes.subtree_end(now)),
            said: old.count_statements(then),
            says: new.count_statements(now),
            fresh,
            old,
            new,
            was,
            is,
            removed,
            added,
            around,
        })
    }

    /// Returns the old function's node.
    pub(super) fn base_function(&self) -> usize {
        self.old.functions.get(self.was).map_or(0, |function| function.node)
    }

    /// Returns the new function's node.
    pub(super) fn head_function(&self) -> usize {
        self.new.functions.get(self.is).map_or(0, |function| function.node)
    }

    /// Checks whether the change removes the first line of a node of the old side.
    pub(super) fn is_removed(&self, node: usize) -> bool {
        self.removed.covers(self.old.nodes.lines(node).0)
    }

    /// Checks whether the change adds the first line of a node of the new side.
    pub(super) fn is_added(&self, node: usize) -> bool {
        self.added.covers(self.new.nodes.lines(node).0)
    }

    /// Checks whether a statement of the old function is in the new one.
    pub(super) fn is_kept(&self, statement: usize) -> bool {
        self.says.contains_key(&self.old.normalized_text(statement))
    }

    /// Checks whether the new function has fewer instances of a statement or condition than the old one.
    pub(super) fn is_rarer(&self, said: &str) -> bool {
        self.says.get(said).copied().unwrap_or(0) < self.said.get(said).copied().unwrap_or(0)
    }

    /// Builds a loss at a node of the old side.
    pub(super) fn build_loss(&self, rule: GuardRule, node: usize, detail: String) -> Option<GuardLoss> {
        let (first, last) = self.old.nodes.lines(node);
        let first = (first..=last).find(|line| self.removed.covers(*line))?;
        let mut end = first;
        while end < last && end < first + 5 && self.removed.covers(end + 1) {
            end += 1;
        }
        Some(GuardLoss { rule, lines: LineRange::new(first, end).ok()?, detail })
    }
}

/// Returns the nodes that a test guards, in either of its outcomes.
pub(super) fn guarded_ranges(code: &GuardCode<'_>, question: &GuardCondition) -> Vec<std::ops::Range<usize>> {
    let nodes = &code.nodes;
    let own = nodes.subtree_end(question.node)..nodes.subtree_end(question.decides);
    let mut ranges = Vec::from([own]);
    if is_if(nodes.kind(question.decides))
        && let Some(consequence) = nodes.child(question.decides, "consequence")
        && code.statements(consequence).last().is_some_and(|last| code.exits_block(*last))
    {
        // In Rust the `if` is inside an expression statement.
        let statement = code.statement(question.decides).unwrap_or(question.decides);
        ranges.extend(code.following(statement).into_iter().map(|after| after..nodes.subtree_end(after)));
    }
    ranges
}
