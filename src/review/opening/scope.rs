//! Which files of a change a first message is about. Main types: [`Part`], [`Scope`].

use std::collections::BTreeMap;

use crate::domain::change::ChangeSet;
use crate::domain::path::RepoPath;

/// A part of a change that is reviewed in a conversation of its own.
#[derive(Debug, Clone, Copy)]
pub(in crate::review) struct Part<'a> {
    /// Which, from 1.
    pub(in crate::review) number: usize,
    /// How many there are.
    pub(in crate::review) of: usize,
    /// The places of its files in the change, in order.
    pub(in crate::review) files: &'a [usize],
    /// The files that no part has, and why: they were reviewed before.
    pub(in crate::review) carried: &'a BTreeMap<RepoPath, String>,
}

/// Whose a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// This message's.
    Own,
    /// Another part's.
    Elsewhere,
    /// Nobody's: it was reviewed before.
    Carried,
}

/// For every file of the change, whether the message is about it.
#[derive(Debug)]
pub(super) struct Scope {
    /// Empty where it is about all.
    whose: Vec<Whose>,
}

impl Scope {
    pub(super) const WHOLE: Self = Self { whose: Vec::new() };

    pub(super) fn of(change: &ChangeSet, part: &Part<'_>) -> Self {
        let mut whose: Vec<Whose> = change.files.iter().map(|_| Whose::Elsewhere).collect();
        for (whose, file) in whose.iter_mut().zip(&change.files) {
            if part.carried.contains_key(&file.path) {
                *whose = Whose::Carried;
            }
        }
        for at in part.files {
            if let Some(whose) = whose.get_mut(*at) {
                *whose = Whose::Own;
            }
        }
        Self { whose }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.whose.is_empty()
    }

    /// Whether the message is about the file at a place of the change.
    pub(super) fn has(&self, at: usize) -> bool {
        self.whose.get(at).is_none_or(|whose| *whose == Whose::Own)
    }

    /// What the list says of a file that it is not about.
    pub(super) fn mark(&self, at: usize) -> Option<&'static str> {
        match self.whose.get(at)? {
            Whose::Own => None,
            Whose::Elsewhere => Some("another part"),
            Whose::Carried => Some("unchanged since the last review"),
        }
    }
}
