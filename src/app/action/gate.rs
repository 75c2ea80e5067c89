//! The gate of a step: its result and exit code. Main types: [`StepVerdict`], [`Kind`]. `docs/gate.md` has the complete table.

use super::inputs::ErrorPolicy;
use crate::domain::finding::Severity;
use crate::domain::review::{Review, ReviewOutcome, StopReason};
use crate::domain::text::count_noun;
use crate::domain::words::words;

words! {
    /// The result of a step, as in its output `outcome`.
    pub enum Kind: word {
        /// The review is complete.
        Complete = "complete",
        /// The review is incomplete.
        Incomplete = "incomplete",
        /// The review failed.
        Failed = "failed",
        /// There was nothing to do.
        Skipped = "skipped",
        /// An artefact of another run was verified and posted; its result is reported by that run.
        Posted = "posted",
        /// The head moved: nothing is reported about the commit of the step.
        Superseded = "superseded",
        /// The step could not run.
        Error = "error",
    }
}

impl From<ReviewOutcome> for Kind {
    fn from(outcome: ReviewOutcome) -> Self {
        match outcome {
            ReviewOutcome::Complete => Self::Complete,
            ReviewOutcome::Incomplete => Self::Incomplete,
            ReviewOutcome::Failed => Self::Failed,
        }
    }
}

/// The verdict of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepVerdict {
    /// The result.
    pub kind: Kind,
    /// The exit code before `on-error`.
    pub came_to: u8,
    /// The exit code of the process.
    pub code: u8,
}

impl StepVerdict {
    /// Determines the verdict; `ended` is the stop reason of the review, if there is one.
    ///
    /// Only an outage of the provider can pass. Every other reason for an incomplete review can be caused by the author of the change: a
    /// change too large for the budget, text that a model refuses to read, a head moved at the right moment. Letting those pass would give
    /// a green check to a commit that was not reviewed.
    pub(super) fn of(kind: Kind, came_to: u8, ended: Option<StopReason>, on_error: ErrorPolicy) -> Self {
        let is_outage = match kind {
            Kind::Incomplete | Kind::Failed => ended == Some(StopReason::ProviderFault) && matches!(came_to, 3 | 4),
            Kind::Complete | Kind::Skipped | Kind::Posted | Kind::Superseded | Kind::Error => false,
        };
        let passes = is_outage && on_error == ErrorPolicy::Neutral;
        Self { kind, came_to, code: if passes { 0 } else { came_to } }
    }

    /// `true` if it would have failed, but `on-error` let it pass.
    pub(super) fn is_neutral(self) -> bool {
        self.came_to != self.code
    }
}

/// The exit code of a review whose head moved meanwhile; an interrupt takes precedence.
pub(super) const SUPERSEDED: u8 = 3;

/// Counts the unresolved findings at or above a severity, shown or hidden by a threshold.
pub(super) fn count_blocking(review: &Review, fail_on: Option<Severity>) -> usize {
    fail_on.map_or(0, |floor| review.count_blocking(floor).all())
}

/// Explains why a step fails though its review succeeded: the review alone does not show it, least of all if a threshold hides the finding.
pub(super) fn explain_failure(review: &Review, fail_on: Option<Severity>) -> Option<String> {
    let floor = fail_on?;
    let counted = review.count_blocking(floor);
    let (all, hidden) = (counted.all(), counted.hidden);
    let count = match all {
        0 => return None,
        1 => "1 finding is".to_owned(),
        _ => format!("{all} findings are"),
    };
    let hidden = match hidden {
        0 => String::new(),
        _ if hidden == all => ", hidden by min-severity".to_owned(),
        _ => format!(", {hidden} of them hidden by min-severity"),
    };
    Some(format!("This step fails because of fail-on: {}. {count} at or above it{hidden}.", floor.word()))
}

/// Reports the findings that a model removed from the gate: the change may contain a prompt injection, so they must be visible.
pub(super) fn describe_refuted(review: &Review) -> Option<String> {
    let second_look = review.provenance.second_look.as_ref().map_or(0, |look| look.refuted);
    let leads = review.coverage.leads.refuted;
    let part = |count: u32, what: &str, by: &str| {
        (count > 0).then(|| format!("{} of {what} ({by})", count_noun(count as usize, "finding")))
    };
    let parts = [part(second_look, "the model", "by the second look"), part(leads, "the rules", "by the model")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return None;
    }
    Some(format!(
        "Refuted, and not counted by fail-on: {}. The receipt in the job summary gives their titles and why.",
        parts.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::json;

    #[test]
    fn an_outage_of_the_provider_alone_is_let_pass() {
        for (came_to, code) in [(0, 0), (1, 1), (2, 2), (3, 0), (4, 0), (5, 5), (130, 130)] {
            let verdict =
                |on_error| StepVerdict::of(Kind::Incomplete, came_to, Some(StopReason::ProviderFault), on_error);
            assert_eq!((verdict(ErrorPolicy::Neutral).code, verdict(ErrorPolicy::Fail).code), (code, came_to));
        }
        for ended in [
            StopReason::TokenLimit,
            StopReason::Deadline,
            StopReason::WindowLimit,
            StopReason::Refused,
            StopReason::RequestRefused,
        ] {
            assert_eq!(StepVerdict::of(Kind::Incomplete, 3, Some(ended), ErrorPolicy::Neutral).code, 3, "{ended:?}");
            assert_eq!(StepVerdict::of(Kind::Failed, 4, Some(ended), ErrorPolicy::Neutral).code, 4, "{ended:?}");
        }
        for kind in [Kind::Superseded, Kind::Error, Kind::Posted, Kind::Skipped] {
            assert_eq!(
                StepVerdict::of(kind, 3, Some(StopReason::ProviderFault), ErrorPolicy::Neutral).code,
                3,
                "{kind:?}"
            );
        }
    }

    #[test]
    fn what_was_refuted_is_said() {
        let mut review = json::parse(include_bytes!("../../../fixtures/documents/typical.json")).unwrap();
        (review.provenance.second_look, review.coverage.leads.refuted) = (None, 0);
        assert_eq!(describe_refuted(&review), None);
        review.coverage.leads.refuted = 1;
        assert!(describe_refuted(&review).unwrap().contains("1 finding of the rules (by the model)."));
    }

    #[test]
    fn what_a_floor_hides_blocks_too() {
        let mut review = json::parse(include_bytes!("../../../fixtures/documents/typical.json")).unwrap();
        let shown = count_blocking(&review, Some(Severity::High));
        assert!(shown > 0 && count_blocking(&review, None) == 0);
        review.coverage.below_floor.insert(Severity::High, 2);
        review.coverage.below_floor.insert(Severity::Nit, 5);
        assert_eq!(count_blocking(&review, Some(Severity::High)), shown + 2);
    }

    #[test]
    fn why_a_step_fails_is_said_also_where_nothing_is_shown() {
        let mut review = json::parse(include_bytes!("../../../fixtures/documents/typical.json")).unwrap();
        let said = |review: &Review, floor| explain_failure(review, Some(floor)).unwrap_or_default();
        assert_eq!(
            (explain_failure(&review, None), said(&review, Severity::Critical).contains("hidden")),
            (None, false)
        );
        review.coverage.below_floor.insert(Severity::High, 1);
        assert!(said(&review, Severity::High).ends_with("1 of them hidden by min-severity."));
        review.findings.clear();
        let alone = "This step fails because of fail-on: high. 1 finding is at or above it, hidden by min-severity.";
        assert_eq!(said(&review, Severity::High), alone);
        assert_eq!(explain_failure(&review, Some(Severity::Critical)), None);
    }
}
