//! The client's options, arguments and results, besides the types of `domain::forge`. Main types: [`GitHubOptions`], [`NewReview`].

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::domain::forge::{DeliveryVerdict, PullRequest, PullState};
use crate::domain::id::CommitId;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::secret::Secret;
use crate::sys::cancel::Cancel;
use crate::sys::http::ServerAddress;

/// The options of a client.
#[derive(Debug, Clone)]
pub struct GitHubOptions {
    /// The address of REST (`https://api.github.com`).
    pub api: ServerAddress,
    /// The address of GraphQL (`https://api.github.com/graphql`).
    pub graphql: ServerAddress,
    /// The address of the pages and of git (`https://github.com`).
    pub server: ServerAddress,
    /// Our login.
    pub login: Login,
    /// The deadline of everything that is asked.
    pub cancel: Cancel,
    /// The wait before the first retry; each further wait is twice as long.
    pub first_wait: Duration,
}

impl GitHubOptions {
    /// The wait that suits a server with many users.
    pub const FIRST_WAIT: Duration = Duration::from_millis(400);
}

/// Our identity on GitHub.
#[derive(Debug, Clone)]
pub enum Login {
    /// Anonymous: public data, few requests, no GraphQL.
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
    /// Its verdict; `None` leaves it pending.
    pub verdict: Option<DeliveryVerdict>,
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
    pub side: DiffSide,
    /// The lines; all in one hunk.
    pub lines: LineRange,
    /// Markdown.
    pub body: String,
}

impl NewReview {
    /// The body of the request, as it is sent (`POST /repos/{owner}/{repo}/pulls/{number}/reviews`).
    pub fn json(&self) -> Value {
        let mut body = Map::new();
        body.insert("commit_id".to_owned(), json!(self.commit.to_string()));
        if let Some(verdict) = self.verdict {
            let event = match verdict {
                DeliveryVerdict::Comment => "COMMENT",
                DeliveryVerdict::RequestChanges => "REQUEST_CHANGES",
            };
            body.insert("event".to_owned(), json!(event));
        }
        body.insert("body".to_owned(), json!(self.body));
        body.insert("comments".to_owned(), self.comments.iter().map(NewComment::json).collect());
        Value::Object(body)
    }
}

impl NewComment {
    /// Checks whether JSON can carry its path: only text can be.
    pub fn is_sendable(&self) -> bool {
        std::str::from_utf8(self.path.as_bytes()).is_ok()
    }

    fn json(&self) -> Value {
        let side = match self.side {
            DiffSide::Old => "LEFT",
            DiffSide::New => "RIGHT",
        };
        let mut comment = Map::new();
        comment.insert("path".to_owned(), json!(String::from_utf8_lossy(self.path.as_bytes())));
        comment.insert("body".to_owned(), json!(self.body));
        comment.insert("line".to_owned(), json!(self.lines.end()));
        comment.insert("side".to_owned(), json!(side));
        // GitHub refuses a range of one line.
        if self.lines.count() > 1 {
            comment.insert("start_line".to_owned(), json!(self.lines.start()));
            comment.insert("start_side".to_owned(), json!(side));
        }
        Value::Object(comment)
    }
}

/// The filter for pull requests of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PullFilter {
    /// In this state; all of them where `None`.
    pub state: Option<PullState>,
    /// The maximum number; more than 100 are read page by page.
    pub limit: usize,
}

/// Pull requests of a repository, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullPage {
    /// Those that were asked for.
    pub pulls: Vec<ListedPull>,
    /// Their number in that state.
    pub total: usize,
}

/// A pull request in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPull {
    /// The pull request.
    pub pull: PullRequest,
    /// The number of threads it has.
    pub threads: usize,
    /// The number of unresolved threads among its first hundred.
    pub unresolved: usize,
    /// The number of comments it has as a whole.
    pub comments: usize,
}

/// The state of a pull request at the last poll, which [`GitHub::changed`](super::GitHub::poll_changes) compares with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// The entity tags, in the order in which the resources are asked for.
    pub(super) tags: Vec<Option<String>>,
    /// The hash of what GraphQL says.
    pub(super) looks: Option<String>,
}
