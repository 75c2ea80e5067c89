//! Both sides of a change, as its rules read them. Main type: [`BothSides`].
//!
//! The rules and their settings belong in `input`; what a file of a side holds belongs in `target`.

use crate::domain::change::ChangeSet;
use crate::syntax::TreeCache;
use crate::sys::cancel::Cancel;
use crate::workspace::Workspace;

/// Both sides of a change, for rules that compare them or look beyond them.
#[derive(Clone, Copy)]
pub(super) struct BothSides<'a> {
    pub(super) change: &'a ChangeSet,
    pub(super) old: &'a dyn Workspace,
    pub(super) new: &'a dyn Workspace,
    pub(super) trees: &'a TreeCache,
    pub(super) cancel: &'a Cancel,
}
