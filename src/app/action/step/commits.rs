//! Reviews two commits in a step: those of a merge queue or a push.

use super::reviewing::{ActionStep, StepFiles};
use super::{PostDestination, StepOutcome, StepReview};
use crate::app::action::inputs::PostMode;
use crate::app::context::error::AppError;
use crate::app::prepare::pull::fetch_commits;
use crate::domain::event::Event;
use crate::domain::id::CommitId;
use crate::domain::request::ReviewScope;
use crate::git::{FetchBase, FetchedCommits};

impl ActionStep {
    pub(super) async fn commits(mut self, base: &FetchBase, head: CommitId) -> Result<StepOutcome, AppError> {
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
        let scope = ReviewScope::Range { from: from.to_string(), to: to.to_string(), from_merge_base };
        let StepFiles { delivered, folder, files } = Box::pin(self.review(directory, scope)).await?;
        let posted = match self.inputs.post {
            _ if delivered.interrupted => PostDestination::Nowhere("the run was interrupted".to_owned()),
            PostMode::Auto => PostDestination::Annotations(Some("there is no pull request to post on".to_owned())),
            PostMode::Annotations | PostMode::Review => PostDestination::Annotations(None),
            PostMode::Nowhere => PostDestination::Nowhere("post: none".to_owned()),
        };
        Ok(StepOutcome::Reviewed(StepReview { delivered, posted, receipt: None, folder, files }))
    }
}
