//! The texts beside the diffs: names, commits, leads. Main type: [`Entries`].

use std::borrow::Cow;

use super::one_line;
use super::tokens::{Weight, weight};
use crate::domain::change::{ChangeSet, Commit};
use crate::domain::text::reveal;
use crate::prompt::{Data, LeadVars};

/// Longer names, subjects and titles are cut.
const MOST_LINE: usize = 200;
/// Longer bodies are cut, in characters.
const MOST_BODY: usize = 1_500;

/// Texts of one kind, of which as many are taken as fit.
#[derive(Debug, Default)]
pub(super) struct Entries {
    entries: Vec<Entry>,
    /// The order in which they are taken, where it is not the order in which they are shown.
    order: Option<Vec<usize>>,
}

#[derive(Debug)]
struct Entry {
    head: String,
    body: String,
}

/// What fitted.
#[derive(Debug)]
pub(super) struct Taken<'e> {
    /// For each entry, what of it.
    parts: Vec<(&'e str, &'e str)>,
    pub(super) weight: Weight,
    /// The places of those that are left out.
    pub(super) left_out: Vec<usize>,
    /// How many are shown without their bodies.
    pub(super) shortened: usize,
}

impl Entries {
    /// What all of them take.
    pub(super) fn weight(&self) -> Weight {
        self.entries.iter().map(|entry| weight(&entry.head) + weight(&entry.body)).sum()
    }

    /// As many as fit into `room`: whole, else without the body. Nothing is taken after the first that does not fit at all.
    pub(super) fn take(&self, room: Weight) -> Taken<'_> {
        let mut taken =
            Taken { parts: vec![("", ""); self.entries.len()], weight: 0, left_out: Vec::new(), shortened: 0 };
        let all: Vec<usize> = (0..self.entries.len()).collect();
        let mut full = false;
        for at in self.order.as_ref().unwrap_or(&all) {
            let (Some(entry), Some(part)) = (self.entries.get(*at), taken.parts.get_mut(*at)) else { continue };
            let head = weight(&entry.head);
            let whole = head + weight(&entry.body);
            full |= taken.weight + head > room;
            if full {
                taken.left_out.push(*at);
            } else if taken.weight + whole <= room {
                *part = (&entry.head, &entry.body);
                taken.weight += whole;
            } else {
                *part = (&entry.head, "");
                taken.weight += head;
                taken.shortened += 1;
            }
        }
        taken.left_out.sort_unstable();
        taken
    }
}

impl Taken<'_> {
    pub(super) fn text(&self) -> Data {
        Data::new(self.parts.iter().flat_map(|(head, body)| [*head, *body]).collect())
    }
}

/// Repository, target and head.
pub(super) fn names(change: &ChangeSet) -> Data {
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
    Data::new(text)
}

/// The commits in their order.
pub(super) fn commits(change: &ChangeSet) -> Entries {
    Entries { entries: change.commits.iter().map(commit).collect(), order: None }
}

fn commit(commit: &Commit) -> Entry {
    // The day is enough for a reader.
    let day = commit.date.get(..10).unwrap_or(&commit.date);
    let (author, subject) = (one_line(&commit.author, 80), one_line(&commit.subject, MOST_LINE));
    Entry {
        head: shown(&format!("{} {day} {author}: {subject}\n", commit.id.short())),
        body: shown(&indented(&commit.body)),
    }
}

/// The leads in their order; the worst are taken first.
pub(super) fn leads(leads: &[LeadVars]) -> Entries {
    let entry = |lead: &LeadVars| {
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
        Entry { head: shown(&head), body: shown(&indented(&lead.body)) }
    };
    let mut order: Vec<usize> = (0..leads.len()).collect();
    order.sort_by_key(|at| leads.get(*at).map(|lead| lead.severity));
    Entries { entries: leads.iter().map(entry).collect(), order: Some(order) }
}

/// A body below its head: every line is indented, so that none can pass for the head of another entry.
fn indented(body: &str) -> String {
    let cut = body.char_indices().nth(MOST_BODY).map(|(at, _)| at);
    let mut text = String::new();
    for line in body[..cut.unwrap_or(body.len())].trim_end().lines() {
        text.push_str("    ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if cut.is_some() {
        text.push_str("    […]\n");
    }
    text
}

/// Weighed as it will be shown.
fn shown(text: &str) -> String {
    match reveal(text) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => text,
    }
}
