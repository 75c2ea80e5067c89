//! The request of a run, stored so that it can be repeated from any folder. Main type: [`RunRequest`].

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::instructions::TrustLevel;
use crate::config::Flags;
use crate::domain::forge::PullSpecifier;
use crate::domain::request::{PatchSource, ReviewRequest, ReviewScope};
use crate::domain::text::mask;

/// The request of a run. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app) struct RunRequest {
    /// The folder to find the repository from; `None` if its name is not UTF-8.
    pub(in crate::app) directory: Option<String>,
    scope: RecordedScope,
    /// `true` if the project's settings are read from the working tree.
    pub(in crate::app) settings_from_worktree: bool,
    /// The trust level of an instructions path.
    whose: RecordedTrust,
    /// The settings from the command line.
    pub(in crate::app) flags: Flags,
}

/// The recorded scope of a guideline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedScope {
    Branch { target: Option<String>, head: Option<String> },
    Commit(String),
    Range { from: String, to: String, from_merge_base: bool },
    Staged,
    Uncommitted,
    StandardInput,
    Patch(String),
    Pull(String),
}

/// A [`TrustLevel`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedTrust {
    User,
    Target,
}

impl RunRequest {
    pub(in crate::app) fn new(request: &ReviewRequest, flags: &Flags, whose: TrustLevel) -> Self {
        let mut flags = flags.clone();
        if whose == TrustLevel::User {
            // A resumed run may start in another folder.
            flags.instructions = flags.instructions.map(|path| std::path::absolute(&path).unwrap_or(path));
        }
        // Masked names lead to the same commits (`Repo::commit`).
        let hide = |name: &String| mask(name).text;
        let scope = match &request.scope {
            ReviewScope::Branch { target, head } => {
                RecordedScope::Branch { target: target.as_ref().map(hide), head: head.as_ref().map(hide) }
            }
            ReviewScope::Commit(name) => RecordedScope::Commit(hide(name)),
            ReviewScope::Range { from, to, from_merge_base } => {
                RecordedScope::Range { from: hide(from), to: hide(to), from_merge_base: *from_merge_base }
            }
            ReviewScope::Staged => RecordedScope::Staged,
            ReviewScope::Uncommitted => RecordedScope::Uncommitted,
            ReviewScope::Patch(PatchSource::Stdin) => RecordedScope::StandardInput,
            ReviewScope::Patch(PatchSource::File(path)) => {
                RecordedScope::Patch(absolute_utf8(path).unwrap_or_default())
            }
            ReviewScope::Pull(ask) => RecordedScope::Pull(format_pull(ask)),
        };
        Self {
            directory: absolute_utf8(&request.directory),
            scope,
            settings_from_worktree: request.settings_from_worktree,
            whose: match whose {
                TrustLevel::User => RecordedTrust::User,
                TrustLevel::Target => RecordedTrust::Target,
            },
            flags,
        }
    }

    /// Rebuilds the request, for the repository around `directory` if another one is named. `None` if the stored data is insufficient.
    pub(in crate::app) fn request(&self, directory: Option<&Path>) -> Option<ReviewRequest> {
        let kept = self.directory.as_ref().map(PathBuf::from);
        let scope = match &self.scope {
            RecordedScope::Branch { target, head } => {
                ReviewScope::Branch { target: target.clone(), head: head.clone() }
            }
            RecordedScope::Commit(name) => ReviewScope::Commit(name.clone()),
            RecordedScope::Range { from, to, from_merge_base } => {
                ReviewScope::Range { from: from.clone(), to: to.clone(), from_merge_base: *from_merge_base }
            }
            RecordedScope::Staged => ReviewScope::Staged,
            RecordedScope::Uncommitted => ReviewScope::Uncommitted,
            RecordedScope::StandardInput => ReviewScope::Patch(PatchSource::Stdin),
            RecordedScope::Patch(path) if path.is_empty() => return None,
            RecordedScope::Patch(path) => ReviewScope::Patch(PatchSource::File(PathBuf::from(path))),
            RecordedScope::Pull(name) => ReviewScope::Pull(name.parse::<PullSpecifier>().ok()?),
        };
        Some(ReviewRequest {
            directory: directory.map(Path::to_owned).or(kept)?,
            scope,
            settings_from_worktree: self.settings_from_worktree,
        })
    }

    pub(in crate::app) fn trust_level(&self) -> TrustLevel {
        match self.whose {
            RecordedTrust::User => TrustLevel::User,
            RecordedTrust::Target => TrustLevel::Target,
        }
    }

    /// `true` if the change came over standard input.
    pub(in crate::app) fn is_from_stdin(&self) -> bool {
        self.scope == RecordedScope::StandardInput
    }
}

/// Formats it as on the command line.
fn format_pull(ask: &PullSpecifier) -> String {
    match ask {
        PullSpecifier::Number(number) => number.value().to_string(),
        PullSpecifier::Whole { host: None, id } => id.to_string(),
        PullSpecifier::Whole { host: Some(host), id } => format!("https://{host}/{}/pull/{}", id.repo, id.number),
    }
}

/// An absolute path, if it is UTF-8.
fn absolute_utf8(path: &Path) -> Option<String> {
    std::path::absolute(path).ok()?.into_os_string().into_string().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_can_be_asked_again() {
        let text = str::to_owned;
        for scope in [
            ReviewScope::Branch { target: Some(text("main")), head: None },
            ReviewScope::Commit(text("HEAD~1")),
            ReviewScope::Range { from: text("a"), to: text("b"), from_merge_base: true },
            ReviewScope::Staged,
            ReviewScope::Uncommitted,
            ReviewScope::Patch(PatchSource::Stdin),
            ReviewScope::Patch(PatchSource::File(std::path::absolute("a.diff").unwrap())),
            ReviewScope::Pull("o/r#12".parse().unwrap()),
            ReviewScope::Pull("12".parse().unwrap()),
            ReviewScope::Pull("https://h.example/o/r/pull/12".parse().unwrap()),
        ] {
            let request = ReviewRequest { directory: PathBuf::from("."), scope, settings_from_worktree: true };
            let flags = Flags { max_tokens: Some(text("9k")), instructions: Some("b.md".into()), ..Flags::default() };
            let asked = RunRequest::new(&request, &flags, TrustLevel::Target);
            let back: RunRequest = serde_json::from_str(&serde_json::to_string(&asked).unwrap()).unwrap();
            assert_eq!(back, asked);
            let again = back.request(None).unwrap();
            assert_eq!((&again.scope, again.settings_from_worktree), (&request.scope, true));
            assert!(again.directory.is_absolute());
            assert_eq!(back.request(Some(Path::new("/else"))).unwrap().directory, Path::new("/else"));
            assert_eq!((back.trust_level(), &back.flags), (TrustLevel::Target, &flags));
        }
    }
}
