//! Both sides of a change, as its rules read them. Main type: [`BothSides`].
//!
//! The rules and their settings belong in `input`; what a file of a side holds belongs in `target`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::changed_lines::{ChangedLines, SideLines};
use crate::domain::change::{ChangeSet, FileChange};
use crate::domain::place::DiffSide;
use crate::syntax::TreeCache;
use crate::sys::cancel::{Cancel, CancelReason};
use crate::workspace::Workspace;

/// Both sides of a change, for rules that compare them or look beyond them.
#[derive(Clone, Copy)]
pub(super) struct BothSides<'a> {
    pub(super) change: &'a ChangeSet,
    /// The files to report on; `None` for all.
    pub(super) only: Option<&'a BTreeSet<usize>>,
    pub(super) old: &'a dyn Workspace,
    pub(super) new: &'a dyn Workspace,
    /// The changed lines that were read before.
    pub(super) lines: &'a ChangedLines,
    pub(super) trees: &'a TreeCache,
    pub(super) cancel: &'a Cancel,
}

impl<'a> BothSides<'a> {
    /// Checks whether a file is to be reported on.
    pub(super) fn asks(&self, at: usize) -> bool {
        self.only.is_none_or(|only| only.contains(&at))
    }

    /// Returns the changed lines of a side of a file, by its index; `None` if it has no readable text.
    pub(super) fn changed_lines(&self, at: usize, side: DiffSide) -> Result<Option<Arc<SideLines>>, CancelReason> {
        let Some(file) = self.change.files.get(at) else { return Ok(None) };
        let tree = if side == DiffSide::Old { self.old } else { self.new };
        self.lines.read((at, file), (side, tree))
    }

    /// Returns the files to report on, with their indices.
    pub(super) fn files(&self) -> impl Iterator<Item = (usize, &'a FileChange)> {
        let asked = *self;
        self.change.files.iter().enumerate().filter(move |(at, _)| asked.asks(*at))
    }
}
