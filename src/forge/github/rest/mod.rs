//! The REST requests: all writes except those to threads, and the list of files.

mod comments;
mod files;
mod reviews;

use http::Method;
use serde_json::Value;

use super::GitHub;
use super::request::{ForgeRequest, ForgeResponse, GitHubApi, RequestEffect};
use crate::domain::forge::RepoName;
use crate::forge::error::ForgeError;

/// A request to REST, before it is signed.
#[derive(Debug)]
pub(super) struct RestCall<'a> {
    /// The repository that it is about.
    pub(super) repo: &'a RepoName,
    /// The parts of its path below the repository; escaped when they are put together.
    pub(super) parts: &'a [&'a str],
    pub(super) query: &'a str,
    pub(super) method: Method,
    pub(super) body: Option<&'a Value>,
    pub(super) tag: Option<&'a str>,
    pub(super) effect: RequestEffect,
}

impl<'a> RestCall<'a> {
    /// A question.
    pub(super) fn get(repo: &'a RepoName, parts: &'a [&'a str], query: &'a str) -> Self {
        Self { repo, parts, query, method: Method::GET, body: None, tag: None, effect: RequestEffect::Reads }
    }

    /// An order.
    pub(super) fn post_request(
        method: Method,
        repo: &'a RepoName,
        parts: &'a [&'a str],
        body: Option<&'a Value>,
    ) -> Self {
        let effect = if method == Method::POST { RequestEffect::Creates } else { RequestEffect::Sets };
        Self { repo, parts, query: "", method, body, tag: None, effect }
    }
}

impl GitHub {
    /// Signs and sends.
    pub(super) async fn send_call(&self, call: RestCall<'_>) -> Result<ForgeResponse, ForgeError> {
        let login = self.login(Some(call.repo)).await?;
        if login.is_none() && call.effect != RequestEffect::Reads {
            return Err(self.shared.blame.not_logged_in());
        }
        let mut parts = vec!["repos", call.repo.owner(), call.repo.name()];
        parts.extend(call.parts);
        let mut address = self.shared.rest.base.join(&parts).reveal().to_owned();
        if !call.query.is_empty() {
            address.push('?');
            address.push_str(call.query);
        }
        let ask = ForgeRequest {
            api: GitHubApi::Rest,
            method: call.method,
            address,
            body: call.body.map(|body| body.to_string().into_bytes()),
            tag: call.tag.map(str::to_owned),
            login,
            effect: call.effect,
        };
        self.send(&ask).await
    }
}
