//! The REST responses.

use serde::Deserialize;

use super::conversation::verdict;
use crate::domain::forge::{Actor, Comment, PullFile, ReviewNote};
use crate::domain::id::CommitId;
use crate::domain::path::RepoPath;

/// `GET /app`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct AppAbout {
    pub(in super::super) slug: String,
}

/// `GET /repos/{owner}/{repo}/installation`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Installation {
    pub(in super::super) id: u64,
}

/// `POST /app/installations/{id}/access_tokens`. No `Debug`: it is a secret.
#[derive(Deserialize)]
pub(in super::super) struct InstallationToken {
    pub(in super::super) token: String,
    /// RFC 3339.
    #[serde(default)]
    pub(in super::super) expires_at: Option<String>,
}

/// An account.
#[derive(Debug, Deserialize)]
struct User {
    login: String,
    #[serde(default, rename = "type")]
    kind: String,
}

impl From<User> for Actor {
    fn from(user: User) -> Self {
        let is_bot = user.kind == "Bot" || user.login.ends_with("[bot]");
        Self { login: user.login.trim_end_matches("[bot]").to_owned(), is_bot }
    }
}

/// A review that was just created.
#[derive(Debug, Deserialize)]
pub(in super::super) struct PostedReview {
    id: u64,
    node_id: String,
    user: Option<User>,
    #[serde(default)]
    body: Option<String>,
    state: String,
    html_url: String,
    #[serde(default)]
    author_association: String,
    /// Not there while it is pending.
    #[serde(default)]
    submitted_at: Option<String>,
    #[serde(default)]
    commit_id: Option<String>,
}

impl PostedReview {
    /// It is ours: we created it. `now` is its time where GitHub names none.
    pub(in super::super) fn note(self, now: String) -> ReviewNote {
        let at = self.submitted_at.unwrap_or(now);
        ReviewNote {
            comment: Comment {
                node: self.node_id,
                number: Some(self.id),
                body: self.body.unwrap_or_default(),
                author: self.user.map(Into::into),
                association: self.author_association,
                mine: true,
                created_at: at.clone(),
                updated_at: at,
                url: self.html_url,
                is_minimized: false,
            },
            verdict: verdict(&self.state),
            commit: self.commit_id.and_then(|commit| commit.parse().ok().map(CommitId)),
        }
    }
}

/// A comment on a pull request as a whole that was just written.
#[derive(Debug, Deserialize)]
pub(in super::super) struct PostedComment {
    id: u64,
    node_id: String,
    user: Option<User>,
    #[serde(default)]
    body: Option<String>,
    html_url: String,
    #[serde(default)]
    author_association: String,
    created_at: String,
    updated_at: String,
}

impl PostedComment {
    /// `mine` where we created it; who may edit may be another user.
    pub(in super::super) fn comment(self, mine: bool) -> Comment {
        Comment {
            node: self.node_id,
            number: Some(self.id),
            body: self.body.unwrap_or_default(),
            author: self.user.map(Into::into),
            association: self.author_association,
            mine,
            created_at: self.created_at,
            updated_at: self.updated_at,
            url: self.html_url,
            is_minimized: false,
        }
    }
}

/// An entry of `GET /repos/{owner}/{repo}/pulls/{number}/files`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct FileEntry {
    filename: String,
    #[serde(default)]
    previous_filename: Option<String>,
    status: String,
    #[serde(default)]
    additions: u64,
    #[serde(default)]
    deletions: u64,
}

impl FileEntry {
    /// Nothing where its name cannot be a path.
    pub(in super::super) fn file(self) -> Result<PullFile, String> {
        let path = |name: &str| RepoPath::from_bytes(name.as_bytes()).map_err(|error| error.to_string());
        Ok(PullFile {
            path: path(&self.filename)?,
            old_path: self.previous_filename.as_deref().map(path).transpose()?,
            status: self.status,
            additions: self.additions,
            deletions: self.deletions,
        })
    }
}
