//! Resolves the pull request or repository that a client names. Main type: [`NamedPull`].

use super::Service;
use super::fault::PullFault;
use crate::app::service::readers::LONGEST;
use crate::domain::forge::{PullId, PullSpecifier, RepoName};
use crate::git;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

/// A client's name for a pull request. Omitted parts default to the repository of the server's folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedPull {
    /// The owner of the repository.
    pub owner: Option<String>,
    /// Its name on the forge; `owner/name` too.
    pub repo: Option<String>,
    /// Its number, `owner/name#12`, or the address of its page.
    pub pr: Option<String>,
}

/// Help on naming a pull request.
const HOW: &str = "give owner, repo and pr, or pr as owner/repo#number or as the address of its page";

impl Service {
    /// Resolves the named pull request.
    pub async fn resolve_pull(&self, named: &NamedPull) -> Result<PullId, PullFault> {
        self.check_forge_access()?;
        let text = named.pr.as_deref().unwrap_or_default().trim();
        if text.is_empty() {
            return Err(PullFault::input("it is not said which pull request is meant", HOW));
        }
        let ask: PullSpecifier = text.parse().map_err(|fault| PullFault::input(format!("`pr`: {fault}"), HOW))?;
        match ask {
            PullSpecifier::Number(number) => Ok(PullId { repo: self.resolve_repo(named).await?, number }),
            PullSpecifier::Whole { host, id } => {
                if let Some(host) = host {
                    self.is_our_forge(&host)?;
                }
                let other = combine(named)?.is_some_and(|repo| !repo.is(&id.repo));
                let other = other
                    || named.owner.as_ref().is_some_and(|owner| !owner.trim().eq_ignore_ascii_case(id.repo.owner()));
                if other {
                    return Err(PullFault::input(
                        format!("`owner` and `repo` name another repository than {text:?}"),
                        HOW,
                    ));
                }
                Ok(id)
            }
        }
    }

    /// Resolves the named repository.
    pub async fn resolve_repo(&self, named: &NamedPull) -> Result<RepoName, PullFault> {
        self.check_forge_access()?;
        if let Some(repo) = combine(named)? {
            return Ok(repo);
        }
        if named.owner.as_ref().is_some_and(|owner| !owner.trim().is_empty()) {
            return Err(PullFault::input("`owner` needs `repo`", HOW));
        }
        let own = self.own_repo().await?;
        match &named.repo {
            // The name alone implies the same owner.
            Some(name) => {
                RepoName::new(own.owner(), name.trim()).map_err(|fault| PullFault::input(fault.to_string(), HOW))
            }
            None => Ok(own),
        }
    }
}

/// Combines `owner` and `repo`, if given.
fn combine(named: &NamedPull) -> Result<Option<RepoName>, PullFault> {
    let text =
        |given: &Option<String>| given.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let whole = match (text(&named.owner), text(&named.repo)) {
        (_, Some(repo)) if repo.contains('/') => repo,
        (Some(owner), Some(repo)) => format!("{owner}/{repo}"),
        (Some(_) | None, None) | (None, Some(_)) => return Ok(None),
    };
    whole.parse().map(Some).map_err(|_| PullFault::input(format!("{whole:?} names no repository of a forge"), HOW))
}

impl Service {
    /// Refuses a page of another forge than the configured one.
    fn is_our_forge(&self, host: &str) -> Result<(), PullFault> {
        let ours = git::host_of(&self.around.forge.server()?.to_string());
        if ours.eq_ignore_ascii_case(host) {
            return Ok(());
        }
        let message = format!("this server asks {ours}, and the address is of {host}");
        Err(PullFault::input(message, "start the server with GITHUB_SERVER_URL and GITHUB_API_URL of that forge"))
    }

    /// Determines the forge's repository that the server's own folder is a clone of.
    async fn own_repo(&self) -> Result<RepoName, PullFault> {
        let server = self.around.forge.server()?.to_string();
        let start = self.roots().start().to_owned();
        let work = move || {
            let repo = Repo::open(&start).map_err(|error| error.to_string())?;
            git::repository_of(&git::remotes(&repo), &server).map_err(|error| error.to_string())
        };
        let found = self.workers.run("reading the remotes", &Cancel::after(LONGEST), work).await;
        let found = found.unwrap_or_else(|lost| Err(lost.to_string()));
        found.map_err(|why| {
            PullFault::input(
                format!("`owner` and `repo` are left out, and the server's own folder names none: {why}"),
                HOW,
            )
        })
    }
}
