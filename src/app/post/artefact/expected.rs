//! Matches an artefact with its pull request: the expected run, the claim, and the forge's current state. Main types: [`ExpectedArtefact`].

use std::path::Path;

use super::claims::sanitize;
use super::error::ArtefactError;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::prepare::pull;
use crate::domain::forge::{PullId, PullNumber, PullRequest, PullSpecifier, PullState, RepoName};
use crate::domain::id::CommitId;
use crate::domain::review::Review;
use crate::sys::cancel::Cancel;
use crate::sys::files;

/// The trusted facts about the run that made an artefact: from the event that started this run, not from the artefact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedArtefact {
    /// The repository to post in.
    pub repository: RepoName,
    /// The commit of the run.
    pub head: CommitId,
    /// The repository that the commit was pushed to: the fork; `None` if unknown.
    pub head_repository: Option<RepoName>,
    /// The number of the pull request. If unknown, the artefact's is used, but accepted only if its head is `head`.
    pub pull: Option<u32>,
}

/// Builds the expectation from the options of a person who posts an artefact by hand: a pull request, a commit, or both. For a pull request
/// alone, its current head is used. A number alone is of the current repository, which must not have come with the artefact.
pub async fn expected_artefact(
    artefact: &Path,
    ask: Option<&PullSpecifier>,
    head: Option<CommitId>,
    directory: &Path,
    around: &ProcessEnv,
    cancel: &Cancel,
) -> Result<ExpectedArtefact, AppError> {
    if ask.is_none() && head.is_none() {
        return Err(ArtefactError::NoHead.into());
    }
    let github = pull::sign_in(around, cancel).await?;
    let (repository, number) = match ask {
        Some(PullSpecifier::Whole { id, .. }) => (id.repo.clone(), Some(id.number)),
        other => {
            let (repo, name) = pull::repository_of(directory, &github, cancel).await?;
            let (inside, folder) = (files::real_path(repo.git_dir()), files::real_path(artefact));
            if inside.ok().zip(folder.ok()).is_some_and(|(inside, folder)| inside.starts_with(folder)) {
                return Err(ArtefactError::InArtefact.into());
            }
            (name, other.and_then(|ask| if let PullSpecifier::Number(number) = ask { Some(*number) } else { None }))
        }
    };
    let head = match (head, number) {
        (Some(head), _) => head,
        (None, Some(number)) => github.within(cancel).pull(&PullId { repo: repository.clone(), number }).await?.head,
        (None, None) => return Err(ArtefactError::NoHead.into()),
    };
    Ok(ExpectedArtefact { repository, head, head_repository: None, pull: number.map(PullNumber::value) })
}

/// Determines the pull request, if the artefact's claims match the expectation. `server` is the forge posted to.
pub(super) fn match_pull(claimed: &Review, expected: &ExpectedArtefact, server: &str) -> Result<PullId, ArtefactError> {
    let change = &claimed.change;
    if change.head != Some(expected.head) {
        let named = change.head.map_or_else(|| "no commit".to_owned(), |head| head.to_string());
        return Err(ArtefactError::OtherHead { named, expected: expected.head });
    }
    let given = expected.pull.map(|number| PullNumber::new(number.into()).ok_or(ArtefactError::NoPull)).transpose()?;
    if let Some(of) = &change.pull {
        let other = |why: String| Err(ArtefactError::OtherPull { why });
        if !of.server.trim_end_matches('/').eq_ignore_ascii_case(server) {
            return other(format!(
                "the artefact is of a pull request on {}, and this is {server}",
                sanitize(&of.server)
            ));
        }
        if !of.id.repo.is(&expected.repository) || given.is_some_and(|number| number != of.id.number) {
            let meant = given
                .map_or_else(|| expected.repository.to_string(), |number| format!("{}#{number}", expected.repository));
            return other(format!("the artefact is a review of {}, and {meant} was expected", of.id));
        }
    }
    let number = given.or_else(|| change.pull.as_ref().map(|of| of.id.number)).ok_or(ArtefactError::NoPull)?;
    Ok(PullId { repo: expected.repository.clone(), number })
}

/// Checks that the pull request on the forge is the expected one.
pub(super) fn check_pull(pull: &PullRequest, expected: &ExpectedArtefact) -> Result<(), ArtefactError> {
    let other = |why: String| Err(ArtefactError::OtherPull { why });
    if !pull.id.repo.is(&expected.repository) {
        return other(format!("{} is not of {}", pull.id, expected.repository));
    }
    if let Some(fork) = &expected.head_repository
        && !pull.head_repo.as_ref().is_some_and(|repo| repo.is(fork))
    {
        let comes = pull.head_repo.as_ref().map_or_else(|| "a repository that is gone".to_owned(), ToString::to_string);
        return other(format!("{} comes from {comes}, but the run that made the artefact was of {fork}", pull.id));
    }
    if pull.state != PullState::Open {
        return Err(ArtefactError::Closed { pull: pull.id.clone(), state: pull.state });
    }
    if pull.head != expected.head {
        return Err(ArtefactError::Superseded { pull: pull.id.clone(), reviewed: expected.head, now: pull.head });
    }
    Ok(())
}
