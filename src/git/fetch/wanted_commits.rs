//! The commits to fetch: two of a repository, and the names under which a server is asked for them. Main types: [`WantedCommits`], [`FetchOf`].

use std::fmt;

use crate::domain::forge::{PullId, PullRequest, PullState, RepoName};
use crate::domain::id::CommitId;

/// The owner of the fetched commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchOf {
    /// Those of a pull request.
    Pull(PullId),
    /// Two of a repository.
    Repository(RepoName),
}

impl FetchOf {
    /// The repository that has them.
    pub fn repo(&self) -> &RepoName {
        match self {
            Self::Pull(id) => &id.repo,
            Self::Repository(repo) => repo,
        }
    }
}

impl fmt::Display for FetchOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pull(id) => id.fmt(f),
            Self::Repository(repo) => repo.fmt(f),
        }
    }
}

/// The base of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchBase {
    /// A commit.
    Commit(CommitId),
    /// The tip of a branch, by its name without `refs/heads/`.
    Branch(String),
}

/// Two commits, and what the server is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WantedCommits {
    /// Their owner.
    pub(super) of: FetchOf,
    pub(super) head: CommitId,
    /// The reference that leads to the head, for a server that does not hand it out by its id.
    pub(super) head_ref: Option<String>,
    /// The base, if known before any request.
    pub(super) base: Option<CommitId>,
    /// The branch whose tip it is compared with, where that is what is asked for.
    pub(super) base_ref: Option<String>,
    /// The prefix of the local references of both.
    pub(super) under: String,
}

impl WantedCommits {
    /// The commits of a pull request: the tip of its base branch while it is open, else what the forge remembers.
    pub(super) fn pull(pull: &PullRequest) -> Self {
        let under = format!("refs/pull/{}", pull.id.number);
        Self {
            of: FetchOf::Pull(pull.id.clone()),
            head: pull.head,
            head_ref: Some(format!("{under}/head")),
            base: Some(pull.base),
            base_ref: branch(&pull.base_ref).filter(|_| pull.state == PullState::Open),
            under,
        }
    }

    /// Two commits of a repository.
    pub(super) fn commits(repo: &RepoName, base: &FetchBase, head: CommitId) -> Self {
        let (base, base_ref) = match base {
            FetchBase::Commit(commit) => (Some(*commit), None),
            FetchBase::Branch(name) => (None, branch(name)),
        };
        let under = format!("refs/review/{head}");
        Self { of: FetchOf::Repository(repo.clone()), head, head_ref: None, base, base_ref, under }
    }
}

/// The reference of a branch; `None` where its name could mean something else.
fn branch(name: &str) -> Option<String> {
    Some(format!("refs/heads/{name}")).filter(|name| git2::Reference::is_valid_name(name) && !name.contains('*'))
}
