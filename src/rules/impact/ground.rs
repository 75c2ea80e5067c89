//! What impacts stand on: both trees, and what was already read or learnt of them. Main type: [`Ground`].

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::run::RulesInput;
use crate::domain::path::RepoPath;
use crate::domain::place::Side;
use crate::domain::text::FileText;
use crate::sys::cancel::Stopped;
use crate::workspace::WorkspaceError;

/// Both sides of a change, for rules that look beyond its files.
pub(super) struct Ground<'a> {
    pub(super) input: &'a RulesInput<'a>,
    notes: RefCell<BTreeSet<String>>,
}

impl<'a> Ground<'a> {
    pub(super) fn new(input: &'a RulesInput<'a>) -> Self {
        Self { input, notes: RefCell::default() }
    }

    /// The text of a file; `None` where there is none that can be read.
    pub(super) fn read(&self, side: Side, path: &RepoPath) -> Result<Option<Arc<FileText>>, Stopped> {
        let tree = if side == Side::Old { self.input.old } else { self.input.new };
        match tree.read(path) {
            Ok(text) => Ok(Some(text)),
            Err(WorkspaceError::Stopped(stopped)) => Err(stopped),
            Err(_) => Ok(None),
        }
    }

    /// Says what was not looked at.
    pub(super) fn note(&self, note: String) {
        self.notes.borrow_mut().insert(note);
    }

    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes.into_inner().into_iter().collect()
    }
}
