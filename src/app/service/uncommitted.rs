//! Counts the uncommitted files that a review of commits does not include. Main type: [`UncommittedCount`].

use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use crate::domain::request::ReviewScope;
use crate::git;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

/// Time limit for counting; the review waits no longer for it.
const TIME: Duration = Duration::from_secs(2);

/// A count of files running in the background.
pub(super) struct UncommittedCount(Receiver<usize>);

impl UncommittedCount {
    /// Starts to count; `None` if the scope is not the checked-out commit.
    pub(super) fn of(scope: &ReviewScope, folder: &Path) -> Option<Self> {
        match scope {
            ReviewScope::Branch { head, .. } if head.as_deref().is_none_or(|head| head == "HEAD") => {}
            ReviewScope::Branch { .. }
            | ReviewScope::Commit(_)
            | ReviewScope::Range { .. }
            | ReviewScope::Staged
            | ReviewScope::Uncommitted
            | ReviewScope::Patch(_)
            | ReviewScope::Pull(_) => return None,
        }
        let (say, heard) = mpsc::sync_channel(1);
        let folder = folder.to_owned();
        // The library cannot be interrupted in a large checkout: the thread then ends when it is done, and nothing waits for it.
        let counting = thread::Builder::new().name("left out".to_owned()).spawn(move || {
            let count = Repo::open(&folder).map_err(git::GitError::from);
            let count = count.and_then(|repo| git::count_uncommitted(&repo, &Cancel::after(TIME)));
            // An error means that the receiver is gone.
            let _ = count.map(|count| say.send(count));
        });
        counting.is_ok().then_some(Self(heard))
    }

    /// The count; 0 if counting timed out. May block.
    pub(super) fn count(&self) -> usize {
        self.0.recv_timeout(TIME).unwrap_or(0)
    }
}

/// Formats a note about `count` files; `None` for 0.
pub(super) fn format_note(count: usize) -> Option<String> {
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
    fn it_is_counted_only_where_the_checkout_is_meant() {
        let branch = |head: Option<&str>| ReviewScope::Branch { target: None, head: head.map(str::to_owned) };
        let here = Path::new("/no/such/folder");
        for scope in [branch(None), branch(Some("HEAD"))] {
            assert_eq!(UncommittedCount::of(&scope, here).unwrap().count(), 0, "{scope:?}");
        }
        for scope in [
            branch(Some("main")),
            ReviewScope::Staged,
            ReviewScope::Uncommitted,
            ReviewScope::Commit("HEAD".to_owned()),
        ] {
            assert!(UncommittedCount::of(&scope, here).is_none(), "{scope:?}");
        }
    }

    #[test]
    fn none_are_not_worth_a_word() {
        assert_eq!(format_note(0), None);
        assert!(format_note(1).unwrap().starts_with("1 uncommitted file is not"));
        assert!(format_note(2).unwrap().starts_with("2 uncommitted files are not"));
    }
}
