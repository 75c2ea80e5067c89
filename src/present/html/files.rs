//! The files of a report, with their numbers and diffs. Main type: [`ReportedFiles`].

use std::collections::HashMap;

use super::code::{self, CodeLine};
use crate::domain::change::FileChange;
use crate::domain::path::RepoPath;
use crate::domain::review::Review;

/// The files of a report: the changed ones first, then others that findings are about. Their numbers begin at 1.
pub(super) struct ReportedFiles<'r> {
    /// The changed ones.
    pub(super) changed: &'r [FileChange],
    numbers: HashMap<&'r RepoPath, usize>,
    /// All paths, by number.
    pub(super) names: Vec<&'r RepoPath>,
    /// The diffs of the changed ones; empty where they are not known.
    pub(super) diffs: Vec<Vec<CodeLine<'r>>>,
}

impl<'r> ReportedFiles<'r> {
    /// Numbers the files and parses their diffs.
    pub(super) fn of(review: &'r Review) -> Self {
        let changed = review.change.files.as_slice();
        let mut files = Self {
            changed,
            numbers: HashMap::new(),
            names: changed.iter().map(|file| &file.path).collect(),
            diffs: changed.iter().map(|file| code::parse(&file.patch.text)).collect(),
        };
        for (number, file) in (1..).zip(changed) {
            files.numbers.insert(&file.path, number);
        }
        for (number, file) in (1..).zip(changed) {
            if let Some(path) = &file.old_path {
                files.numbers.entry(path).or_insert(number);
            }
        }
        for anchor in review.findings.iter().flat_map(|finding| &finding.anchors) {
            let next = files.names.len() + 1;
            if *files.numbers.entry(&anchor.path).or_insert(next) == next {
                files.names.push(&anchor.path);
            }
        }
        files
    }

    /// Returns the number of a file; `None` only for one that no finding names.
    pub(super) fn number(&self, path: &RepoPath) -> Option<usize> {
        self.numbers.get(path).copied()
    }

    /// Returns the number of a changed file.
    pub(super) fn changed_number(&self, path: &RepoPath) -> Option<usize> {
        self.number(path).filter(|number| *number <= self.changed.len())
    }

    /// Returns the diff of a file, if it is known.
    pub(super) fn diff(&self, path: &RepoPath) -> Option<&[CodeLine<'r>]> {
        let diff = self.diffs.get(self.number(path)?.checked_sub(1)?)?;
        (!diff.is_empty()).then_some(diff)
    }
}
