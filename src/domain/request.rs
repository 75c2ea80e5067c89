//! What somebody asks to have reviewed. Main types: [`ReviewRequest`], [`Scope`].

use std::path::PathBuf;

/// Which change is reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
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
        /// Whether it was written with three dots.
        from_merge_base: bool,
    },
    /// The index against `HEAD`.
    Staged,
    /// The disk, untracked files included, against `HEAD`.
    Uncommitted,
    /// A patch text; no repository is needed.
    Patch(PatchSource),
}

impl Scope {
    /// What is meant by one name: nothing is `HEAD`; `A..B` and `A...B` are ranges; `staged` and `uncommitted` are themselves; all else is a
    /// revision. (A branch called `staged` is `heads/staged`.)
    pub fn at(name: Option<&str>) -> Self {
        let name = name.map(str::trim).filter(|name| !name.is_empty());
        let range = |from: &str, to: &str, from_merge_base| Self::Range {
            from: from.to_owned(),
            to: to.to_owned(),
            from_merge_base,
        };
        match name {
            None => Self::Branch { target: None, head: None },
            Some("staged") => Self::Staged,
            Some("uncommitted") => Self::Uncommitted,
            Some(name) => match (name.split_once("..."), name.split_once("..")) {
                (Some((from, to)), _) => range(from, to, true),
                (None, Some((from, to))) => range(from, to, false),
                (None, None) => Self::Branch { target: None, head: Some(name.to_owned()) },
            },
        }
    }
}

/// Where a patch comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchSource {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

/// A request for one review. Settings and outputs come beside it: they shape the answer, not the question.
#[derive(Debug, Clone)]
pub struct ReviewRequest {
    /// The folder to look for a repository in.
    pub directory: PathBuf,
    /// Which change.
    pub scope: Scope,
    /// Whether the project's settings are read from the disk rather than from the target tip.
    pub settings_from_worktree: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_says_which_change_is_meant() {
        let range = |from: &str, to: &str, from_merge_base| Scope::Range {
            from: from.to_owned(),
            to: to.to_owned(),
            from_merge_base,
        };
        let head = |head: Option<&str>| Scope::Branch { target: None, head: head.map(str::to_owned) };
        for (name, meant) in [
            (None, head(None)),
            (Some(" "), head(None)),
            (Some("v1.0"), head(Some("v1.0"))),
            (Some("a..b"), range("a", "b", false)),
            (Some("a...b"), range("a", "b", true)),
            (Some("main.."), range("main", "", false)),
            (Some("staged"), Scope::Staged),
            (Some("uncommitted"), Scope::Uncommitted),
            (Some("heads/staged"), head(Some("heads/staged"))),
        ] {
            assert_eq!(Scope::at(name), meant, "{name:?}");
        }
    }
}
