//! Collecting a change: from what was asked for to a [`ChangeSet`](crate::domain::change::ChangeSet).
//!
//! Two steps, both plain functions: [`resolve`] finds the commits of a [`ReviewScope`](crate::domain::request::ReviewScope), [`collect()`] finds what
//! lies between them. A patch text needs no repository: [`from_patch`]. What a tool shows of a cut diff: [`file_patch()`].
//!
//! ```text
//! range, target ─▶ entries (tree_diff · index · disk) ─▶ renames ─▶ compare (in parallel) ─▶ patch_text ─▶ ChangeSet
//! ```
//!
//! Reading files for other reasons belongs in `workspace`; what the change means belongs above.

mod attributes;
mod branches;
mod collect;
mod commits;
mod compare;
mod disk;
mod disk_diff;
mod entries;
mod fetch;
mod file_patch;
mod index;
mod known_lines;
mod materialize;
mod moved;
mod nested;
mod parsed_file;
mod patch_check;
mod patch_file;
mod patch_header;
mod patch_id;
mod patch_lines;
mod patch_parse;
mod patch_text;
mod pending;
mod range;
mod renames;
mod scratch;
mod similarity;
mod target;
mod tree_diff;
mod uncommitted;
mod words;

pub use branches::{branches_of, list_branches};
pub use collect::{CollectOptions, collect};
pub use commits::{commits_between, committed_at};
pub use fetch::{
    BranchFetch, FetchBase, FetchError, FetchJob, FetchOf, FetchedCommits, Remote, RemoteAddress, RepositoryBase,
    RepositoryPlace, fetch, fetch_branches, fetch_commits, find_local, host_of, mirror_path, remotes, repository_of,
};
pub use file_patch::{DiffPosition, FilePatch, file_patch};
pub use materialize::materialize;
pub use moved::{changed_lines, find_moved};
pub use patch_file::{PatchChange, from_patch};
pub use patch_parse::PatchError;
pub use pending::{Pending, read_pending};
pub use range::{RangeEnds, ResolvedRange, of_pull, range_ends, resolve};
pub use scratch::{SCRATCH_HEAD, SCRATCH_TARGET, ScratchFile, scratch};
pub use uncommitted::count_uncommitted;
pub use words::{CommandWords, WordsMeaning, read_words};

use crate::domain::filter::FilterError;
use crate::domain::forge::InvalidPullName;
use crate::domain::text::shell_word;
use crate::sys::cancel::CancelReason;
use crate::sys::repo_error::RepoError;
use crate::sys::tree::WalkError;

/// A word of the command line that names no change, or not together with the others.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum InvalidWord {
    #[error(
        "{word:?} is no command, and no revision, range, pull request or path here{}",
        if near.is_empty() { "; `review -h` lists the commands".to_owned() } else { format!("; did you mean {}?", near.join(" or ")) }
    )]
    Unknown { word: String, near: Vec<String> },
    #[error("{word:?} names a change, and {flag} another one: leave one of them out")]
    AndFlag { word: String, flag: &'static str },
    #[error("{0:?} is one change too many: name one range or pull request, or one or two revisions")]
    TwoChanges(String),
    #[error("{0:?} is one revision too many: two are compared as `review TARGET HEAD`")]
    TooMany(String),
    #[error("{0:?} is outside of this repository, or not UTF-8")]
    Outside(String),
    #[error(transparent)]
    Pull(#[from] InvalidPullName),
}

/// The reason why a change could not be collected. Each message says what to do next.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum GitError {
    /// The repository or an object of it.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// The run was stopped.
    #[error(transparent)]
    Stopped(#[from] CancelReason),
    /// A glob of `--include` or `--exclude`.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The patch text.
    #[error(transparent)]
    Patch(#[from] PatchError),
    #[error(
        "no target found to compare {head} with: there is no remote default branch, no upstream, and no main or master; name one with --target BRANCH, or review one commit with --commit HEAD"
    )]
    NoTarget { head: String },
    /// The only branch to compare with is the one under review.
    #[error(
        "{branch} is the branch that changes are compared with; name another with --target ({} reviews its last commit), or review what is not committed with --uncommitted",
        if *has_parent { format!("--target {}", shell_word(&format!("{branch}~1"))) } else { "--commit HEAD".to_owned() }
    )]
    TargetIsHead { branch: String, has_parent: bool },
    /// A word of the command line.
    #[error(transparent)]
    Word(#[from] InvalidWord),
    /// The histories never meet.
    #[error("{target} and {head} have no common history; compare them as they are with --range {}", shell_word(&format!("{target}..{head}")))]
    Unrelated { target: String, head: String },
    /// The histories meet beyond the end of a shallow clone.
    #[error(
        "this clone is shallow and does not reach back to where {target} and {head} meet; run `git fetch --unshallow` (or `git fetch --deepen=1000`) and try again"
    )]
    Shallow { target: String, head: String },
    /// A file gives commits other parents than they have.
    #[error(
        "{path} gives commits other parents than they were made with, which can hide changes; run `git replace --convert-graft-file`, which \
         turns it into references that are ignored here"
    )]
    Grafts { path: String },
    #[error("the commits of a pull request are fetched by `review --pr` alone; name them here, as in --range A...B")]
    NotFetched,
    /// A bare repository has neither.
    #[error("this is a bare repository: it has no {what}; name commits with --target and --head, --range or --commit")]
    Bare { what: &'static str },
    /// A file of the disk is not what it was when the change was collected.
    #[error("{path} changed on the disk since the change was collected; start the review again")]
    Moved { path: String },
}

impl From<WalkError> for GitError {
    fn from(error: WalkError) -> Self {
        match error {
            WalkError::Repo(error) => Self::Repo(error),
            WalkError::Stopped(stopped) => Self::Stopped(stopped),
        }
    }
}

impl From<git2::Error> for GitError {
    fn from(error: git2::Error) -> Self {
        Self::Repo(error.into())
    }
}
