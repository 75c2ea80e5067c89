//! Reviews two commits in a step: those of a merge queue or a push.

use super::reviewing::{Step, Written};
use super::{Did, Made, Where};
use crate::app::action::inputs::PostWish;
use crate::app::error::AppError;
use crate::app::pull::fetch_commits;
use crate::domain::event::Event;
use crate::domain::id::CommitId;
use crate::domain::request::Scope;
use crate::git::{FetchBase, FetchedCommits};

impl Step {
    pub(super) async fn commits(mut self, base: &FetchBase, head: CommitId) -> Result<Did, AppError> {
        self.choose(false)?;
        let github = self.github().await?;
        self.events.emit(Event::Notice { text: format!("fetching {} of {}", head.short(), self.here) });
        let fetched =
            fetch_commits(&self.here, base, head, &self.directory, &github, &self.around, &self.cancel).await?;
        let FetchedCommits { directory, base: from, head: to, notices } = fetched;
        for text in notices {
            self.events.emit(Event::Notice { text });
        }
        // A branch is compared with its merge base; a push with the previous head.
        let from_merge_base = matches!(base, FetchBase::Branch(_));
        let scope = Scope::Range { from: from.to_string(), to: to.to_string(), from_merge_base };
        let Written { delivered, folder, files } = self.review(directory, scope).await?;
        let posted = match self.inputs.post {
            _ if delivered.interrupted => Where::Nowhere("the run was interrupted".to_owned()),
            PostWish::Auto => Where::Annotations(Some("there is no pull request to post on".to_owned())),
            PostWish::Annotations | PostWish::Review => Where::Annotations(None),
            PostWish::Nowhere => Where::Nowhere("post: none".to_owned()),
        };
        Ok(Did::Reviewed(Made { delivered, posted, folder, files }))
    }
}
