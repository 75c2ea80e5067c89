//! Checks what bots write: cases kept as data, and texts that nobody means well with.

mod fixtures;
mod hostile;
mod keeping;
mod newest;

use crate::domain::forge::{Actor, Comment, PullConversation, ReviewNote, ReviewVerdict, Thread};
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;

pub(super) fn comment(login: &str, is_bot: bool, body: &str) -> Comment {
    Comment {
        node: "C_1".to_owned(),
        number: Some(7),
        body: body.to_owned(),
        author: (!login.is_empty()).then(|| Actor { login: login.to_owned(), is_bot }),
        association: "NONE".to_owned(),
        mine: false,
        created_at: "2026-01-02T03:04:05Z".to_owned(),
        updated_at: "2026-01-02T03:04:05Z".to_owned(),
        url: "https://github.com/o/r/pull/1#c".to_owned(),
        is_minimized: false,
    }
}

pub(super) fn review(comment: Comment) -> ReviewNote {
    ReviewNote { comment, verdict: ReviewVerdict::Commented, commit: None }
}

pub(super) fn thread(node: &str, comments: Vec<Comment>) -> Thread {
    Thread {
        node: node.to_owned(),
        is_resolved: false,
        resolved_by: None,
        is_outdated: false,
        can_resolve: true,
        can_unresolve: false,
        path: RepoPath::parse("src/a.rs").ok(),
        line: Some(12),
        start_line: Some(10),
        original_line: Some(12),
        original_start_line: Some(10),
        side: DiffSide::New,
        on_file: false,
        comments,
    }
}

/// A pull request on which one thing was said.
pub(super) fn only(place: &str, comment: Comment) -> PullConversation {
    let mut said = PullConversation::default();
    match place {
        "thread" => said.threads.push(thread("T_1", vec![comment])),
        "review" => said.reviews.push(review(comment)),
        "comment" => said.comments.push(comment),
        other => panic!("there is no place {other}"),
    }
    said
}
