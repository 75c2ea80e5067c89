//! A pull request itself. Main types: [`PullRequest`], [`ReviewedPull`].

use serde::{Deserialize, Serialize};

use super::conversation::Actor;
use super::names::{PullId, RepoName};
use crate::domain::id::CommitId;
use crate::domain::path::RepoPath;
use crate::domain::words::words;

words! {
    /// The state of a pull request.
    pub enum PullState: as_str {
        /// It does.
        Open = "OPEN",
        /// It was closed without being merged.
        Closed = "CLOSED",
        /// It was merged.
        Merged = "MERGED",
    }
}

/// A pull request. All texts are its author's: data, nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Its id.
    pub id: PullId,
    /// The forge's own id of it.
    pub node: String,
    /// Its page.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Its description: Markdown, perhaps empty.
    pub body: String,
    /// Its state.
    pub state: PullState,
    /// `true` if it is a draft.
    pub is_draft: bool,
    /// The author; `None` if the account was deleted.
    pub author: Option<Actor>,
    /// The author's association with the repository (`OWNER`, `MEMBER`, `NONE`, …), in the forge's word.
    pub association: String,
    /// The branch it comes from.
    pub head_ref: String,
    /// The branch it asks to be merged into.
    pub base_ref: String,
    /// The tip of what it brings.
    pub head: CommitId,
    /// The tip of what it is compared with, as the forge last looked.
    pub base: CommitId,
    /// The repository of the head; `None` if that fork was deleted.
    pub head_repo: Option<RepoName>,
    /// The mergeability, in the forge's term (`MERGEABLE`, `CONFLICTING`, `UNKNOWN`).
    pub mergeable: Option<String>,
    /// The reviewers' decision, in the forge's term (`APPROVED`, `CHANGES_REQUESTED`, `REVIEW_REQUIRED`).
    pub review_decision: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
    /// Lines added, as the forge counts.
    pub additions: u64,
    /// Lines deleted.
    pub deletions: u64,
    /// Files changed.
    pub changed_files: u64,
}

/// The pull request that a change is of, as a review keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewedPull {
    /// Its id.
    pub id: PullId,
    /// The address of the forge's pages, without a slash at its end (`https://github.com`).
    pub server: String,
    /// Its title.
    pub title: String,
    /// Its description: Markdown, perhaps empty; secrets masked. Not kept with the review.
    pub body: String,
    /// The author.
    pub author: Option<String>,
}

impl ReviewedPull {
    /// Its page.
    pub fn url(&self) -> String {
        format!("{}/{}/pull/{}", self.server, self.id.repo, self.id.number)
    }
}

/// A file of a pull request, as the forge lists it. Reviews never rest on this: they read git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullFile {
    /// Its path at the head.
    pub path: RepoPath,
    /// Its path before, where it was renamed.
    pub old_path: Option<RepoPath>,
    /// The forge's word (`added`, `removed`, `modified`, `renamed`, `copied`, `changed`, `unchanged`).
    pub status: String,
    /// Lines added.
    pub additions: u64,
    /// Lines deleted.
    pub deletions: u64,
}
