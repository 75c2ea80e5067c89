//! Comparison of findings with those of the previous review: which are the same, and what the others became.
//!
//! The draft takes the names of earlier findings as soon as its own are sorted ([`ReviewDraft::apply_history`]), and the results of the others at its end
//! ([`ReviewDraft::conclude_prior_findings`]). Silence resolves nothing: an earlier finding is fixed if its lines were changed, or if its rule ran and
//! no longer reports it; it is refuted if a model shows that it is wrong.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::superseded::SupersededRuleFinding;
use super::{ReviewDraft, superseded};
use crate::domain::finding::{DismissedBy, Finding, FindingId, FindingStatus, OriginKind, by_worst};
use crate::domain::path::RepoPath;
use crate::domain::prior::{ComparedReview, EarlierFinding, EarlierFindingStatus};
use crate::domain::review::{FileCoverage, WithheldClaim};
use crate::domain::text::count_noun;
use crate::evidence::candidate_ids;
use crate::evidence::history::{PriorFinding, match_findings};
use crate::review::branch_history::BranchHistory;
use crate::review::outcome::title_similarity::are_similar;
use crate::rules::{Packs, is_fact};

/// Maximum number of past findings that are stored; the worst are.
const MOST_REMEMBERED: usize = 200;
/// Maximum number named in the receipt, by kind.
const MOST_NAMED: usize = 20;
/// Maximum number of findings of a rule in one file, beyond which its silence about another place is meaningless.
const MOST_ALIKE: usize = 20;

/// Knowledge of a draft about the previous review.
#[derive(Debug, Clone, Default)]
pub(super) struct PriorReviewState {
    /// The earlier findings that one of today's is, by their place.
    matched: BTreeSet<usize>,
    /// The names that were given for it.
    named: HashSet<FindingId>,
    ran: Option<RuleCoverage>,
    /// Findings that a model was asked about and refuted, with the reasons.
    refuted: Vec<(Finding, String)>,
    /// Rule findings that are withheld because the model left them unanswered.
    unspoken: Vec<Finding>,
}

/// Coverage of the rules.
#[derive(Debug, Clone)]
struct RuleCoverage {
    rules: HashSet<String>,
    /// The changed files that they did not see whole.
    missed: HashSet<RepoPath>,
}

/// State of an earlier finding that no current one matches.
enum PriorFindingFate {
    /// It is still there.
    Stays(FindingStatus),
    /// Resolved; `disproved` if its lines still exist.
    Fixed { disproved: bool },
    /// Shown to be wrong.
    Refuted,
    /// It is no concern of this change any more.
    Dropped,
}

/// Returns the changed files that the rules did not examine, or not wholly.
pub(in crate::review) fn unreviewed_files(files: &[FileCoverage]) -> impl Iterator<Item = RepoPath> {
    files.iter().filter(|file| !file.state.is_whole()).map(|file| file.path.clone())
}

impl ReviewDraft {
    /// Records which rules were run, and what they saw of each file.
    pub(in crate::review) fn record_rules(&mut self, packs: &Packs, missed: impl IntoIterator<Item = RepoPath>) {
        // A rule that is switched off did not run, so its silence means nothing.
        let rules = packs.enabled_rules().collect();
        self.past.ran = Some(RuleCoverage { rules, missed: missed.into_iter().collect() });
    }

    /// Records that a model refuted a lead or an earlier finding.
    pub(in crate::review) fn record_refuted(&mut self, finding: Finding, reason: String) {
        self.past.refuted.push((finding, reason));
    }

    /// Records a rule finding that is withheld because it was unanswered: an earlier report of it is not resolved.
    pub(in crate::review) fn record_withheld(&mut self, finding: Finding) {
        self.past.unspoken.push(finding);
    }

    /// Gives the findings that were there before the names that they had.
    pub(in crate::review) fn apply_history(&mut self, known: &BranchHistory) {
        self.sort_and_name();
        let Some(prior) = &known.prior else { return };
        let there: HashSet<&FindingId> = self.findings.iter().map(|finding| &finding.id).collect();
        let spoken_for = |at: &usize| self.past.matched.contains(at) && there.contains(&prior.findings[*at].finding.id);
        let free: Vec<usize> = (0..prior.findings.len()).filter(|at| !spoken_for(at)).collect();
        let unnamed: Vec<usize> =
            (0..self.findings.len()).filter(|at| !self.past.named.contains(&self.findings[*at].id)).collect();
        let earlier: Vec<PriorFinding<'_>> = free.iter().map(|at| relocate(&prior.findings[*at])).collect();
        let now: Vec<PriorFinding<'_>> = unnamed.iter().map(|at| PriorFinding::of(&self.findings[*at])).collect();
        let found = match_findings(&earlier, &now, are_similar);

        let mut taken: HashSet<FindingId> = prior.findings.iter().map(|earlier| earlier.finding.id.clone()).collect();
        let mut fresh: HashMap<String, usize> = HashMap::new();
        for (at, was) in unnamed.into_iter().zip(found) {
            let finding = &mut self.findings[at];
            if let Some(was) = was.map(|was| free[was]).filter(|was| matches_prior(&prior.findings[*was], finding)) {
                let earlier = &prior.findings[was];
                finding.id = earlier.finding.id.clone();
                finding.dismissed.clone_from(&earlier.finding.dismissed);
                set_status(finding, status_again(earlier));
                self.past.matched.insert(was);
                self.past.named.insert(finding.id.clone());
                continue;
            }
            // Counted on from the last, so that a thousand equal findings are named in one pass.
            let next = fresh.entry(finding.fingerprint.0.clone()).or_default();
            for (count, id) in candidate_ids(&finding.fingerprint).enumerate().skip(*next) {
                *next = count + 1;
                if taken.insert(id.clone()) {
                    finding.id = id;
                    break;
                }
            }
        }
        superseded::name_superseded(&self.findings, &mut self.behind, taken);
    }

    /// Determines the state of every earlier finding, and withholds late ones. Also returns the numbers of fixed and of refuted ones.
    pub(super) fn conclude_prior_findings(
        &mut self,
        known: &BranchHistory,
    ) -> Option<(ComparedReview, (usize, usize))> {
        let prior = known.prior.as_ref()?;
        let carried = prior.unchanged_paths(&self.change);
        self.apply_history(known);
        self.withhold_late(&carried);
        self.apply_history(known);
        let (mut fixed, mut refuted) = (0, 0);
        let mut compared = ComparedReview { run: prior.run, disproved: Vec::new() };
        let mut over = Vec::new();
        let mut notes = HistoryNotes::default();
        let there: HashSet<FindingId> = self.findings.iter().map(|finding| finding.id.clone()).collect();
        let alike = self.counts_by_rule();
        for (at, earlier) in prior.findings.iter().enumerate() {
            if there.contains(&earlier.finding.id) {
                continue;
            }
            let mut finding = earlier.finding.clone();
            match self.becomes(at, earlier, &carried, &alike, &mut notes) {
                PriorFindingFate::Dropped => {}
                PriorFindingFate::Stays(status) => {
                    set_status(&mut finding, status);
                    finding.carried_from.get_or_insert(prior.run);
                    let behind = self.take_same_defect(&mut finding);
                    self.add(finding, behind);
                }
                PriorFindingFate::Fixed { disproved } => {
                    if disproved {
                        compared.disproved.push(finding.id.clone());
                    }
                    fixed += usize::from(earlier.finding.status != FindingStatus::Fixed);
                    set_status(&mut finding, FindingStatus::Fixed);
                    over.push(finding);
                }
                PriorFindingFate::Refuted => {
                    compared.disproved.push(finding.id.clone());
                    refuted += usize::from(earlier.finding.status != FindingStatus::Refuted);
                    set_status(&mut finding, FindingStatus::Refuted);
                    over.push(finding);
                }
            }
        }
        over.sort_by(by_worst);
        if let Some(more) = over.len().checked_sub(MOST_REMEMBERED).filter(|more| *more > 0) {
            notes.forgotten = more;
            over.truncate(MOST_REMEMBERED);
        }
        for finding in over {
            self.add(finding, Vec::new());
        }
        superseded::sort_findings(&mut self.findings, &mut self.behind);
        prior.notes.iter().for_each(|note| self.add_note(note.clone()));
        notes.said().into_iter().for_each(|note| self.add_note(note));
        Some((compared, (fixed, refuted)))
    }

    /// Takes out the rule findings that a carried model finding is about, so that one defect is reported once; the worse severity stays. What a
    /// reader dismissed stands for nothing worse than it was, and a fact is always told.
    fn take_same_defect(&mut self, finding: &mut Finding) -> Vec<SupersededRuleFinding> {
        let mut taken = Vec::new();
        let Some(anchor) = finding.anchors.first().filter(|_| finding.origin.kind == OriginKind::Model) else {
            return taken;
        };
        let is_there = |rule: &Finding| {
            rule.anchors.first().is_some_and(|own| {
                let overlaps = own.lines.zip(anchor.lines).is_some_and(|(own, lines)| own.overlaps(lines));
                own.path == anchor.path && own.side == anchor.side && overlaps
            })
        };
        let is_same = |rule: &Finding| {
            rule.origin.kind == OriginKind::Rule
                && is_there(rule)
                && !is_fact(&rule.origin.name)
                && (!finding.status.is_over() && finding.status != FindingStatus::Dismissed
                    || rule.severity >= finding.severity)
                && (finding.body.contains(&format!("`{}` found here", rule.origin.name))
                    || are_similar(&rule.title, &finding.title))
        };
        let same: Vec<usize> = (0..self.findings.len()).filter(|at| is_same(&self.findings[*at])).collect();
        for at in same.into_iter().rev() {
            let rule = self.findings.remove(at);
            taken.extend(self.behind.remove(at));
            finding.severity = finding.severity.min(rule.severity);
            let least = Some(rule.severity);
            taken.push(SupersededRuleFinding { finding: rule, given: false, least });
        }
        taken
    }

    /// Checks whether a finding of this review stands in the place of the rule's finding that an earlier one was.
    fn is_superseded(&self, earlier: &EarlierFinding) -> bool {
        let mut behind = self.behind.iter().flatten().map(|behind| &behind.finding);
        behind.any(|finding| {
            finding.origin == earlier.finding.origin
                && match_findings(&[relocate(earlier)], &[PriorFinding::of(finding)], are_similar) == [Some(0)]
        })
    }

    /// Counts the matches of each rule in each file.
    fn counts_by_rule(&self) -> HashMap<(String, RepoPath), usize> {
        let mut counts = HashMap::new();
        for finding in self.findings.iter().filter(|finding| finding.origin.kind == OriginKind::Rule) {
            if let Some(anchor) = finding.anchors.first() {
                *counts.entry((finding.origin.name.clone(), anchor.path.clone())).or_default() += 1;
            }
        }
        counts
    }

    /// Withholds model findings in files that are unchanged since the model reviewed them without reporting anything.
    fn withhold_late(&mut self, carried: &HashSet<RepoPath>) {
        let is_late = |finding: &Finding| {
            finding.status == FindingStatus::New
                && finding.origin.kind == OriginKind::Model
                && finding.anchors.iter().all(|anchor| carried.contains(&anchor.path))
        };
        let late = self.findings.iter().enumerate().filter(|(_, finding)| is_late(finding)).map(|(at, _)| at);
        let late: BTreeSet<usize> = late.collect();
        for finding in self.remove_findings(&late, "that comes too late") {
            let reason =
                "late: an earlier, complete review saw these files as they are and did not raise it (--full raises it)";
            self.withheld.push(WithheldClaim { title: finding.title, reason: reason.to_owned() });
        }
    }

    fn becomes(
        &self,
        at: usize,
        earlier: &EarlierFinding,
        carried: &HashSet<RepoPath>,
        alike: &HashMap<(String, RepoPath), usize>,
        notes: &mut HistoryNotes,
    ) -> PriorFindingFate {
        let finding = &earlier.finding;
        let stands = earlier.standing == EarlierFindingStatus::Stands;
        if finding.status == FindingStatus::Refuted {
            return PriorFindingFate::Refuted;
        }
        if finding.status == FindingStatus::Fixed {
            // A finding resolved by changing its lines is back with them, whatever reports it; a rule reports for itself.
            let is_back = stands && !earlier.disproved && finding.origin.kind != OriginKind::Rule;
            return if is_back {
                notes.back.push(named(finding));
                PriorFindingFate::Stays(FindingStatus::Reopened)
            } else {
                PriorFindingFate::Fixed { disproved: earlier.disproved }
            };
        }
        if self.is_superseded(earlier) {
            return PriorFindingFate::Dropped;
        }
        let still = || PriorFindingFate::Stays(status_again(earlier));
        // A model was asked again if any of its files changed; a rule reports with the file of its first place.
        let places = if finding.origin.kind == OriginKind::Model { finding.anchors.len() } else { 1 };
        let mut places = finding.anchors.iter().take(places).peekable();
        if places.peek().is_some() && places.all(|anchor| carried.contains(&anchor.path)) {
            return still();
        }
        if let Some(reason) = self.refutation(at, earlier) {
            notes.refuted.push(format!("{}: {reason}", named(finding)));
            return PriorFindingFate::Refuted;
        }
        if self.is_withheld_rule_finding(earlier) {
            return still();
        }
        match (earlier.standing, self.rule_is_silent(earlier, alike)) {
            (EarlierFindingStatus::Gone, _) => PriorFindingFate::Fixed { disproved: false },
            (EarlierFindingStatus::Outside, _) => {
                notes.outside.push(named(finding));
                PriorFindingFate::Dropped
            }
            (_, RuleSilence::NoRule) => {
                notes.off.push(format!("{} ({})", named(finding), finding.origin.name));
                PriorFindingFate::Dropped
            }
            (_, RuleSilence::Silent) => {
                notes.silent.push(format!("{} ({})", named(finding), finding.origin.name));
                PriorFindingFate::Fixed { disproved: stands }
            }
            (EarlierFindingStatus::Unknown, RuleSilence::MaySpeak) => {
                notes.unknown.push(named(finding));
                still()
            }
            (EarlierFindingStatus::Stands, RuleSilence::MaySpeak) => still(),
        }
    }

    /// Returns why an earlier finding was refuted, if it was.
    fn refutation(&self, at: usize, earlier: &EarlierFinding) -> Option<String> {
        let refuted = || self.past.refuted.iter();
        let by_name = refuted().find(|(finding, _)| finding.id == earlier.finding.id);
        // A new rule finding has no name yet.
        let by_likeness = || {
            let alike = refuted().filter(|(finding, _)| finding.origin == earlier.finding.origin);
            alike.into_iter().find(|(finding, _)| {
                match_findings(&[relocate(earlier)], &[PriorFinding::of(finding)], are_similar) == [Some(0)]
            })
        };
        let refuted = by_name.or_else(by_likeness).map(|(_, reason)| format!("refuted by the model: {reason}"));
        // It was reported again, and was withheld.
        let looked =
            || self.past.matched.contains(&at).then(|| "said again, and refuted by the second look".to_owned());
        refuted.or_else(looked)
    }

    /// Checks whether a rule found it again, and it is only withheld.
    fn is_withheld_rule_finding(&self, earlier: &EarlierFinding) -> bool {
        let alike = self.past.unspoken.iter().filter(|finding| finding.origin == earlier.finding.origin);
        alike
            .into_iter()
            .any(|finding| match_findings(&[relocate(earlier)], &[PriorFinding::of(finding)], are_similar) == [Some(0)])
    }

    fn rule_is_silent(&self, earlier: &EarlierFinding, alike: &HashMap<(String, RepoPath), usize>) -> RuleSilence {
        let finding = &earlier.finding;
        let (OriginKind::Rule, Some(ran)) = (finding.origin.kind, &self.past.ran) else { return RuleSilence::MaySpeak };
        if !ran.rules.contains(&finding.origin.name) {
            return RuleSilence::NoRule;
        }
        let Some(path) = finding.anchors.first().map(|anchor| anchor.path.clone()) else {
            return RuleSilence::MaySpeak;
        };
        let missed = ran.missed.contains(&path);
        let spoken = alike.get(&(finding.origin.name.clone(), path)).copied().unwrap_or_default();
        if missed || spoken >= MOST_ALIKE { RuleSilence::MaySpeak } else { RuleSilence::Silent }
    }
}

/// Meaning of a rule's silence.
enum RuleSilence {
    /// None: no rule's finding, or the rule did not run there, or reached its maximum of findings.
    MaySpeak,
    /// The rule ran, and found nothing.
    Silent,
    /// There is no such rule in this review.
    NoRule,
}

/// Describes an earlier finding at its current place.
fn relocate(earlier: &EarlierFinding) -> PriorFinding<'_> {
    let told = PriorFinding::of(&earlier.finding);
    let over = earlier.finding.status.is_over() || is_dismissed_by_reader(&earlier.finding);
    if over && earlier.standing != EarlierFindingStatus::Stands {
        return told.ended();
    }
    match (&earlier.standing, &earlier.near) {
        (EarlierFindingStatus::Stands | EarlierFindingStatus::Outside, _) => told.unresolved(),
        (EarlierFindingStatus::Gone | EarlierFindingStatus::Unknown, Some(near)) => {
            told.at(Some((&near.path, near.side, near.lines)))
        }
        (EarlierFindingStatus::Gone | EarlierFindingStatus::Unknown, None) => told,
    }
}

/// Checks whether a finding may take the name of an earlier one, and the decision about it: dismissing a finding does not dismiss a worse one, nor
/// another of the same category on the same lines.
fn matches_prior(earlier: &EarlierFinding, now: &Finding) -> bool {
    let was = &earlier.finding;
    let is_same = was.fingerprint == now.fingerprint || are_similar(&was.title, &now.title);
    !is_dismissed_by_reader(was) || (is_same && now.severity >= was.severity)
}

/// Checks whether a reader dismissed it. Dismissals of the project are matched against its file again, whatever the name.
fn is_dismissed_by_reader(finding: &Finding) -> bool {
    let by_project = finding.dismissed.as_ref().is_some_and(|why| why.by == DismissedBy::Project);
    finding.status == FindingStatus::Dismissed && !by_project
}

fn status_again(earlier: &EarlierFinding) -> FindingStatus {
    match earlier.finding.status {
        FindingStatus::Fixed | FindingStatus::Refuted => FindingStatus::Reopened,
        // Whether that still holds is seen when the review is whole.
        FindingStatus::Dismissed => FindingStatus::Dismissed,
        FindingStatus::New | FindingStatus::Open | FindingStatus::Reopened => FindingStatus::Open,
    }
}

/// Only dismissed findings have a reason.
fn set_status(finding: &mut Finding, status: FindingStatus) {
    finding.status = status;
    finding.dismissed.take_if(|_| status != FindingStatus::Dismissed);
}

fn named(finding: &Finding) -> String {
    format!("{} ({})", finding.title, finding.id)
}

/// Receipt notes on earlier findings.
#[derive(Default)]
struct HistoryNotes {
    back: Vec<String>,
    refuted: Vec<String>,
    silent: Vec<String>,
    off: Vec<String>,
    outside: Vec<String>,
    unknown: Vec<String>,
    forgotten: usize,
}

impl HistoryNotes {
    fn said(self) -> Vec<String> {
        let Self { back, refuted, silent, off, outside, unknown, forgotten } = self;
        let mut said = Vec::new();
        for (what, names) in [
            ("Its lines are back as they were", back),
            ("Refuted, so not reported again", refuted),
            ("Fixed, because its rule looked again and is silent", silent),
            ("Not told any more, because its rule is not among those of this review", off),
            (
                "Not told any more, because the change does not touch its lines any more, or a glob leaves them out",
                outside,
            ),
            ("Still open, because nothing shows what became of its lines", unknown),
        ] {
            let more = names.len().saturating_sub(MOST_NAMED);
            said.extend(names.into_iter().take(MOST_NAMED).map(|name| format!("{what}: {name}")));
            if more > 0 {
                said.push(format!("{what}: {more} more"));
            }
        }
        if forgotten > 0 {
            let findings = count_noun(forgotten, "finding");
            said.push(format!(
                "{findings} that were fixed or refuted long ago are not remembered any more; the worst are."
            ));
        }
        said
    }
}

/// Returns a sentence on the earlier findings; empty if there is nothing to report. The plain summary already counts open ones.
pub(super) fn sentence(findings: &[Finding], (fixed, refuted): (usize, usize), by_model: bool) -> Option<String> {
    let count = |status: FindingStatus| findings.iter().filter(|finding| finding.status == status).count();
    if !by_model && fixed + refuted == 0 && count(FindingStatus::Reopened) == 0 {
        return None;
    }
    let kinds = [
        (count(FindingStatus::Open), "still open"),
        (count(FindingStatus::Reopened), "back after having been fixed"),
        (fixed, "fixed"),
        (refuted, "refuted"),
    ];
    let parts: Vec<String> =
        kinds.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    (!parts.is_empty()).then(|| format!("Of the findings of the review before: {}.", parts.join(", ")))
}
