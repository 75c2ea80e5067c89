//! Remarks that bots list in one text, without a thread for each entry. Main types: [`ListContext`], [`ListedRemarks`].

use crate::domain::forge::{Comment, Held, PullConversation, PullFile, Remark, RemarkSeverity, Source};
use crate::domain::path::RepoPath;

/// The longest text that lists are read in, in bytes; forges keep none that is longer.
pub(super) const LONGEST_TEXT: usize = 1 << 18;

/// The number of entries read of one list.
pub(super) const MOST_ENTRIES: usize = 500;

/// The number of notes kept; the rest are counted.
const MOST_NOTES: usize = 20;

/// The input for reading lists.
pub(super) struct ListContext<'a> {
    /// The whole conversation.
    pub(super) conversation: &'a PullConversation,
    /// The files of the pull request, for links that name a file by its hash.
    pub(super) files: &'a [PullFile],
}

/// The remarks found.
#[derive(Default)]
pub(super) struct ListedRemarks {
    /// The entries, in order.
    pub(super) remarks: Vec<Remark>,
    notes: Vec<String>,
    more_notes: usize,
}

impl ListedRemarks {
    /// Says what could not be read: one sentence.
    pub(super) fn add_note(&mut self, note: String) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(note);
        } else {
            self.more_notes += 1;
        }
    }

    /// The remarks and what is to be said about them.
    pub(super) fn into_parts(mut self) -> (Vec<Remark>, Vec<String>) {
        if self.more_notes > 0 {
            self.notes.push(format!("{} more notes on reading remarks are not shown", self.more_notes));
        }
        (self.remarks, self.notes)
    }

    /// As much of a text as is read, and a note where that is not all.
    pub(super) fn readable_text<'t>(&mut self, text: &'t str, what: &str) -> &'t str {
        let end = text.floor_char_boundary(LONGEST_TEXT);
        if end < text.len() {
            self.add_note(format!(
                "{what} is longer than {LONGEST_TEXT} bytes; what follows was not read for listed remarks"
            ));
        }
        &text[..end]
    }
}

/// An entry that nothing is known about yet but its name and where it stands.
pub(super) fn new_entry(id: String, held: Held, source: Source, comment: &Comment) -> Remark {
    Remark {
        id,
        thread: None,
        held,
        parent: None,
        path: None,
        lines: None,
        severity: RemarkSeverity::Unknown,
        source,
        author: comment.author.as_ref().map(|author| author.login.clone()),
        title: String::new(),
        body: String::new(),
        url: comment.url.clone(),
        replies: 0,
        prompt: None,
        is_resolved: false,
        is_outdated: false,
        can_resolve: false,
        is_listed_only: matches!(held, Held::Nitpick | Held::OutsideDiff),
    }
}

/// Returns the name of a comment in the ids of its entries.
pub(super) fn number(comment: &Comment) -> String {
    comment.number.map_or_else(|| comment.node.clone(), |number| number.to_string())
}

/// The path that a text names; `None` if it leaves the tree or is no path.
pub(super) fn path(named: &str) -> Option<RepoPath> {
    RepoPath::from_bytes(named.trim().as_bytes()).ok()
}

/// Lines as people write them, in order; `None` where one is no line number.
pub(super) fn lines(first: &str, last: Option<&str>) -> Option<(u32, u32)> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|line| *line > 0);
    let first = number(first)?;
    let last = last.map_or(Some(first), number)?;
    Some((first.min(last), first.max(last)))
}
