//! The GraphQL requests: everything about a conversation, because only GraphQL knows threads, who of us wrote a text, and what is hidden.
//!
//! Main function: `ask`. A partial answer is a failure, but for fields whose absence the rest of the program knows how to read ([`HARMLESS`]).

mod conversation;
mod pages;
mod pulls;
mod queries;

use http::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::GitHub;
use super::request::{ForgeRequest, ForgeResponse, GitHubApi, RequestEffect};
use super::wire::{Envelope, GraphError};
use crate::domain::forge::{PullId, RepoName};
use crate::forge::error::{FaultKind, ForgeError};
pub(super) use pages::Pages;
pub(super) use queries::LOOKS;
use queries::Operation;

/// Fields that a token may not see, or that are gone, without anything being lost: each may be null in the schema, and is optional where it
/// ends up (the repository that was asked stands in for the base's).
const HARMLESS: [&str; 4] = ["baseRepository", "headRepository", "resolvedBy", "reviewDecision"];

/// GraphQL's message for a timeout.
pub(super) const FAILED: &str = "omething went wrong while executing your query";

impl GitHub {
    /// Asks, and reads the data of the answer. `repo` is whose installation speaks, where we are an App.
    pub(super) async fn send_query<T: DeserializeOwned>(
        &self,
        repo: Option<&RepoName>,
        operation: Operation,
        variables: &Value,
    ) -> Result<T, ForgeError> {
        let login = self.login(repo).await?.ok_or_else(|| self.shared.blame.not_logged_in())?;
        let body = json!({ "query": operation.query(), "operationName": operation.name, "variables": variables });
        let ask = ForgeRequest {
            api: GitHubApi::GraphQl,
            method: Method::POST,
            address: self.shared.graphql.base.reveal().to_owned(),
            body: Some(body.to_string().into_bytes()),
            tag: None,
            login: Some(login),
            effect: if operation.is_mutation() { RequestEffect::Sets } else { RequestEffect::Reads },
        };
        let answer = self.send(&ask).await?;
        self.data(&answer)
    }

    /// Checks whether GraphQL failed with status 200 and no data, so that a retry may succeed.
    pub(super) fn failed_inside(&self, answer: &ForgeResponse) -> Option<ForgeError> {
        // Only then is a long answer read a second time.
        memchr::memmem::find(&answer.body, FAILED.as_bytes())?;
        let envelope: Envelope = serde_json::from_slice(&answer.body).ok()?;
        let is_empty = envelope.data.is_none_or(|data| data.is_null());
        let failed = envelope.errors.iter().any(|error| error.message.contains(FAILED));
        (is_empty && failed).then(|| self.shared.blame.graphql_error(answer, &envelope.errors))
    }

    fn data<T: DeserializeOwned>(&self, answer: &ForgeResponse) -> Result<T, ForgeError> {
        let envelope: Envelope = self.read(answer)?;
        let grave: Vec<GraphError> = envelope.errors.into_iter().filter(|error| !is_harmless(error)).collect();
        if !grave.is_empty() {
            return Err(self.shared.blame.graphql_error(answer, &grave));
        }
        let data = envelope.data.unwrap_or_default();
        serde_path_to_error::deserialize(data)
            .map_err(|error| self.shared.blame.unreadable(Some(answer), &error.to_string()))
    }

    /// Reads a JSON document.
    pub(super) fn read<T: DeserializeOwned>(&self, answer: &ForgeResponse) -> Result<T, ForgeError> {
        let mut json = serde_json::Deserializer::from_slice(&answer.body);
        let read = serde_path_to_error::deserialize(&mut json);
        read.map_err(|error| self.shared.blame.unreadable(Some(answer), &error.to_string()))
    }
}

/// Returns the failure for a missing object, which GraphQL reports as null.
pub(super) fn missing_fault(what: &str) -> ForgeError {
    let action = "see whether its name is right, and whether the token may see it";
    ForgeError::new(FaultKind::NotFound, format!("Resource not found: {what}"), action)
}

/// The variables that name a pull request.
pub(super) fn pull_variables(id: &PullId) -> Value {
    json!({ "owner": id.repo.owner(), "name": id.repo.name(), "number": id.number.value() })
}

fn is_harmless(error: &GraphError) -> bool {
    let may = matches!(error.kind.as_str(), "FORBIDDEN" | "NOT_FOUND");
    may && error.path.last().and_then(Value::as_str).is_some_and(|field| HARMLESS.contains(&field))
}
