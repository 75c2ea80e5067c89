//! The texts beside the diffs: names, commits, leads. Main type: [`NoteList`].

use std::borrow::Cow;

use super::one_line;
use crate::domain::change::{ChangeSet, Commit};
use crate::domain::text::reveal;
use crate::prompt::{LeadVars, UntrustedText};
use crate::review::tokens::{Weight, weight};

/// Longer names, subjects and titles are cut.
const MOST_LINE: usize = 200;
/// Longer bodies are cut, in characters.
const MOST_BODY: usize = 1_500;

/// Maximum length of a pull request's description, in characters: many projects have templates that are longer than the authors' text.
const MOST_DESCRIPTION: usize = 4_000;

/// Texts of one kind, of which the first are taken, as many as fit.
#[derive(Debug)]
pub(super) struct NoteList {
    all: Vec<NoteEntry>,
}

#[derive(Debug)]
struct NoteEntry {
    head: String,
    body: String,
}

/// Notes that fit.
#[derive(Debug)]
pub(super) struct SelectedNotes {
    text: String,
    pub(super) weight: Weight,
    /// Number of notes that are shown, from the first.
    pub(super) shown: usize,
    /// Number of notes left out.
    pub(super) left_out: usize,
    /// Number of shown notes without their bodies.
    pub(super) shortened: usize,
}

impl NoteList {
    /// Returns the weight of all notes.
    pub(super) fn weight(&self) -> Weight {
        self.all.iter().map(|entry| weight(&entry.head) + weight(&entry.body)).sum()
    }

    /// Returns the first notes that fit into `room`: whole, else without the body. The first that does not fit at all ends the list.
    pub(super) fn take(&self, room: Weight) -> SelectedNotes {
        let mut taken = SelectedNotes { text: String::new(), weight: 0, shown: 0, left_out: 0, shortened: 0 };
        for NoteEntry { head, body } in &self.all {
            let without = taken.weight + weight(head);
            let whole = without + weight(body);
            if without > room {
                break;
            }
            taken.text.push_str(head);
            taken.weight = if whole <= room { whole } else { without };
            if whole <= room {
                taken.text.push_str(body);
            } else {
                taken.shortened += 1;
            }
            taken.shown += 1;
        }
        taken.left_out = self.all.len() - taken.shown;
        taken
    }
}

impl SelectedNotes {
    pub(super) fn into_text(self) -> UntrustedText {
        UntrustedText::new(self.text)
    }
}

/// Returns repository, target and head.
pub(super) fn names(change: &ChangeSet) -> UntrustedText {
    let mut text = format!("repository: {}\n", one_line(&change.repository, MOST_LINE));
    let mut line = |what: &str, name: &str, id: Option<String>| {
        let id = id.map_or_else(String::new, |id| format!(" ({id})"));
        text.push_str(&format!("{what}: {}{id}\n", one_line(name, MOST_LINE)));
    };
    line("target", &change.target, change.base.map(|id| id.short()));
    line("head", &change.head_name, change.head.map(|id| id.short()));
    if let Some(id) = change.merge_base {
        line("merge base", &id.short(), None);
    }
    UntrustedText::new(text)
}

/// Returns title, author and description of a pull request, and `true` if the description was cut.
pub(super) fn pull_request(change: &ChangeSet) -> (UntrustedText, bool) {
    let Some(pull) = &change.pull else { return (UntrustedText::default(), false) };
    let author = pull.author.as_deref().unwrap_or("(an account that is gone)");
    let mut text = format!("{}: {}\nauthor: {}\n", pull.id, one_line(&pull.title, MOST_LINE), one_line(author, 80));
    text.push_str(&shortened(&pull.body, MOST_DESCRIPTION));
    let cut = pull.body.trim_end().chars().nth(MOST_DESCRIPTION).is_some();
    (UntrustedText::new(text), cut)
}

/// Returns the commits in their order.
pub(super) fn commits(change: &ChangeSet) -> NoteList {
    NoteList { all: change.commits.iter().map(commit).collect() }
}

fn commit(commit: &Commit) -> NoteEntry {
    // The day is enough for a reader.
    let day = commit.date.get(..10).unwrap_or(&commit.date);
    let (author, subject) = (one_line(&commit.author, 80), one_line(&commit.subject, MOST_LINE));
    NoteEntry {
        head: shown(&format!("{} {day} {author}: {subject}\n", commit.id.short())),
        body: shown(&indented(&commit.body)),
    }
}

/// Returns the leads in their order.
pub(super) fn leads(leads: &[&LeadVars]) -> NoteList {
    NoteList { all: leads.iter().copied().map(lead).collect() }
}

fn lead(lead: &LeadVars) -> NoteEntry {
    let line = |text: &str| one_line(text, MOST_LINE);
    let place = one_line(&lead.place, 2 * MOST_LINE);
    let head = format!(
        "{} {} {} ({}): {}\n    at {place}\n",
        line(&lead.id),
        lead.severity,
        lead.category,
        line(&lead.rule),
        line(&lead.title)
    );
    NoteEntry { head: shown(&head), body: shown(&indented(&lead.body)) }
}

/// Returns a body below its head: every line is indented, so that none can be mistaken for the head of another entry.
fn indented(body: &str) -> String {
    shortened(body, MOST_BODY)
}

fn shortened(body: &str, most: usize) -> String {
    let body = body.trim_end();
    let cut = body.char_indices().nth(most).map(|(at, _)| at);
    let mut text = String::new();
    for line in body[..cut.unwrap_or(body.len())].trim_end().lines() {
        if !line.trim().is_empty() {
            text.push_str("    ");
            text.push_str(line.trim_end());
        }
        text.push('\n');
    }
    if cut.is_some() {
        text.push_str("    […]\n");
    }
    text
}

/// Weighed as rendered.
fn shown(text: &str) -> String {
    match reveal(text) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => text,
    }
}
