//! Authentication: the headers that carry a token, and how an App gets one. Main type: [`ForgeIdentity`].
//!
//! An App signs a short-lived token of its own with its key, and asks with it for a token of one of its installations (GitHub's pages on
//! authenticating as an App). That one lives an hour and is kept for most of it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Method};
use serde_json::json;

use super::request::{ForgeRequest, GitHubApi, RequestEffect};
use super::types::Login;
use super::{GitHub, wire};
use crate::domain::forge::RepoName;
use crate::domain::secret::Secret;
use crate::forge::error::{FaultKind, ForgeError};
use crate::sys::app_key::AppKey;
use crate::sys::clock;
use crate::sys::http::ServerAddress;

/// An installation's token lives for an hour, where nothing else is said.
const KEPT: Duration = Duration::from_mins(50);
/// A token that ends sooner than this may end on its way.
const SPARE: Duration = Duration::from_mins(1);

/// Our identity.
pub(super) enum ForgeIdentity {
    None,
    Token(Secret),
    App(Box<GitHubApp>),
}

/// An App. What it was given is kept: tokens by installation, and the installations of repositories.
pub(super) struct GitHubApp {
    id: u64,
    key: AppKey,
    installation: Option<u64>,
    /// Each with the time until which it is used.
    tokens: Mutex<HashMap<u64, (Secret, Instant)>>,
    installations: Mutex<HashMap<String, u64>>,
}

impl GitHubApp {
    /// Returns a token of the App itself. GitHub takes those that live for at most ten minutes; its clock may be a little behind ours.
    fn sign_in(&self) -> Option<String> {
        let now = clock::unix_seconds();
        self.key.sign(&json!({ "iss": self.id, "iat": now.saturating_sub(60), "exp": now.saturating_add(540) }))
    }
}

/// Without any secret.
impl fmt::Debug for ForgeIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("Nobody"),
            Self::Token(_) => f.write_str("Token(…)"),
            Self::App(app) => write!(f, "App({})", app.id),
        }
    }
}

impl ForgeIdentity {
    pub(super) fn new(login: Login) -> Result<Self, ForgeError> {
        let unfit = |what: &str| {
            ForgeError::new(
                FaultKind::Auth,
                format!("Authentication failed: {what} cannot be used as it is"),
                "copy it again, whole and without line breaks inside",
            )
        };
        match login {
            Login::None => Ok(Self::None),
            Login::Token(token) => {
                let token = token.trimmed();
                let fits = !token.reveal().is_empty() && token.reveal().bytes().all(|byte| byte.is_ascii_graphic());
                if fits { Ok(Self::Token(token)) } else { Err(unfit("the token")) }
            }
            Login::App { id, key, installation } => {
                // Variables often hold the key with its line ends written out.
                let pem = key.reveal().trim().replace("\\n", "\n");
                let key = AppKey::from_pem(&pem).ok_or_else(|| unfit("the App's private key (PEM, RSA)"))?;
                let (tokens, installations) = (Mutex::default(), Mutex::default());
                Ok(Self::App(Box::new(GitHubApp { id, key, installation, tokens, installations })))
            }
        }
    }
}

/// The texts that no message may hold.
pub(super) fn secrets(login: &Login) -> Vec<Secret> {
    match login {
        Login::None => Vec::new(),
        Login::Token(token) => vec![token.trimmed()],
        Login::App { key, .. } => vec![key.clone()],
    }
}

/// Checks whether a login may be sent to an address: never unencrypted, but to this machine.
pub(super) fn may_send_login(login: &Login, address: &ServerAddress) -> Result<(), ForgeError> {
    let url = address.reveal();
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest).split('/').next().unwrap_or_default();
    if authority.contains('@') {
        let message = format!("the address {address} holds a name or a password, which is not used here");
        return Err(ForgeError::new(FaultKind::Auth, message, "take it out, and set GITHUB_TOKEN"));
    }
    if matches!(login, Login::None) || address.is_encrypted() || address.is_this_machine() {
        return Ok(());
    }
    let message = format!("Authentication failed: no token is sent to {address} without encryption");
    Err(ForgeError::new(FaultKind::Auth, message, "use an address that begins with https://"))
}

/// Returns the authorization header for git's server.
pub(super) fn for_git(token: &Secret) -> Secret {
    Secret::new(format!("basic {}", STANDARD.encode(format!("x-access-token:{}", token.reveal()))))
}

fn bearer(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl GitHub {
    /// The header that says who we are, for a repository where the login depends on it.
    pub(super) async fn login(&self, repo: Option<&RepoName>) -> Result<Option<HeaderValue>, ForgeError> {
        let Some(token) = self.token(repo).await? else { return Ok(None) };
        bearer(token.reveal())
            .map(Some)
            .ok_or_else(|| self.shared.blame.unreadable(None, "the token that it gave is none"))
    }

    /// The token itself.
    pub(super) async fn token(&self, repo: Option<&RepoName>) -> Result<Option<Secret>, ForgeError> {
        match &self.shared.identity {
            ForgeIdentity::None => Ok(None),
            ForgeIdentity::Token(token) => Ok(Some(token.clone())),
            ForgeIdentity::App(app) => {
                let installation = self.installation(app, repo.or(self.repo.as_ref())).await?;
                self.installation_token(app, installation).await.map(Some)
            }
        }
    }

    /// Returns the secrets that must not be in any outgoing text: those of the login, whatever their source, and the tokens that an App obtained with it so far.
    pub fn secrets(&self) -> Vec<Secret> {
        let mut secrets = self.shared.blame.secrets().to_vec();
        if let ForgeIdentity::App(app) = &self.shared.identity {
            let given = app.tokens.lock().unwrap_or_else(PoisonError::into_inner);
            secrets.extend(given.values().map(|(token, _)| token.clone()));
        }
        secrets
    }

    /// The App's own name, where we are one.
    pub(super) async fn app_slug(&self) -> Result<Option<String>, ForgeError> {
        let ForgeIdentity::App(app) = &self.shared.identity else { return Ok(None) };
        let about: wire::AppAbout = self.as_app(app, Method::GET, &["app"]).await?;
        Ok(Some(about.slug))
    }

    /// Gets new tokens for the next requests, where tokens are got at all.
    pub(super) fn forget_tokens(&self) {
        if let ForgeIdentity::App(app) = &self.shared.identity {
            app.tokens.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Returns the installation of the App for a repository.
    async fn installation(&self, app: &GitHubApp, repo: Option<&RepoName>) -> Result<u64, ForgeError> {
        if let Some(installation) = app.installation {
            return Ok(installation);
        }
        let key = repo.map(|repo| repo.owner().to_ascii_lowercase());
        {
            let known = app.installations.lock().unwrap_or_else(PoisonError::into_inner);
            let found = match &key {
                Some(key) => known.get(key),
                // Not for a certain repository: the one that was used, if there is but one.
                None => known.values().next().filter(|_| known.len() == 1),
            };
            if let Some(found) = found {
                return Ok(*found);
            }
        }
        let found = match repo {
            Some(repo) => {
                let parts = ["repos", repo.owner(), repo.name(), "installation"];
                self.as_app::<wire::Installation>(app, Method::GET, &parts).await?.id
            }
            None => {
                let all: Vec<wire::Installation> = self.as_app(app, Method::GET, &["app", "installations"]).await?;
                match all.as_slice() {
                    [only] => only.id,
                    _ => {
                        return Err(ForgeError::new(
                            FaultKind::Auth,
                            format!("Authentication failed: the App has {} installations", all.len()),
                            "name one in GITHUB_APP_INSTALLATION_ID",
                        ));
                    }
                }
            }
        };
        if let Some(key) = key {
            app.installations.lock().unwrap_or_else(PoisonError::into_inner).insert(key, found);
        }
        Ok(found)
    }

    async fn installation_token(&self, app: &GitHubApp, installation: u64) -> Result<Secret, ForgeError> {
        {
            let known = app.tokens.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((token, _)) = known.get(&installation).filter(|(_, until)| Instant::now() < *until) {
                return Ok(token.clone());
            }
        }
        let number = installation.to_string();
        let parts = ["app", "installations", &number, "access_tokens"];
        let token: wire::InstallationToken = self.as_app(app, Method::POST, &parts).await?;
        let lives = token.expires_at.as_deref().and_then(clock::until_rfc3339).map(|left| left.saturating_sub(SPARE));
        let token = Secret::new(token.token);
        let until = Instant::now() + lives.map_or(KEPT, |lives| lives.min(KEPT));
        app.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(installation, (token.clone(), until));
        Ok(token)
    }

    /// Asks as the App itself.
    async fn as_app<T: serde::de::DeserializeOwned>(
        &self,
        app: &GitHubApp,
        method: Method,
        parts: &[&str],
    ) -> Result<T, ForgeError> {
        let login = app.sign_in().and_then(|token| bearer(&token)).ok_or_else(|| {
            let message = "Authentication failed: nothing can be signed with the App's private key";
            ForgeError::new(FaultKind::Auth, message, "download a new one from the App's settings")
        })?;
        let ask = ForgeRequest {
            api: GitHubApi::Rest,
            // A second token does no harm.
            effect: if method == Method::GET { RequestEffect::Reads } else { RequestEffect::Sets },
            method,
            address: self.shared.rest.base.join(parts).reveal().to_owned(),
            body: None,
            tag: None,
            login: Some(login),
        };
        let answer = self.send(&ask).await?;
        self.read(&answer)
    }
}
