//! Draft of a review, and the one place that turns it into a review. Main type: [`Draft`].

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::domain::change::{ChangeSet, Omission};
use crate::domain::claim::Claim;
use crate::domain::finding::{Confidence, Finding, Severity, Verification};
use crate::domain::path::RepoPath;
use crate::domain::place::{LineRange, Side};
use crate::domain::review::{Coverage, Ended, FileCoverage, Leads, Outcome, Review, Section, Withheld};
use crate::evidence::{self, Anchored, Languages, Rejection};
use crate::review::known::Known;
use crate::review::verify::{Verdict, refuted_because};
use crate::sys::cancel::Stopped;
use crate::workspace::Workspace;

mod behind;
mod dismissed;
mod floors;
mod history;
mod made;
mod owed;
mod proven;
mod summary;

pub use made::{Asked, Made, instructions_hash};

pub(super) use behind::Behind;
pub(super) use proven::proven;

pub(super) use history::missed;

use floors::{counts, hide};
use made::provenance;
use owed::sentence;
use summary::plain_summary;

/// Outcome of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The model finished.
    Done,
    /// It was stopped.
    Stopped(Stopped),
    /// It ended without saying that it was done.
    Short {
        /// Reason for the end.
        ended: Ended,
        /// One sentence for people.
        why: String,
    },
}

impl Ending {
    /// Restores a recorded outcome.
    pub(super) fn told(ended: Ended, why: String) -> Self {
        let stopped = [Stopped::Interrupted, Stopped::DeadlinePassed].map(Self::Stopped);
        let is_it = |stopped: &Self| stopped.ended() == ended && stopped.reason().as_ref() == Some(&why);
        match ended {
            Ended::Finished => Self::Done,
            ended => stopped.into_iter().find(is_it).unwrap_or(Self::Short { ended, why }),
        }
    }

    pub(super) fn ended(&self) -> Ended {
        match self {
            Self::Done => Ended::Finished,
            Self::Stopped(Stopped::Interrupted) => Ended::Interrupted,
            Self::Stopped(Stopped::DeadlinePassed) => Ended::Deadline,
            Self::Short { ended, .. } => *ended,
        }
    }

    pub(super) fn reason(&self) -> Option<String> {
        match self {
            Self::Done => None,
            Self::Stopped(stopped) => Some(format!("the review was stopped: {stopped}")),
            Self::Short { why, .. } => Some(why.clone()),
        }
    }
}

/// Thresholds of the findings that are shown; the rest are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Floor {
    /// Minimum severity.
    pub severity: Option<Severity>,
    /// Minimum confidence. Findings without a confidence are shown.
    pub confidence: Option<Confidence>,
}

/// Findings and coverage as they grow during a review.
#[derive(Debug)]
pub struct Draft {
    change: Arc<ChangeSet>,
    findings: Vec<Finding>,
    /// Rule findings that each finding supersedes: they are delivered if that one is not.
    behind: Vec<Vec<Behind>>,
    withheld: Vec<Withheld>,
    sections: Vec<Section>,
    files: Vec<FileCoverage>,
    notes: Vec<String>,
    omissions: Vec<Omission>,
    leads: Leads,
    suppressed: u32,
    /// `true` if [`Draft::files`] is the whole coverage.
    is_alone: bool,
    /// Reported findings: reporter, text and place.
    told: HashSet<(String, String, Option<Place>)>,
    languages: Languages,
    /// `true` once the findings are sorted and named.
    settled: bool,
    past: history::Past,
}

type Place = (RepoPath, Side, Option<LineRange>);

impl Draft {
    /// Creates an empty draft of a review of `change`.
    pub fn new(change: Arc<ChangeSet>) -> Self {
        let omissions = change.omissions.clone();
        Self {
            change,
            omissions,
            findings: Vec::new(),
            behind: Vec::new(),
            withheld: Vec::new(),
            sections: Vec::new(),
            files: Vec::new(),
            notes: Vec::new(),
            leads: Leads::default(),
            suppressed: 0,
            is_alone: false,
            told: HashSet::new(),
            languages: Languages::default(),
            settled: false,
            past: history::Past::default(),
        }
    }

    /// Adds the grammars with which quotes are checked.
    #[must_use]
    pub(super) fn asking(self, languages: Languages) -> Self {
        Self { languages, ..self }
    }

    /// Returns the grammars with which quotes are checked.
    pub(super) fn languages(&self) -> &Languages {
        &self.languages
    }

    /// Checks a claim against the trees: it becomes a finding, or it is withheld and counted.
    pub fn report(&mut self, claim: &Claim, new: &dyn Workspace, old: &dyn Workspace) -> Result<(), Stopped> {
        match evidence::anchor_with(claim, &self.change, new, old, &self.languages) {
            Ok(anchored) => self.keep(claim, anchored),
            Err(Rejection::Stopped(stopped)) => return Err(stopped),
            Err(rejection) => {
                self.withheld.push(Withheld { title: claim.title.clone(), reason: rejection.brief() });
            }
        }
        Ok(())
    }

    /// Checks a rule's claim on code from before the change, likewise.
    pub fn report_standing(&mut self, claim: &Claim, new: &dyn Workspace, old: &dyn Workspace) -> Result<(), Stopped> {
        match evidence::anchor_standing(claim, &self.change, new, old, &self.languages) {
            Ok(anchored) => self.keep(claim, anchored),
            Err(Rejection::Stopped(stopped)) => return Err(stopped),
            Err(rejection) => self.withhold(claim.title.clone(), rejection.brief()),
        }
        Ok(())
    }

    fn keep(&mut self, claim: &Claim, anchored: Anchored) {
        let place = anchored.anchors.first().map(|anchor| (anchor.path.clone(), anchor.side, anchor.lines));
        if !self.told.insert((claim.origin.name.clone(), claim.title.clone(), place)) {
            return;
        }
        self.notes.extend(anchored.notes.iter().map(|note| format!("{}: {note}", claim.title)));
        self.add(proven(claim, anchored), Vec::new());
    }

    /// Adds a finding with verified evidence, and the rule findings that it supersedes.
    pub(super) fn add(&mut self, finding: Finding, behind: Vec<Behind>) {
        self.findings.push(finding);
        self.behind.push(behind);
    }

    /// Counts a claim that is not delivered.
    pub(super) fn withhold(&mut self, title: String, reason: String) {
        self.withheld.push(Withheld { title, reason });
    }

    /// Adds the parts that the engine wrote.
    pub(super) fn write(&mut self, sections: Vec<Section>) {
        self.sections.extend(sections);
    }

    /// Records the results of the leads.
    pub(super) fn answered(&mut self, leads: Leads) {
        self.leads = leads;
    }

    /// Records the coverage of the changed files.
    pub fn cover(&mut self, files: Vec<FileCoverage>) {
        self.files = files;
    }

    /// Records the coverage if no other pass reviews the files: gaps make the review incomplete.
    pub(super) fn cover_alone(&mut self, files: Vec<FileCoverage>) {
        self.files = files;
        self.is_alone = true;
    }

    /// Records what the trees could not give.
    pub fn omit(&mut self, omissions: Vec<Omission>) {
        self.omissions.extend(omissions);
    }

    /// Counts findings that a comment in the code silenced.
    pub fn suppress(&mut self, count: u32) {
        self.suppressed = self.suppressed.saturating_add(count);
    }

    /// Adds a sentence to the receipt.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Takes over everything but the findings from another draft of the same change.
    pub(super) fn absorb(&mut self, other: Self) {
        self.withheld.extend(other.withheld);
        self.sections.extend(other.sections);
        self.notes.extend(other.notes);
        // Every draft begins with what collection left out.
        self.omissions.extend(other.omissions.into_iter().skip(self.change.omissions.len()));
    }

    /// Sorts the findings and names them, once: what is taken away later must not rename another.
    pub(super) fn settle(&mut self) {
        if !self.settled {
            behind::sort(&mut self.findings, &mut self.behind);
            evidence::assign_ids(&mut self.findings);
            behind::name(&self.findings, &mut self.behind, HashSet::new());
            self.settled = true;
        }
    }

    /// Checks whether the findings are sorted and named.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Returns the findings so far.
    pub(super) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Applies verification verdicts to findings, by index. Refuted findings are withheld; the rule findings they superseded are delivered.
    pub(super) fn judge(&mut self, verdicts: impl IntoIterator<Item = (usize, Verdict)>, by: &str) {
        let mut refuted = BTreeSet::new();
        for (at, Verdict { word, confidence, rationale }) in verdicts {
            let Some(finding) = self.findings.get_mut(at) else { continue };
            let Some(state) = word.state() else {
                self.withheld.push(Withheld { title: finding.title.clone(), reason: refuted_because(&rationale) });
                refuted.insert(at);
                continue;
            };
            finding.confidence = confidence.over(finding.confidence);
            finding.verification = Verification { state, by: Some(by.to_owned()), rationale: Some(rationale) };
        }
        self.take_away(&refuted, "the second look refuted it");
    }

    /// Removes findings, by index; the rule findings that they superseded take their place. `why` ends a sentence for the receipt.
    fn take_away(&mut self, places: &BTreeSet<usize>, why: &str) -> Vec<Finding> {
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
        for (Behind { finding, given }, title) in back {
            self.note(format!(
                "{}: a model confirmed it ({title}), and {why}; it is delivered as the rule found it",
                finding.title
            ));
            self.leads.confirmed -= u32::from(given).min(self.leads.confirmed);
            self.leads.unanswered += u32::from(given);
            self.add(finding, Vec::new());
        }
        behind::sort(&mut self.findings, &mut self.behind);
        taken
    }

    /// Turns the draft into a review: floors applied, ids given, and the outcome computed from what was really seen.
    pub fn finish(
        mut self,
        ending: &Ending,
        floor: Floor,
        known: &Known,
        summary: Option<String>,
        made: Made,
    ) -> Review {
        self.settle();
        let (previous, fixed) = self.conclude(known).unzip();
        self.dismiss(known, &made.started_at);
        // A finding below the confidence threshold is no reason to fail, however severe.
        let unsure = self.hold_to_confidence(floor.confidence);
        self.hold_to_the_collection();
        let (mut reasons, nothing_seen) = self.unseen();
        reasons.splice(0..0, ending.reason());
        let outcome = match () {
            () if reasons.is_empty() => Outcome::Complete,
            () if nothing_seen => Outcome::Failed,
            () => Outcome::Incomplete,
        };
        let findings = std::mem::take(&mut self.findings);
        let since = fixed.and_then(|fixed| history::sentence(&findings, fixed, summary.is_some()));
        let mut review = Review {
            id: made.run,
            outcome,
            reasons,
            ended: ending.ended(),
            summary: String::new(),
            sections: std::mem::take(&mut self.sections),
            coverage: Coverage {
                files: std::mem::take(&mut self.files),
                withheld: std::mem::take(&mut self.withheld),
                below_confidence: counts(&unsure),
                hidden: unsure,
                dismissed: dismissed::count(&findings),
                suppressed: self.suppressed,
                notes: self.omissions.iter().map(sentence).chain(self.notes).collect(),
                leads: self.leads,
                tool_calls: made.model.as_ref().map_or(0, |model| model.tool_calls),
                tool_errors: made.model.as_ref().map_or(0, |model| model.tool_errors),
                limits_hit: made.model.as_ref().map_or_else(Vec::new, |model| model.limits_hit.clone()),
                previous,
                ..Coverage::default()
            },
            findings,
            provenance: provenance(made),
            change: self.change,
        };
        // Settled findings must not count as hidden either.
        let harmless = |finding: &Finding| {
            !finding.status.is_resolved() && floor.severity.is_some_and(|least| finding.severity > least)
        };
        let below = hide(&mut review.findings, harmless);
        review.coverage.below_floor = counts(&below);
        review.coverage.hidden.extend(below);
        let mut said = HashSet::new();
        review.coverage.notes.retain(|note| said.insert(note.clone()));
        review.summary = summary.unwrap_or_else(|| plain_summary(&review));
        if let Some(sentence) = since {
            review.summary = format!("{}\n\n{sentence}", review.summary.trim_end());
        }
        review
    }
}
