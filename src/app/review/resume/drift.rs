//! Differences from the start of a run. Main type: [`DriftReport`].

use crate::domain::change::{ChangeSet, FileChange};
use crate::domain::forge::PullRequest;
use crate::domain::id::CommitId;
use crate::git::ResolvedRange;

/// The differences as phrases: "the head is … now, and was …".
#[derive(Debug, Default)]
pub(super) struct DriftReport(Vec<String>);

impl DriftReport {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_sentences(self) -> Vec<String> {
        self.0
    }

    pub(super) fn join(&self) -> String {
        self.0.join("; ")
    }

    /// Records a changed value.
    pub(super) fn compare(&mut self, what: &str, was: &str, is: &str) {
        if was != is {
            self.0.push(format!("{what} is {} now and was {}", name(is), name(was)));
        }
    }

    /// Records a difference in free form.
    pub(super) fn push(&mut self, what: String) {
        self.0.push(what);
    }

    /// Records the changed ends of a range.
    pub(super) fn compare_ends(&mut self, change: &ChangeSet, range: &ResolvedRange) {
        self.commit(&format!("the head ({})", change.head_name), change.head, range.head);
        self.commit(&format!("the target ({})", change.target), change.base, range.base);
        if change.base == range.base && change.head == range.head {
            self.commit("where the two meet", change.merge_base, range.merge_base);
        }
    }

    /// Records the changed ends of a pull request.
    pub(super) fn compare_pull(&mut self, change: &ChangeSet, pull: &PullRequest) {
        self.commit(&format!("the head of {}", pull.id), change.head, Some(pull.head));
        self.commit(&format!("the base of {}", pull.id), change.base, Some(pull.base));
    }

    fn commit(&mut self, what: &str, was: Option<CommitId>, is: Option<CommitId>) {
        let short = |commit: Option<CommitId>| commit.map_or_else(|| "no commit".to_owned(), |commit| commit.short());
        self.compare(what, &short(was), &short(is));
    }

    /// Records the files that changed.
    pub(super) fn compare_files(&mut self, was: &ChangeSet, is: &ChangeSet) {
        // Plain data, so its `Debug` output is complete.
        let shown = |file: &FileChange| format!("{file:?}");
        for file in &was.files {
            match is.files.iter().find(|other| other.path == file.path) {
                None => self.push(format!("{} is not changed any more", file.path)),
                Some(other) if shown(other) != shown(file) => self.push(format!("{} changed again", file.path)),
                Some(_) => {}
            }
        }
        let new = is.files.iter().filter(|file| was.files.iter().all(|other| other.path != file.path));
        new.for_each(|file| self.push(format!("{} changed, too", file.path)));
    }
}

fn name(value: &str) -> &str {
    if value.is_empty() { "nothing" } else { value }
}
