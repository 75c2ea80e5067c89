//! Descriptions of guidelines for people: those of one file, and those of a tree. Main types: [`GuidelinesReport`], [`ListedGuideline`].

use super::guideline::{Guideline, GuidelineKind};
use super::path::RepoPath;

/// The guidelines of one file.
#[derive(Debug, Clone)]
pub struct GuidelinesReport {
    /// The file.
    pub file: RepoPath,
    /// The source of the guidelines: `at 0123456789`, `on the disk`; `None` without a target to read them from.
    pub from: Option<String>,
    /// The guidelines that apply to it, the broadest first.
    pub applies: Vec<ApplicableGuideline>,
    /// Other examined files, with the reason why they do not apply, as it follows the path.
    pub passed_over: Vec<(String, String)>,
    /// Notes for the receipt of a review.
    pub notes: Vec<String>,
}

/// A guideline that applies to a file.
#[derive(Debug, Clone)]
pub struct ApplicableGuideline {
    /// The text.
    pub guideline: Guideline,
    /// The kinds of guideline that it is.
    pub kinds: Vec<GuidelineKind>,
}

/// A guideline of a tree.
#[derive(Debug, Clone)]
pub struct ListedGuideline {
    /// The file.
    pub path: RepoPath,
    /// The kind of guideline.
    pub kind: GuidelineKind,
    /// Its scope, or the reason why it is not used: a clause.
    pub applies: Result<String, String>,
}
