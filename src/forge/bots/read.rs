//! Makes one list of all that was remarked on a pull request. Main function: [`read_remarks`].

use super::label::read_label;
use super::own_comments::severity_of;
use super::prompt::find_prompt;
use super::remark_list::{LONGEST_TEXT, ListContext, ListedRemarks};
use super::split::{MOST_PARTS, split};
use super::state::RemarkState;
use super::title::{find_title, truncate_title};
use super::tracker::Tracker;
use super::{BOTS, Title, bot_of};
use crate::domain::finding::Severity;
use crate::domain::forge::{Comment, Held, PullConversation, PullFile, Remark, RemarkSeverity, Source, Thread};

/// The remarks of a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Threads first, oldest first, then what bots list in one text.
    pub remarks: Vec<Remark>,
    /// Notes on what could not be read or was left out, and why: one sentence each.
    pub notes: Vec<String>,
}

/// Reads all remarks. `files` are those of the pull request, for links that name a file by its hash; `ours` tells the severity that a comment
/// of this program has by its own mark, and nothing for all other comments.
pub fn read_remarks(
    conversation: &PullConversation,
    files: &[PullFile],
    ours: &dyn Fn(&Comment) -> Option<Severity>,
) -> Remarks {
    let mut found = ListedRemarks::default();
    let state = RemarkState::read(&conversation.comments);
    let tracker = Tracker::read(&conversation.comments);
    for note in state.notes().iter().chain(tracker.notes()) {
        found.add_note(note.clone());
    }
    for thread in &conversation.threads {
        let whole = of_thread(thread, ours, &mut found);
        push(whole, &mut found);
    }
    let asked = ListContext { conversation, files };
    for list in BOTS.iter().filter_map(|bot| bot.list) {
        let mut listed = ListedRemarks::default();
        list(&asked, &mut listed);
        let (entries, notes) = listed.into_parts();
        for entry in entries {
            push(entry, &mut found);
        }
        for note in notes {
            found.add_note(note);
        }
    }
    for remark in &mut found.remarks {
        remark.is_resolved |= match remark.held {
            Held::Guide => tracker.is_resolved(&remark.id),
            Held::Thread | Held::Part | Held::Nitpick | Held::OutsideDiff => state.is_resolved(remark),
            Held::Overview => false,
        };
    }
    let (remarks, notes) = found.into_parts();
    Remarks { remarks, notes }
}

fn of_thread(thread: &Thread, ours: &dyn Fn(&Comment) -> Option<Severity>, found: &mut ListedRemarks) -> Remark {
    let Some(first) = thread.comments.first() else {
        found.add_note(format!("the thread {} has no comment", thread.node));
        return around(thread, "", None);
    };
    let text = readable(&first.body);
    if text.len() < first.body.len() {
        found.add_note(format!(
            "a comment is longer than {LONGEST_TEXT} bytes; its severity is that of what stands before"
        ));
    }
    let (severity, source) = match ours(first) {
        Some(severity) => (severity_of(severity), Source::Review),
        None => read_label(text, first.author.as_ref()),
    };
    let bot = bot_of(source);
    Remark {
        severity,
        source,
        title: find_title(text, bot.map_or(Title::Bold, |bot| bot.title)),
        body: first.body.clone(),
        prompt: find_prompt(text, bot),
        ..around(thread, &first.url, first.author.as_ref().map(|author| author.login.clone()))
    }
}

fn readable(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}

fn around(thread: &Thread, url: &str, author: Option<String>) -> Remark {
    let last = thread.line.filter(|line| *line > 0);
    let first = thread.start_line.filter(|line| *line > 0).or(last);
    Remark {
        id: thread.node.clone(),
        thread: Some(thread.node.clone()),
        held: Held::Thread,
        parent: None,
        path: thread.path.clone(),
        lines: last.zip(first).map(|(last, first)| (first.min(last), first.max(last))),
        severity: RemarkSeverity::Unknown,
        source: Source::Unknown,
        author,
        title: String::new(),
        body: String::new(),
        url: url.to_owned(),
        replies: thread.comments.len().saturating_sub(1),
        prompt: None,
        is_resolved: thread.is_resolved,
        is_outdated: thread.is_outdated,
        can_resolve: thread.can_resolve,
        is_listed_only: false,
    }
}

/// Adds a remark, or its parts where it has several.
fn push(remark: Remark, found: &mut ListedRemarks) {
    // A part of our own comment is never told apart: its finding is one.
    let (parts, has_more) =
        if remark.source == Source::Review { (Vec::new(), false) } else { split(&remark.id, readable(&remark.body)) };
    if has_more {
        found.add_note(format!("{} holds more than {MOST_PARTS} issues; the rest stand in its last part", remark.id));
    }
    let count = parts.len();
    let whole = Remark { body: String::new(), prompt: None, ..remark.clone() };
    for (index, part) in parts.iter().enumerate() {
        let bot = bot_of(remark.source);
        let said = find_title(part.body, bot.map_or(Title::Bold, |bot| bot.title));
        let said = if said.is_empty() { &remark.title } else { &said };
        let (severity, source) = read_label(part.body, None);
        let is_told = severity != RemarkSeverity::Unknown && source == remark.source;
        found.remarks.push(Remark {
            id: part.id.clone(),
            held: Held::Part,
            parent: Some(remark.id.clone()),
            severity: if is_told { severity } else { remark.severity },
            title: truncate_title(&format!("Issue {}/{count}: {said}", index + 1)),
            body: part.body.to_owned(),
            prompt: find_prompt(part.body, bot),
            ..whole.clone()
        });
    }
    if parts.is_empty() {
        found.remarks.push(remark);
    }
}
