//! Wire types of `change.json` apart from its files. Main type: [`StoredChange`]. Nothing else knows these field names.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::change::{self, ChangeSet, Omission};
use crate::domain::forge::{PullId, PullSpecifier, ReviewedPull};
use crate::domain::id::CommitId;
use crate::domain::place::WorkspaceAt;

use super::file::StoredFile;
use super::id::{StoredId, parsed};

/// The stored form of a [`ChangeSet`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredChange {
    repository: String,
    target: String,
    head_name: String,
    base: Option<StoredId>,
    head: Option<StoredId>,
    merge_base: Option<StoredId>,
    old_at: StoredWorkspaceAt,
    new_at: StoredWorkspaceAt,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pull: Option<StoredPull>,
    commits: Vec<StoredCommit>,
    commits_omitted: usize,
    files: Vec<StoredFile>,
    omissions: Vec<StoredOmission>,
}

/// The stored form of a [`WorkspaceAt`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredWorkspaceAt {
    Revision(StoredId),
    Index,
    Worktree,
    PatchOnly,
    Empty,
}

/// The stored form of a [`ReviewedPull`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPull {
    /// `owner/name#12`.
    id: StoredPullId,
    server: String,
    title: String,
    body: String,
    author: Option<String>,
}

/// The full name of a pull request.
struct StoredPullId(PullId);

impl Serialize for StoredPullId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for StoredPullId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match parsed(deserializer)? {
            PullSpecifier::Whole { host: None, id } => Ok(Self(id)),
            PullSpecifier::Whole { .. } | PullSpecifier::Number(_) => {
                Err(serde::de::Error::custom("owner/name#number is needed"))
            }
        }
    }
}

/// The stored form of a [`change::Commit`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredCommit {
    id: StoredId,
    subject: String,
    body: String,
    author: String,
    date: String,
}

/// The stored form of an [`Omission`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredOmission {
    path: Option<String>,
    reason: String,
    unseen: bool,
}

impl StoredChange {
    pub(super) fn of(change: &ChangeSet) -> Self {
        // Destructured in full, so that a new field cannot be forgotten here.
        let ChangeSet {
            repository,
            target,
            head_name,
            base,
            head,
            merge_base,
            old_at,
            new_at,
            pull,
            commits,
            commits_omitted,
            files,
            omissions,
        } = change;
        Self {
            repository: repository.clone(),
            target: target.clone(),
            head_name: head_name.clone(),
            base: base.map(of_commit),
            head: head.map(of_commit),
            merge_base: merge_base.map(of_commit),
            old_at: StoredWorkspaceAt::of(*old_at),
            new_at: StoredWorkspaceAt::of(*new_at),
            pull: pull.as_ref().map(StoredPull::of),
            commits: commits.iter().map(StoredCommit::of).collect(),
            commits_omitted: *commits_omitted,
            files: files.iter().map(StoredFile::of).collect(),
            omissions: omissions.iter().map(StoredOmission::of).collect(),
        }
    }

    pub(super) fn into_domain(self) -> ChangeSet {
        ChangeSet {
            repository: self.repository,
            target: self.target,
            head_name: self.head_name,
            base: self.base.map(commit),
            head: self.head.map(commit),
            merge_base: self.merge_base.map(commit),
            old_at: self.old_at.into_domain(),
            new_at: self.new_at.into_domain(),
            pull: self.pull.map(StoredPull::into_domain),
            commits: self.commits.into_iter().map(StoredCommit::into_domain).collect(),
            commits_omitted: self.commits_omitted,
            files: self.files.into_iter().map(StoredFile::into_domain).collect(),
            omissions: self.omissions.into_iter().map(StoredOmission::into_domain).collect(),
        }
    }
}

fn of_commit(id: CommitId) -> StoredId {
    StoredId(id.0)
}

fn commit(id: StoredId) -> CommitId {
    CommitId(id.0)
}

impl StoredWorkspaceAt {
    fn of(at: WorkspaceAt) -> Self {
        match at {
            WorkspaceAt::Revision(id) => Self::Revision(StoredId(id.0)),
            WorkspaceAt::Index => Self::Index,
            WorkspaceAt::Worktree => Self::Worktree,
            WorkspaceAt::PatchOnly => Self::PatchOnly,
            WorkspaceAt::Empty => Self::Empty,
        }
    }

    fn into_domain(self) -> WorkspaceAt {
        match self {
            Self::Revision(id) => WorkspaceAt::Revision(commit(id)),
            Self::Index => WorkspaceAt::Index,
            Self::Worktree => WorkspaceAt::Worktree,
            Self::PatchOnly => WorkspaceAt::PatchOnly,
            Self::Empty => WorkspaceAt::Empty,
        }
    }
}

impl StoredPull {
    fn of(pull: &ReviewedPull) -> Self {
        let ReviewedPull { id, server, title, body, author } = pull;
        Self {
            id: StoredPullId(id.clone()),
            server: server.clone(),
            title: title.clone(),
            body: body.clone(),
            author: author.clone(),
        }
    }

    fn into_domain(self) -> ReviewedPull {
        ReviewedPull { id: self.id.0, server: self.server, title: self.title, body: self.body, author: self.author }
    }
}

impl StoredCommit {
    fn of(commit: &change::Commit) -> Self {
        let change::Commit { id, subject, body, author, date } = commit;
        Self {
            id: of_commit(*id),
            subject: subject.clone(),
            body: body.clone(),
            author: author.clone(),
            date: date.clone(),
        }
    }

    fn into_domain(self) -> change::Commit {
        let Self { id, subject, body, author, date } = self;
        change::Commit { id: commit(id), subject, body, author, date }
    }
}

impl StoredOmission {
    fn of(omission: &Omission) -> Self {
        let Omission { path, reason, unseen } = omission;
        Self { path: path.clone(), reason: reason.clone(), unseen: *unseen }
    }

    fn into_domain(self) -> Omission {
        Omission { path: self.path, reason: self.reason, unseen: self.unseen }
    }
}
