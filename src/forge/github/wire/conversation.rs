//! Comments, threads and reviews as GraphQL gives them.

use serde::Deserialize;

use super::{ActorNode, NodePage};
use crate::domain::forge::{Comment, ReviewNote, ReviewVerdict, Thread};
use crate::domain::id::CommitId;
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;

/// The fields that all texts have.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct CommentNode {
    id: String,
    /// GraphQL's `BigInt`: a string of digits.
    #[serde(default)]
    full_database_id: Option<Number>,
    body: String,
    author: Option<ActorNode>,
    author_association: String,
    #[serde(default)]
    viewer_did_author: bool,
    created_at: String,
    updated_at: String,
    url: String,
    #[serde(default)]
    is_minimized: bool,
}

/// A comment of a thread.
#[derive(Debug, Deserialize)]
pub(in super::super) struct RemarkNode {
    #[serde(flatten)]
    comment: CommentNode,
    #[serde(default)]
    state: Option<String>,
}

impl RemarkNode {
    /// The comment; none where its review was only begun. Such a one is shown to its author alone, and goes when the review is taken back.
    pub(in super::super) fn said(self) -> Option<Comment> {
        (self.state.as_deref() != Some("PENDING")).then(|| self.comment.into())
    }
}

/// A number, written as one or as text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Text(String),
    Number(u64),
}

impl From<CommentNode> for Comment {
    fn from(node: CommentNode) -> Self {
        let number = node.full_database_id.and_then(|number| match number {
            Number::Text(text) => text.parse().ok(),
            Number::Number(number) => Some(number),
        });
        Self {
            node: node.id,
            number,
            body: node.body,
            author: node.author.map(Into::into),
            association: node.author_association,
            mine: node.viewer_did_author,
            created_at: node.created_at,
            updated_at: node.updated_at,
            url: node.url,
            is_minimized: node.is_minimized,
        }
    }
}

/// A thread with the first page of its comments.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the answer")]
pub(in super::super) struct ThreadNode {
    pub(in super::super) id: String,
    is_resolved: bool,
    resolved_by: Option<ActorNode>,
    is_outdated: bool,
    #[serde(default)]
    viewer_can_resolve: bool,
    #[serde(default)]
    viewer_can_unresolve: bool,
    path: String,
    line: Option<u32>,
    start_line: Option<u32>,
    original_line: Option<u32>,
    original_start_line: Option<u32>,
    diff_side: String,
    subject_type: String,
    pub(in super::super) comments: NodePage<RemarkNode>,
}

impl ThreadNode {
    /// With the comments of its later pages.
    pub(in super::super) fn with(self, later: Vec<Comment>) -> Thread {
        let first = self.comments.nodes.into_iter().flatten().filter_map(RemarkNode::said);
        let comments = first.chain(later).collect();
        Thread {
            node: self.id,
            is_resolved: self.is_resolved,
            resolved_by: self.resolved_by.map(Into::into),
            is_outdated: self.is_outdated,
            can_resolve: self.viewer_can_resolve,
            can_unresolve: self.viewer_can_unresolve,
            path: RepoPath::from_bytes(self.path.as_bytes()).ok(),
            line: self.line,
            start_line: self.start_line,
            original_line: self.original_line,
            original_start_line: self.original_start_line,
            side: if self.diff_side == "LEFT" { DiffSide::Old } else { DiffSide::New },
            on_file: self.subject_type == "FILE",
            comments,
        }
    }
}

/// Comments of one thread.
#[derive(Debug, Deserialize)]
pub(in super::super) struct CommentsNode {
    pub(in super::super) comments: NodePage<RemarkNode>,
}

/// A review.
#[derive(Debug, Deserialize)]
pub(in super::super) struct ReviewNode {
    #[serde(flatten)]
    comment: CommentNode,
    state: String,
    commit: Option<CommitNode>,
}

#[derive(Debug, Deserialize)]
struct CommitNode {
    oid: String,
}

impl From<ReviewNode> for ReviewNote {
    fn from(node: ReviewNode) -> Self {
        Self {
            comment: node.comment.into(),
            verdict: verdict(&node.state),
            commit: node.commit.and_then(|commit| commit.oid.parse().ok().map(CommitId)),
        }
    }
}

/// GitHub's word for what a review said; one that is not known only commented.
pub(super) fn verdict(state: &str) -> ReviewVerdict {
    match state {
        "APPROVED" => ReviewVerdict::Approved,
        "CHANGES_REQUESTED" => ReviewVerdict::ChangesRequested,
        "DISMISSED" => ReviewVerdict::Dismissed,
        "PENDING" => ReviewVerdict::Pending,
        _ => ReviewVerdict::Commented,
    }
}
