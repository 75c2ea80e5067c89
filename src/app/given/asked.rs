//! The request of a run, stored so that it can be repeated from any folder. Main type: [`Asked`].

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::app::instructions::Whose;
use crate::config::Flags;
use crate::domain::forge::PullAsk;
use crate::domain::request::{PatchSource, ReviewRequest, Scope};
use crate::domain::text::mask;

/// The request of a run. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app) struct Asked {
    /// The folder to find the repository from; `None` if its name is not UTF-8.
    pub(in crate::app) directory: Option<String>,
    scope: Change,
    /// `true` if the project's settings are read from the working tree.
    pub(in crate::app) settings_from_worktree: bool,
    /// The trust level of an instructions path.
    whose: Word,
    /// The settings from the command line.
    pub(in crate::app) flags: Flags,
}

/// A [`Scope`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Change {
    Branch { target: Option<String>, head: Option<String> },
    Commit(String),
    Range { from: String, to: String, from_merge_base: bool },
    Staged,
    Uncommitted,
    StandardInput,
    Patch(String),
    Pull(String),
}

/// A [`Whose`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    User,
    Target,
}

impl Asked {
    pub(in crate::app) fn new(request: &ReviewRequest, flags: &Flags, whose: Whose) -> Self {
        let mut flags = flags.clone();
        if whose == Whose::User {
            // A resumed run may start in another folder.
            flags.instructions = flags.instructions.map(|path| std::path::absolute(&path).unwrap_or(path));
        }
        // Masked names lead to the same commits (`Repo::commit`).
        let hide = |name: &String| mask(name).text;
        let scope = match &request.scope {
            Scope::Branch { target, head } => {
                Change::Branch { target: target.as_ref().map(hide), head: head.as_ref().map(hide) }
            }
            Scope::Commit(name) => Change::Commit(hide(name)),
            Scope::Range { from, to, from_merge_base } => {
                Change::Range { from: hide(from), to: hide(to), from_merge_base: *from_merge_base }
            }
            Scope::Staged => Change::Staged,
            Scope::Uncommitted => Change::Uncommitted,
            Scope::Patch(PatchSource::Stdin) => Change::StandardInput,
            Scope::Patch(PatchSource::File(path)) => Change::Patch(absolute_utf8(path).unwrap_or_default()),
            Scope::Pull(ask) => Change::Pull(format_pull(ask)),
        };
        Self {
            directory: absolute_utf8(&request.directory),
            scope,
            settings_from_worktree: request.settings_from_worktree,
            whose: match whose {
                Whose::User => Word::User,
                Whose::Target => Word::Target,
            },
            flags,
        }
    }

    /// Rebuilds the request, for the repository around `directory` if another one is named. `None` if the stored data is insufficient.
    pub(in crate::app) fn request(&self, directory: Option<&Path>) -> Option<ReviewRequest> {
        let kept = self.directory.as_ref().map(PathBuf::from);
        let scope = match &self.scope {
            Change::Branch { target, head } => Scope::Branch { target: target.clone(), head: head.clone() },
            Change::Commit(name) => Scope::Commit(name.clone()),
            Change::Range { from, to, from_merge_base } => {
                Scope::Range { from: from.clone(), to: to.clone(), from_merge_base: *from_merge_base }
            }
            Change::Staged => Scope::Staged,
            Change::Uncommitted => Scope::Uncommitted,
            Change::StandardInput => Scope::Patch(PatchSource::Stdin),
            Change::Patch(path) if path.is_empty() => return None,
            Change::Patch(path) => Scope::Patch(PatchSource::File(PathBuf::from(path))),
            Change::Pull(name) => Scope::Pull(name.parse::<PullAsk>().ok()?),
        };
        Some(ReviewRequest {
            directory: directory.map(Path::to_owned).or(kept)?,
            scope,
            settings_from_worktree: self.settings_from_worktree,
        })
    }

    pub(in crate::app) fn whose(&self) -> Whose {
        match self.whose {
            Word::User => Whose::User,
            Word::Target => Whose::Target,
        }
    }

    /// `true` if the change came over standard input.
    pub(in crate::app) fn is_fed(&self) -> bool {
        self.scope == Change::StandardInput
    }
}

/// Formats it as on the command line.
fn format_pull(ask: &PullAsk) -> String {
    match ask {
        PullAsk::Number(number) => number.value().to_string(),
        PullAsk::Whole { host: None, id } => id.to_string(),
        PullAsk::Whole { host: Some(host), id } => format!("https://{host}/{}/pull/{}", id.repo, id.number),
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
            Scope::Branch { target: Some(text("main")), head: None },
            Scope::Commit(text("HEAD~1")),
            Scope::Range { from: text("a"), to: text("b"), from_merge_base: true },
            Scope::Staged,
            Scope::Uncommitted,
            Scope::Patch(PatchSource::Stdin),
            Scope::Patch(PatchSource::File(std::path::absolute("a.diff").unwrap())),
            Scope::Pull("o/r#12".parse().unwrap()),
            Scope::Pull("12".parse().unwrap()),
            Scope::Pull("https://h.example/o/r/pull/12".parse().unwrap()),
        ] {
            let request = ReviewRequest { directory: PathBuf::from("."), scope, settings_from_worktree: true };
            let flags = Flags { max_tokens: Some(text("9k")), instructions: Some("b.md".into()), ..Flags::default() };
            let asked = Asked::new(&request, &flags, Whose::Target);
            let back: Asked = serde_json::from_str(&serde_json::to_string(&asked).unwrap()).unwrap();
            assert_eq!(back, asked);
            let again = back.request(None).unwrap();
            assert_eq!((&again.scope, again.settings_from_worktree), (&request.scope, true));
            assert!(again.directory.is_absolute());
            assert_eq!(back.request(Some(Path::new("/else"))).unwrap().directory, Path::new("/else"));
            assert_eq!((back.whose(), &back.flags), (Whose::Target, &flags));
        }
    }
}
