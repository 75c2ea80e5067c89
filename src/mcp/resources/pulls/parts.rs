//! The parts of a pull request in pages of limited size: its comments, its files, one thread. Main functions: [`comments`], [`files`],
//! [`thread`].

use serde_json::{Map, Value, json};

use super::super::ReadFault;
use super::uri::{thread_uri, uri, with_cursor};
use crate::app::{PullFiles, PullView};
use crate::domain::forge::{Comment, PullId};
use crate::mcp::pull_json;
use crate::mcp::tool::UNTRUSTED;

/// Upper bound on entries in one page.
const ENTRIES: usize = 100;
/// Upper bound on the bytes of their texts in one page, not counting the last entry.
const TEXT: usize = 256 << 10;
/// Upper bound on files in one page.
const FILES: usize = 1000;

/// An entry of a paged list: its name, the length of its texts, and its JSON.
struct PullEntry {
    id: String,
    text: usize,
    shown: (&'static str, Value),
}

fn no_cursor() -> ReadFault {
    ReadFault::Malformed(
        "the cursor is none that this server gave, or what it stood at is gone: read on without one".to_owned(),
    )
}

/// Returns the entries after the cursor, as many as one page holds; with the name of the last one if more follow.
fn page_of<T>(
    all: Vec<T>,
    cursor: Option<&str>,
    id: impl Fn(&T) -> &str,
    text: impl Fn(&T) -> usize,
    most: usize,
) -> Result<(Vec<T>, Option<String>), ReadFault> {
    let from = match cursor {
        None => 0,
        Some(cursor) => all.iter().position(|one| id(one) == cursor).ok_or_else(no_cursor)? + 1,
    };
    let (mut taken, mut used) = (Vec::new(), 0);
    let mut rest = all.into_iter().skip(from).peekable();
    while let Some(one) = rest.next_if(|_| taken.len() < most && used < TEXT) {
        used += text(&one);
        taken.push(one);
    }
    let next = rest.peek().is_some().then(|| taken.last().map(|last| id(last).to_owned())).flatten();
    Ok((taken, next))
}

fn begin_fields(id: &PullId) -> Map<String, Value> {
    let pr = json!({ "owner": id.repo.owner(), "repo": id.repo.name(), "number": id.number.value() });
    [("untrusted".to_owned(), UNTRUSTED.into()), ("pr".to_owned(), pr)].into_iter().collect()
}

fn add_next(fields: &mut Map<String, Value>, uri: &str, next: Option<String>) {
    if let Some(next) = next {
        fields.insert("next".to_owned(), with_cursor(uri, &next).into());
    }
}

/// Returns all comments: the remarks, then the texts of reviews, then the comments on the pull request as a whole.
pub(super) fn comments(id: &PullId, read: &PullView, cursor: Option<&str>) -> Result<Value, ReadFault> {
    let remarks = read.remarks.iter().map(|remark| {
        let mut shown = pull_json::item(remark);
        if let Some(thread) = &remark.thread {
            shown.insert("uri".to_owned(), thread_uri(id, thread).into());
        }
        shown.insert("body".to_owned(), remark.body.clone().into());
        PullEntry { id: remark.id.clone(), text: remark.body.len(), shown: ("remarks", shown.into()) }
    });
    let reviews = read.conversation.reviews.iter().filter(|review| !review.comment.body.trim().is_empty());
    let reviews = reviews.map(|review| ("reviews", &review.comment));
    let comments = read.conversation.comments.iter().map(|comment| ("comments", comment));
    let said = reviews.chain(comments).map(|(list, comment)| PullEntry {
        id: comment.node.clone(),
        text: comment.body.len(),
        shown: (list, pull_json::comment(comment)),
    });
    let all: Vec<PullEntry> = remarks.chain(said).collect();
    let count = |list: &str| all.iter().filter(|entry| entry.shown.0 == list).count();
    let total = json!({ "remarks": count("remarks"), "reviews": count("reviews"), "comments": count("comments") });
    let (taken, next) = page_of(all, cursor, |entry| &entry.id, |entry| entry.text, ENTRIES)?;
    let mut fields = begin_fields(id);
    fields.insert("total".to_owned(), total);
    for list in ["remarks", "reviews", "comments"] {
        let of: Vec<Value> =
            taken.iter().filter(|entry| entry.shown.0 == list).map(|entry| entry.shown.1.clone()).collect();
        fields.insert(list.to_owned(), of.into());
    }
    if let Some(note) = pull_json::notes(read) {
        fields.insert("note".to_owned(), note.into());
    }
    add_next(&mut fields, &format!("{}/comments", uri(id)), next);
    Ok(fields.into())
}

pub(super) fn files(id: &PullId, files: &PullFiles, cursor: Option<&str>) -> Result<Value, ReadFault> {
    let named: Vec<_> = files.files.iter().map(|file| (file.path.display_name().into_owned(), file)).collect();
    let (taken, next) = page_of(named, cursor, |(path, _)| path, |_| 0, FILES)?;
    let mut fields = begin_fields(id);
    fields.insert("total".to_owned(), files.files.len().into());
    fields.insert("files".to_owned(), taken.iter().map(|(_, file)| pull_json::changed_file(file)).collect());
    if files.cut {
        fields.insert("note".to_owned(), "The forge lists no more files of it; there are more.".into());
    }
    add_next(&mut fields, &format!("{}/files", uri(id)), next);
    Ok(fields.into())
}

/// Returns a thread with all of its comments; an entry of a bot's list is a thread of its own.
pub(super) fn thread(id: &PullId, read: &PullView, wanted: &str, cursor: Option<&str>) -> Result<Value, ReadFault> {
    let found = read.conversation.threads.iter().find(|thread| thread.node == wanted);
    let mut fields = begin_fields(id);
    let comments: &[Comment] = match found {
        Some(thread) => {
            fields.extend(pull_json::thread(thread));
            let own = read.remarks.iter().filter(|remark| remark.thread.as_deref() == Some(wanted));
            fields.insert("remarks".to_owned(), own.map(|remark| Value::from(pull_json::item(remark))).collect());
            &thread.comments
        }
        None => {
            let remark = read.remark(wanted)?;
            fields.extend(pull_json::item(remark));
            fields.insert("body".to_owned(), remark.body.clone().into());
            read.thread_of(remark).map_or(&[], |thread| &thread.comments)
        }
    };
    let all: Vec<&Comment> = comments.iter().collect();
    fields.insert("total".to_owned(), all.len().into());
    let (taken, next) = page_of(all, cursor, |comment| &comment.node, |comment| comment.body.len(), ENTRIES)?;
    fields.insert("comments".to_owned(), taken.into_iter().map(pull_json::comment).collect());
    add_next(&mut fields, &thread_uri(id, wanted), next);
    Ok(fields.into())
}
