//! Reviews as they are created, taken back and dismissed, with what GitHub checks and no schema can say. Main function: [`create`].

use serde_json::{Value, json};

use super::bare::FileDiff;
use super::rest::{forbidden, not_found, unprocessable};
use super::shapes;
use super::world::{PullState, ReviewState, ThreadState, World};
use super::{Asked, Reply};

/// No text is longer, in characters.
pub const MOST_TEXT: usize = 65_536;

/// Creates a review with its comments: all of them, or none.
pub fn create(world: &mut World, asked: &Asked, at: usize, n: usize) -> Reply {
    if !world.rights.write {
        return forbidden();
    }
    let body = asked.body();
    let none = Vec::new();
    let comments = body["comments"].as_array().unwrap_or(&none);
    if comments.len() > world.most_comments {
        return Reply::text(502, "<html><body><h1>502 Bad Gateway</h1></body></html>");
    }
    let pull = &world.repos[at].pulls[n];
    if let Err(error) = check(pull, &world.viewer, &body, comments) {
        return unprocessable("Unprocessable Entity", &json!([error]));
    }
    let commit = body["commit_id"].as_str().unwrap_or(&pull.head).to_owned();
    let threads: Vec<_> = comments.iter().map(|comment| thread(pull, &commit, comment)).collect();
    let viewer = world.viewer.clone();
    let said = world.said(&viewer, body["body"].as_str().unwrap_or_default());
    let state = match body["event"].as_str() {
        Some("COMMENT") => "COMMENTED",
        Some("APPROVE") => "APPROVED",
        Some("REQUEST_CHANGES") => "CHANGES_REQUESTED",
        _ => "PENDING",
    };
    let review = said.id;
    for (mut thread, comment) in threads.into_iter().zip(comments) {
        let mut said = world.said(&viewer, comment["body"].as_str().unwrap_or_default());
        said.review = Some(review);
        thread.id = world.id();
        thread.comments = vec![said];
        world.repos[at].pulls[n].threads.push(thread);
    }
    let now = world.now();
    let pull = &mut world.repos[at].pulls[n];
    pull.updated_at = now;
    pull.reviews.push(ReviewState { said, state: state.to_owned(), commit });
    let pull = &world.repos[at].pulls[n];
    Reply::json(200, &shapes::review(world, &world.repos[at], pull, pull.reviews.last().expect("it was pushed")))
}

fn check(pull: &PullState, viewer: &str, body: &Value, comments: &[Value]) -> Result<(), String> {
    let commit = body["commit_id"].as_str().unwrap_or(&pull.head);
    if !pull.commits.iter().any(|known| known == commit) {
        return Err("commitOID is not part of the pull request".to_owned());
    }
    let own = pull.author.as_deref() == Some(viewer);
    let text = body["body"].as_str().unwrap_or_default();
    match body["event"].as_str() {
        Some("REQUEST_CHANGES") if own => {
            return Err("Review Can not request changes on your own pull request".to_owned());
        }
        Some("APPROVE") if own => return Err("Review Can not approve your own pull request".to_owned()),
        Some("REQUEST_CHANGES") if text.is_empty() => return Err("Review Body can't be blank".to_owned()),
        Some("COMMENT") if text.is_empty() && comments.is_empty() => {
            return Err("Review Body can't be blank".to_owned());
        }
        None | Some("COMMENT" | "REQUEST_CHANGES" | "APPROVE") => {}
        Some(other) => {
            return Err(format!("Variable $event of type PullRequestReviewEvent was provided invalid value {other}"));
        }
    }
    let waiting = |one: &ReviewState| one.state == "PENDING" && one.said.author.as_deref() == Some(viewer);
    if pull.reviews.iter().any(waiting) {
        return Err("User can only have one pending review per pull request".to_owned());
    }
    if text.chars().count() > MOST_TEXT {
        return Err("Body is too long (maximum is 65536 characters)".to_owned());
    }
    comments.iter().try_for_each(|comment| check_comment(pull, comment))
}

fn check_comment(pull: &PullState, comment: &Value) -> Result<(), String> {
    let text = comment["body"].as_str().unwrap_or_default();
    if text.trim().is_empty() {
        return Err("Pull request review comments body can't be blank".to_owned());
    }
    if text.chars().count() > MOST_TEXT {
        return Err("Pull request review comments body is too long (maximum is 65536 characters)".to_owned());
    }
    let file = file_of(pull, comment)?;
    let (Some(line), side) = (comment["line"].as_u64(), side_of(comment, "side")) else {
        return Err("Pull request review thread position or line must be given".to_owned());
    };
    if !matches!(side, "LEFT" | "RIGHT") || !matches!(side_of(comment, "start_side"), "LEFT" | "RIGHT") {
        return Err("Pull request review thread side is invalid".to_owned());
    }
    let start = comment["start_line"].as_u64();
    let mut faults = Vec::new();
    let hunk = file.hunk_of(side, line);
    if hunk.is_none() {
        faults.push("Pull request review thread line must be part of the diff");
    }
    if start.is_none() && comment.get("start_side").is_some_and(|side| !side.is_null()) {
        faults.push("Pull request review thread start line must be given where start side is");
    }
    if let Some(start) = start {
        let start_side = side_of(comment, if comment["start_side"].is_string() { "start_side" } else { "side" });
        if start_side == side && start >= line {
            faults.push("Pull request review thread start line must precede the end line.");
        }
        if hunk.is_none() || file.hunk_of(start_side, start) != hunk {
            faults.push("Pull request review thread start line must be part of the same hunk as the line.");
        }
    }
    if hunk.is_none() {
        faults.push("Pull request review thread diff hunk can't be blank");
    }
    match faults.as_slice() {
        [] => Ok(()),
        [one] => Err((*one).to_owned()),
        [rest @ .., last] => Err(format!("{}, and {last}", rest.join(", "))),
    }
}

fn side_of<'a>(comment: &'a Value, name: &str) -> &'a str {
    comment.get(name).filter(|side| !side.is_null()).map_or("RIGHT", |side| side.as_str().unwrap_or("?"))
}

fn file_of<'a>(pull: &'a PullState, comment: &Value) -> Result<&'a FileDiff, String> {
    let path = comment["path"].as_str().unwrap_or_default();
    pull.diff.iter().find(|file| file.path == path).ok_or_else(|| "Path could not be resolved".to_owned())
}

/// A thread on what the comment names; its lines were checked.
fn thread(pull: &PullState, commit: &str, comment: &Value) -> ThreadState {
    let (line, side) = (comment["line"].as_u64(), side_of(comment, "side"));
    let file = file_of(pull, comment).expect("it was checked");
    let hunk = file.hunk_of(side, line.expect("it was checked")).expect("it was checked");
    ThreadState {
        id: 0,
        path: file.path.clone(),
        side: side.to_owned(),
        line,
        start_line: comment["start_line"].as_u64(),
        original_line: line,
        original_start_line: comment["start_line"].as_u64(),
        on_file: false,
        outdated: false,
        resolved: false,
        resolved_by: None,
        original_commit: commit.to_owned(),
        diff_hunk: file.hunks[hunk].text.trim_end().to_owned(),
        comments: Vec::new(),
    }
}

/// Takes back a review that is pending.
pub fn delete(world: &mut World, at: usize, n: usize, id: &str) -> Reply {
    let Some(found) = position(world, at, n, id) else { return not_found() };
    let review = &world.repos[at].pulls[n].reviews[found];
    if review.said.author.as_deref() != Some(world.viewer.as_str()) || !world.rights.write {
        return forbidden();
    }
    if review.state != "PENDING" {
        return unprocessable("Can not delete a non-pending pull request review", &Value::Null);
    }
    let pull = &world.repos[at].pulls[n];
    let body = shapes::review(world, &world.repos[at], pull, &pull.reviews[found]);
    let pull = &mut world.repos[at].pulls[n];
    let gone = pull.reviews.remove(found).said.id;
    for thread in &mut pull.threads {
        thread.comments.retain(|said| said.review != Some(gone));
    }
    pull.threads.retain(|thread| !thread.comments.is_empty());
    Reply::json(200, &body)
}

/// Dismisses a review.
pub fn dismiss(world: &mut World, asked: &Asked, at: usize, n: usize, id: &str) -> Reply {
    let Some(found) = position(world, at, n, id) else { return not_found() };
    if !world.rights.dismiss || !world.rights.write {
        return forbidden();
    }
    if asked.body()["message"].as_str().is_none_or(str::is_empty) {
        return unprocessable("Validation Failed", &json!(["message can't be blank"]));
    }
    let review = &mut world.repos[at].pulls[n].reviews[found];
    if !matches!(review.state.as_str(), "APPROVED" | "CHANGES_REQUESTED") {
        return unprocessable("Can not dismiss a commented pull request review", &Value::Null);
    }
    "DISMISSED".clone_into(&mut review.state);
    let pull = &world.repos[at].pulls[n];
    Reply::json(200, &shapes::review(world, &world.repos[at], pull, &pull.reviews[found]))
}

fn position(world: &World, at: usize, n: usize, id: &str) -> Option<usize> {
    world.repos[at].pulls[n].reviews.iter().position(|one| one.said.id.to_string() == id)
}
