//! Wire types of the reviewed change. Main type: [`ChangeJson`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::change::FileStatus;

/// The change that was reviewed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Change")]
pub(in crate::present::json) struct ChangeJson {
    /// The name of the repository.
    pub(in crate::present::json) repository: String,
    /// The target of the change, as requested.
    pub(in crate::present::json) target: String,
    /// The tip of the target; null if there is none (a patch without a repository).
    pub(in crate::present::json) base: Option<String>,
    /// The head; null if it is not a commit (index, working tree, patch).
    pub(in crate::present::json) head: Option<String>,
    /// The merge base; null if there is none.
    pub(in crate::present::json) merge_base: Option<String>,
    /// The name of the head (`feature`, `index`, `worktree`, …).
    #[serde(default)]
    pub(in crate::present::json) head_name: String,
    /// The pull request; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::present::json) pull_request: Option<PullRequestJson>,
    /// The commits of the change, newest first.
    pub(in crate::present::json) commits: Vec<CommitJson>,
    /// Number of commits that are not listed.
    #[serde(default)]
    pub(in crate::present::json) commits_omitted: usize,
    /// The changed files.
    pub(in crate::present::json) files: Vec<ChangedFileJson>,
}

/// A pull request.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PullRequest")]
pub(in crate::present::json) struct PullRequestJson {
    /// The URL of the forge (`https://github.com`).
    pub(in crate::present::json) server: String,
    /// The owner of the repository.
    pub(in crate::present::json) owner: String,
    /// The repository's name.
    pub(in crate::present::json) repo: String,
    /// The number of the pull request there.
    pub(in crate::present::json) number: u32,
    /// Its title, by its author.
    pub(in crate::present::json) title: String,
    /// Its page.
    pub(in crate::present::json) url: String,
}

/// One commit of the change.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Commit")]
pub(in crate::present::json) struct CommitJson {
    /// Its id.
    pub(in crate::present::json) id: String,
    /// The first line of its message.
    pub(in crate::present::json) subject: String,
    /// The rest of its message.
    pub(in crate::present::json) body: String,
    /// The author's name.
    pub(in crate::present::json) author: String,
    /// The author's date: RFC 3339.
    pub(in crate::present::json) date: String,
}

/// One changed file. A path that is not plain UTF-8 is spelled in git's C quoting, here and everywhere.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "File")]
pub(in crate::present::json) struct ChangedFileJson {
    /// Its path at the head; for a deletion, the path it had.
    pub(in crate::present::json) path: String,
    /// Its previous path, if different.
    pub(in crate::present::json) old_path: Option<String>,
    /// The kind of change.
    pub(in crate::present::json) status: FileStatus,
    /// Lines added.
    pub(in crate::present::json) additions: u32,
    /// Lines deleted.
    pub(in crate::present::json) deletions: u32,
    /// True if git considers it binary.
    pub(in crate::present::json) binary: bool,
    /// True for generated, vendored and lock files.
    pub(in crate::present::json) generated: bool,
    /// True if its diff was cut before the engine saw it.
    pub(in crate::present::json) truncated: bool,
    /// A hash of its removed and added lines, independent of line numbers; absent if no lines were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::present::json) patch_id: Option<String>,
}
