//! Bringing two commits, mostly those of a pull request, to this machine with the `git` program. Main functions: [`fetch`], [`fetch_commits`].
//!
//! ```text
//! remotes ─▶ whose objects (the repository one stands in, or a mirror in the cache) ─▶ scratch ─▶ git fetch ─▶ shallow ─▶ Fetched
//! ```
//!
//! The program never runs in the user's repository. It runs in a [`scratch`] git folder of our own, which lends the repository its object
//! folder and knows its tips: what arrives is there for the repository to read, while its refs, its `FETCH_HEAD`, its index and its settings
//! are out of reach, and no setting of it (hooks, `insteadOf`, remote helpers, commands) has a say. Of the user's own settings only those
//! by which a network is reached are taken over ([`settings`]): proxies and certificates.
//!
//! A repository whose history is whole stays so. In one that is cut, and in a mirror, the history is brought in steps, until it can be told
//! for certain where the two commits meet ([`shallow`]). What lies between them belongs in the rest of `git`.

mod branches;
mod error;
mod mirror;
mod remotes;
mod scratch;
mod settings;
mod shallow;
mod steps;
#[cfg(test)]
mod tests;
mod wanted_commits;

pub use branches::{BranchFetch, RepositoryBase, fetch_branches};
pub use error::FetchError;
pub use mirror::mirror_path;
pub use remotes::{Remote, RemoteAddress, RepositoryPlace, find_local, host_of, remotes, repository_of};
pub use wanted_commits::{FetchBase, FetchOf};

use std::path::PathBuf;

use crate::domain::forge::{PullRequest, RepoName};
use crate::domain::id::CommitId;
use crate::domain::secret::Secret;
use crate::domain::text::strip_line;
use crate::sys::cancel::Cancel;
use crate::sys::process::Environment;

use wanted_commits::WantedCommits;

/// The source and destination of a fetch.
#[derive(Debug, Clone)]
pub struct FetchJob {
    /// The repository that they are of, on this machine.
    pub place: RepositoryPlace,
    /// The folder with the mirrors; what is not in a repository of this machine goes there.
    pub mirrors: PathBuf,
    /// The address of the forge's pages (`https://github.com`).
    pub server: String,
    /// The address of the repository, below the server's.
    pub address: String,
    /// The value of the `Authorization` header, where there is a login.
    pub authorization: Option<Secret>,
    /// The environment of the programs that are started.
    pub environment: Environment,
}

/// Both commits are here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedCommits {
    /// The repository or mirror that has them.
    pub directory: PathBuf,
    /// The base of the head: of a pull request the tip of the base branch while it is open, else what the forge remembers.
    pub base: CommitId,
    /// The head.
    pub head: CommitId,
    /// The deviations from the plan than one would think, one sentence each.
    pub notices: Vec<String>,
}

/// Brings the head and the base of a pull request, and enough history to tell where they met. It blocks.
///
/// `http` is spoken with this machine only. Where the server refuses, and the repository has an `ssh` address of the same forge, that is tried.
pub fn fetch(job: &FetchJob, pull: &PullRequest, cancel: &Cancel) -> Result<FetchedCommits, FetchError> {
    steps::fetch(job, &WantedCommits::pull(pull), steps::Transport::of(&job.address)?, cancel)
}

/// Brings two commits of a repository in the same way. A base that is a branch is the tip that it has now.
pub fn fetch_commits(
    job: &FetchJob,
    repo: &RepoName,
    base: &FetchBase,
    head: CommitId,
    cancel: &Cancel,
) -> Result<FetchedCommits, FetchError> {
    let (wanted, transport) = (WantedCommits::commits(repo, base, head), steps::Transport::of(&job.address)?);
    if let (FetchBase::Branch(branch), None) = (base, &wanted.base_ref) {
        let branch = format!("branch that is called {:?}", strip_line(branch));
        return Err(FetchError::NoBranch { server: host_of(&job.server), of: wanted.of, branch });
    }
    steps::fetch(job, &wanted, transport, cancel)
}
