//! Counts the uncommitted files that a review of commits does not include. Main type: [`UncommittedCount`].

use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use crate::domain::filter::PathFilter;
use crate::domain::request::ReviewScope;
use crate::git::{self, GitError};
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

/// Time limit for counting.
const TIME: Duration = Duration::from_secs(2);
/// Time that a finished review waits for the count.
const GRACE: Duration = Duration::from_secs(1);

/// A count of files running in the background.
pub(in crate::app) struct UncommittedCount(Receiver<usize>);

impl UncommittedCount {
    /// Starts to count those that `filter` lets through; `None` if the scope is no branch. The count is 0 if its head is not the commit that is checked out.
    pub(in crate::app) fn of(scope: &ReviewScope, folder: &Path, filter: PathFilter) -> Option<Self> {
        let ReviewScope::Branch { head, .. } = scope else { return None };
        let (say, heard) = mpsc::sync_channel(1);
        let (folder, head) = (folder.to_owned(), head.clone());
        // The library cannot be interrupted in a large checkout: the thread then ends when it is done, and nothing waits for it.
        let counting = thread::Builder::new().name("left out".to_owned()).spawn(move || {
            // An error means that the receiver is gone.
            let _ = count_left_out(&folder, head.as_deref(), &filter).map(|count| say.send(count));
        });
        counting.is_ok().then_some(Self(heard))
    }

    /// The count; 0 if counting timed out. May block.
    pub(in crate::app) fn count(&self) -> usize {
        self.0.recv_timeout(TIME).unwrap_or(0)
    }

    /// The count at the end of a review; `None` if it was not finished in time. May block.
    pub(in crate::app) fn count_at_end(&self) -> Option<usize> {
        self.0.recv_timeout(GRACE).ok()
    }
}

/// Counts the uncommitted files in a folder for a review of `head`, by default `HEAD`.
fn count_left_out(folder: &Path, head: Option<&str>, filter: &PathFilter) -> Result<usize, GitError> {
    let repo = Repo::open(folder)?;
    let is_checked_out = match head {
        Some(head) => repo.commit(head)? == repo.commit("HEAD")?,
        None => true,
    };
    if is_checked_out { git::count_uncommitted(&repo, filter, &Cancel::after(TIME)) } else { Ok(0) }
}

/// Formats a note about `count` files; `None` for 0.
pub(in crate::app) fn format_note(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 uncommitted file is not part of this review; `at: \"uncommitted\"` reviews it".to_owned()),
        _ => Some(format!("{count} uncommitted files are not part of this review; `at: \"uncommitted\"` reviews them")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_counted_only_where_a_branch_is_meant() {
        let branch = |head: Option<&str>| ReviewScope::Branch { target: None, head: head.map(str::to_owned) };
        let here = Path::new("/no/such/folder");
        for scope in [branch(None), branch(Some("HEAD")), branch(Some("main"))] {
            assert_eq!(UncommittedCount::of(&scope, here, PathFilter::all()).unwrap().count(), 0, "{scope:?}");
        }
        for scope in [ReviewScope::Staged, ReviewScope::Uncommitted, ReviewScope::Commit("HEAD".to_owned())] {
            assert!(UncommittedCount::of(&scope, here, PathFilter::all()).is_none(), "{scope:?}");
        }
    }

    #[test]
    fn none_are_not_worth_a_word() {
        assert_eq!(format_note(0), None);
        assert!(format_note(1).unwrap().starts_with("1 uncommitted file is not"));
        assert!(format_note(2).unwrap().starts_with("2 uncommitted files are not"));
    }
}
