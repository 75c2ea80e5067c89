//! Draft of a review, and the one place that turns it into a review. Main type: [`ReviewDraft`].

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::domain::change::{ChangeSet, Omission};
use crate::domain::claim::Claim;
use crate::domain::finding::{
    Confidence, Finding, FindingVerification, Severity, VerificationState, assign_prominence,
};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::review::{
    FileCoverage, LeadCounts, Review, ReviewCoverage, ReviewOutcome, ReviewSection, WithheldClaim,
};
use crate::evidence::{self, AnchorReach, AnchoredClaim, GrammarLanguages, Rejection};
use crate::review::branch_history::BranchHistory;
use crate::review::outcome::engine_outcome::EngineOutcome;
use crate::sys::cancel::CancelReason;
use crate::workspace::Workspace;

mod coverage_gaps;
mod dismissed;
mod history;
mod provenance;
mod suggestion;
mod summary;
mod superseded;
mod thresholds;
mod verdicts;

pub use provenance::{ModelContribution, ProvenanceInput, instructions_hash};

pub(in crate::review) use suggestion::into_finding;
pub(in crate::review) use superseded::SupersededRuleFinding;

pub(in crate::review) use history::unreviewed_files;

use coverage_gaps::sentence;
use provenance::provenance;
use summary::plain_summary;
use thresholds::{count_by_severity, take_hidden};

/// Thresholds of the findings that are shown; the rest are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FindingThresholds {
    /// Minimum severity.
    pub severity: Option<Severity>,
    /// Minimum confidence. Findings without a confidence are shown.
    pub confidence: Option<Confidence>,
}

/// Findings and coverage as they grow during a review.
#[derive(Debug, Clone)]
pub struct ReviewDraft {
    change: Arc<ChangeSet>,
    findings: Vec<Finding>,
    /// Rule findings that each finding supersedes: they are delivered if that one is not.
    behind: Vec<Vec<SupersededRuleFinding>>,
    withheld: Vec<WithheldClaim>,
    sections: Vec<ReviewSection>,
    files: Vec<FileCoverage>,
    notes: Vec<String>,
    /// Omissions besides those of the change itself.
    omissions: Vec<Omission>,
    leads: LeadCounts,
    suppressed: u32,
    /// `true` if [`ReviewDraft::files`] is the whole coverage.
    is_alone: bool,
    /// Files that the rules checked in part only because of their size: the receipt lists them, and they are no gap.
    line_by_line: BTreeSet<RepoPath>,
    /// Reported findings: reporter, text and place.
    told: HashSet<(String, String, Option<FindingPlace>)>,
    languages: GrammarLanguages,
    /// `true` once the findings are sorted and named.
    settled: bool,
    past: history::PriorReviewState,
}

type FindingPlace = (RepoPath, DiffSide, Option<LineRange>);

impl ReviewDraft {
    /// Creates an empty draft of a review of `change`.
    pub fn new(change: Arc<ChangeSet>) -> Self {
        Self {
            change,
            omissions: Vec::new(),
            findings: Vec::new(),
            behind: Vec::new(),
            withheld: Vec::new(),
            sections: Vec::new(),
            files: Vec::new(),
            notes: Vec::new(),
            leads: LeadCounts::default(),
            suppressed: 0,
            is_alone: false,
            line_by_line: BTreeSet::new(),
            told: HashSet::new(),
            languages: GrammarLanguages::default(),
            settled: false,
            past: history::PriorReviewState::default(),
        }
    }

    /// Adds the grammars with which quotes are checked.
    #[must_use]
    pub(in crate::review) fn with_languages(self, languages: GrammarLanguages) -> Self {
        Self { languages, ..self }
    }

    /// Returns the grammars with which quotes are checked.
    pub(in crate::review) fn languages(&self) -> &GrammarLanguages {
        &self.languages
    }

    /// Checks a claim against the trees: it becomes a finding, or it is withheld and counted.
    pub fn report(&mut self, claim: &Claim, new: &dyn Workspace, old: &dyn Workspace) -> Result<(), CancelReason> {
        match evidence::anchor_with(claim, &self.change, new, old, &self.languages, AnchorReach::Change) {
            Ok(anchored) => self.keep(claim, anchored),
            Err(Rejection::Stopped(stopped)) => return Err(stopped),
            Err(rejection) => {
                self.withheld.push(WithheldClaim { title: claim.title.clone(), reason: rejection.brief() });
            }
        }
        Ok(())
    }

    /// Checks a rule's claim on code from before the change, likewise.
    pub fn report_existing_issue(
        &mut self,
        claim: &Claim,
        new: &dyn Workspace,
        old: &dyn Workspace,
    ) -> Result<(), CancelReason> {
        match evidence::anchor_with(claim, &self.change, new, old, &self.languages, AnchorReach::ChangedFiles) {
            Ok(anchored) => self.keep(claim, anchored),
            Err(Rejection::Stopped(stopped)) => return Err(stopped),
            Err(rejection) => self.withhold(claim.title.clone(), rejection.brief()),
        }
        Ok(())
    }

    fn keep(&mut self, claim: &Claim, anchored: AnchoredClaim) {
        let place = anchored.anchors.first().map(|anchor| (anchor.path.clone(), anchor.side, anchor.lines));
        if !self.told.insert((claim.origin.name.clone(), claim.title.clone(), place)) {
            return;
        }
        self.notes.extend(anchored.notes.iter().map(|note| format!("{}: {note}", claim.title)));
        self.add(into_finding(claim, anchored), Vec::new());
    }

    /// Adds a finding with verified evidence, and the rule findings that it supersedes.
    pub(in crate::review) fn add(&mut self, finding: Finding, behind: Vec<SupersededRuleFinding>) {
        self.findings.push(finding);
        self.behind.push(behind);
    }

    /// Counts a claim that is not delivered.
    pub(in crate::review) fn withhold(&mut self, title: String, reason: String) {
        self.withheld.push(WithheldClaim { title, reason });
    }

    /// Adds the parts that the engine wrote.
    pub(in crate::review) fn write(&mut self, sections: Vec<ReviewSection>) {
        self.sections.extend(sections);
    }

    /// Records the results of the leads.
    pub(in crate::review) fn set_leads(&mut self, leads: LeadCounts) {
        self.leads = leads;
    }

    /// Records the coverage of the changed files.
    pub fn cover(&mut self, files: Vec<FileCoverage>) {
        self.files = files;
    }

    /// Records the coverage if no other pass reviews the files: gaps make the review incomplete, except for the large files of `line_by_line`.
    pub(in crate::review) fn cover_exclusively(&mut self, files: Vec<FileCoverage>, line_by_line: BTreeSet<RepoPath>) {
        self.files = files;
        self.is_alone = true;
        self.line_by_line = line_by_line;
    }

    /// Records what the trees could not give.
    pub fn add_omissions(&mut self, omissions: Vec<Omission>) {
        self.omissions.extend(omissions);
    }

    /// Counts findings that a comment in the code silenced.
    pub fn suppress(&mut self, count: u32) {
        self.suppressed = self.suppressed.saturating_add(count);
    }

    /// Adds a sentence to the receipt.
    pub fn add_note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Takes over everything but the findings from another draft of the same change.
    pub(in crate::review) fn absorb(&mut self, other: Self) {
        self.withheld.extend(other.withheld);
        self.sections.extend(other.sections);
        self.notes.extend(other.notes);
        self.omissions.extend(other.omissions);
    }

    /// Sorts the findings and names them, once: what is taken away later must not rename another.
    pub(in crate::review) fn sort_and_name(&mut self) {
        if !self.settled {
            superseded::sort_findings(&mut self.findings, &mut self.behind);
            evidence::assign_ids(&mut self.findings);
            superseded::name_superseded(&self.findings, &mut self.behind, HashSet::new());
            self.settled = true;
        }
    }

    /// Checks whether the findings are sorted and named.
    pub(in crate::review) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Returns the findings so far.
    pub(in crate::review) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Marks findings that were to be verified and got no verdict, by index, with the reasons. An earlier verdict stands.
    pub(in crate::review) fn mark_unverified(
        &mut self,
        unchecked: impl IntoIterator<Item = (usize, String)>,
        by: &str,
    ) {
        for (at, why) in unchecked {
            let Some(finding) = self.findings.get_mut(at) else { continue };
            if finding.verification.state == VerificationState::Unchecked {
                let (by, rationale) = (Some(by.to_owned()), Some(why));
                finding.verification = FindingVerification { by, rationale, ..FindingVerification::UNCHECKED };
            }
        }
    }

    /// Removes findings, by index; the rule findings that they superseded take their place. `why` ends a sentence for the receipt.
    fn remove_findings(&mut self, places: &BTreeSet<usize>, why: &str) -> Vec<Finding> {
        let held = std::mem::take(&mut self.findings).into_iter().zip(std::mem::take(&mut self.behind));
        let (mut taken, mut back) = (Vec::new(), Vec::new());
        for (at, (finding, behind)) in held.enumerate() {
            if places.contains(&at) {
                back.extend(behind.into_iter().map(|behind| (behind, finding.title.clone())));
                taken.push(finding);
            } else {
                self.add(finding, behind);
            }
        }
        for (SupersededRuleFinding { finding, given, .. }, title) in back {
            self.add_note(format!(
                "{}: a model confirmed it ({title}), and {why}; it is delivered as the rule found it",
                finding.title
            ));
            self.leads.confirmed -= u32::from(given).min(self.leads.confirmed);
            self.leads.unanswered += u32::from(given);
            self.add(finding, Vec::new());
        }
        superseded::sort_findings(&mut self.findings, &mut self.behind);
        taken
    }

    /// Turns the draft into a review: floors applied, ids given, and the outcome computed from what was really seen.
    pub fn finish(
        mut self,
        ending: &EngineOutcome,
        floor: FindingThresholds,
        known: &BranchHistory,
        summary: Option<String>,
        made: ProvenanceInput,
    ) -> Review {
        self.sort_and_name();
        let (previous, fixed) = self.conclude_prior_findings(known).unzip();
        self.dismiss(known, &made.started_at);
        // A finding below the confidence threshold is no reason to fail, however severe.
        let unsure = self.apply_confidence_threshold(floor.confidence);
        self.check_collection();
        let (mut reasons, nothing_seen) = self.uncovered_sentence(made.engine);
        reasons.splice(0..0, ending.reason());
        let outcome = match () {
            () if reasons.is_empty() => ReviewOutcome::Complete,
            () if nothing_seen => ReviewOutcome::Failed,
            () => ReviewOutcome::Incomplete,
        };
        let findings = std::mem::take(&mut self.findings);
        let since = fixed.and_then(|fixed| history::sentence(&findings, fixed, summary.is_some()));
        let mut review = Review {
            id: made.run,
            outcome,
            reasons,
            ended: ending.stop_reason(),
            summary: String::new(),
            sections: std::mem::take(&mut self.sections),
            coverage: ReviewCoverage {
                files: std::mem::take(&mut self.files),
                withheld: std::mem::take(&mut self.withheld),
                below_confidence: count_by_severity(&unsure),
                hidden: unsure,
                dismissed: dismissed::count(&findings),
                suppressed: self.suppressed,
                notes: self.change.omissions.iter().chain(&self.omissions).map(sentence).chain(self.notes).collect(),
                leads: self.leads,
                tool_calls: made.model.as_ref().map_or(0, |model| model.tool_calls),
                tool_errors: made.model.as_ref().map_or(0, |model| model.tool_errors),
                limits_hit: made.model.as_ref().map_or_else(Vec::new, |model| model.limits_hit.clone()),
                previous,
                ..ReviewCoverage::default()
            },
            findings,
            provenance: provenance(made),
            change: self.change,
        };
        // Settled findings must not count as hidden either.
        let harmless = |finding: &Finding| {
            !finding.status.is_resolved() && floor.severity.is_some_and(|least| finding.severity > least)
        };
        let below = take_hidden(&mut review.findings, harmless);
        review.coverage.below_floor = count_by_severity(&below);
        review.coverage.hidden.extend(below);
        assign_prominence(&mut review.findings);
        let mut said = HashSet::new();
        review.coverage.notes.retain(|note| said.insert(note.clone()));
        review.summary = summary.unwrap_or_else(|| plain_summary(&review));
        if let Some(sentence) = since {
            review.summary = format!("{}\n\n{sentence}", review.summary.trim_end());
        }
        review
    }
}
