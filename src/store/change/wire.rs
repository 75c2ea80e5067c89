//! Wire types of `change.json` apart from its files. Main type: [`Change`]. Nothing else knows these field names.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::change::{self, ChangeSet, Omission};
use crate::domain::forge::{PullAsk, PullId, PullOf};
use crate::domain::id::{CommitId, ObjectId};
use crate::domain::place::WorkspaceAt;

use super::file::File;

/// An object id as hexadecimal digits.
#[derive(Clone, Copy)]
pub(super) struct Id(pub(super) ObjectId);

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer).map(Self)
    }
}

/// Deserializes a string through `FromStr`.
fn parsed<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: fmt::Display>>(deserializer: D) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

/// The stored form of a [`ChangeSet`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    repository: String,
    target: String,
    head_name: String,
    base: Option<Id>,
    head: Option<Id>,
    merge_base: Option<Id>,
    old_at: At,
    new_at: At,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pull: Option<Pull>,
    commits: Vec<Commit>,
    commits_omitted: usize,
    files: Vec<File>,
    omissions: Vec<Omitted>,
}

/// The stored form of a [`WorkspaceAt`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum At {
    Revision(Id),
    Index,
    Worktree,
    PatchOnly,
    Empty,
}

/// The stored form of a [`PullOf`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pull {
    /// `owner/name#12`.
    id: Named,
    server: String,
    title: String,
    body: String,
    author: Option<String>,
}

/// The full name of a pull request.
struct Named(PullId);

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match parsed(deserializer)? {
            PullAsk::Whole { host: None, id } => Ok(Self(id)),
            PullAsk::Whole { .. } | PullAsk::Number(_) => Err(serde::de::Error::custom("owner/name#number is needed")),
        }
    }
}

/// The stored form of a [`change::Commit`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Commit {
    id: Id,
    subject: String,
    body: String,
    author: String,
    date: String,
}

/// The stored form of an [`Omission`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Omitted {
    path: Option<String>,
    reason: String,
    unseen: bool,
}

impl Change {
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
            old_at: At::of(*old_at),
            new_at: At::of(*new_at),
            pull: pull.as_ref().map(Pull::of),
            commits: commits.iter().map(Commit::of).collect(),
            commits_omitted: *commits_omitted,
            files: files.iter().map(File::of).collect(),
            omissions: omissions.iter().map(Omitted::of).collect(),
        }
    }

    pub(super) fn back(self) -> ChangeSet {
        ChangeSet {
            repository: self.repository,
            target: self.target,
            head_name: self.head_name,
            base: self.base.map(commit),
            head: self.head.map(commit),
            merge_base: self.merge_base.map(commit),
            old_at: self.old_at.back(),
            new_at: self.new_at.back(),
            pull: self.pull.map(Pull::back),
            commits: self.commits.into_iter().map(Commit::back).collect(),
            commits_omitted: self.commits_omitted,
            files: self.files.into_iter().map(File::back).collect(),
            omissions: self.omissions.into_iter().map(Omitted::back).collect(),
        }
    }
}

fn of_commit(id: CommitId) -> Id {
    Id(id.0)
}

fn commit(id: Id) -> CommitId {
    CommitId(id.0)
}

impl At {
    fn of(at: WorkspaceAt) -> Self {
        match at {
            WorkspaceAt::Revision(id) => Self::Revision(Id(id.0)),
            WorkspaceAt::Index => Self::Index,
            WorkspaceAt::Worktree => Self::Worktree,
            WorkspaceAt::PatchOnly => Self::PatchOnly,
            WorkspaceAt::Empty => Self::Empty,
        }
    }

    fn back(self) -> WorkspaceAt {
        match self {
            Self::Revision(id) => WorkspaceAt::Revision(commit(id)),
            Self::Index => WorkspaceAt::Index,
            Self::Worktree => WorkspaceAt::Worktree,
            Self::PatchOnly => WorkspaceAt::PatchOnly,
            Self::Empty => WorkspaceAt::Empty,
        }
    }
}

impl Pull {
    fn of(pull: &PullOf) -> Self {
        let PullOf { id, server, title, body, author } = pull;
        Self {
            id: Named(id.clone()),
            server: server.clone(),
            title: title.clone(),
            body: body.clone(),
            author: author.clone(),
        }
    }

    fn back(self) -> PullOf {
        PullOf { id: self.id.0, server: self.server, title: self.title, body: self.body, author: self.author }
    }
}

impl Commit {
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

    fn back(self) -> change::Commit {
        let Self { id, subject, body, author, date } = self;
        change::Commit { id: commit(id), subject, body, author, date }
    }
}

impl Omitted {
    fn of(omission: &Omission) -> Self {
        let Omission { path, reason, unseen } = omission;
        Self { path: path.clone(), reason: reason.clone(), unseen: *unseen }
    }

    fn back(self) -> Omission {
        Omission { path: self.path, reason: self.reason, unseen: self.unseen }
    }
}
