//! The review of a branch before this one. Main type: [`Prior`].

use std::collections::BTreeMap;

use super::finding::Finding;
use super::path::RepoPath;
use super::run::RunId;

/// What is known of the review before this one.
#[derive(Debug, Clone)]
pub struct Prior {
    /// Its run.
    pub run: RunId,
    /// Its findings.
    pub findings: Vec<Finding>,
    /// Changed files that are as they were then and were seen whole, and why they need not be reviewed again: a sentence for the receipt.
    pub carried: BTreeMap<RepoPath, String>,
}
