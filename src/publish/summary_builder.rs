//! From what became of everything to the words of the summary. Main type: [`SummaryBuilder`].
//!
//! The summary tells how things stand, not what was done in this run: so a second run that changes nothing writes nothing.

use std::borrow::Cow;

use crate::domain::finding::{FindingId, FindingStatus, Severity};
use crate::domain::forge::{DeliveryAct, SummaryMark, SummaryOnlyMark};
use crate::domain::id::CommitId;
use crate::domain::review::{Review, ReviewOutcome};

use super::carry::{PostProgress, RenderedSummary};
use super::draft::{PostLimits, SummaryOnly, SummaryOnlyReason};
use super::guard::SecretGuard;
use super::plan::{PlanEntry, PostPlan};
use super::source_links::SourceLinks;
use super::summary::{SummaryFinding, SummaryParts, render_review_body, render_summary};

/// The headings below which a summary lists what has no place on lines.
const BESIDE: [&str; 3] = ["### Not on lines", "### Beyond the limit of comments", "### Also noticed"];

/// The severity from which findings without lines are kept in the summary.
const KEPT: Severity = Severity::Medium;
/// The number of fixed findings that are kept.
const FIXED: usize = 10;

/// The input of the summary besides the result of the plan.
#[derive(Debug)]
pub struct SummaryBuilder<'a> {
    /// The review, with the places that its findings have at the head.
    pub review: &'a Review,
    /// The plan.
    pub plan: &'a PostPlan,
    /// The head that it is posted on.
    pub head: CommitId,
    /// `true` if that is another than the one that was reviewed.
    pub has_moved: bool,
    /// Addresses of places in its files, if known.
    pub links: Option<SourceLinks>,
    /// The forge's limits.
    pub limits: PostLimits,
    /// Keeps secrets out.
    pub guard: &'a SecretGuard,
}

impl SummaryBuilder<'_> {
    /// The summary.
    pub fn summary(&self, told: &PostProgress<'_>) -> RenderedSummary {
        let rendered = render_summary(&self.shown(), &self.parts(told), &self.limits, self.guard);
        let left_out = told
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.is_found && rendered.in_artefact.contains(&entry.item.finding));
        let left_out = left_out.map(|(at, _)| at).collect();
        let body = if told.failures.is_empty() { rendered.body } else { as_incomplete(rendered.body) };
        RenderedSummary { body, left_out }
    }

    /// The text of the review that brings the comments.
    pub fn introduction(&self, told: &PostProgress<'_>) -> String {
        render_review_body(&self.shown(), &self.parts(told), self.head, self.guard)
    }

    /// The review as it may be told: of a head that moved, no review is complete.
    fn shown(&self) -> Cow<'_, Review> {
        if !self.has_moved || self.review.outcome == ReviewOutcome::Failed {
            return Cow::Borrowed(self.review);
        }
        let mut shown = self.review.clone();
        let reviewed = shown.change.head.map_or_else(|| "the reviewed one".to_owned(), |head| head.short());
        shown.outcome = ReviewOutcome::Incomplete;
        shown.reasons.push(format!("The commits after {reviewed} were not reviewed."));
        Cow::Owned(shown)
    }

    fn parts(&self, told: &PostProgress<'_>) -> SummaryParts {
        let all = told.entries.iter().chain(&self.plan.settled);
        let of = |act: DeliveryAct, is_found: bool| -> Vec<SummaryFinding> {
            let named = all.clone().filter(|entry| entry.item.act == act && entry.is_found == is_found);
            let mut named: Vec<SummaryFinding> = named.map(earlier).collect();
            // What is done now and what was done before stand together, and not in the order of their doing.
            named.sort_by(|a, b| (a.severity, &a.place, &a.finding).cmp(&(b.severity, &b.place, &b.finding)));
            named
        };
        let dismissed = |entry: &&PlanEntry| {
            self.review
                .findings
                .iter()
                .any(|finding| finding.id == entry.item.finding && finding.status == FindingStatus::Dismissed)
        };
        SummaryParts {
            trust: self.plan.trust,
            verdict: told.verdict,
            on_lines: told
                .entries
                .iter()
                .filter(|entry| is_on_lines(entry))
                .map(|entry| entry.item.finding.clone())
                .collect(),
            beside: told
                .entries
                .iter()
                .filter(|entry| entry.is_found && !dismissed(entry))
                .filter_map(summary_only)
                .collect(),
            still_open: of(DeliveryAct::StillOpen, false),
            fixed: fixed(all.clone()),
            not_resolved: of(DeliveryAct::ResolveRefused, false),
            reopened: Vec::new(),
            by_others: of(DeliveryAct::ResolvedByOthers, true),
            late: of(DeliveryAct::Late, true),
            since: None,
            moved: self.has_moved.then_some(self.head),
            notes: self.plan.notes.iter().chain(told.failures).cloned().collect(),
            is_of_all: self.plan.is_of_all,
            kept: self.kept(told),
            links: self.links.clone(),
        }
    }

    /// Returns the findings that only the summary lists, open before fixed, worst first.
    fn kept(&self, told: &PostProgress<'_>) -> Vec<SummaryOnlyMark> {
        let mut kept: Vec<SummaryOnlyMark> =
            told.entries.iter().chain(&self.plan.settled).filter_map(|entry| self.mark(entry)).collect();
        let order = |mark: &SummaryOnlyMark| (mark.is_fixed, mark.finding.severity, mark.path.clone(), mark.line);
        kept.sort_by_cached_key(order);
        let open = kept.iter().filter(|mark| !mark.is_fixed).count();
        kept.truncate(open + FIXED);
        kept
    }

    fn mark(&self, entry: &PlanEntry) -> Option<SummaryOnlyMark> {
        if !entry.is_found {
            let is_fixed = entry.item.act == DeliveryAct::Resolved;
            return entry.kept.clone().map(|mark| SummaryOnlyMark { is_fixed, ..mark });
        }
        summary_only(entry)?;
        let finding = self.review.findings.iter().find(|finding| finding.id == entry.item.finding)?;
        let counts = !finding.status.is_resolved() && finding.severity <= KEPT;
        counts.then(|| SummaryOnlyMark::of(finding)).flatten()
    }
}

/// Sorts the fixed findings by the age of their threads, newest first; the run that resolved them is not known.
fn fixed<'e>(all: impl Iterator<Item = &'e PlanEntry>) -> Vec<SummaryFinding> {
    let mut fixed: Vec<&PlanEntry> =
        all.filter(|entry| entry.item.act == DeliveryAct::Resolved && !entry.is_found).collect();
    fixed.sort_by(|a, b| {
        (b.age, a.item.severity, &a.place, &a.item.finding).cmp(&(a.age, b.item.severity, &b.place, &b.item.finding))
    });
    fixed.into_iter().map(earlier).collect()
}

fn earlier(entry: &PlanEntry) -> SummaryFinding {
    SummaryFinding {
        finding: entry.item.finding.clone(),
        severity: entry.item.severity,
        title: entry.item.title.clone(),
        place: entry.place.clone(),
    }
}

fn is_on_lines(entry: &PlanEntry) -> bool {
    use DeliveryAct::{Left, Posted, PostedAgain, Reopened};
    entry.is_found && matches!(entry.item.act, Posted | Left | Reopened | PostedAgain)
}

fn summary_only(entry: &PlanEntry) -> Option<SummaryOnly> {
    matches!(entry.item.act, DeliveryAct::InSummary | DeliveryAct::InArtefact | DeliveryAct::Refused).then(|| {
        SummaryOnly { finding: entry.item.finding.clone(), why: entry.beside.unwrap_or(SummaryOnlyReason::Unplaced) }
    })
}

/// Marks the summary as partially delivered: the next run must not treat undelivered findings as seen.
fn as_incomplete(body: String) -> String {
    let Some(mark) = SummaryMark::read(&body).filter(|mark| mark.complete) else { return body };
    body.replace(&mark.write(), &SummaryMark { complete: false, ..mark }.write())
}

/// Checks whether a summary of ours lists a finding among those that have no place on lines: then it was raised, though no thread is about it.
pub fn lists_as_summary_only(summary: &str, finding: &FindingId) -> bool {
    let wanted = format!("id `{finding}`");
    let mut is_beside = false;
    summary.lines().any(|line| {
        if line.starts_with("### ") {
            is_beside = BESIDE.contains(&line);
        }
        is_beside && line.contains(&wanted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_listed_beside_the_lines_is_told_from_what_was_late() {
        let text = "## Review\n\n### On their lines\n\n- a (id `aa`)\n\n### Not on lines\n\n- b (id `bb`; not on its lines: x)\n\n\
                    ### Beyond the limit of comments\n\n- c (id `cc`)\n\n### Also noticed\n\n- e (id `ee`)\n\n### Found by earlier reviews\n\n- d (id `dd`)\n";
        for (id, listed) in [("aa", false), ("bb", true), ("cc", true), ("ee", true), ("dd", false), ("b", false)] {
            assert_eq!(lists_as_summary_only(text, &FindingId(id.to_owned())), listed, "{id}");
        }
    }
}
