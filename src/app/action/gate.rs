//! How a step ends: what it came to, and with which exit code. Main types: [`Verdict`], [`Kind`]. The whole of it is one table, `docs/gate.md`.

use super::inputs::OnError;
use crate::domain::finding::Severity;
use crate::domain::review::{Ended, Outcome, Review};
use crate::domain::text::counted;

/// What a step came to, in the words of its output `outcome`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The review is complete.
    Complete,
    /// It is not.
    Incomplete,
    /// Nothing was reviewed.
    Failed,
    /// There was nothing to do.
    Skipped,
    /// What another run left was checked and posted; what that one came to is for it to say.
    Posted,
    /// The head moved: nothing is said about the commit that the step is for.
    Superseded,
    /// The step could not do what it was asked.
    Error,
}

impl Kind {
    /// Every one, for whoever documents them.
    pub const ALL: [Self; 7] =
        [Self::Complete, Self::Incomplete, Self::Failed, Self::Skipped, Self::Posted, Self::Superseded, Self::Error];

    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Posted => "posted",
            Self::Superseded => "superseded",
            Self::Error => "error",
        }
    }
}

impl From<Outcome> for Kind {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Complete => Self::Complete,
            Outcome::Incomplete => Self::Incomplete,
            Outcome::Failed => Self::Failed,
        }
    }
}

/// How a step ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// What it came to.
    pub kind: Kind,
    /// The exit code that it came to.
    pub came_to: u8,
    /// The exit code that the process ends with.
    pub code: u8,
}

impl Verdict {
    /// Of what a step came to; `ended` is how its review did, where there is one.
    ///
    /// An outage of the provider alone may be let pass. All else that keeps a review from being whole can be brought about by the author of
    /// the change: one that is too large for the budget, words that a model refuses to read, a head that moves at the right moment. Letting
    /// that pass would make a green check of a commit that nobody reviewed.
    pub(super) fn of(kind: Kind, came_to: u8, ended: Option<Ended>, on_error: OnError) -> Self {
        let is_outage = match kind {
            Kind::Incomplete | Kind::Failed => ended == Some(Ended::ProviderFault) && matches!(came_to, 3 | 4),
            Kind::Complete | Kind::Skipped | Kind::Posted | Kind::Superseded | Kind::Error => false,
        };
        let passes = is_outage && on_error == OnError::Neutral;
        Self { kind, came_to, code: if passes { 0 } else { came_to } }
    }

    /// Whether it would have failed, but was let pass.
    pub(super) fn was_let_pass(self) -> bool {
        self.came_to != self.code
    }
}

/// The exit code of a review whose head moved meanwhile: an interrupt counts more.
pub(super) const SUPERSEDED: u8 = 3;

/// How many unresolved findings are at or above a severity, shown or hidden by a floor.
pub(super) fn blocking(review: &Review, fail_on: Option<Severity>) -> usize {
    fail_on.map_or(0, |floor| review.blocking(floor).all())
}

/// Why a step fails though its review could be made: of the review alone nobody would see it, least of all where a floor hides the finding.
pub(super) fn closed(review: &Review, fail_on: Option<Severity>) -> Option<String> {
    let floor = fail_on?;
    let counted = review.blocking(floor);
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

/// What a model's word took out of the gate: the change may have talked it into that, so nobody should have to look for it. Nothing where
/// nothing was.
pub(super) fn refuted(review: &Review) -> Option<String> {
    let second_look = review.provenance.second_look.as_ref().map_or(0, |look| look.refuted);
    let leads = review.coverage.leads.refuted;
    let part = |count: u32, what: &str, by: &str| {
        (count > 0).then(|| format!("{} of {what} ({by})", counted(count as usize, "finding")))
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
            let verdict = |on_error| Verdict::of(Kind::Incomplete, came_to, Some(Ended::ProviderFault), on_error);
            assert_eq!((verdict(OnError::Neutral).code, verdict(OnError::Fail).code), (code, came_to));
        }
        for ended in [Ended::TokenLimit, Ended::Deadline, Ended::WindowLimit, Ended::Refused, Ended::RequestRefused] {
            assert_eq!(Verdict::of(Kind::Incomplete, 3, Some(ended), OnError::Neutral).code, 3, "{ended:?}");
            assert_eq!(Verdict::of(Kind::Failed, 4, Some(ended), OnError::Neutral).code, 4, "{ended:?}");
        }
        for kind in [Kind::Superseded, Kind::Error, Kind::Posted, Kind::Skipped] {
            assert_eq!(Verdict::of(kind, 3, Some(Ended::ProviderFault), OnError::Neutral).code, 3, "{kind:?}");
        }
    }

    #[test]
    fn what_was_refuted_is_said() {
        let mut review = json::parse(include_bytes!("../../../fixtures/documents/typical.json")).unwrap();
        (review.provenance.second_look, review.coverage.leads.refuted) = (None, 0);
        assert_eq!(refuted(&review), None);
        review.coverage.leads.refuted = 1;
        assert!(refuted(&review).unwrap().contains("1 finding of the rules (by the model)."));
    }

    #[test]
    fn what_a_floor_hides_blocks_too() {
        let mut review = json::parse(include_bytes!("../../../fixtures/documents/typical.json")).unwrap();
        let shown = blocking(&review, Some(Severity::High));
        assert!(shown > 0 && blocking(&review, None) == 0);
        review.coverage.below_floor.insert(Severity::High, 2);
        review.coverage.below_floor.insert(Severity::Nit, 5);
        assert_eq!(blocking(&review, Some(Severity::High)), shown + 2);
    }

    #[test]
    fn why_a_step_fails_is_said_also_where_nothing_is_shown() {
        let mut review = json::parse(include_bytes!("../../../fixtures/documents/typical.json")).unwrap();
        let said = |review: &Review, floor| closed(review, Some(floor)).unwrap_or_default();
        assert_eq!((closed(&review, None), said(&review, Severity::Critical).contains("hidden")), (None, false));
        review.coverage.below_floor.insert(Severity::High, 1);
        assert!(said(&review, Severity::High).ends_with("1 of them hidden by min-severity."));
        review.findings.clear();
        let alone = "This step fails because of fail-on: high. 1 finding is at or above it, hidden by min-severity.";
        assert_eq!(said(&review, Severity::High), alone);
        assert_eq!(closed(&review, Some(Severity::Critical)), None);
    }
}
