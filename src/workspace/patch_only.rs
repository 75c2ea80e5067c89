//! The files as a patch alone shows them, without a repository. Main type: [`PatchOnly`].
//!
//! Lines keep their numbers: what the patch does not show stands there as [`UNKNOWN_LINE`]. A text is made when it is asked for: a
//! hunk header of a few bytes can claim half a million lines, and a patch can have thousands of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::content::MaskedTextCache;
use super::{TreeEntry, Workspace, WorkspaceError};
use crate::domain::change::{FileMode, Omission};
use crate::domain::filter::PathFilter;
use crate::domain::known_file::KnownFile;
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::domain::text::FileText;
use crate::sys::cancel::Cancel;

/// Stands for each line that the patch does not show.
pub const UNKNOWN_LINE: &str = "[line not shown by the patch]";

/// Stands behind the last line that the patch shows.
pub const UNKNOWN_REST: &str = "[the patch does not show what follows]";

/// Line numbers beyond this are not believed: a patch can claim any number in a few bytes.
const MOST_LINES: usize = 500_000;

/// One side of the files of a patch.
pub struct PatchOnly {
    filter: PathFilter,
    files: BTreeMap<RepoPath, KnownFile>,
    kept: MaskedTextCache,
    omissions: Vec<Omission>,
}

impl PatchOnly {
    /// The files of `side` among `known`.
    pub fn new(known: &[KnownFile], side: DiffSide, filter: PathFilter) -> Self {
        let mut omissions = Vec::new();
        let mut files = BTreeMap::new();
        for file in known.iter().filter(|file| file.side == side && filter.allows(&file.path)) {
            let (readable, dropped) = believed(file);
            if dropped > 0 {
                let path = Some(file.path.display_name().into_owned());
                let reason = format!("{dropped} lines beyond line {MOST_LINES} of the patch are not readable");
                omissions.push(Omission { path, reason, unseen: true });
            }
            files.insert(file.path.clone(), readable);
        }
        Self { filter, files, kept: MaskedTextCache::default(), omissions }
    }

    fn entries(&self) -> Vec<TreeEntry> {
        let entry = |path: &RepoPath| TreeEntry { path: path.clone(), mode: FileMode::File, blob: None };
        self.files.keys().map(entry).collect()
    }
}

/// Returns the lines of a file whose numbers are plausible, and the number of those whose are not.
fn believed(file: &KnownFile) -> (KnownFile, usize) {
    let mut next = 1usize;
    let mut dropped = 0;
    let mut readable = file.clone();
    readable.segments.retain(|(first, lines)| {
        let first = usize::try_from(*first).unwrap_or(usize::MAX);
        // Segments that overlap or go back come from a broken patch; their numbers would be wrong.
        let good = first >= next && first.saturating_add(lines.len()) <= MOST_LINES;
        if good {
            next = first + lines.len();
        } else {
            dropped += lines.len();
        }
        good
    });
    (readable, dropped)
}

fn text_of(file: &KnownFile) -> String {
    let mut text = String::new();
    let mut next = 1u32;
    for (first, lines) in &file.segments {
        for _ in next..*first {
            text.push_str(UNKNOWN_LINE);
            text.push('\n');
        }
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        next = first.saturating_add(u32::try_from(lines.len()).unwrap_or(u32::MAX));
    }
    if !file.whole {
        text.push_str(UNKNOWN_REST);
        text.push('\n');
    }
    text
}

impl Workspace for PatchOnly {
    fn files(&self, _: &Cancel) -> Result<Arc<[TreeEntry]>, WorkspaceError> {
        Ok(self.entries().into())
    }

    fn read(&self, path: &RepoPath) -> Result<Arc<FileText>, WorkspaceError> {
        if !self.filter.allows(path) {
            return Err(WorkspaceError::Excluded(path.clone()));
        }
        if let Some(text) = self.kept.text(path) {
            return Ok(text);
        }
        match self.files.get(path) {
            Some(known) => {
                Ok(self.kept.insert(path, FileText::new(&text_of(known), "UTF-8").with_masked(&known.masked)))
            }
            None => Err(WorkspaceError::NotFound(path.clone())),
        }
    }

    fn omissions(&self) -> Vec<Omission> {
        self.omissions.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(segments: Vec<(u32, Vec<String>)>, whole: bool) -> KnownFile {
        KnownFile { side: DiffSide::New, path: RepoPath::parse("a").unwrap(), segments, masked: Vec::new(), whole }
    }

    #[test]
    fn known_lines_keep_their_numbers() {
        let file = known(vec![(3, vec!["c".into(), "d".into()]), (6, vec!["f".into()])], false);
        let tree = PatchOnly::new(&[file], DiffSide::New, PathFilter::all());
        let text = tree.read(&RepoPath::parse("a").unwrap()).unwrap();
        let lines: Vec<_> = text.all_lines().map(|(_, line)| line).collect();
        assert_eq!(lines, [UNKNOWN_LINE, UNKNOWN_LINE, "c", "d", UNKNOWN_LINE, "f", UNKNOWN_REST]);
        assert!(PatchOnly::new(&[known(vec![], true)], DiffSide::Old, PathFilter::all()).files.is_empty());
    }

    #[test]
    fn many_far_line_numbers_cost_no_memory_until_they_are_read() {
        let far = |name: usize| KnownFile {
            path: RepoPath::parse(&format!("f{name}")).unwrap(),
            ..known(vec![(499_990, vec!["x".into()])], false)
        };
        let files: Vec<_> = (0..5_000).map(far).collect();
        let tree = PatchOnly::new(&files, DiffSide::New, PathFilter::all());
        assert_eq!(tree.read(&RepoPath::parse("f7").unwrap()).unwrap().line(499_990), Some("x"));
    }

    #[test]
    fn a_line_number_out_of_a_hat_costs_nothing() {
        let tree =
            PatchOnly::new(&[known(vec![(u32::MAX, vec!["x".into()])], false)], DiffSide::New, PathFilter::all());
        assert!(tree.omissions()[0].unseen, "a hunk that nobody looks at must not pass for reviewed");
        assert_eq!(tree.read(&RepoPath::parse("a").unwrap()).unwrap().line_count(), 1);
    }
}
