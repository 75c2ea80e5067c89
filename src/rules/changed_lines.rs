//! The changed lines of the files of a change, each read once. Main type: [`ChangedLines`].
//!
//! Several rules read them of all files, one rule after the other. The lines are a small part of the texts, which cannot all be in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::target::{is_markup, read_text};
use crate::domain::change::{FileChange, HunkSpan};
use crate::domain::place::DiffSide;
use crate::domain::text::FileText;
use crate::sys::cancel::CancelReason;
use crate::workspace::Workspace;

/// Maximum number of bytes of cached lines; those of further files are read again each time.
const MOST_BYTES: usize = 16 << 20;

/// The cache of the changed lines of files, for one change.
#[derive(Default)]
pub struct ChangedLines(Mutex<CachedLines>);

#[derive(Default)]
struct CachedLines {
    by_file: HashMap<(usize, DiffSide), Option<Arc<SideLines>>>,
    bytes: usize,
}

/// The changed lines of one side of a file.
pub(super) struct SideLines {
    /// Those of each run of changed lines, in order, joined by line feeds.
    pub(super) runs: Vec<Box<str>>,
    /// The size of the text that they are of, in bytes.
    pub(super) text_bytes: usize,
    /// `true` if that text is XML or HTML.
    pub(super) is_markup: bool,
}

impl SideLines {
    fn of(file: &FileChange, side: DiffSide, text: &FileText) -> Self {
        let lines = |span: HunkSpan| match span.range() {
            Some(range) => text.lines(range).map(|(_, line)| line).collect::<Vec<_>>().join("\n").into(),
            None => Box::default(),
        };
        let runs = file.runs().map(|run| lines(run.on(side))).collect();
        Self { runs, text_bytes: text.text().len(), is_markup: is_markup(text) }
    }

    /// Iterates over the lines of a side of `file` with their numbers.
    pub(super) fn lines<'a>(&'a self, file: &'a FileChange, side: DiffSide) -> impl Iterator<Item = (u32, &'a str)> {
        let spans = file.runs().map(move |run| run.on(side)).zip(&self.runs);
        spans.filter(|(span, _)| span.count > 0).flat_map(|(span, lines)| (span.start..).zip(lines.split('\n')))
    }
}

impl ChangedLines {
    /// Returns the changed lines of a side of a file of the change, by its index; `None` if `tree`, which is that side, has no readable text of it.
    pub(super) fn read(
        &self,
        (at, file): (usize, &FileChange),
        (side, tree): (DiffSide, &dyn Workspace),
    ) -> Result<Option<Arc<SideLines>>, CancelReason> {
        let cache = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = cache().by_file.get(&(at, side)) {
            return Ok(known.clone());
        }
        if file.without_text().is_some() {
            return Ok(None);
        }
        let text = read_text(tree, file.path_at(side))?;
        let lines = text.map(|text| Arc::new(SideLines::of(file, side, &text)));
        let bytes = lines.iter().flat_map(|lines| &lines.runs).map(|run| run.len()).sum::<usize>();
        let mut cache = cache();
        if cache.bytes + bytes <= MOST_BYTES && !cache.by_file.contains_key(&(at, side)) {
            cache.bytes += bytes;
            cache.by_file.insert((at, side), lines.clone());
        }
        Ok(lines)
    }
}
