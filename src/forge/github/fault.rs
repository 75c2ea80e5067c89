//! Translation of responses, or of their absence, to a [`ForgeError`] with advice. Main type: [`FaultContext`].

use std::time::Duration;

use serde_json::Value;

use super::graphql::FAILED;
use super::limits::RateLimited;
use super::request::{ForgeResponse, GitHubApi};
use super::wire::GraphError;
use crate::domain::secret::Secret;
use crate::domain::text::{mask, strip_line};
use crate::forge::error::{FaultKind, ForgeError};
use crate::sys::http::RequestFailure;

/// The most characters of the server's words that are shown.
const WORDS: usize = 300;
/// The most characters that are looked at for that.
const LOOKED_AT: usize = 16_384;

/// The host of GitHub's own interfaces.
const PUBLIC: &str = "api.github.com";

/// The permissions that a token needs for all requests made here.
const NEEDS: &str = "it needs the scope repo (classic), or read and write access to pull requests (fine-grained, Apps)";

/// The context of an error message: the origin, and the secrets to leave out.
#[derive(Debug)]
pub(super) struct FaultContext {
    host: String,
    is_app: bool,
    /// The variable or the program that gave the login.
    origin: Option<String>,
    secrets: Vec<Secret>,
}

impl FaultContext {
    pub(super) fn new(host: &str, is_app: bool, secrets: Vec<Secret>) -> Self {
        Self { host: host.to_owned(), is_app, origin: None, secrets }
    }

    pub(super) fn set_origin(&mut self, origin: &str) {
        self.origin = Some(origin.to_owned());
    }

    /// Returns the secrets to leave out.
    pub(super) fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    /// Returns the failure for a request that needs a login.
    pub(super) fn not_logged_in(&self) -> ForgeError {
        ForgeError::new(
            FaultKind::Auth,
            format!("Authentication failed: {} answers this to nobody without a token", self.host),
            "set GITHUB_TOKEN, or log in with `gh auth login`",
        )
    }

    /// Returns the failure for an unsuccessful status.
    pub(super) fn status_error(&self, api: GitHubApi, answer: &ForgeResponse) -> ForgeError {
        let said = self.said(&words(&answer.body));
        let status = answer.status;
        let host = &self.host;
        let (kind, message, action) = match status {
            401 => (FaultKind::Auth, format!("Authentication failed{said}"), self.login_action()),
            403 => (FaultKind::Permission, format!("{host} does not allow this{said}"), self.permission_action(answer)),
            // GraphQL says so of a thing in an answer that is a success, and the interfaces speak JSON.
            404 | 410 if api == GitHubApi::GraphQl || is_page(&answer.body) => {
                (FaultKind::NotFound, format!("{host} has nothing at this address{said}"), wrong_address(api))
            }
            404 | 410 => (FaultKind::NotFound, format!("Resource not found{said}"), self.missing_action()),
            300..=303 | 305..=399 => {
                let to = answer.header("location").and_then(host_of).map(|to| self.clean_message(to));
                let to = to.map_or_else(String::new, |to| format!(" to {to}"));
                let message = format!("{host} redirects{to}, where no request of ours follows");
                let variable = variable(api);
                (FaultKind::Refused, message, format!("see whether {variable} is the address of the server itself"))
            }
            500.. => {
                (FaultKind::Network, format!("{host} failed with status {status}{said}"), self.trouble_action(api))
            }
            _ => {
                let action = if is_page(&answer.body) { wrong_address(api) } else { "see what it says".to_owned() };
                (FaultKind::Refused, format!("{host} refused this with status {status}{said}"), action)
            }
        };
        self.about(answer, ForgeError::new(kind, message, action))
    }

    /// Returns the advice for server errors; a server other than GitHub's own may not be a GitHub server.
    fn trouble_action(&self, api: GitHubApi) -> String {
        if self.host.eq_ignore_ascii_case(PUBLIC) {
            return "try again later; https://www.githubstatus.com says whether others have trouble too".to_owned();
        }
        format!("{}; if it is, try again later", wrong_address(api))
    }

    /// Returns the failure for the errors of a GraphQL response: the worst of them.
    pub(super) fn graphql_error(&self, answer: &ForgeResponse, errors: &[GraphError]) -> ForgeError {
        let said = errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("; ");
        let said = self.said(&said);
        let has = |kinds: &[&str]| errors.iter().any(|error| kinds.contains(&error.kind.as_str()));
        let host = &self.host;
        let (kind, message, action) = if has(&["UNAUTHORIZED", "UNAUTHENTICATED"]) {
            (FaultKind::Auth, format!("Authentication failed{said}"), self.login_action())
        } else if has(&["FORBIDDEN", "INSUFFICIENT_SCOPES"]) {
            (FaultKind::Permission, format!("{host} does not allow this{said}"), self.permission_action(answer))
        } else if has(&["NOT_FOUND"]) {
            (FaultKind::NotFound, format!("Resource not found{said}"), self.missing_action())
        } else if has(&["INTERNAL", "SERVICE_UNAVAILABLE", "TIMEOUT"]) || said.contains(FAILED) {
            (FaultKind::Network, format!("{host} failed{said}"), "try again later".to_owned())
        } else {
            (FaultKind::Refused, format!("{host} refused this{said}"), "see what it says".to_owned())
        };
        self.about(answer, ForgeError::new(kind, message, action))
    }

    /// Returns the failure for too many requests.
    pub(super) fn rate_limited(&self, limited: RateLimited, answer: Option<&ForgeResponse>) -> ForgeError {
        let wait = format_wait(limited.wait);
        let what =
            if limited.is_secondary { "too many requests at once" } else { "all requests of this hour are used up" };
        let action = if self.origin.is_none() && self.secrets.is_empty() {
            format!("wait {wait}; with a token (GITHUB_TOKEN) the limit is far higher")
        } else {
            format!("try again in {wait}")
        };
        let error = ForgeError::new(FaultKind::RateLimit, format!("{} limits requests: {what}", self.host), action);
        let error = ForgeError { retry_after: Some(limited.wait), ..error };
        match answer {
            Some(answer) => self.about(answer, error),
            None => error,
        }
    }

    /// Returns the failure for a missing or incomplete response.
    pub(super) fn no_response(&self, why: &RequestFailure) -> ForgeError {
        ForgeError::new(
            FaultKind::Network,
            format!("{} could not be reached{}", self.host, self.said(&why.message)),
            "see whether this machine reaches it (HTTPS_PROXY, GITHUB_API_URL), and try again",
        )
    }

    /// Returns the failure for an invalid response.
    pub(super) fn unreadable(&self, answer: Option<&ForgeResponse>, why: &str) -> ForgeError {
        let error = ForgeError::new(
            FaultKind::Parse,
            format!("the answer of {} cannot be read{}", self.host, self.said(why)),
            "see whether GITHUB_API_URL and GITHUB_GRAPHQL_URL are the addresses of a GitHub server; if they are, please report this",
        );
        match answer {
            Some(answer) => self.about(answer, error),
            None => error,
        }
    }

    /// Returns the failure for an open circuit breaker.
    pub(super) fn circuit_open(&self, wait: Duration) -> ForgeError {
        let error = ForgeError::new(
            FaultKind::CircuitOpen,
            format!("{} failed several times in a row and is left alone", self.host),
            format!("try again in {}", format_wait(wait)),
        );
        ForgeError { retry_after: Some(wait), ..error }
    }

    fn about(&self, answer: &ForgeResponse, error: ForgeError) -> ForgeError {
        let request_id = answer.header("x-github-request-id").map(|id| self.clean_message(id));
        ForgeError { status: Some(answer.status), request_id, ..error }
    }

    fn login_action(&self) -> String {
        if self.is_app {
            return format!("see whether GITHUB_APP_ID and the private key belong to one App; {NEEDS}");
        }
        match (&self.origin, self.secrets.is_empty()) {
            (Some(origin), _) => format!("{origin} holds no token that is known there (any more): renew it; {NEEDS}"),
            (None, false) => format!("renew the token; {NEEDS}"),
            (None, true) => "set GITHUB_TOKEN, or log in with `gh auth login`".to_owned(),
        }
    }

    fn permission_action(&self, answer: &ForgeResponse) -> String {
        let given = |name| answer.header(name).map(|text| self.clean_message(text)).filter(|text| !text.is_empty());
        let whose = match &self.origin {
            Some(origin) if !self.is_app => format!("the token of {origin}"),
            _ if self.is_app => "the App's installation".to_owned(),
            _ => "the token".to_owned(),
        };
        // `required; url=https://…`
        if let Some(sso) = given("x-github-sso") {
            let page = sso.split_once("url=").map_or_else(String::new, |(_, page)| format!(" at {page}"));
            return format!("authorise {whose} for the organisation (single sign-on){page}");
        }
        if let Some(permissions) = given("x-accepted-github-permissions") {
            return format!("give {whose} the permission {permissions}");
        }
        match (given("x-accepted-oauth-scopes"), given("x-oauth-scopes")) {
            (Some(accepted), Some(has)) => format!("give {whose} one of the scopes {accepted}; it has {has}"),
            _ => format!("see what {whose} may do: {NEEDS}"),
        }
    }

    fn missing_action(&self) -> String {
        if self.secrets.is_empty() {
            "see whether its name is right; if it is private, set GITHUB_TOKEN".to_owned()
        } else {
            "see whether its name is right, and whether the token may see it".to_owned()
        }
    }

    /// The server's words behind a colon, where there are any.
    fn said(&self, words: &str) -> String {
        let words = self.clean_message(words);
        if words.is_empty() { String::new() } else { format!(": {words}") }
    }

    /// One line of at most [`WORDS`] characters with no secret in it.
    pub(super) fn clean_message(&self, text: &str) -> String {
        let mut text: String = text.chars().take(LOOKED_AT).collect();
        for secret in &self.secrets {
            if !secret.reveal().is_empty() {
                text = text.replace(secret.reveal(), "(the token)");
            }
        }
        let line = strip_line(&mask(&text).text).split_whitespace().collect::<Vec<_>>().join(" ");
        if line.chars().count() <= WORDS {
            return line;
        }
        line.chars().take(WORDS - 1).chain(['…']).collect()
    }
}

/// The variable that names an interface.
fn variable(api: GitHubApi) -> &'static str {
    match api {
        GitHubApi::Rest => "GITHUB_API_URL",
        GitHubApi::GraphQl => "GITHUB_GRAPHQL_URL (or GITHUB_API_URL, where that is not set)",
    }
}

fn wrong_address(api: GitHubApi) -> String {
    format!("see whether {} is the address of a GitHub server's interface", variable(api))
}

/// Checks whether a body is a page for people.
fn is_page(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"<")
}

/// Extracts the message from an error's body: `message`, and all of `errors`. A proxy in between has its own shape, or none.
fn words(body: &[u8]) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        let text = || String::from_utf8_lossy(&body[..body.len().min(LOOKED_AT)]).trim().to_owned();
        return if is_page(body) { "a page for people, not for programs".to_owned() } else { text() };
    };
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let mut parts = vec![text(&value, "message")];
    match value.get("errors") {
        Some(Value::Array(errors)) => parts.extend(errors.iter().take(20).map(|error| match error {
            Value::String(error) => error.clone(),
            error if !text(error, "message").is_empty() => text(error, "message"),
            error => {
                let about = ["resource", "field", "code"].map(|name| text(error, name));
                about.iter().filter(|word| !word.is_empty()).cloned().collect::<Vec<_>>().join(" ")
            }
        })),
        Some(Value::String(error)) => parts.push(error.clone()),
        _ => {}
    }
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

/// The host in an address, without credentials.
fn host_of(address: &str) -> Option<&str> {
    let authority = address.split_once("://")?.1.split(['/', '?', '#']).next()?;
    authority.rsplit('@').next()
}

/// A wait as people say it, rounded up.
fn format_wait(wait: Duration) -> String {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    match seconds {
        0 | 1 => "a second".to_owned(),
        2..=119 => format!("{seconds} seconds"),
        _ => format!("{} minutes", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(host: &str, api: GitHubApi, status: u16, body: &str) -> ForgeError {
        let answer = ForgeResponse { status, headers: http::HeaderMap::new(), body: body.as_bytes().to_vec() };
        FaultContext::new(host, false, Vec::new()).status_error(api, &answer)
    }

    #[test]
    fn a_web_page_is_blamed_on_the_address_and_github_status_is_githubs_alone() {
        let page = "\n<!DOCTYPE html><p>Nothing here</p>";
        for (api, variable) in [(GitHubApi::Rest, "GITHUB_API_URL"), (GitHubApi::GraphQl, "GITHUB_GRAPHQL_URL")] {
            for status in [404, 405, 501, 503] {
                let fault = told("forge.example", api, status, page);
                assert!(fault.action.contains(variable) && !fault.action.contains("githubstatus"), "{fault}");
                assert!(fault.message.contains("a page for people"), "{fault}");
            }
        }
        assert!(told(PUBLIC, GitHubApi::Rest, 503, page).action.contains("githubstatus"));
        assert!(!told("forge.example", GitHubApi::Rest, 502, "{}").action.contains("githubstatus"));
    }

    #[test]
    fn a_missing_thing_is_told_from_a_missing_interface() {
        let said = r#"{"message": "Not Found"}"#;
        assert!(told("forge.example", GitHubApi::Rest, 404, said).action.contains("its name is right"));
        let fault = told("forge.example", GitHubApi::GraphQl, 404, said);
        assert_eq!((fault.kind, fault.action.contains("GITHUB_GRAPHQL_URL")), (FaultKind::NotFound, true), "{fault}");
    }
}
