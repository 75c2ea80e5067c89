//! GitHub over REST and GraphQL. Main type: [`GitHub`].
//!
//! `sys::http` carries the requests, and `sys::app_key` signs in as an App; limits, retries, paging and the shapes of answers are here. Works with Enterprise servers: both addresses are given.
//!
//! | file | says |
//! | --- | --- |
//! | `types` | what goes in and comes out, beside `domain::forge` |
//! | `login` | who we are: the headers that carry a token, Apps |
//! | `send` | one request: deadline, size, tries, redirects |
//! | `limits`, `breaker` | when not to ask |
//! | `fault` | what went wrong, in words that help |
//! | `rest`, `graphql` | what is asked |
//! | `wire` | the shapes of answers |
//! | `poll` | whether anything changed |

mod breaker;
mod fault;
mod graphql;
mod limits;
mod login;
mod poll;
mod request;
mod rest;
mod send;
#[cfg(test)]
mod tests;
mod types;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use crate::domain::forge::RepoName;
use crate::domain::secret::Secret;
use crate::sys::cancel::Cancel;
use crate::sys::http::{Http, ServerAddress};

use super::error::{FaultKind, ForgeError};

pub use types::{GitHubOptions, ListedPull, Login, Marks, NewComment, NewReview, PullFilter, PullPage};

/// The client. Cloning it is cheap; clones share their connections, what is known of the limits, and the breaker.
#[derive(Debug, Clone)]
pub struct GitHub {
    shared: Arc<GitHubShared>,
    cancel: Cancel,
    /// The repository of requests that name none.
    repo: Option<RepoName>,
}

/// The state that clones share.
#[derive(Debug)]
struct GitHubShared {
    rest: ApiClient,
    graphql: ApiClient,
    server: ServerAddress,
    identity: login::ForgeIdentity,
    breaker: breaker::CircuitBreaker,
    limits: limits::ForgeRateLimits,
    first_wait: Duration,
    blame: fault::FaultContext,
}

/// One of the two interfaces: its address, and a client that reaches it.
#[derive(Debug)]
struct ApiClient {
    base: ServerAddress,
    http: Http,
}

impl ApiClient {
    fn new(base: ServerAddress) -> Result<Self, ForgeError> {
        let http = Http::for_server(&base).map_err(|error| {
            ForgeError::new(FaultKind::Network, format!("cannot set up a connection: {error}"), "see the message")
        })?;
        Ok(Self { base, http })
    }

    /// Connects to another address; with the same client if that is on the same server.
    fn for_address(&self, base: ServerAddress) -> Result<Self, ForgeError> {
        let is_same = self.base.host() == base.host() && self.base.is_encrypted() == base.is_encrypted();
        if is_same { Ok(Self { base, http: self.http.clone() }) } else { Self::new(base) }
    }
}

impl GitHub {
    /// A client. Nothing is asked yet.
    pub fn new(options: GitHubOptions) -> Result<Self, ForgeError> {
        let GitHubOptions { api, graphql, server, login, cancel, first_wait } = options;
        for address in [&api, &graphql, &server] {
            login::may_send_login(&login, address)?;
        }
        let secrets = login::secrets(&login);
        let blame = fault::FaultContext::new(api.host(), matches!(login, Login::App { .. }), secrets);
        let identity = login::ForgeIdentity::new(login)?;
        let rest = ApiClient::new(api)?;
        let shared = GitHubShared {
            graphql: rest.for_address(graphql)?,
            rest,
            server,
            identity,
            breaker: breaker::CircuitBreaker::default(),
            limits: limits::ForgeRateLimits::default(),
            first_wait,
            blame,
        };
        Ok(Self { shared: Arc::new(shared), cancel, repo: None })
    }

    /// Returns the same client with another deadline.
    #[must_use]
    pub fn within(&self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self.clone() }
    }

    /// Returns the same client for requests about a repository: an App, which may have several installations, then uses that of the repository
    /// even where a question does not name it (a thread has but an id).
    #[must_use]
    pub fn about(&self, repo: &RepoName) -> Self {
        Self { repo: Some(repo.clone()), ..self.clone() }
    }

    /// Says where the login came from (`GITHUB_TOKEN`), so that a refusal can name it. Before the client is cloned.
    #[must_use]
    pub fn login_source(mut self, origin: &str) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.blame.set_origin(origin);
        }
        self
    }

    /// The address of the pages.
    pub fn server(&self) -> &ServerAddress {
        &self.shared.server
    }

    /// Returns the address of a repository for git.
    pub fn git_address(&self, repo: &RepoName) -> ServerAddress {
        self.shared.server.join(&[repo.owner(), &format!("{}.git", repo.name())])
    }

    /// The value of the `Authorization` header for git, where we are somebody.
    pub async fn git_secret(&self) -> Result<Option<Secret>, ForgeError> {
        Ok(self.token(None).await?.map(|token| login::for_git(&token)))
    }
}
