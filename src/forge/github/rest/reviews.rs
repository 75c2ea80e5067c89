//! Reviews that are written, taken back, dismissed.

use http::Method;
use serde_json::json;

use super::super::types::NewReview;
use super::super::{GitHub, wire};
use super::RestCall;
use crate::domain::forge::{PullId, ReviewNote};
use crate::forge::error::{FaultKind, ForgeError};
use crate::sys::clock;

impl GitHub {
    /// Creates a review with its comments: all of them, or none.
    pub async fn create_review(&self, id: &PullId, review: &NewReview) -> Result<ReviewNote, ForgeError> {
        if let Some(comment) = review.comments.iter().find(|comment| !comment.is_sendable()) {
            let message = format!("no comment can be put on {}: its path is not UTF-8", comment.path);
            return Err(ForgeError::new(FaultKind::Refused, message, "say it in the summary"));
        }
        let number = id.number.to_string();
        let body = review.json();
        let parts = ["pulls", &number, "reviews"];
        let answer = self.send_call(RestCall::post_request(Method::POST, &id.repo, &parts, Some(&body))).await?;
        let posted: wire::PostedReview = self.read(&answer).map_err(accept_unreadable)?;
        Ok(posted.note(clock::now()))
    }

    /// Takes back a review that is still pending.
    pub async fn delete_pending(&self, id: &PullId, review: u64) -> Result<(), ForgeError> {
        let (number, review) = (id.number.to_string(), review.to_string());
        let parts = ["pulls", &number, "reviews", &review];
        self.send_call(RestCall::post_request(Method::DELETE, &id.repo, &parts, None)).await.map(drop)
    }

    /// Dismisses a review that asked for changes.
    pub async fn dismiss(&self, id: &PullId, review: u64, message: &str) -> Result<(), ForgeError> {
        let (number, review) = (id.number.to_string(), review.to_string());
        let body = json!({ "message": message, "event": "DISMISS" });
        let parts = ["pulls", &number, "reviews", &review, "dismissals"];
        self.send_call(RestCall::post_request(Method::PUT, &id.repo, &parts, Some(&body))).await.map(drop)
    }
}

/// It was created, though the answer cannot be read.
pub(super) fn accept_unreadable(error: ForgeError) -> ForgeError {
    ForgeError { may_have_happened: true, ..error }
}
