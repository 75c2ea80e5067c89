//! A function before and after the change. Main types: [`Pair`], [`Around`] (the lines of the whole change).

use std::collections::HashMap;

use super::super::super::subject::Touched;
use super::code::{Code, is_if};
use super::conditions::{Need, Question, needs, questions};
use crate::domain::place::LineRange;

/// A loss: what the change removes, and its place.
pub(super) struct Lost {
    pub(super) rule: Rule,
    /// Lines of the old side; the first of them is a deleted one.
    pub(super) lines: LineRange,
    /// Description of the loss, one sentence.
    pub(super) detail: String,
}

/// The rules of this folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::rules) enum Rule {
    NullCheck,
    SizeCheck,
    Authorisation,
    Lock,
    Release,
    Await,
    Sanitiser,
    ErrorPath,
    ErrorHandling,
    Limit,
    Copy,
    Timeout,
    Attribute,
}

/// All lines that a change adds and removes, over all files, each as returned by [`squeeze`].
#[derive(Default)]
pub(in crate::rules) struct Around {
    pub(super) come: String,
    pub(super) gone: String,
}

impl Around {
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
pub(super) struct Pair<'a> {
    pub(super) old: &'a Code<'a>,
    pub(super) new: &'a Code<'a>,
    pub(super) was: usize,
    pub(super) is: usize,
    pub(super) removed: &'a Touched,
    pub(super) added: &'a Touched,
    pub(super) around: &'a Around,
    /// The tests in the old function.
    pub(super) asked: Vec<Question>,
    /// The tests in the new function and the functions around it.
    pub(super) asks: Vec<Question>,
    /// Uses in the new function that require a value.
    pub(super) needs: Vec<Need>,
    /// Counts of the old function's statements and conditions, normalized.
    pub(super) said: HashMap<String, usize>,
    /// Counts of the new function's.
    pub(super) says: HashMap<String, usize>,
    /// Lines that the change adds to it.
    pub(super) fresh: Vec<&'a str>,
}

impl<'a> Pair<'a> {
    #[allow(clippy::too_many_arguments, reason = "what stands on both sides is twice as much")]
    pub(super) fn new(
        old: &'a Code<'a>,
        new: &'a Code<'a>,
        (was, is): (usize, usize),
        removed: &'a Touched,
        added: &'a Touched,
        around: &'a Around,
        new_lines: &[&'a str],
    ) -> Option<Self> {
        let (then, now) = (old.functions.get(was)?.node, new.functions.get(is)?.node);
        let outermost = new.functions.get(new.functions.get(is)?.outermost)?.node;
        let mut asked = questions(old, then..old.nodes.until(then));
        asked.retain(|question| old.owner(question.node) == Some(was));
        let (first, last) = new.nodes.lines(now);
        let fresh = (first..=last).filter(|line| added.covers(*line));
        let fresh = fresh.filter_map(|line| new_lines.get(usize::try_from(line).ok()? - 1).copied()).collect();
        Some(Self {
            asked,
            asks: questions(new, outermost..new.nodes.until(outermost)),
            needs: needs(new, now..new.nodes.until(now)),
            said: old.statements_said(then),
            says: new.statements_said(now),
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
    pub(super) fn then(&self) -> usize {
        self.old.functions.get(self.was).map_or(0, |function| function.node)
    }

    /// Returns the new function's node.
    pub(super) fn now(&self) -> usize {
        self.new.functions.get(self.is).map_or(0, |function| function.node)
    }

    /// Checks whether the change removes the first line of a node of the old side.
    pub(super) fn is_gone(&self, node: usize) -> bool {
        self.removed.covers(self.old.nodes.lines(node).0)
    }

    /// Checks whether the change adds the first line of a node of the new side.
    pub(super) fn is_fresh(&self, node: usize) -> bool {
        self.added.covers(self.new.nodes.lines(node).0)
    }

    /// Checks whether a statement of the old function is in the new one.
    pub(super) fn stays(&self, statement: usize) -> bool {
        self.says.contains_key(&self.old.say(statement))
    }

    /// Checks whether the new function has fewer instances of a statement or condition than the old one.
    pub(super) fn is_rarer(&self, said: &str) -> bool {
        self.says.get(said).copied().unwrap_or(0) < self.said.get(said).copied().unwrap_or(0)
    }

    /// Builds a loss at a node of the old side.
    pub(super) fn lost(&self, rule: Rule, node: usize, detail: String) -> Option<Lost> {
        let (first, last) = self.old.nodes.lines(node);
        let first = (first..=last).find(|line| self.removed.covers(*line))?;
        let mut end = first;
        while end < last && end < first + 5 && self.removed.covers(end + 1) {
            end += 1;
        }
        Some(Lost { rule, lines: LineRange::new(first, end).ok()?, detail })
    }
}

/// Returns the nodes that a test guards, in either of its outcomes.
pub(super) fn guarded(code: &Code<'_>, question: &Question) -> Vec<std::ops::Range<usize>> {
    let nodes = &code.nodes;
    let own = nodes.until(question.node)..nodes.until(question.decides);
    let mut ranges = Vec::from([own]);
    if is_if(nodes.kind(question.decides))
        && let Some(consequence) = nodes.child(question.decides, "consequence")
        && code.statements(consequence).last().is_some_and(|last| code.leaves(*last))
    {
        // In Rust the `if` is inside an expression statement.
        let statement = code.statement(question.decides).unwrap_or(question.decides);
        ranges.extend(code.following(statement).into_iter().map(|after| after..nodes.until(after)));
    }
    ranges
}
