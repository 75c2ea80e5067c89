//! What somebody asks to have reviewed. Main types: [`ReviewRequest`], [`Scope`].

use std::path::PathBuf;

/// Which change is reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// `target...head`: what the head has that the target has not.
    Branch {
        /// The target; found from the upstream or the remote's default branch when `None`.
        target: Option<String>,
        /// The head; `HEAD` when `None`.
        head: Option<String>,
    },
    /// One commit against its first parent.
    Commit(String),
    /// `A..B` (the two trees as they are) or `A...B` (from their merge base).
    Range {
        /// A.
        from: String,
        /// B.
        to: String,
        /// Whether it was written with three dots.
        from_merge_base: bool,
    },
    /// The index against `HEAD`.
    Staged,
    /// The disk, untracked files included, against `HEAD`.
    Uncommitted,
    /// A patch text; no repository is needed.
    Patch(PatchSource),
}

/// Where a patch comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchSource {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

/// A request for one review. Settings and outputs come beside it: they shape the answer, not the question.
#[derive(Debug, Clone)]
pub struct ReviewRequest {
    /// The folder to look for a repository in.
    pub directory: PathBuf,
    /// Which change.
    pub scope: Scope,
    /// Whether the project's settings are read from the disk rather than from the target tip.
    pub settings_from_worktree: bool,
}
