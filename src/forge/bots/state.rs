//! The resolved state that the forge cannot store itself: entries of lists and parts of remarks. Main types: [`RemarkState`].
//!
//! `pr-review-mcp` keeps this in comments of the pull request, and reads the first comment that holds its mark, whoever wrote it. Here only
//! comments of our own account and of accounts with rights in the repository are read ([`RemarkState::read`]), all of them together; only our own is
//! ever written.

use super::stored::{PENDING, RESOLVED, StoredChildren, StoredRemarkState, StoredResolution, is_trusted_comment};
use crate::domain::forge::{Comment, Held, Remark};

/// The result of recording that a remark is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResolveResult {
    /// It stands in the comment that is to be written.
    Done,
    /// So do all other parts of its parent: if a thread holds them, it is to be resolved too.
    AllParts,
    /// Remarks of this sort are not kept here.
    NotKeptHere,
}

/// The error for state that does not fit one comment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "what is resolved on this pull request no longer fits one comment of 65536 characters; delete the comment that keeps it to begin anew"
)]
pub struct StateTooLarge;

/// The state in the state comments.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RemarkState {
    own: StoredRemarkState,
    number: Option<u64>,
    others: Vec<StoredRemarkState>,
    notes: Vec<String>,
}

impl RemarkState {
    /// Reads the comments of a pull request. Those of accounts without rights are left out, and noted.
    pub fn read(comments: &[Comment]) -> Self {
        let mut state = Self::default();
        let mut unbelieved = 0;
        for comment in comments.iter().filter(|comment| StoredRemarkState::is_in(&comment.body)) {
            if !is_trusted_comment(comment) {
                unbelieved += 1;
                continue;
            }
            let is_own = comment.mine && state.number.is_none() && comment.number.is_some();
            match StoredRemarkState::parse(&comment.body) {
                Ok(stored) if is_own => {
                    state.own = stored;
                    state.number = comment.number;
                }
                Ok(stored) => state.others.push(stored),
                Err(why) => state.notes.push(format!("a comment that keeps what is resolved cannot be read: {why}")),
            }
        }
        if unbelieved > 0 {
            state.notes.push(format!(
                "{unbelieved} comments that claim to keep what is resolved are of accounts without rights in the repository; they were left out"
            ));
        }
        state
    }

    /// Returns notes on what could not be read or was left out.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The number of the comment that is to be replaced by what [`RemarkState::write`] gives; `None` where one is to be made.
    pub fn number(&self) -> Option<u64> {
        self.number
    }

    /// Checks whether a comment says that this remark is resolved.
    pub fn is_resolved(&self, remark: &Remark) -> bool {
        says(&self.own, remark) || self.others.iter().any(|stored| says(stored, remark))
    }

    /// Records that a remark is resolved. `all` are the remarks of the pull request: a part is kept with the other parts of its parent.
    pub fn resolve(&mut self, remark: &Remark, all: &[Remark], by: &str, at: &str) -> ResolveResult {
        match (remark.held, &remark.parent) {
            (Held::Nitpick | Held::OutsideDiff, _) => {
                self.own.resolved_nitpicks.insert(remark.id.clone(), StoredResolution::new(by, at));
                ResolveResult::Done
            }
            (Held::Part, Some(parent)) => {
                let siblings: Vec<&Remark> = all.iter().filter(|one| one.parent.as_ref() == Some(parent)).collect();
                let new = || StoredChildren { registered_at: at.to_owned(), ..StoredChildren::default() };
                let kept = self.own.parent_children.entry(parent.clone()).or_insert_with(new);
                for sibling in siblings.iter().map(|sibling| &sibling.id).chain([&remark.id]) {
                    if !kept.child_ids.contains(sibling) {
                        kept.child_ids.push(sibling.clone());
                    }
                    kept.child_status.entry(sibling.clone()).or_insert_with(|| PENDING.to_owned());
                }
                kept.child_status.insert(remark.id.clone(), RESOLVED.to_owned());
                let is_all = siblings.iter().all(|sibling| self.is_resolved(sibling));
                if is_all && remark.is_listed_only {
                    self.own.resolved_nitpicks.insert(parent.clone(), StoredResolution::new(by, at));
                }
                if is_all { ResolveResult::AllParts } else { ResolveResult::Done }
            }
            (Held::Part | Held::Thread | Held::Guide | Held::Overview, _) => ResolveResult::NotKeptHere,
        }
    }

    /// The text of our own comment. `at` is RFC 3339.
    pub fn write(&self, at: &str) -> Result<String, StateTooLarge> {
        let mut stored = self.own.clone();
        at.clone_into(&mut stored.updated_at);
        stored.comment().ok_or(StateTooLarge)
    }
}

fn says(stored: &StoredRemarkState, remark: &Remark) -> bool {
    let listed = |id: &String| remark.is_listed_only && stored.resolved_nitpicks.contains_key(id);
    let part = remark.parent.as_ref().and_then(|parent| stored.parent_children.get(parent));
    let status = part.and_then(|kept| kept.child_status.get(&remark.id));
    listed(&remark.id) || remark.parent.as_ref().is_some_and(listed) || status.is_some_and(|status| status == RESOLVED)
}
