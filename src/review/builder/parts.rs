//! Builders of the parts of a change, and joining them again. Main functions: [`ReviewBuilder::part`], [`ReviewBuilder::join`].
//!
//! The builder of a part accepts findings about any file, because defects cross parts; it must cover its own files, and the leads about them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::finding::FiledReceipt;
use super::lead::TrackedLead;
use super::{AcceptedFinding, ReviewBuilder};
use crate::domain::finding::Finding;
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::domain::review::{CoverageState, FileCoverage, ReviewSection};
use crate::review::outcome::normalize_title;

/// Desk that returns from a part of the review.
pub(in crate::review) struct ReturnedBuilder {
    pub(in crate::review) builder: ReviewBuilder,
    /// The places of the files that were its duty.
    pub(in crate::review) files: Vec<usize>,
    /// Reason why the files of an interrupted part are not wholly reviewed: a clause.
    pub(in crate::review) broken_off: Option<String>,
}

impl ReviewBuilder {
    /// Marks files that were reviewed before: they need no coverage, and leads about them are not given again.
    pub(in crate::review) fn mark_carried(&mut self, carried: &BTreeMap<RepoPath, String>) {
        if carried.is_empty() {
            return;
        }
        self.seen.mark_carried(carried);
        let before = self.leads.len();
        self.leads.retain(|leading| !carried.contains_key(&leading.lead.path));
        let dropped = before - self.leads.len();
        if dropped > 0 {
            self.draft.add_note(format!(
                "{dropped} of the rules' findings are about files that were reviewed before, and are not raised again"
            ));
        }
    }

    /// Creates the builder of a part: its files, and the leads about them. The first part also gets the leads of no part.
    pub(in crate::review) fn part(&mut self, parts: &[Vec<usize>], at: usize) -> Self {
        let mut builder = self.of_files(parts.get(at).into_iter().flatten().copied().collect());
        let change = Arc::clone(&self.change);
        let listed = if at == 0 { parts.get(1..).unwrap_or_default() } else { parts.get(at..=at).unwrap_or_default() };
        let files = listed.iter().flatten().filter_map(|file| change.files.get(*file));
        let places: HashSet<(DiffSide, &RepoPath)> =
            files.flat_map(|file| [DiffSide::Old, DiffSide::New].map(|side| (side, file.path_at(side)))).collect();
        let is_listed = |lead: &TrackedLead| places.contains(&(lead.lead.side, &lead.lead.path));
        let leads = std::mem::take(&mut self.leads);
        (builder.leads, self.leads) = leads.into_iter().partition(|lead| is_listed(lead) != (at == 0));
        builder
    }

    /// Creates a builder without coverage requirements, for a pass over files that others review.
    pub(in crate::review) fn without_coverage(&self) -> Self {
        self.of_files(BTreeSet::new())
    }

    /// Creates a builder that must cover only these files.
    fn of_files(&self, files: BTreeSet<usize>) -> Self {
        Self::of_tracker(
            self.seen.of_files(files),
            Arc::clone(&self.change),
            Arc::clone(&self.new),
            Arc::clone(&self.old),
        )
        .with_guidelines(Arc::clone(&self.guidelines))
        .with_languages(self.draft.languages().clone())
    }

    /// Joins the builders of all parts, in their order: equal reports of two become one finding, and each file is covered by its part.
    pub(in crate::review) fn join(&mut self, returned: Vec<ReturnedBuilder>) {
        let (mut files, mut holes) = self.covered.take().unwrap_or_else(|| self.seen.coverage());
        for ReturnedBuilder { builder, files: own, broken_off } in returned {
            for at in own {
                let (Some(slot), Some((mut covered, hole))) = (files.get_mut(at), builder.seen.coverage_of(at)) else {
                    continue;
                };
                if let Some(why) = &broken_off {
                    mark_interrupted(&mut covered, why);
                }
                *slot = covered;
                holes.extend(hole);
            }
            self.merge_builder(builder);
        }
        self.covered = Some((files, holes));
        self.confirm_all();
    }

    /// Takes over the reports of another builder.
    fn merge_builder(&mut self, builder: Self) {
        let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
        for AcceptedFinding { number, finding, proof } in builder.findings {
            let FiledReceipt { at, .. } = self.add_finding(finding);
            if let Some(stood) = self.findings.get_mut(at) {
                stood.proof = stood.proof.take().or(proof);
                numbers.insert(number, stood.number);
            }
        }
        for mut leading in builder.leads {
            leading.renumber(|number| numbers.get(&number).copied());
            self.leads.push(leading);
        }
        self.kept_back.extend(builder.kept_back);
        for refused in builder.refused {
            self.refusals += 1;
            self.refused.push(refused.with_number(self.refusals));
        }
        builder.builds.into_iter().for_each(|run| self.record_build(run));
        self.withdrawn += builder.withdrawn;
        self.beyond += builder.beyond;
        for section in builder.sections {
            self.append(section);
        }
        self.draft.absorb(builder.draft);
    }

    /// Puts a section to the one of the same title, or after all.
    fn append(&mut self, section: ReviewSection) {
        let title = normalize_title(&section.title);
        match self.sections.iter_mut().find(|known| normalize_title(&known.title) == title) {
            Some(known) if known.body.contains(&section.body) => {}
            Some(known) => known.body = format!("{}\n\n{}", known.body, section.body),
            None => self.sections.push(section),
        }
    }

    /// Returns the closing words of the model.
    pub(in crate::review) fn closing_words(&self) -> Option<&str> {
        self.summary.as_deref()
    }

    /// Sets the summary of all parts together.
    pub(in crate::review) fn set_summary(&mut self, summary: Option<String>) {
        self.summary = summary;
    }

    /// Returns the accepted findings so far.
    pub(in crate::review) fn accepted_findings(&self) -> Vec<Finding> {
        self.findings.iter().map(|stood| stood.finding.clone()).collect()
    }
}

/// Marks a file whose part was interrupted: it was reviewed less closely than necessary, if at all.
fn mark_interrupted(covered: &mut FileCoverage, why: &str) {
    let reason = match (covered.state, covered.reason.take()) {
        (CoverageState::Truncated, Some(known)) => format!("{known}; {why}"),
        _ => why.to_owned(),
    };
    covered.reason = Some(reason);
    if covered.state == CoverageState::Reviewed {
        covered.state = CoverageState::Truncated;
    }
}
