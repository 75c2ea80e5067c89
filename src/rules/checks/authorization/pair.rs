//! A function before and after the change. Main types: [`FunctionPair`], [`ChangedText`] (the lines of the whole change).

use std::collections::HashMap;

use super::super::super::target::ChangedLineIndex;
use super::code::FunctionCode;
use crate::domain::place::LineRange;

/// A check that the change removes.
pub(super) struct LostCheck {
    /// Lines of the old side; the first of them is a deleted one.
    pub(super) lines: LineRange,
    /// Description of the loss, one sentence.
    pub(super) detail: String,
}

/// All lines that a change adds, over all files, each as returned by [`squeeze`].
#[derive(Default)]
pub(super) struct ChangedText(pub(super) String);

impl ChangedText {
    /// Checks whether the change adds `text` anywhere.
    pub(super) fn adds(&self, text: &str) -> bool {
        let squeezed = squeeze(text);
        !squeezed.is_empty() && memchr::memmem::find(self.0.as_bytes(), squeezed.as_bytes()).is_some()
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
    pub(super) old: &'a FunctionCode<'a>,
    pub(super) new: &'a FunctionCode<'a>,
    pub(super) was: usize,
    pub(super) removed: &'a ChangedLineIndex,
    pub(super) around: &'a ChangedText,
    is: usize,
    /// Counts of the old function's statements and conditions, normalized.
    pub(super) said: HashMap<String, usize>,
    /// Counts of the new function's.
    pub(super) says: HashMap<String, usize>,
    /// Lines that the change adds to it.
    pub(super) fresh: Vec<&'a str>,
}

impl<'a> FunctionPair<'a> {
    pub(super) fn new(
        (old, new): (&'a FunctionCode<'a>, &'a FunctionCode<'a>),
        (was, is): (usize, usize),
        (removed, added): (&'a ChangedLineIndex, &ChangedLineIndex),
        around: &'a ChangedText,
        new_lines: &[&'a str],
    ) -> Option<Self> {
        let (then, now) = (old.functions.get(was)?.node, new.functions.get(is)?.node);
        let (first, last) = new.nodes.lines(now);
        let fresh = (first..=last).filter(|line| added.covers(*line));
        let fresh = fresh.filter_map(|line| new_lines.get(usize::try_from(line).ok()? - 1).copied()).collect();
        let (said, says) = (old.count_statements(then), new.count_statements(now));
        Some(Self { old, new, was, removed, around, is, said, says, fresh })
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

    /// Checks whether a statement of the old function is in the new one.
    pub(super) fn is_kept(&self, statement: usize) -> bool {
        self.says.contains_key(&self.old.normalized_text(statement))
    }

    /// Checks whether the new function has fewer instances of a statement or condition than the old one.
    pub(super) fn is_rarer(&self, said: &str) -> bool {
        self.says.get(said).copied().unwrap_or(0) < self.said.get(said).copied().unwrap_or(0)
    }

    /// Builds a loss at a node of the old side.
    pub(super) fn build_loss(&self, node: usize, detail: String) -> Option<LostCheck> {
        let (first, last) = self.old.nodes.lines(node);
        let first = (first..=last).find(|line| self.removed.covers(*line))?;
        let mut end = first;
        while end < last && end < first + 5 && self.removed.covers(end + 1) {
            end += 1;
        }
        Some(LostCheck { lines: LineRange::new(first, end).ok()?, detail })
    }
}
