//! Reads the definitions of a changed file while its trees are in memory. Main function: [`read_ahead`].
//!
//! The decision on what is needed belongs in `changed`; this module only computes it earlier.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::sides::BothSides;
use super::super::target::{is_markup, is_test_path, read_text};
use super::changed::FileVersions;
use super::context::MOST_BYTES;
use super::family::LanguageFamily;
use super::relevance::is_analyzed;
use crate::domain::change::FileStatus;
use crate::domain::language;
use crate::domain::place::DiffSide;
use crate::domain::text::FileText;
use crate::syntax::{OtherVersion, outline, symbols};
use crate::sys::cancel::CancelReason;

/// Reads what a file defines. `read` counts the bytes read for all files.
pub(super) fn read_ahead(sides: &BothSides<'_>, at: usize, read: &AtomicUsize) -> Result<(), CancelReason> {
    let Some(file) = sides.change.files.get(at) else { return Ok(()) };
    let Some(family) = LanguageFamily::of(&file.path) else { return Ok(()) };
    if !is_analyzed(sides, file)? {
        return Ok(());
    }
    let text_of = |side: DiffSide| -> Result<Option<Arc<FileText>>, CancelReason> {
        let tree = if side == DiffSide::Old { sides.old } else { sides.new };
        let text = read_text(tree, file.path_at(side))?.filter(|text| !is_markup(text));
        Ok(text.filter(|text| read.fetch_add(text.text().len(), Ordering::Relaxed) <= MOST_BYTES))
    };
    let (trees, cancel) = (sides.trees, sides.cancel);
    let language = |side: DiffSide| language::from_path(file.path_at(side)).unwrap_or_default();
    let now = if file.status == FileStatus::Deleted { None } else { text_of(DiffSide::New)? };
    let new = now.as_ref().and_then(|text| outline(language(DiffSide::New), text.text(), None, trees, cancel));
    if file.status == FileStatus::Added || is_test_path(file.path_at(DiffSide::Old)) {
        return Ok(());
    }
    let Some(before) = text_of(DiffSide::Old)? else { return Ok(()) };
    let beside = now.as_ref().and_then(|now| OtherVersion::of(file, DiffSide::Old, &before, now));
    let Some(old) = outline(language(DiffSide::Old), before.text(), beside.as_ref(), trees, cancel) else {
        return Ok(());
    };
    let both = FileVersions { at, file, family, old: &old, new: new.as_ref() };
    if let Some(text) = now.filter(|text| both.needs_bodies(text)) {
        let _ = symbols(language(DiffSide::New), text.text(), trees, cancel);
    }
    Ok(())
}
