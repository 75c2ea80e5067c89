//! The request for a review. Main types: [`ReviewRequest`], [`ReviewScope`].

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::forge::PullSpecifier;

/// The scope of a review: the change to review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewScope {
    /// `target...head`: what the head has that the target has not.
    Branch {
        /// The target; found from the upstream or the remote's default branch when `None`.
        target: Option<String>,
        /// The head; `HEAD` when `None`.
        head: Option<String>,
    },
    /// One commit against its first parent.
    Commit(String),
    /// `A..B` (the two trees as they are) or `A...B` (from their merge base).
    Range {
        /// A.
        from: String,
        /// B.
        to: String,
        /// `true` if it was written with three dots.
        from_merge_base: bool,
    },
    /// The index against `HEAD`.
    Staged,
    /// The disk, untracked files included, against `HEAD`.
    Uncommitted,
    /// The branch that is checked out with its uncommitted work: the disk against the merge base.
    BranchWithWorktree {
        /// The target; found as for [`Branch`](Self::Branch) when `None`.
        target: Option<String>,
    },
    /// A pull request of a forge; its commits are fetched first.
    Pull(PullSpecifier),
    /// A patch text; no repository is needed. Kept as its source.
    #[serde(untagged)]
    Patch(PatchSource),
}

/// A question that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum InvalidScope {
    /// The change has both its ends already.
    #[error("{at:?} says already what it is compared with: leave out the target {target:?}, or name a single revision")]
    TargetTwice { at: String, target: String },
    /// Both name the change with its ends.
    #[error(
        "the target {target:?} says by itself what is reviewed, and at is {at:?} already: put {target} in at, and leave target out"
    )]
    WholeTarget { at: String, target: String },
    /// A pull request whose commits nobody fetched.
    #[error(
        "{0:?} is a pull request, and nothing is fetched to read: review it with the tool review, or name commits that are here, as base...head"
    )]
    Unread(String),
    /// A name that would be read as an option, or as several revisions.
    #[error("{0:?} is not a revision: name a branch, a tag, a commit, A..B or A...B, staged, or uncommitted")]
    NotARevision(String),
}

impl ReviewScope {
    /// Checks whether it is the branch that is checked out, without its uncommitted work, and not by a name of its own.
    pub fn is_checked_out_branch(&self) -> bool {
        matches!(self, Self::Branch { head, .. } if head.as_deref().is_none_or(|head| head == "HEAD"))
    }

    /// The names that [`named`](Self::from_name) takes besides revisions and ranges.
    pub const WORDS: [&str; 2] = ["staged", "uncommitted"];

    /// Reads how other programs name a change: a revision (compared with `target`, or with what it was made from), `A..B`, `A...B`, `staged`,
    /// `uncommitted`, or a pull request (`#12`, `owner/name#12`, the address of its page); the head where nothing is said.
    /// A branch that is called like a pull request is meant by its whole name, `refs/heads/…`. An end of a range that is left out is `HEAD`. A target that names a change with both its
    /// ends is taken for `at` where there is none.
    pub fn from_name(target: Option<&str>, at: Option<&str>) -> Result<Self, InvalidScope> {
        let target = target.map(str::trim).filter(|target| !target.is_empty());
        let at = at.map(str::trim).filter(|at| !at.is_empty());
        let (target, at) = match (target, at) {
            (Some(whole), None) if names_both_ends(whole) => (None, Some(whole)),
            (Some(target), Some(at)) if names_both_ends(target) => {
                return Err(InvalidScope::WholeTarget { at: at.to_owned(), target: target.to_owned() });
            }
            said => said,
        };
        let alone = |scope: Self| match (target, at) {
            (Some(target), Some(at)) => Err(InvalidScope::TargetTwice { at: at.to_owned(), target: target.to_owned() }),
            _ => Ok(scope),
        };
        if let Some(target) = target {
            revision(target)?;
        }
        if let Some(ask) = at.and_then(pull) {
            return alone(Self::Pull(ask));
        }
        match at {
            Some("staged") => alone(Self::Staged),
            Some("uncommitted") => alone(Self::Uncommitted),
            Some(at) if at.contains("..") => {
                let (from, to, from_merge_base) = match at.split_once("...") {
                    Some((from, to)) => (from, to, true),
                    None => at.split_once("..").map_or((at, "", false), |(from, to)| (from, to, false)),
                };
                let end = |name: &str| if name.is_empty() { Ok("HEAD".to_owned()) } else { revision(name) };
                alone(Self::Range { from: end(from)?, to: end(to)?, from_merge_base })
            }
            at => Ok(Self::Branch { target: target.map(str::to_owned), head: at.map(revision).transpose()? }),
        }
    }
}

fn names_both_ends(name: &str) -> bool {
    ReviewScope::WORDS.contains(&name) || name.contains("..")
}

/// A number alone may begin a commit's id; one behind `#` names a pull request.
fn pull(name: &str) -> Option<PullSpecifier> {
    let is_said = name.contains('#') || name.contains("://");
    name.parse().ok().filter(|_| is_said)
}

fn revision(name: &str) -> Result<String, InvalidScope> {
    // No revision has two dots in it, and none begins with a dash.
    if name.contains("..") || name.starts_with('-') || name.contains(char::is_control) {
        return Err(InvalidScope::NotARevision(name.to_owned()));
    }
    Ok(name.to_owned())
}

/// The source of a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PatchSource {
    /// Standard input.
    #[serde(rename = "standard_input")]
    Stdin,
    /// A file.
    #[serde(rename = "patch")]
    File(PathBuf),
}

/// The review to compare with, and how much is reviewed again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compare {
    /// The review before this one.
    pub with: Previous,
    /// `true` if everything is reviewed again, and what is found late is told.
    pub full: bool,
}

/// The review before this one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Previous {
    /// The newest that was kept of the same branch or pull request.
    #[default]
    Newest,
    /// A saved run, by its id or the beginning of it, or a file that holds a review.
    Named(String),
    /// None: this is the first.
    None,
}

impl Previous {
    /// Reads what people write: `none`, or the name of one.
    pub fn from_name(name: &str) -> Self {
        if name == "none" { Self::None } else { Self::Named(name.to_owned()) }
    }

    /// The review before one of this scope: what is only a point of a history, or no history at all, has none unless it is named.
    #[must_use]
    pub fn for_scope(self, scope: &ReviewScope) -> Self {
        let is_branch = match scope {
            ReviewScope::Branch { .. }
            | ReviewScope::BranchWithWorktree { .. }
            | ReviewScope::Staged
            | ReviewScope::Uncommitted
            | ReviewScope::Pull(_) => true,
            ReviewScope::Range { from_merge_base, .. } => *from_merge_base,
            ReviewScope::Commit(_) | ReviewScope::Patch(_) => false,
        };
        match self {
            Self::Newest if !is_branch => Self::None,
            previous => previous,
        }
    }
}

/// A request for one review. Settings and outputs come beside it: they shape the answer, not the question.
#[derive(Debug, Clone)]
pub struct ReviewRequest {
    /// The folder to look for a repository in.
    pub directory: PathBuf,
    /// The scope.
    pub scope: ReviewScope,
    /// `true` if the project's settings are read from the disk rather than from the target tip.
    pub settings_from_worktree: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_named_in_every_way() {
        let branch = |target: Option<&str>, head: Option<&str>| ReviewScope::Branch {
            target: target.map(str::to_owned),
            head: head.map(str::to_owned),
        };
        let range = |from: &str, to: &str, from_merge_base| ReviewScope::Range {
            from: from.to_owned(),
            to: to.to_owned(),
            from_merge_base,
        };
        for (target, at, scope) in [
            (None, None, branch(None, None)),
            (Some(" "), Some(""), branch(None, None)),
            (Some("main"), Some(" topic "), branch(Some("main"), Some("topic"))),
            (None, Some("a..b"), range("a", "b", false)),
            (None, Some("a...b"), range("a", "b", true)),
            (None, Some("main.."), range("main", "HEAD", false)),
            (None, Some("staged"), ReviewScope::Staged),
            (None, Some("uncommitted"), ReviewScope::Uncommitted),
            (None, Some("#12"), ReviewScope::Pull("12".parse().unwrap())),
            (None, Some("o/r#12"), ReviewScope::Pull("o/r#12".parse().unwrap())),
            (None, Some("http://h/o/r/pull/12"), ReviewScope::Pull("http://h/o/r/pull/12".parse().unwrap())),
            (None, Some("12"), branch(None, Some("12"))),
            (None, Some("refs/heads/o/r#12"), branch(None, Some("refs/heads/o/r#12"))),
        ] {
            assert_eq!(ReviewScope::from_name(target, at), Ok(scope), "{target:?} {at:?}");
        }
        for (target, at) in [
            ("main", "a..b"),
            ("main", "staged"),
            ("main", "#12"),
            ("a..b", "x"),
            ("--output=x", "x"),
            ("x", "-x"),
            ("x", "a..b..c"),
        ] {
            assert!(ReviewScope::from_name(Some(target), Some(at)).is_err(), "{target} {at}");
        }
        assert!(ReviewScope::from_name(None, Some("a..b..c")).is_err());
    }

    #[test]
    fn a_target_that_says_both_ends_stands_for_at() {
        for both in ["staged", " uncommitted ", "main..x", "main...", "a...b"] {
            let alone = ReviewScope::from_name(Some(both), None).unwrap();
            assert_eq!(alone, ReviewScope::from_name(None, Some(both)).unwrap());
            assert_eq!(alone, ReviewScope::from_name(Some(both), Some(" ")).unwrap());
            let fault = ReviewScope::from_name(Some(both), Some("topic")).unwrap_err().to_string();
            assert!(fault.contains("put") && fault.contains("in at"), "{fault}");
        }
        assert!(ReviewScope::from_name(Some("main"), Some("staged")).is_err());
    }
}
