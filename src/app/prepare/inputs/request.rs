//! The request of a run, stored so that it can be repeated from any folder. Main type: [`RunRequest`].

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::instructions::TrustLevel;
use crate::config::Flags;
use crate::domain::request::{PatchSource, ReviewRequest, ReviewScope};
use crate::domain::text::mask;

/// The request of a run. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app) struct RunRequest {
    /// The folder to find the repository from; `None` if its name is not UTF-8.
    pub(in crate::app) directory: Option<String>,
    scope: ReviewScope,
    /// `true` if the project's settings are read from the working tree.
    pub(in crate::app) settings_from_worktree: bool,
    /// The trust level of an instructions path.
    #[serde(rename = "whose")]
    pub(in crate::app) trust_level: TrustLevel,
    /// The settings from the command line.
    pub(in crate::app) flags: Flags,
    /// `true` if the review is to be compared with none.
    #[serde(default)]
    pub(in crate::app) is_standalone: bool,
}

impl RunRequest {
    pub(in crate::app) fn new(request: &ReviewRequest, flags: &Flags, trust_level: TrustLevel) -> Self {
        let mut flags = flags.clone();
        if trust_level == TrustLevel::User {
            // A resumed run may start in another folder.
            flags.instructions = flags.instructions.map(|path| std::path::absolute(&path).unwrap_or(path));
        }
        let mut scope = request.scope.clone();
        // Masked names lead to the same commits (`Repo::commit`).
        let hide = |name: &mut String| *name = mask(name).text;
        match &mut scope {
            ReviewScope::Branch { target, head } => [target, head].into_iter().flatten().for_each(hide),
            ReviewScope::BranchWithWorktree { target } => target.iter_mut().for_each(hide),
            ReviewScope::Commit(name) => hide(name),
            ReviewScope::Range { from, to, .. } => [from, to].into_iter().for_each(hide),
            ReviewScope::Patch(PatchSource::File(path)) => *path = absolute_utf8(path).unwrap_or_default().into(),
            ReviewScope::Staged
            | ReviewScope::Uncommitted
            | ReviewScope::Patch(PatchSource::Stdin)
            | ReviewScope::Pull(_) => {}
        }
        let settings_from_worktree = request.settings_from_worktree;
        Self {
            directory: absolute_utf8(&request.directory),
            scope,
            settings_from_worktree,
            trust_level,
            flags,
            is_standalone: false,
        }
    }

    /// Rebuilds the request, for the repository around `directory` if another one is named. `None` if the stored data is insufficient.
    pub(in crate::app) fn request(&self, directory: Option<&Path>) -> Option<ReviewRequest> {
        let kept = self.directory.as_ref().map(PathBuf::from);
        if matches!(&self.scope, ReviewScope::Patch(PatchSource::File(path)) if path.as_os_str().is_empty()) {
            return None;
        }
        Some(ReviewRequest {
            directory: directory.map(Path::to_owned).or(kept)?,
            scope: self.scope.clone(),
            settings_from_worktree: self.settings_from_worktree,
        })
    }

    /// `true` if the change came over standard input.
    pub(in crate::app) fn is_from_stdin(&self) -> bool {
        self.scope == ReviewScope::Patch(PatchSource::Stdin)
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
        for (scope, stored) in [
            (
                ReviewScope::Branch { target: Some(text("main")), head: None },
                r#"{"branch":{"target":"main","head":null}}"#,
            ),
            (ReviewScope::Commit(text("HEAD~1")), r#"{"commit":"HEAD~1"}"#),
            (
                ReviewScope::Range { from: text("a"), to: text("b"), from_merge_base: true },
                r#"{"range":{"from":"a","to":"b","from_merge_base":true}}"#,
            ),
            (ReviewScope::Staged, r#""staged""#),
            (ReviewScope::Uncommitted, r#""uncommitted""#),
            (
                ReviewScope::BranchWithWorktree { target: Some(text("main")) },
                r#"{"branch_with_worktree":{"target":"main"}}"#,
            ),
            (ReviewScope::Patch(PatchSource::Stdin), r#""standard_input""#),
            (ReviewScope::Patch(PatchSource::File("/a.diff".into())), r#"{"patch":"/a.diff"}"#),
            (ReviewScope::Pull("o/r#12".parse().unwrap()), r#"{"pull":"o/r#12"}"#),
            (ReviewScope::Pull("12".parse().unwrap()), r#"{"pull":"12"}"#),
            (
                ReviewScope::Pull("https://h.example/o/r/pull/12".parse().unwrap()),
                r#"{"pull":"https://h.example/o/r/pull/12"}"#,
            ),
        ] {
            let request = ReviewRequest { directory: PathBuf::from("."), scope, settings_from_worktree: true };
            let flags = Flags { max_tokens: Some(text("9k")), instructions: Some("b.md".into()), ..Flags::default() };
            let asked = RunRequest::new(&request, &flags, TrustLevel::Target);
            let written = serde_json::to_string(&asked).unwrap();
            assert!(written.contains(&format!(r#""scope":{stored},"#)), "{written}");
            let back: RunRequest = serde_json::from_str(&written).unwrap();
            assert_eq!(back, asked);
            let again = back.request(None).unwrap();
            assert_eq!((&again.scope, again.settings_from_worktree), (&request.scope, true));
            assert!(again.directory.is_absolute());
            assert_eq!(back.request(Some(Path::new("/else"))).unwrap().directory, Path::new("/else"));
            assert_eq!((back.trust_level, &back.flags), (TrustLevel::Target, &flags));
        }
    }
}
