//! Scope of a first message: the files that it is about. Main types: [`ChangePart`], [`MessageScope`].

use std::collections::BTreeMap;

use super::ListedChange;
use crate::domain::change::ChangeSet;
use crate::domain::path::RepoPath;

/// A part of a change that is reviewed in a conversation of its own.
#[derive(Debug, Clone, Copy)]
pub(in crate::review) struct ChangePart<'a> {
    /// Number of the part, from 1.
    pub(in crate::review) number: usize,
    /// Number of parts.
    pub(in crate::review) of: usize,
    /// The places of its files in the change, in order.
    pub(in crate::review) files: &'a [usize],
    /// The files that no part has, and why: they were reviewed before.
    pub(in crate::review) carried: &'a BTreeMap<RepoPath, String>,
    /// The lists of all files and commits of the change.
    pub(in crate::review) listed: &'a ListedChange,
}

/// Assignment of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileAssignment {
    /// This message's.
    Own,
    /// Another part's.
    Elsewhere,
    /// Not assigned: the file was reviewed before.
    Carried,
}

/// For every file of the change, whether the message is about it.
#[derive(Debug)]
pub(super) struct MessageScope {
    /// Empty if it is about all.
    whose: Vec<FileAssignment>,
}

impl MessageScope {
    pub(super) const WHOLE: Self = Self { whose: Vec::new() };

    pub(super) fn of(change: &ChangeSet, part: &ChangePart<'_>) -> Self {
        let mut whose: Vec<FileAssignment> = change.files.iter().map(|_| FileAssignment::Elsewhere).collect();
        for (whose, file) in whose.iter_mut().zip(&change.files) {
            if part.carried.contains_key(&file.path) {
                *whose = FileAssignment::Carried;
            }
        }
        for at in part.files {
            if let Some(whose) = whose.get_mut(*at) {
                *whose = FileAssignment::Own;
            }
        }
        Self { whose }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.whose.is_empty()
    }

    /// Checks whether the message is about a file.
    pub(super) fn has(&self, at: usize) -> bool {
        self.whose.get(at).is_none_or(|whose| *whose == FileAssignment::Own)
    }

    /// Returns the remark in the list on a file that the message is not about.
    pub(super) fn mark(&self, at: usize) -> Option<&'static str> {
        match self.whose.get(at)? {
            FileAssignment::Own => None,
            FileAssignment::Elsewhere => Some("another part"),
            FileAssignment::Carried => Some("unchanged since the last review"),
        }
    }
}
