//! The run's own status: whether it succeeded, and the receipt (§3.20, §3.58). Main function: [`invocation`].
//!
//! A file without results must not be read as a pass if nothing was reviewed: an incomplete or failed review is an execution that did not
//! succeed, with its reasons as errors. Viewers and services show results and no notifications, so a result reports it too
//! (`result::unfinished`).

use serde_json::json;
use serde_sarif::sarif::{Invocation, Message, Notification, ReportingDescriptor, ReportingDescriptorReference};

use super::place::described;
use super::text;
use crate::domain::review::{Review, ReviewOutcome};
use crate::domain::words::words;
use crate::present::digest;

words! {
    /// The topic of a notification. The order is that of the list of descriptors, and a descriptor's name that of the value.
    pub(super) enum NotificationTopic: id {
        Incomplete = "review/incomplete",
        Failed = "review/failed",
        Receipt = "review/receipt",
        Limit = "review/limit",
        Cut = "review/cut",
    }
}

impl NotificationTopic {
    const fn about(self) -> &'static str {
        match self {
            Self::Incomplete => "The review is incomplete: what has no result was perhaps never looked at.",
            Self::Failed => "The review failed: nothing was examined.",
            Self::Receipt => "What was looked at, and what was not.",
            Self::Limit => "A limit of the review was hit.",
            Self::Cut => "This file leaves something out, because it would be refused with it.",
        }
    }

    /// Code scanning requires it of every descriptor.
    const fn help(self) -> &'static str {
        match self {
            Self::Incomplete | Self::Failed => {
                "Read the reasons, remove them and review again; do not take this file for a pass."
            }
            Self::Receipt => "Nothing has to be done.",
            Self::Limit => "Raise the limit, or review a smaller change.",
            Self::Cut => "Read the whole review in another format (json).",
        }
    }

    const fn level(self) -> &'static str {
        match self {
            Self::Incomplete | Self::Failed => "error",
            Self::Limit | Self::Cut => "warning",
            Self::Receipt => "note",
        }
    }
}

/// Returns the descriptors of all notifications.
pub(super) fn descriptors() -> Vec<ReportingDescriptor> {
    NotificationTopic::ALL.iter().copied().map(descriptor).collect()
}

/// Returns the descriptor of a topic.
pub(super) fn descriptor(topic: NotificationTopic) -> ReportingDescriptor {
    let mut descriptor = ReportingDescriptor::builder().id(topic.id()).build();
    descriptor.name = Some(format!("{topic:?}"));
    descriptor.short_description = Some(described(topic.about()));
    descriptor.full_description = Some(described(topic.about()));
    descriptor.help = Some(described(topic.help()));
    descriptor
}

/// Returns the topic for a review that is not complete.
pub(super) const fn unfinished_topic(outcome: ReviewOutcome) -> Option<NotificationTopic> {
    match outcome {
        ReviewOutcome::Complete => None,
        ReviewOutcome::Incomplete => Some(NotificationTopic::Incomplete),
        ReviewOutcome::Failed => Some(NotificationTopic::Failed),
    }
}

/// Builds the invocation, with notes on what the file leaves out.
pub(super) fn invocation(review: &Review, cut: &[String]) -> Invocation {
    let mut invocation = Invocation::builder().execution_successful(review.outcome == ReviewOutcome::Complete).build();
    let started = &review.provenance.started_at;
    invocation.start_time_utc = Some(started.clone()).filter(|time| text::is_time(time));
    let mut notes = Vec::new();
    if let Some(topic) = unfinished_topic(review.outcome) {
        notes.push(notification(topic, &digest::verdict(review)));
        notes.extend(review.reasons.iter().map(|reason| notification(topic, reason)));
    }
    notes.extend(cut.iter().map(|what| notification(NotificationTopic::Cut, what)));
    for row in digest::receipt(review) {
        let topic = if row.label == "limits" { NotificationTopic::Limit } else { NotificationTopic::Receipt };
        notes.push(notification(topic, &format!("{}: {}", row.label, row.render(text::line, text::line))));
    }
    notes.extend(digest::closing(review).iter().map(|what| notification(NotificationTopic::Receipt, what)));
    invocation.tool_execution_notifications = Some(notes);
    invocation
}

fn notification(topic: NotificationTopic, what: &str) -> Notification {
    let mut notification =
        Notification::builder().message(Message::builder().text(text::sentence(what)).build()).build();
    notification.level = Some(json!(topic.level()));
    let mut descriptor = ReportingDescriptorReference::builder().id(topic.id()).build();
    descriptor.index =
        NotificationTopic::ALL.iter().position(|known| *known == topic).and_then(|at| i64::try_from(at).ok());
    notification.descriptor = Some(descriptor);
    notification
}
