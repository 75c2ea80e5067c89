//! The review of a branch before this one. Main type: [`Prior`].

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::change::ChangeSet;
use super::finding::{Finding, FindingId};
use super::path::RepoPath;
use super::place::{DiffSide, LineRange};
use super::run::RunId;

/// The facts known about the previous review.
#[derive(Debug, Clone)]
pub struct Prior {
    /// Its run.
    pub run: RunId,
    /// Its findings, those that were fixed in it or before it included.
    pub findings: Vec<EarlierFinding>,
    /// Changed files that are as they were then and were seen whole, and why they need not be reviewed again: a sentence for the receipt.
    pub carried: BTreeMap<RepoPath, String>,
    /// The receipt's notes about the comparison, one sentence each.
    pub notes: Vec<String>,
}

impl Prior {
    /// The paths of the files that need not be reviewed again, on either side of the change.
    pub fn unchanged_paths(&self, change: &ChangeSet) -> HashSet<RepoPath> {
        let files = change.files.iter().filter(|file| self.carried.contains_key(&file.path));
        files.flat_map(|file| [Some(&file.path), file.old_path.as_ref()]).flatten().cloned().collect()
    }
}

/// A finding of an earlier review.
#[derive(Debug, Clone)]
pub struct EarlierFinding {
    /// As it was said; where it still stands, with its places as they are now.
    pub finding: Finding,
    /// The state of its lines.
    pub standing: EarlierFindingStatus,
    /// The current position of its first place, if it can be determined: its lines, or those that replaced them.
    pub near: Option<NearbyPlace>,
    /// `true` if it was fixed without its lines being changed: that they stand says nothing.
    pub disproved: bool,
}

/// The state of the lines that an earlier finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EarlierFindingStatus {
    /// They stand, and the change touches them.
    Stands,
    /// This review is not about them: the change does not touch them any more, or they are left out by a glob.
    Outside,
    /// They were changed, or are gone.
    Gone,
    /// Unknown.
    Unknown,
}

/// A place where something stood once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NearbyPlace {
    /// The file.
    pub path: RepoPath,
    /// The side of the change.
    pub side: DiffSide,
    /// The lines; `None` for the whole file.
    pub lines: Option<LineRange>,
}

/// The beginning of the note on the review that another one was compared with.
pub const COMPARED: &str = "Compared with the review";

/// Checks whether a note only names the review compared with.
pub fn is_reference(note: &str) -> bool {
    note.starts_with(COMPARED)
}

/// The review that another one was compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedReview {
    /// Its run.
    pub run: RunId,
    /// The findings that are fixed though their lines stand as they were: they were refuted, or their rule no longer says so.
    pub disproved: Vec<FindingId>,
}
