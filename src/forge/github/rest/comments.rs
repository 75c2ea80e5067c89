//! Comments on a pull request as a whole, which GitHub keeps with its issues.

use http::Method;
use serde_json::json;

use super::super::{GitHub, wire};
use super::RestCall;
use super::reviews::accept_unreadable;
use crate::domain::forge::{Comment, PullId, RepoName};
use crate::forge::error::ForgeError;

impl GitHub {
    /// Comments on a pull request as a whole.
    pub async fn create_comment(&self, id: &PullId, body: &str) -> Result<Comment, ForgeError> {
        let number = id.number.to_string();
        let body = json!({ "body": body });
        let parts = ["issues", &number, "comments"];
        let answer = self.send_call(RestCall::post_request(Method::POST, &id.repo, &parts, Some(&body))).await?;
        let posted: wire::PostedComment = self.read(&answer).map_err(accept_unreadable)?;
        Ok(posted.comment(true))
    }

    /// Gives such a comment another text. Whose it is was decided by whoever asks: GitHub lets some edit the texts of others.
    pub async fn update_comment(&self, repo: &RepoName, number: u64, body: &str) -> Result<Comment, ForgeError> {
        let number = number.to_string();
        let body = json!({ "body": body });
        let parts = ["issues", "comments", &number];
        let answer = self.send_call(RestCall::post_request(Method::PATCH, repo, &parts, Some(&body))).await?;
        let posted: wire::PostedComment = self.read(&answer).map_err(accept_unreadable)?;
        Ok(posted.comment(true))
    }
}
