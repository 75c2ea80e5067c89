//! Counts the uncommitted files that a review of commits does not include. Main type: [`LeftOut`].

use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use crate::domain::request::Scope;
use crate::git;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

/// Time limit for counting; the review waits no longer for it.
const TIME: Duration = Duration::from_secs(2);

/// A count of files running in the background.
pub(super) struct LeftOut(Receiver<usize>);

impl LeftOut {
    /// Starts to count; `None` if the scope is not the checked-out commit.
    pub(super) fn of(scope: &Scope, folder: &Path) -> Option<Self> {
        match scope {
            Scope::Branch { head, .. } if head.as_deref().is_none_or(|head| head == "HEAD") => {}
            Scope::Branch { .. }
            | Scope::Commit(_)
            | Scope::Range { .. }
            | Scope::Staged
            | Scope::Uncommitted
            | Scope::Patch(_)
            | Scope::Pull(_) => return None,
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
pub(super) fn note(count: usize) -> Option<String> {
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
        let branch = |head: Option<&str>| Scope::Branch { target: None, head: head.map(str::to_owned) };
        let here = Path::new("/no/such/folder");
        for scope in [branch(None), branch(Some("HEAD"))] {
            assert_eq!(LeftOut::of(&scope, here).unwrap().count(), 0, "{scope:?}");
        }
        for scope in [branch(Some("main")), Scope::Staged, Scope::Uncommitted, Scope::Commit("HEAD".to_owned())] {
            assert!(LeftOut::of(&scope, here).is_none(), "{scope:?}");
        }
    }

    #[test]
    fn none_are_not_worth_a_word() {
        assert_eq!(note(0), None);
        assert!(note(1).unwrap().starts_with("1 uncommitted file is not"));
        assert!(note(2).unwrap().starts_with("2 uncommitted files are not"));
    }
}
