//! GitHub over REST and GraphQL. Main type: [`GitHub`].
//!
//! `octocrab` carries the requests (over the one HTTP client of `sys::http`) and signs in as an App; limits, retries, paging and the shapes of
//! answers are here. Works with Enterprise servers: both addresses are given.

use std::sync::Arc;

use crate::domain::forge::{
    Actor, Comment, Conversation, PullFile, PullId, PullRequest, PullState, RepoName, ReviewNote, Thread, Verdict,
};
use crate::domain::id::CommitId;
use crate::domain::path::RepoPath;
use crate::domain::place::{LineRange, Side};
use crate::domain::secret::Secret;
use crate::sys::cancel::Cancel;
use crate::sys::http::Address;

use super::error::ForgeError;

/// How a client is made.
#[derive(Debug, Clone)]
pub struct GitHubOptions {
    /// The address of REST (`https://api.github.com`).
    pub api: Address,
    /// The address of GraphQL (`https://api.github.com/graphql`).
    pub graphql: Address,
    /// The address of the pages and of git (`https://github.com`).
    pub server: Address,
    /// Who we are.
    pub login: Login,
    /// The deadline of everything that is asked.
    pub cancel: Cancel,
}

/// Who we are to GitHub.
#[derive(Debug, Clone)]
pub enum Login {
    /// Nobody: public data, few requests, no GraphQL.
    None,
    /// Whoever the token says.
    Token(Secret),
    /// An App, by one of its installations; the one of the repository where none is named.
    App {
        /// The App's id.
        id: u64,
        /// Its private key, PEM.
        key: Secret,
        /// The installation.
        installation: Option<u64>,
    },
}

/// A review to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReview {
    /// The commit that its comments are about.
    pub commit: CommitId,
    /// What it says; `None` leaves it pending.
    pub verdict: Option<Verdict>,
    /// Its text; GitHub wants one.
    pub body: String,
    /// Its comments.
    pub comments: Vec<NewComment>,
}

/// A comment on lines of the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewComment {
    /// The file, at the head.
    pub path: RepoPath,
    /// The side of the diff.
    pub side: Side,
    /// The lines; all in one hunk.
    pub lines: LineRange,
    /// Markdown.
    pub body: String,
}

impl NewReview {
    /// The body of the request, as it is sent.
    pub fn json(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
}

/// Which pull requests of a repository are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PullFilter {
    /// In this state; all of them where `None`.
    pub state: Option<PullState>,
    /// At most so many, 1 to 100.
    pub limit: usize,
}

/// Pull requests of a repository, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullPage {
    /// Those that were asked for.
    pub pulls: Vec<ListedPull>,
    /// How many there are in that state.
    pub total: usize,
}

/// A pull request in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPull {
    /// The pull request.
    pub pull: PullRequest,
    /// How many threads it has.
    pub threads: usize,
    /// How many of its first hundred threads are unresolved.
    pub unresolved: usize,
    /// How many comments it has as a whole.
    pub comments: usize,
}

/// What a pull request looked like when it was last asked about: what [`GitHub::changed`] compares with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    tags: Vec<Option<String>>,
}

/// The client. Cloning it is cheap; clones share their connections, what is known of the limits, and the breaker.
#[derive(Debug, Clone)]
pub struct GitHub {
    options: Arc<GitHubOptions>,
}

impl GitHub {
    /// A client. Nothing is asked yet.
    pub fn new(options: GitHubOptions) -> Result<Self, ForgeError> {
        Ok(Self { options: Arc::new(options) })
    }

    /// The same client under another deadline.
    #[must_use]
    pub fn within(&self, cancel: &Cancel) -> Self {
        Self { options: Arc::new(GitHubOptions { cancel: cancel.clone(), ..(*self.options).clone() }) }
    }

    /// The address of the pages.
    pub fn server(&self) -> &Address {
        &self.options.server
    }

    /// Where git finds a repository.
    pub fn git_address(&self, repo: &RepoName) -> Address {
        self.options.server.join(&[repo.owner(), &format!("{}.git", repo.name())])
    }

    /// The value of the `Authorization` header for git, where we are somebody.
    pub async fn git_secret(&self) -> Result<Option<Secret>, ForgeError> {
        unfinished()
    }

    /// Our account.
    pub async fn viewer(&self) -> Result<Actor, ForgeError> {
        unfinished()
    }

    /// A pull request.
    pub async fn pull(&self, _id: &PullId) -> Result<PullRequest, ForgeError> {
        unfinished()
    }

    /// All that was said on a pull request; its three parts are asked for at once.
    pub async fn conversation(&self, _id: &PullId) -> Result<Conversation, ForgeError> {
        unfinished()
    }

    /// The threads of a pull request, oldest first, with all of their comments.
    pub async fn threads(&self, _id: &PullId) -> Result<Vec<Thread>, ForgeError> {
        unfinished()
    }

    /// The reviews of a pull request, oldest first.
    pub async fn reviews(&self, _id: &PullId) -> Result<Vec<ReviewNote>, ForgeError> {
        unfinished()
    }

    /// The comments on a pull request as a whole, oldest first.
    pub async fn comments(&self, _id: &PullId) -> Result<Vec<Comment>, ForgeError> {
        unfinished()
    }

    /// One thread, by the forge's id.
    pub async fn thread(&self, _node: &str) -> Result<Thread, ForgeError> {
        unfinished()
    }

    /// The files of a pull request, and whether the forge cut its list (at 3 000).
    pub async fn files(&self, _id: &PullId) -> Result<(Vec<PullFile>, bool), ForgeError> {
        unfinished()
    }

    /// Pull requests of a repository, newest first.
    pub async fn pulls(&self, _repo: &RepoName, _filter: PullFilter) -> Result<PullPage, ForgeError> {
        unfinished()
    }

    /// Creates a review with its comments: all of them, or none.
    pub async fn create_review(&self, _id: &PullId, _review: &NewReview) -> Result<ReviewNote, ForgeError> {
        unfinished()
    }

    /// Takes back a review that is still pending.
    pub async fn delete_pending(&self, _id: &PullId, _review: u64) -> Result<(), ForgeError> {
        unfinished()
    }

    /// Dismisses a review that asked for changes.
    pub async fn dismiss(&self, _id: &PullId, _review: u64, _message: &str) -> Result<(), ForgeError> {
        unfinished()
    }

    /// Comments on a pull request as a whole.
    pub async fn create_comment(&self, _id: &PullId, _body: &str) -> Result<Comment, ForgeError> {
        unfinished()
    }

    /// Gives such a comment another text.
    pub async fn update_comment(&self, _repo: &RepoName, _number: u64, _body: &str) -> Result<Comment, ForgeError> {
        unfinished()
    }

    /// Resolves a thread.
    pub async fn resolve(&self, _thread: &str) -> Result<(), ForgeError> {
        unfinished()
    }

    /// Opens a thread again.
    pub async fn reopen(&self, _thread: &str) -> Result<(), ForgeError> {
        unfinished()
    }

    /// Whether anything changed since these marks were taken, and new marks. The first time everything did.
    pub async fn changed(&self, _id: &PullId, _marks: Marks) -> Result<(bool, Marks), ForgeError> {
        unfinished()
    }
}

fn unfinished<T>() -> Result<T, ForgeError> {
    Err(ForgeError {
        kind: super::FaultKind::Network,
        message: "not built yet".to_owned(),
        action: String::new(),
        status: None,
        retry_after: None,
        request_id: None,
        may_have_happened: false,
    })
}
