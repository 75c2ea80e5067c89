//! Resolves a pull request by number, name or page address and fetches its commits. Main function: [`fetch`].

use crate::app::context::settings;
use std::path::{Path, PathBuf};

use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::config::Flags;
use crate::domain::event::{Event, EventSink};
use crate::domain::forge::{PullId, PullRequest, PullSpecifier, RepoName, ReviewedPull};
use crate::domain::id::CommitId;
use crate::domain::request::{ReviewRequest, ReviewScope};
use crate::domain::text::{mask, shorten, strip_line};
use crate::forge::GitHub;
use crate::git::{self, FetchBase, FetchError, FetchJob, FetchedCommits, RepositoryPlace};
use crate::sys::blocking;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

/// A pull request whose commits are in a local repository.
#[derive(Debug, Clone)]
pub struct FetchedPull {
    /// The repository with the commits, or a mirror.
    pub directory: PathBuf,
    /// The base of the comparison.
    pub base: CommitId,
    /// Its head.
    pub head: CommitId,
    /// The pull request as the forge describes it.
    pub pull: PullRequest,
    /// The part of it that a review stores.
    pub of: ReviewedPull,
    /// Notes on unexpected choices, one sentence each.
    pub notices: Vec<String>,
}

/// The name of the sign-in step, as the subject of a sentence.
pub(in crate::app) const SIGNING_IN: &str = "signing in to the forge";
/// The step that finds the repository for a pull request's commits.
const LOOKING: &str = "looking at the repository";
/// The name of the fetch step.
const FETCHING: &str = "fetching the commits";

/// Returns the client of the forge. `gh` may be called for its token.
pub(in crate::app) async fn sign_in(around: &ProcessEnv, cancel: &Cancel) -> Result<GitHub, AppError> {
    let (forge, limit) = (around.forge.clone(), cancel.clone());
    Ok(blocking::run(SIGNING_IN, cancel, move || forge.client(&limit)).await??)
}

/// Fetches the pull request of a request, if it names one.
pub(in crate::app) async fn resolve_request(
    request: &ReviewRequest,
    flags: &Flags,
    around: &ProcessEnv,
    events: &dyn EventSink,
    cancel: &Cancel,
) -> Result<Option<FetchedPull>, AppError> {
    let ReviewScope::Pull(ask) = &request.scope else { return Ok(None) };
    let cancel = cancel.with_deadline(settings::resolve(None, flags, around)?.settings.timeout);
    let github = sign_in(around, &cancel).await?;
    let (id, place) = found(ask, &request.directory, &github, &cancel).await?;
    events.emit(Event::Notice { text: format!("fetching {id}") });
    let fetched = bring(&id, place, &github, around, &cancel).await?;
    for text in &fetched.notices {
        events.emit(Event::Notice { text: text.clone() });
    }
    Ok(Some(fetched))
}

/// Looks up a pull request on the forge and fetches its commits: into the repository around `directory` if one of its remotes is the pull
/// request's repository, else into a mirror.
pub async fn fetch(
    ask: &PullSpecifier,
    directory: &Path,
    github: &GitHub,
    around: &ProcessEnv,
    cancel: &Cancel,
) -> Result<FetchedPull, AppError> {
    let (id, place) = found(ask, directory, github, cancel).await?;
    bring(&id, place, github, around, cancel).await
}

/// Fetches a pull request by its full name, always into a mirror: no local repository is used.
pub(in crate::app) async fn fetch_apart(
    id: &PullId,
    github: &GitHub,
    around: &ProcessEnv,
    cancel: &Cancel,
) -> Result<FetchedPull, AppError> {
    bring(id, RepositoryPlace::Mirror, github, around, cancel).await
}

/// Determines the forge's repository that the one in `directory` is a clone of, by its remotes.
pub(in crate::app) async fn repository_of(
    directory: &Path,
    github: &GitHub,
    cancel: &Cancel,
) -> Result<(Repo, RepoName), AppError> {
    let (directory, server) = (directory.to_owned(), server(github));
    let work = move || -> Result<_, FetchError> {
        let repo = Repo::open(&directory).map_err(FetchError::Nowhere)?;
        let name = git::repository_of(&git::remotes(&repo), &server)?;
        Ok((repo, name))
    };
    Ok(blocking::run(LOOKING, cancel, work).await??)
}

async fn bring(
    id: &PullId,
    place: RepositoryPlace,
    github: &GitHub,
    around: &ProcessEnv,
    cancel: &Cancel,
) -> Result<FetchedPull, AppError> {
    let github = github.within(cancel).about(&id.repo);
    let server = server(&github);
    let pull = github.pull(id).await?;
    let job = job(&id.repo, place, &github, around).await?;
    let (pull, commits) = match commits(&job, &pull, cancel).await {
        // The branch was pushed between the two requests.
        Err(AppError::Fetch(FetchError::HeadMoved { .. } | FetchError::NoCommit { what: "head", .. })) => {
            let again = github.pull(id).await?;
            let commits = commits(&job, &again, cancel).await?;
            (again, commits)
        }
        ended => (pull, ended?),
    };
    let FetchedCommits { directory, base, head, notices } = commits;
    let of = ReviewedPull {
        id: pull.id.clone(),
        server,
        title: shorten(&strip_line(&mask(&pull.title).text), LONGEST_TITLE),
        body: mask(&pull.body).text,
        author: pull.author.as_ref().map(|author| strip_line(&author.login)),
    };
    Ok(FetchedPull { directory, base, head, pull, of, notices })
}

async fn job(
    repo: &RepoName,
    place: RepositoryPlace,
    github: &GitHub,
    around: &ProcessEnv,
) -> Result<FetchJob, AppError> {
    Ok(FetchJob {
        place,
        mirrors: around.forge.mirrors(&around.state),
        address: github.git_address(repo).reveal().to_owned(),
        server: server(github),
        authorization: github.git_secret().await?,
        environment: around.forge.programs().clone(),
    })
}

/// Fetches two commits of a repository: into the one around `directory` if one of its remotes is that repository, else into a mirror.
pub(in crate::app) async fn fetch_commits(
    repo: &RepoName,
    base: &FetchBase,
    head: CommitId,
    directory: &Path,
    github: &GitHub,
    around: &ProcessEnv,
    cancel: &Cancel,
) -> Result<FetchedCommits, AppError> {
    let github = github.within(cancel).about(repo);
    let (directory, name, server) = (directory.to_owned(), repo.clone(), server(&github));
    let work =
        move || Repo::open(&directory).map_or(RepositoryPlace::Mirror, |here| git::find_local(&here, &name, &server));
    let place = blocking::run(LOOKING, cancel, work).await?;
    let job = job(repo, place, &github, around).await?;
    let (repo, base, watched) = (repo.clone(), base.clone(), cancel.clone());
    let work = move || git::fetch_commits(&job, &repo, &base, head, &watched);
    Ok(blocking::run(FETCHING, cancel, work).await??)
}

/// Maximum length of a title; GitHub's own limit.
const LONGEST_TITLE: usize = 256;

async fn commits(job: &FetchJob, pull: &PullRequest, cancel: &Cancel) -> Result<FetchedCommits, AppError> {
    let (job, pull, watched) = (job.clone(), pull.clone(), cancel.clone());
    Ok(blocking::run(FETCHING, cancel, move || git::fetch(&job, &pull, &watched)).await??)
}

fn server(github: &GitHub) -> String {
    github.server().reveal().trim_end_matches('/').to_owned()
}

/// Determines the pull request and the repository for its objects.
async fn found(
    ask: &PullSpecifier,
    directory: &Path,
    github: &GitHub,
    cancel: &Cancel,
) -> Result<(PullId, RepositoryPlace), AppError> {
    let (ask, directory, server) = (ask.clone(), directory.to_owned(), server(github));
    Ok(blocking::run(LOOKING, cancel, move || found_on(&ask, &directory, &server)).await??)
}

fn found_on(ask: &PullSpecifier, directory: &Path, server: &str) -> Result<(PullId, RepositoryPlace), FetchError> {
    match ask {
        PullSpecifier::Number(number) => {
            let repo = Repo::open(directory).map_err(FetchError::Nowhere)?;
            let name = git::repository_of(&git::remotes(&repo), server)?;
            let place = git::find_local(&repo, &name, server);
            Ok((PullId { repo: name, number: *number }, place))
        }
        PullSpecifier::Whole { host, id } => {
            let ours = git::host_of(server);
            if let Some(host) = host.as_ref().filter(|host| git::host_of(&format!("https://{host}")) != ours) {
                // An address locates a page; it must not decide which server receives a token.
                return Err(FetchError::OtherServer { host: strip_line(host), server: ours });
            }
            // A repository that cannot be opened is no destination.
            let place =
                Repo::open(directory).map_or(RepositoryPlace::Mirror, |repo| git::find_local(&repo, &id.repo, server));
            Ok((id.clone(), place))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_another_server_is_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        let found = |text: &str| found_on(&text.parse().unwrap(), folder.path(), "https://github.com");
        let fault = found("https://evil.example/o/r/pull/1").unwrap_err().to_string();
        assert!(fault.contains("evil.example") && fault.contains("GITHUB_SERVER_URL"), "{fault}");
        assert!(found("https://github.com:8443/o/r/pull/1").is_err());
        for text in ["https://github.com/o/r/pull/1", "https://GitHub.com:443/o/r/pull/1", "o/r#1"] {
            let (id, place) = found(text).unwrap();
            assert_eq!((id.to_string().as_str(), place), ("o/r#1", RepositoryPlace::Mirror), "{text}");
        }
        let fault = found("1").unwrap_err().to_string();
        assert!(fault.contains("owner/repository#number"), "{fault}");
    }
}
