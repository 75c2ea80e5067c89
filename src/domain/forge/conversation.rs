//! The conversation on a pull request. Main types: [`PullConversation`], [`Thread`], [`Comment`].

use crate::domain::id::CommitId;
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;

/// An account. Names prove nothing: trust comes from [`Comment::mine`] and from what the forge says an account is to the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Its login, without the `[bot]` that one of GitHub's two interfaces adds.
    pub login: String,
    /// `true` if the forge says that it is an app.
    pub is_bot: bool,
}

/// One text on a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The forge's own id of it.
    pub node: String,
    /// Its number, by which REST knows it.
    pub number: Option<u64>,
    /// Markdown, of whoever wrote it.
    pub body: String,
    /// The author; `None` if the account was deleted.
    pub author: Option<Actor>,
    /// The author's association with the repository, in the forge's term.
    pub association: String,
    /// `true` if the account that we use wrote it, as the forge says.
    pub mine: bool,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
    /// Its page.
    pub url: String,
    /// `true` if it is hidden.
    pub is_minimized: bool,
}

/// Comments on one place of the change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the forge's, and they are independent")]
pub struct Thread {
    /// The forge's own id of it.
    pub node: String,
    /// `true` if somebody called it resolved.
    pub is_resolved: bool,
    /// The account that did.
    pub resolved_by: Option<Actor>,
    /// `true` if the lines that it is about changed since.
    pub is_outdated: bool,
    /// `true` if our account may resolve it.
    pub can_resolve: bool,
    /// `true` if our account may reopen it.
    pub can_unresolve: bool,
    /// The file; `None` if the forge names one that cannot be a path.
    pub path: Option<RepoPath>,
    /// The last line it is about, in the change as it is now; `None` when outdated, or on a file as a whole.
    pub line: Option<u32>,
    /// The first line, where it is about several.
    pub start_line: Option<u32>,
    /// The last line when it was written.
    pub original_line: Option<u32>,
    /// The first line when it was written.
    pub original_start_line: Option<u32>,
    /// The side of the change.
    pub side: DiffSide,
    /// `true` if it is about the file as a whole.
    pub on_file: bool,
    /// Its comments, oldest first, all of them.
    pub comments: Vec<Comment>,
}

/// The overall verdict of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewVerdict {
    /// It only commented.
    Commented,
    /// It approved.
    Approved,
    /// It asked for changes.
    ChangesRequested,
    /// It was dismissed.
    Dismissed,
    /// It was not handed in yet; only its author sees it.
    Pending,
}

/// A review of a pull request, without its threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewNote {
    /// Its text and its author.
    pub comment: Comment,
    /// The verdict.
    pub verdict: ReviewVerdict,
    /// The commit it was about.
    pub commit: Option<CommitId>,
}

/// The whole conversation of a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullConversation {
    /// The threads, oldest first.
    pub threads: Vec<Thread>,
    /// The reviews, oldest first.
    pub reviews: Vec<ReviewNote>,
    /// The comments on the pull request as a whole, oldest first.
    pub comments: Vec<Comment>,
}
