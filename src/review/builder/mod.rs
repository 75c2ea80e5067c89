//! Review under construction: the tool calls of the model applied to it, and the coverage. Main type: [`ReviewBuilder`].
//!
//! The conversation passes each call of an engine tool ([`ReviewBuilder::call`]) and reports what the model was shown; at the end the builder becomes a review
//! ([`ReviewBuilder::finish`]). Checking a finding belongs in `evidence`, reading the input of a call in `engine_tools`.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::branch_history::BranchHistory;
use super::outcome::{
    CoverageTracker, EngineOutcome, FindingThresholds, OmittedDiff, ProvenanceInput, ReviewDraft, ShownDiff,
};
use crate::domain::change::{ChangeSet, Omission};
use crate::domain::claim::Claim;
use crate::domain::finding::Finding;
use crate::domain::guideline::Guidelines;
use crate::domain::path::RepoPath;
use crate::domain::review::{FileCoverage, Review, ReviewSection};
use crate::evidence::GrammarLanguages;
use crate::llm::{ToolDefinition, is_open};
use crate::rules::Packs;
use crate::sys::cancel::{Cancel, CancelReason};
use crate::tools::{BuildProof, ErrorKind, ShownLines, ToolFault};
use crate::workspace::Workspace;

mod answer;
mod close;
mod engine_tools;
mod finding;
mod guideline;
mod lead;
mod merging;
mod parts;
mod report;
mod wording;

pub use answer::{CallEffect, EngineToolResponse};
pub use lead::Lead;

pub(super) use engine_tools::{
    ENGINE_TOOLS, FINISH, NO_END, ReaderText, StatedConfidence, is_engine_tool, read_severity, stated_confidence,
};
pub(super) use parts::ReturnedBuilder;

use answer::ResponseFields;
use close::FinishGate;
use engine_tools::{EngineCall, EngineTool, REPORT, UnreadableReport};
use finding::AcceptedFinding;
use lead::TrackedLead;
use report::RefusedReport;
use wording::WordingRequests;

/// More sections are not taken.
const MOST_SECTIONS: usize = 20;

/// Review under construction. A copy of it takes the calls of a turn, so that it stands as it was if they never end.
#[derive(Clone)]
pub struct ReviewBuilder {
    change: Arc<ChangeSet>,
    new: Arc<dyn Workspace>,
    old: Arc<dyn Workspace>,
    /// Guidelines of the project.
    guidelines: Arc<Guidelines>,
    draft: ReviewDraft,
    seen: CoverageTracker,
    /// Coverage and gaps, if other conversations reviewed the files.
    covered: Option<(Vec<FileCoverage>, Vec<Omission>)>,
    /// Accepted findings, in the order of their reports.
    findings: Vec<AcceptedFinding>,
    /// Number of findings ever accepted: numbers are not reused.
    accepted: u32,
    /// Rejected reports that were neither corrected nor withdrawn.
    refused: Vec<RefusedReport>,
    /// Number of rejected reports.
    refusals: u32,
    /// Number of withdrawn reports and findings.
    withdrawn: u32,
    /// Reports beyond the most that are taken.
    beyond: u32,
    leads: Vec<TrackedLead>,
    /// Number of leads ever added: numbers are not reused.
    led: usize,
    /// The leads that the model was not given: the first message had no room for them.
    kept_back: HashSet<String>,
    sections: Vec<ReviewSection>,
    gate: FinishGate,
    wording: WordingRequests,
    summary: Option<String>,
    /// Runs of the project's tools by the model.
    builds: Vec<BuildProof>,
    /// Model that reports, once it is not the first one.
    reporter: Option<String>,
    /// Number of the turn, so that calls made at once are not taken for corrections of each other; 0 without turns.
    turn: u32,
}

impl ReviewBuilder {
    /// Creates the builder for the review of a change.
    pub fn new(change: Arc<ChangeSet>, new: Arc<dyn Workspace>, old: Arc<dyn Workspace>) -> Self {
        Self::of_tracker(CoverageTracker::new(Arc::clone(&change)), change, new, old)
    }

    fn of_tracker(
        seen: CoverageTracker,
        change: Arc<ChangeSet>,
        new: Arc<dyn Workspace>,
        old: Arc<dyn Workspace>,
    ) -> Self {
        Self {
            draft: ReviewDraft::new(Arc::clone(&change)),
            seen,
            guidelines: Arc::default(),
            covered: None,
            change,
            new,
            old,
            findings: Vec::new(),
            accepted: 0,
            refused: Vec::new(),
            refusals: 0,
            withdrawn: 0,
            beyond: 0,
            leads: Vec::new(),
            led: 0,
            kept_back: HashSet::new(),
            sections: Vec::new(),
            gate: FinishGate::default(),
            wording: WordingRequests::default(),
            summary: None,
            builds: Vec::new(),
            reporter: None,
            turn: 0,
        }
    }

    /// Adds the guidelines of the project, on whose lines a finding may be based.
    #[must_use]
    pub fn with_guidelines(self, guidelines: Arc<Guidelines>) -> Self {
        Self { guidelines, ..self }
    }

    /// Adds the grammars with which quotes and suggestions are checked.
    #[must_use]
    pub(super) fn with_languages(mut self, languages: GrammarLanguages) -> Self {
        self.draft = self.draft.with_languages(languages);
        self
    }

    /// Returns the definitions of the engine's tools, in a fixed order. `builds` says whether the model may run the project's tools: only then a
    /// report can name a run.
    pub fn definitions(builds: bool) -> Vec<ToolDefinition> {
        let definition = |tool: &EngineTool| {
            let mut schema = (tool.schema)();
            if let Some(fields) = schema["properties"].as_object_mut().filter(|_| !builds) {
                fields.remove(engine_tools::BUILD_RUN);
            }
            ToolDefinition { name: tool.name.to_owned(), description: tool.description.to_owned(), schema }
        };
        ENGINE_TOOLS.iter().map(definition).collect()
    }

    /// Carries out a call. `pending_reads` is how many calls of the same turn only read: the model has not seen their results yet.
    pub fn call(
        &mut self,
        name: &str,
        input: Map<String, Value>,
        pending_reads: usize,
        cancel: &Cancel,
    ) -> Result<EngineToolResponse, CancelReason> {
        cancel.check()?;
        let Some(tool) = ENGINE_TOOLS.iter().find(|tool| tool.name == name) else {
            let names: Vec<_> = ENGINE_TOOLS.iter().map(|tool| tool.name).collect();
            let message = format!("there is no tool {name:?} here; there are: {}", names.join(", "));
            return Ok(ToolFault::new(ErrorKind::UnknownTool, message).into());
        };
        let answer = match (tool.read)(Value::Object(input)) {
            Ok(EngineCall::Report(report)) => Ok(self.report(report, cancel)?),
            Ok(EngineCall::UnreadableReport(report)) => Ok(self.store_unreadable(&report)),
            Ok(EngineCall::Withdraw { id }) => self.withdraw(&id),
            Ok(EngineCall::Refute { id, reason, notes }) => self.refute(&id, &reason, &notes),
            Ok(EngineCall::Write { section, notes }) => self.write(section, &notes),
            Ok(EngineCall::Finish(closing)) => Ok(self.close(closing, pending_reads, cancel)?),
            Err(fault) => Err(fault),
        };
        if let Some(reporter) = self.reporter.clone() {
            self.sign(&reporter);
        }
        Ok(answer.unwrap_or_else(EngineToolResponse::from))
    }

    /// Handles a call whose input is no JSON object. An unreadable report stays open until it is repeated.
    pub fn call_malformed(&mut self, name: &str, input: &str) -> EngineToolResponse {
        let head: String = input.chars().take(80).collect();
        let message = if is_open(input) {
            NO_END.to_owned()
        } else {
            format!("the input is not a JSON object (it begins {head:?}): call {name} again with one")
        };
        let fault = ToolFault::new(ErrorKind::InvalidInput, message);
        if name != REPORT {
            return fault.into();
        }
        self.store_unreadable(&UnreadableReport { title: String::new(), path: String::new(), id: None, fault })
    }

    /// Switches the reporter to another model.
    pub(super) fn change_model(&mut self, before: &str, now: String) {
        self.sign(before);
        self.reporter = Some(now);
    }

    /// Findings without a reporter get this one.
    fn sign(&mut self, by: &str) {
        for stood in self.findings.iter_mut().filter(|stood| stood.finding.origin.name.is_empty()) {
            by.clone_into(&mut stood.finding.origin.name);
        }
    }

    /// Begins another turn.
    pub fn begin_turn(&mut self) {
        self.turn += 1;
    }

    /// Marks that the model cannot read any more: it may finish despite open items.
    pub fn last_turn(&mut self) {
        self.gate.lift();
    }

    /// Marks that the model can read again: open items count again before the end.
    pub(super) fn reopen(&mut self) {
        self.gate = FinishGate::default();
    }

    /// Records everything that the trees could not provide so far.
    pub(super) fn record_omissions(&self) {
        let _ = self.new.omissions();
    }

    /// Records a file's diff that the first message does not show.
    pub fn record_omitted_diff(&mut self, left_out: &OmittedDiff) {
        self.seen.record_omitted_diff(left_out);
    }

    /// Records the part of a file's diff that was in a message the model answered.
    pub fn record_shown_diff(&mut self, shown: &ShownDiff) {
        self.seen.record_shown_diff(shown);
    }

    /// Records the references in results that the model has answered. It must be called before the calls of that response are made: a `finish_review`
    /// among them checks the coverage.
    pub fn record_shown_lines(&mut self, references: &[ShownLines]) {
        for reference in references {
            self.seen.record_shown_lines(reference);
        }
    }

    /// Records which rules were run, and what they saw of each file.
    pub(super) fn record_rules(&mut self, packs: &Packs, missed: impl IntoIterator<Item = RepoPath>) {
        self.draft.record_rules(packs, missed);
    }

    /// Checks the rules' findings on code from before the change. They become no leads, because a model reports on the change alone.
    pub fn add_existing_issues(&mut self, claims: &[Claim], cancel: &Cancel) {
        for (at, claim) in claims.iter().enumerate() {
            let (new, old) = (Arc::clone(&self.new), Arc::clone(&self.old));
            let checked =
                cancel.check().and_then(|()| self.draft.report_existing_issue(claim, new.as_ref(), old.as_ref()));
            if let Err(stopped) = checked {
                let rest = claims.len() - at;
                self.draft.add_note(format!("{rest} matches of the rules were not checked: {stopped}"));
                return;
            }
        }
    }

    /// Counts findings that a comment in the code silenced.
    pub fn suppress(&mut self, count: u32) {
        self.draft.suppress(count);
    }

    /// Records a run of one of the project's tools, which a finding may name.
    pub(super) fn record_build(&mut self, run: BuildProof) {
        if !self.builds.contains(&run) {
            self.builds.push(run);
        }
    }

    /// Adds a sentence to the receipt.
    pub fn add_note(&mut self, note: String) {
        self.draft.add_note(note);
    }

    /// Returns the number of accepted findings.
    #[cfg(test)]
    fn standing(&self) -> usize {
        self.findings.len()
    }

    /// Checks whether `finish_review` was accepted.
    #[cfg(test)]
    fn is_finished(&self) -> bool {
        self.gate.is_finished()
    }

    /// Returns the number of accepted findings that match.
    pub(super) fn count_findings(&self, is_such: impl Fn(&Finding) -> bool) -> usize {
        self.findings.iter().filter(|stood| is_such(&stood.finding)).count()
    }

    /// Ends the reporting: reports that were never corrected are withheld, unanswered leads are delivered or withheld, and the findings get their
    /// order and their names. They may still be judged; `by` is the reporter, `ending` the outcome.
    pub(super) fn settle_reports(&mut self, by: &str, ending: &EngineOutcome) -> &mut ReviewDraft {
        if !self.draft.is_settled() {
            self.deliver_findings(by);
            self.deliver_leads(by, *ending == EngineOutcome::Done);
            self.withhold_refused();
            self.draft.sort_and_name();
        }
        &mut self.draft
    }

    /// Turns what was done into a review.
    pub fn finish(
        mut self,
        ending: &EngineOutcome,
        floor: FindingThresholds,
        known: &BranchHistory,
        made: ProvenanceInput,
    ) -> Review {
        let by = made.model.as_ref().map_or_else(String::new, super::outcome::ModelContribution::name);
        self.settle_reports(&by, ending);
        if !self.builds.is_empty() {
            let runs = self.builds.iter().map(|run| format!("{} ({})", run.tool, run.outcome()));
            self.draft.add_note(format!("The model ran {}", runs.collect::<Vec<_>>().join(", ")));
        }
        self.draft.write(std::mem::take(&mut self.sections));
        let (files, holes) = self.covered.take().unwrap_or_else(|| self.seen.coverage());
        self.draft.cover(files);
        self.draft.add_omissions(holes);
        self.draft.add_omissions([self.new.omissions(), self.old.omissions()].concat());
        self.draft.finish(ending, floor, known, self.summary, made)
    }

    /// Adds a section, or replaces the one of the same title.
    fn write(&mut self, section: ReviewSection, notes: &[String]) -> Result<EngineToolResponse, ToolFault> {
        let title = super::outcome::normalize_title(&section.title);
        let known = self.sections.iter().position(|known| super::outcome::normalize_title(&known.title) == title);
        let status = match known {
            Some(known) => {
                self.sections[known] = section;
                "replaced"
            }
            None if self.sections.len() >= MOST_SECTIONS => {
                let message = format!("there are {MOST_SECTIONS} sections already: replace one by its title");
                return Err(ToolFault::new(ErrorKind::InvalidInput, message));
            }
            None => {
                self.sections.push(section);
                "accepted"
            }
        };
        Ok(ResponseFields::status(status).notes(notes).answer())
    }
}

#[cfg(test)]
mod tests;
