//! The input of the rules. Main type: [`RulesInput`].

use std::collections::BTreeSet;

use super::changed_lines::ChangedLines;
use super::packs::Packs;
use super::sides::BothSides;
use crate::domain::change::ChangeSet;
use crate::domain::event::EventSink;
use crate::syntax::TreeCache;
use crate::sys::cancel::Cancel;
use crate::workspace::Workspace;

/// The input of the rules.
pub struct RulesInput<'a> {
    /// The change.
    pub change: &'a ChangeSet,
    /// The files to report on, by their index in the change; `None` for all. The others are still compared with.
    pub only: Option<&'a BTreeSet<usize>>,
    /// The tree of its head.
    pub new: &'a dyn Workspace,
    /// The tree of its merge base.
    pub old: &'a dyn Workspace,
    /// The rules.
    pub packs: &'a Packs,
    /// The cache of changed lines; a new one for each change.
    pub lines: &'a ChangedLines,
    /// The cache of syntax trees; a new one for each run.
    pub trees: &'a TreeCache,
    /// Checked between files and inside long ones.
    pub cancel: &'a Cancel,
    /// Called with the number of files done.
    pub events: &'a dyn EventSink,
}

impl<'a> RulesInput<'a> {
    /// Checks whether a file is to be reported on.
    pub(super) fn asks(&self, at: usize) -> bool {
        self.sides().asks(at)
    }

    /// The part that rules without settings read.
    pub(super) fn sides(&self) -> BothSides<'a> {
        let RulesInput { change, only, old, new, lines, trees, cancel, .. } = *self;
        BothSides { change, only, old, new, lines, trees, cancel }
    }
}
