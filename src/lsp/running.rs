//! A review that the client started: its progress and its end. Main type: [`EditorRun`]. Also the notification `review/status`.

use std::sync::Arc;

use gen_lsp_types::{MessageType, ProgressToken, WorkDoneProgressCreateParams};
use serde_json::{Value, json};

use super::client::{AwaitedReply, Client};
use super::folder::EditorFolder;
use super::report;
use crate::app::{ReviewSnapshot, ReviewState, RunningReview, Service};
use crate::domain::review::{ReviewOutcome, StopReason};
use crate::domain::run::RunId;
use crate::domain::text::strip_line;
use crate::present::digest;

/// The title of the progress.
const TITLE: &str = "review";

/// The phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunPhase {
    Running,
    /// It ended with a review.
    Ended,
    /// It ended without one; the client knows.
    Failed,
}

/// A running review of a workspace folder.
pub(super) struct EditorRun {
    /// The URI of its folder.
    pub(super) folder: String,
    pub(super) run: RunId,
    pub(super) service: Arc<Service>,
    /// `true` when the client shows its progress.
    is_shown: bool,
    /// The line and the counts that were reported last.
    reported: (String, u32),
    warned: usize,
}

impl EditorRun {
    /// Follows a review, with a progress display if the client has one.
    pub(super) fn start(client: &mut Client, folder: &EditorFolder, run: RunId) -> Self {
        if client.features.progress {
            let create = WorkDoneProgressCreateParams { token: token(run) };
            client.request("window/workDoneProgress/create", create, AwaitedReply::ProgressCreated(run));
        }
        let service = Arc::clone(&folder.service);
        let reported = (String::new(), u32::MAX);
        let mut this = Self { folder: folder.uri.clone(), run, service, is_shown: false, reported, warned: 0 };
        this.update(client);
        this
    }

    /// Shows the progress, as the client agreed to.
    pub(super) fn show(&mut self, client: &Client) {
        self.is_shown = true;
        self.progress(
            client,
            &json!({ "kind": "begin", "title": TITLE, "cancellable": true, "message": self.reported.0 }),
        );
    }

    /// Stops the review; it ends soon, with its findings so far.
    pub(super) fn cancel(&self) {
        self.service.stop_review(self.run);
    }

    /// Checks whether a token is that of its progress.
    pub(super) fn has_token(&self, token: &Value) -> bool {
        *token == json!(self.run.to_string())
    }

    /// Reports what is new.
    pub(super) fn update(&mut self, client: &Client) -> RunPhase {
        let Some(ReviewSnapshot { state, .. }) = self.service.snapshot(self.run) else { return RunPhase::Ended };
        match &state {
            ReviewState::Running(running) => {
                self.warn(client, &running.warnings);
                let now = (strip_line(&running.line()), running.total());
                if now.1 != self.reported.1 {
                    client.notify("review/status", self.status(running));
                }
                if now != self.reported {
                    self.reported = now;
                    let line = &self.reported.0;
                    self.progress(client, &json!({ "kind": "report", "cancellable": true, "message": line }));
                }
            }
            ReviewState::Ended(ended) => {
                self.warn(client, &ended.warnings);
                let how = if ended.interrupted { "interrupted" } else { ended.outcome.as_str() };
                self.progress(client, &json!({ "kind": "end", "message": how }));
                if let Some(why) = &ended.not_kept {
                    client.show(MessageType::Warning, format!("The review could not be saved: {}", strip_line(why)));
                }
            }
            ReviewState::Failed { message, .. } => {
                let message = strip_line(message);
                self.progress(client, &json!({ "kind": "end", "message": "failed" }));
                client.show(MessageType::Error, format!("The review failed: {message}"));
                let run = self.run.to_string();
                let status = json!({ "state": "failed", "run": run, "message": message, "folder": self.folder });
                client.notify("review/status", with_counts(status, report::no_counts()));
            }
        }
        match state {
            ReviewState::Running(_) => RunPhase::Running,
            ReviewState::Ended(_) => RunPhase::Ended,
            ReviewState::Failed { .. } => RunPhase::Failed,
        }
    }

    fn warn(&mut self, client: &Client, warnings: &[String]) {
        for warning in warnings.iter().skip(self.warned) {
            client.show(MessageType::Warning, strip_line(warning));
        }
        self.warned = self.warned.max(warnings.len());
    }

    fn progress(&self, client: &Client, value: &Value) {
        if self.is_shown {
            client.notify("$/progress", json!({ "token": token(self.run), "value": value }));
        }
    }

    fn status(&self, running: &RunningReview) -> Value {
        let status = json!({
            "state": "running",
            "run": self.run.to_string(),
            "message": strip_line(&running.line()),
            "folder": self.folder,
        });
        with_counts(status, report::counts(&running.findings))
    }
}

fn token(run: RunId) -> ProgressToken {
    ProgressToken::String(run.to_string())
}

fn with_counts(mut status: Value, counts: Value) -> Value {
    status["counts"] = counts;
    status
}

/// Builds the status of a folder without a running review: that of its newest saved one.
pub(super) fn idle_status(folder: &EditorFolder) -> Value {
    let Some(current) = &folder.review else {
        let status = json!({ "state": "idle", "folder": folder.uri });
        return with_counts(status, report::no_counts());
    };
    let review = &current.review;
    // One that the user cancelled before anything was reviewed did not fail.
    let has_failed = review.outcome == ReviewOutcome::Failed && review.ended != StopReason::Interrupted;
    let state = if has_failed { "failed" } else { "idle" };
    let mut status = json!({
        "state": state,
        "run": review.id.to_string(),
        "outcome": review.outcome.as_str(),
        "clean": digest::is_clean(review),
        "folder": folder.uri,
    });
    if let Some(cost) = review.provenance.usage.cost {
        status["costUsd"] = json!(cost.usd());
    }
    if !review.reasons.is_empty() {
        status["message"] = json!(strip_line(&review.reasons.join(" ")));
    }
    with_counts(status, report::counts_of(review))
}
