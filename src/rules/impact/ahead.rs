//! Reads the definitions of a changed file while its trees are in memory. Main function: [`read_ahead`].
//!
//! The decision on what is needed belongs in `changed`; this module only computes it earlier.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::run::RulesInput;
use super::super::subject::{is_markup, is_test_path, readable};
use super::changed::Both;
use super::ground::{Family, MOST_BYTES};
use super::touches::is_read;
use crate::domain::change::FileStatus;
use crate::domain::language;
use crate::domain::place::Side;
use crate::domain::text::FileText;
use crate::syntax::{Beside, outline, symbols};
use crate::sys::cancel::Stopped;

/// Reads what a file defines. `read` counts the bytes read for all files.
pub(super) fn read_ahead(input: &RulesInput<'_>, at: usize, read: &AtomicUsize) -> Result<(), Stopped> {
    let Some(file) = input.change.files.get(at) else { return Ok(()) };
    let Some(family) = Family::of(&file.path) else { return Ok(()) };
    if !is_read(input, file)? {
        return Ok(());
    }
    let text_of = |side: Side| -> Result<Option<Arc<FileText>>, Stopped> {
        let tree = if side == Side::Old { input.old } else { input.new };
        let text = readable(tree, file.path_at(side))?.filter(|text| !is_markup(text));
        Ok(text.filter(|text| read.fetch_add(text.text().len(), Ordering::Relaxed) <= MOST_BYTES))
    };
    let (trees, cancel) = (input.trees, input.cancel);
    let language = |side: Side| language::of(file.path_at(side)).unwrap_or_default();
    let now = if file.status == FileStatus::Deleted { None } else { text_of(Side::New)? };
    let new = now.as_ref().and_then(|text| outline(language(Side::New), text.text(), None, trees, cancel));
    if file.status == FileStatus::Added || is_test_path(file.path_at(Side::Old)) {
        return Ok(());
    }
    let Some(before) = text_of(Side::Old)? else { return Ok(()) };
    let beside = now.as_ref().and_then(|now| Beside::of(file, Side::Old, &before, now));
    let Some(old) = outline(language(Side::Old), before.text(), beside.as_ref(), trees, cancel) else { return Ok(()) };
    let both = Both { at, file, family, old: &old, new: new.as_ref() };
    if let Some(text) = now.filter(|text| both.ask_inside(text)) {
        let _ = symbols(language(Side::New), text.text(), trees, cancel);
    }
    Ok(())
}
