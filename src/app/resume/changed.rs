//! Differences from the start of a run. Main type: [`Changes`].

use crate::domain::change::{ChangeSet, FileChange};
use crate::domain::forge::PullRequest;
use crate::domain::id::CommitId;
use crate::git::Range;

/// The differences as phrases: "the head is … now, and was …".
#[derive(Debug, Default)]
pub(super) struct Changes(Vec<String>);

impl Changes {
    pub(super) fn none(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn told(self) -> Vec<String> {
        self.0
    }

    pub(super) fn words(&self) -> String {
        self.0.join("; ")
    }

    /// Records a changed value.
    pub(super) fn note(&mut self, what: &str, was: &str, is: &str) {
        if was != is {
            self.0.push(format!("{what} is {} now and was {}", name(is), name(was)));
        }
    }

    /// Records a difference in free form.
    pub(super) fn say(&mut self, what: String) {
        self.0.push(what);
    }

    /// Records the changed ends of a range.
    pub(super) fn ends(&mut self, change: &ChangeSet, range: &Range) {
        self.commit(&format!("the head ({})", change.head_name), change.head, range.head);
        self.commit(&format!("the target ({})", change.target), change.base, range.base);
        if change.base == range.base && change.head == range.head {
            self.commit("where the two meet", change.merge_base, range.merge_base);
        }
    }

    /// Records the changed ends of a pull request.
    pub(super) fn pull(&mut self, change: &ChangeSet, pull: &PullRequest) {
        self.commit(&format!("the head of {}", pull.id), change.head, Some(pull.head));
        self.commit(&format!("the base of {}", pull.id), change.base, Some(pull.base));
    }

    fn commit(&mut self, what: &str, was: Option<CommitId>, is: Option<CommitId>) {
        let short = |commit: Option<CommitId>| commit.map_or_else(|| "no commit".to_owned(), |commit| commit.short());
        self.note(what, &short(was), &short(is));
    }

    /// Records the files that changed.
    pub(super) fn files(&mut self, was: &ChangeSet, is: &ChangeSet) {
        // Plain data, so its `Debug` output is complete.
        let shown = |file: &FileChange| format!("{file:?}");
        for file in &was.files {
            match is.files.iter().find(|other| other.path == file.path) {
                None => self.say(format!("{} is not changed any more", file.path)),
                Some(other) if shown(other) != shown(file) => self.say(format!("{} changed again", file.path)),
                Some(_) => {}
            }
        }
        let new = is.files.iter().filter(|file| was.files.iter().all(|other| other.path != file.path));
        new.for_each(|file| self.say(format!("{} changed, too", file.path)));
    }
}

fn name(value: &str) -> &str {
    if value.is_empty() { "nothing" } else { value }
}
