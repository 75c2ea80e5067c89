//! The engine with a model: leads from the rules, the opening, the turns, the review. Main function: [`review_with_model`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use super::admission::{Admission, NotAdmitted};
use super::builder::ReviewBuilder;
use super::conversation::{ConversationStats, ToolList};
use super::error::EngineError;
use super::journal::{ConversationId, Journal, JournalRecord, RecordedRules, RecordedTrees, RuleScope};
use super::outcome::{EngineOutcome, ModelContribution, ProvenanceInput, instructions_hash, unreviewed_files};
use super::parts::{self, LaterLeads, ModelReviewInput, ModelReviewOutcome, PartOpener};
use super::plan::{ListedChange, PlannedParts, RelationsByFile, ReviewLayout};
use super::run::ModelRun;
use super::verify::{VerificationOutcome, verify_findings};
use crate::domain::event::NullEventSink;
use crate::domain::path::RepoPath;
use crate::domain::review::{Review, StopReason};
use crate::domain::run::{Engine, Usage};
use crate::domain::verification::VerificationTotals as Numbers;
use crate::evidence::GrammarLanguages;
use crate::prompt::{LeadVars, PromptError};
use crate::rules::{self, ChangedLines, RulesInput, RulesReport};
use crate::syntax::TreeCache;
use crate::sys::blocking::{self, BlockingFailure};
use crate::sys::cancel::{Cancel, CancelReason};

/// Reviews a change with a model. A provider failure, a limit or an interrupt is no error: the review holds what was found, and why it is incomplete.
/// With an `admission`, only what needs the model happens between the preparations and the end of the last conversation.
pub async fn review_with_model(mut run: ModelRun, admission: Option<&dyn Admission>) -> Result<Review, EngineError> {
    // A replay is not recorded again.
    let mut journal = Journal::new(run.journal.take().filter(|_| !run.past.is_replay()));
    run.relay.restore(&run.past);
    let mut run = Arc::new(run);
    begin(&run, &mut journal);
    let (prepared, of_rules) = (Arc::clone(&run), journal.of(ConversationId::WHOLE));
    let work = move || prepare(&prepared, &of_rules);
    let PreparedReview { input, trees, stopped } = match blocking::run("preparing the review", &run.cancel, work).await
    {
        Ok(prepared) => prepared?,
        Err(lost @ BlockingFailure::Abandoned { .. }) => return Ok(review_unprepared(&run, &journal, &lost)),
        Err(lost) => return Err(lost.into()),
    };
    run.past.check()?;
    let over = match stopped {
        Some(stopped) => Some(EngineOutcome::Stopped(stopped)),
        // No finding could touch a changed line, so a request would only cost.
        None if input.opener.parts().iter().all(Vec::is_empty) => Some(EngineOutcome::Done),
        None => None,
    };
    let admission = admission.filter(|_| over != Some(EngineOutcome::Done));
    if let Some(admission) = admission {
        admit(&mut run, admission).await?;
    }
    let ModelReviewOutcome { mut builder, ending, mut stats, budget } =
        Box::pin(parts::review(&run, input, &journal, over)).await?;
    let draft = builder.settle_reports(&run.provider.capabilities().name(), &ending);
    draft.apply_history(&run.known);
    let verified = verify_findings(&run, draft.findings(), &ending, &budget, &journal, &trees).await?;
    // An interrupt of the verification interrupts the review.
    let ending = verified.as_ref().and_then(|verified| verified.interrupted.clone()).unwrap_or(ending);
    let mut spent = ModelSpending { turns: budget.turns_of_run(), usage: budget.usage(), second_look: None };
    // What it had reserved is there for the next one.
    drop(budget);
    if let (Some(admission), false) = (admission, ending.stop_reason().is_provider_fault()) {
        admission.leave();
    }
    if let Some(VerificationOutcome { verdicts, unchecked, notes, numbers, stats: own, .. }) = verified {
        draft.mark_unverified(unchecked, &numbers.by);
        draft.apply_verdicts(verdicts, &numbers.by);
        notes.into_iter().chain(journal.fault()).for_each(|note| draft.add_note(note));
        stats.add(&own);
        spent.turns += numbers.turns;
        spent.usage = spent.usage.plus(numbers.usage);
        spent.second_look = Some(numbers);
    }
    run.past.notes().into_iter().for_each(|note| builder.add_note(note));
    builder.record_omissions();
    let took_ms = record_end(&run, &mut journal);
    Ok(finish(&run, builder, &ending, &stats, spent, took_ms))
}

/// Waits until the conversations of a prepared run may begin. The wait counts neither for its time limit nor for its duration.
async fn admit(run: &mut Arc<ModelRun>, admission: &dyn Admission) -> Result<(), NotAdmitted> {
    let began = Instant::now();
    let cancel = admission.admit(run.cancel.remaining()).await?;
    // The preparations have ended, so nothing else holds it.
    let run = Arc::get_mut(run).ok_or(NotAdmitted::Refused("its preparations go on; this is a defect of review"))?;
    run.started.1 += began.elapsed();
    run.tools = run.tools.with_cancel(cancel.clone());
    run.cancel = cancel;
    Ok(())
}

/// Returns the review of a run whose preparations never finished: nothing was reviewed, and the receipt says why.
fn review_unprepared(run: &ModelRun, journal: &Journal, lost: &BlockingFailure) -> Review {
    let trees =
        RecordedTrees::new([Arc::clone(&run.new), Arc::clone(&run.old)], &run.past, journal.of(ConversationId::WHOLE));
    let builder = ReviewBuilder::new(Arc::clone(&run.change), Arc::clone(&trees.new), Arc::clone(&trees.old));
    let spent = ModelSpending { turns: 0, usage: Usage::default(), second_look: None };
    let took_ms =
        u64::try_from((run.past.recorded_duration() + run.started.1.elapsed()).as_millis()).unwrap_or(u64::MAX);
    finish(run, builder, &EngineOutcome::abandoned(lost), &ConversationStats::default(), spent, took_ms)
}

/// Writes down what run this is, or that it is taken up again.
fn begin(run: &ModelRun, journal: &mut Journal) {
    let capabilities = run.provider.capabilities();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let record = if run.past.is_resumed() {
        JournalRecord::Resumed { version }
    } else {
        JournalRecord::Run {
            id: run.run.to_string(),
            version,
            provider: capabilities.provider.to_string(),
            model: capabilities.model.clone(),
            prompts: run.prompts.hash().to_owned(),
            rules: run.packs.hash().to_owned(),
            base: run.change.base.map(|commit| commit.to_string()),
            head: run.change.head.map(|commit| commit.to_string()),
            started_at: run.started.0.clone(),
            limits: Some(Box::new(run.limits)),
        }
    };
    journal.record(None, record);
    journal.sync();
}

/// Records the end of the run, and returns the duration of all sessions in milliseconds.
fn record_end(run: &ModelRun, journal: &mut Journal) -> u64 {
    let took = if run.past.is_replay() {
        run.past.recorded_duration()
    } else {
        run.past.recorded_duration() + run.started.1.elapsed()
    };
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    journal.turn(0);
    journal.record(None, JournalRecord::Done { took_ms });
    journal.sync();
    took_ms
}

/// Consumption of the model, in the review and in the verification.
struct ModelSpending {
    turns: u32,
    usage: Usage,
    second_look: Option<Numbers>,
}

/// Results of the preparations.
pub(super) struct PreparedReview {
    pub(super) input: ModelReviewInput,
    pub(super) trees: RecordedTrees,
    /// Set when the rules were stopped.
    pub(super) stopped: Option<CancelReason>,
}

/// Prepares the review: divides the change, runs the rules on all of it or on its first part, and builds the first message.
pub(super) fn prepare(run: &ModelRun, journal: &Journal) -> Result<PreparedReview, EngineError> {
    let mut prepared = Preparation::of(run, journal);
    let layout = prepared.layout(&[])?;
    // Results of other scanners are compared with those of all rules.
    let by_part = layout.units.len() > 1 && run.reports.is_empty() && !run.past.has_whole_rules();
    if by_part {
        return prepared.by_part(layout);
    }
    // Not beside the trees of all files.
    let layout = ReviewLayout { relations: RelationsByFile::new(), ..layout };
    let (stopped, missed) = prepared.rules.add_leads(run, &mut prepared.builder, None, None);
    if stopped.is_none() {
        prepared.builder.record_rules(&run.packs, missed);
    }
    prepared.whole(Some(layout), stopped)
}

/// Prepares the review without the rules: only the leads of other tools are added.
pub(super) fn prepare_without_rules(run: &ModelRun, journal: &Journal) -> Result<PreparedReview, EngineError> {
    let mut prepared = Preparation::of(run, journal);
    let mut report = RulesReport::default();
    let (lines, trees) = (ChangedLines::default(), run.packs.trees());
    rules::add_reports(&rules_input(run, (&lines, &trees), None), &run.reports, &mut report);
    let _ = prepared.builder.add_leads(&report.claims, &run.cancel);
    let mut prepared = prepared.whole(None, None)?;
    // No names are read from them.
    prepared.input.opener.layout.relations = RelationsByFile::new();
    Ok(prepared)
}

/// Preparations under way.
struct Preparation<'a> {
    run: &'a ModelRun,
    rules: RuleLeads,
    builder: ReviewBuilder,
    /// The files that were reviewed before.
    carried: BTreeMap<RepoPath, String>,
    listed: ListedChange,
    tools: ToolList,
}

impl<'r> Preparation<'r> {
    fn of(run: &'r ModelRun, journal: &Journal) -> Self {
        let journal = journal.of(ConversationId::WHOLE);
        let both = [Arc::clone(&run.new), Arc::clone(&run.old)];
        let trees = RecordedTrees::new(both, &run.past, journal.of(ConversationId::WHOLE));
        let builder = ReviewBuilder::new(Arc::clone(&run.change), Arc::clone(&trees.new), Arc::clone(&trees.old))
            .with_guidelines(Arc::clone(&run.guidelines))
            .with_languages(GrammarLanguages::with(Arc::new(run.packs.trees())));
        let tools = ToolList::with(&run.tools, ReviewBuilder::definitions(run.tools.runs_builds()));
        let carried = run.known.carried_files();
        let listed = ListedChange::of(&run.change);
        Self { run, rules: RuleLeads { trees, journal }, builder, carried, listed, tools }
    }

    fn plan<'a>(&'a self, leads: &'a [LeadVars]) -> PlannedParts<'a> {
        PlannedParts { run: self.run, tools: self.tools.size, leads, carried: &self.carried, listed: &self.listed }
    }

    fn layout(&self, leads: &[LeadVars]) -> Result<ReviewLayout, PromptError> {
        ReviewLayout::of(&self.plan(leads))
    }

    /// Prepares with the leads that the builder has; `known` is the layout without leads.
    fn whole(
        mut self,
        known: Option<ReviewLayout>,
        stopped: Option<CancelReason>,
    ) -> Result<PreparedReview, EngineError> {
        self.builder.add_earlier(&self.run.known);
        settle_leads(self.run, &mut self.builder, &self.carried);
        let leads: Vec<LeadVars> = self.builder.leads().map(parts::vars).collect();
        let layout = match known.filter(|_| leads.is_empty()) {
            Some(known) => known,
            None => self.layout(&leads)?,
        };
        let ranks = self.plan(&leads).ranks();
        self.finish(layout, ranks, None, stopped)
    }

    /// Prepares with the leads of the first part; those of the others are found while it is reviewed.
    fn by_part(mut self, layout: ReviewLayout) -> Result<PreparedReview, EngineError> {
        let others: BTreeSet<usize> = layout.units.iter().skip(1).flatten().copied().collect();
        let files = self.run.change.files.iter().enumerate();
        let is_first = |(at, path): &(usize, &RepoPath)| !others.contains(at) && !self.carried.contains_key(path);
        let paths = files.map(|(at, file)| (at, &file.path));
        let (first, others): (Vec<_>, Vec<_>) = paths.partition(is_first);
        let [first, others]: [BTreeSet<usize>; 2] =
            [first, others].map(|files| files.into_iter().map(|(at, _)| at).collect());
        let (stopped, mut missed) =
            self.rules.add_leads(self.run, &mut self.builder, Some(RuleScope::FirstPart), Some(&first));
        self.builder.add_earlier(&self.run.known);
        settle_leads(self.run, &mut self.builder, &self.carried);
        let (mut rules, carried) = (self.rules.clone(), self.carried.clone());
        let later = move |run: &ModelRun, builder: &mut ReviewBuilder| {
            let (stopped_later, more) = rules.add_leads(run, builder, Some(RuleScope::OtherParts), Some(&others));
            settle_leads(run, builder, &carried);
            missed.extend(more);
            if stopped.or(stopped_later).is_none() {
                builder.record_rules(&run.packs, missed);
            }
        };
        let ranks = self.plan(&[]).ranks();
        self.finish(layout, ranks, Some(Box::new(later)), stopped)
    }

    fn finish(
        mut self,
        layout: ReviewLayout,
        ranks: Vec<usize>,
        later: Option<LaterLeads>,
        stopped: Option<CancelReason>,
    ) -> Result<PreparedReview, EngineError> {
        let (run, RuleLeads { trees, mut journal }) = (self.run, self.rules);
        if run.past.plan().is_none() {
            journal.record(None, layout.record(&run.change, &self.carried));
        }
        let is_whole = layout.units.len() <= 1;
        let (carried, listed) = (self.carried, self.listed);
        let opener = PartOpener { tools: self.tools.size, layout, carried, listed, ranks };
        let whole = if is_whole { Some(opener.open(run, 0, &mut self.builder)?) } else { None };
        let input = ModelReviewInput { builder: self.builder, tools: self.tools, opener, whole, later };
        Ok(PreparedReview { input, trees, stopped })
    }
}

fn rules_input<'a>(
    run: &'a ModelRun,
    (lines, trees): (&'a ChangedLines, &'a TreeCache),
    only: Option<&'a BTreeSet<usize>>,
) -> RulesInput<'a> {
    RulesInput {
        change: &run.change,
        only,
        new: run.new.as_ref(),
        old: run.old.as_ref(),
        packs: &run.packs,
        lines,
        trees,
        cancel: &run.cancel,
        events: if only.is_some() { &NullEventSink } else { run.events.as_ref() },
    }
}

/// Leads of the rules, from the journal or found now.
#[derive(Clone)]
struct RuleLeads {
    trees: RecordedTrees,
    journal: Journal,
}

/// Sets aside the leads that the model need not be given.
fn settle_leads(run: &ModelRun, builder: &mut ReviewBuilder, carried: &BTreeMap<RepoPath, String>) {
    builder.set_aside_dismissed(&run.known, &run.started.0);
    builder.mark_carried(carried);
}

impl RuleLeads {
    /// Adds the leads about some files: those of an earlier session, else those found now. Returns the reason if the rules were stopped, and the files
    /// that they did not examine, or not wholly.
    fn add_leads(
        &mut self,
        run: &ModelRun,
        builder: &mut ReviewBuilder,
        scope: Option<RuleScope>,
        only: Option<&BTreeSet<usize>>,
    ) -> (Option<CancelReason>, Vec<RepoPath>) {
        if let Some(recorded) = run.past.rules(scope) {
            return add_recorded_leads(builder, recorded);
        }
        if run.past.is_finished(scope) {
            return (Some(CancelReason::Interrupted), Vec::new());
        }
        let trees_of_rules = run.packs.trees();
        let lines = ChangedLines::default();
        let input = rules_input(run, (&lines, &trees_of_rules), only);
        let mut report = rules::run(&input);
        rules::add_reports(&input, &run.reports, &mut report);
        let rest = builder.add_leads(&report.claims, &run.cancel);
        builder.add_existing_issues(&report.standing, &run.cancel);
        builder.suppress(report.suppressed);
        report.notes.iter().for_each(|note| builder.add_note(note.clone()));
        let stopped = report.stopped.or(rest.map(|(_, stopped)| stopped));
        let missed: Vec<RepoPath> = unreviewed_files(&report.files).collect();
        let ended = stopped.map(|stopped| EngineOutcome::Stopped(stopped).stop_reason());
        let unchecked = u32::try_from(rest.map_or(0, |(unchecked, _)| unchecked)).unwrap_or(u32::MAX);
        let _ = self.trees.new.omissions();
        let rules = RecordedRules {
            scope,
            claims: report.claims,
            notes: report.notes,
            stopped: ended,
            missed: missed.clone(),
            unchecked,
            standing: report.standing,
            suppressed: report.suppressed,
        };
        self.journal.record(None, JournalRecord::Rules(rules));
        (stopped, missed)
    }
}

/// Adds the leads of an earlier session.
fn add_recorded_leads(builder: &mut ReviewBuilder, recorded: &RecordedRules) -> (Option<CancelReason>, Vec<RepoPath>) {
    let RecordedRules { claims, notes, stopped, missed, unchecked, standing, suppressed, .. } = recorded;
    let stopped = stopped.map(|ended| match ended {
        StopReason::Deadline => CancelReason::DeadlinePassed,
        _ => CancelReason::Interrupted,
    });
    let unchecked = usize::try_from(*unchecked).unwrap_or(usize::MAX);
    let (checked, rest) = claims.split_at(claims.len().saturating_sub(unchecked));
    builder.add_leads(checked, &Cancel::never());
    if let Some(stopped) = stopped {
        builder.add_leads(rest, &Cancel::stopped(stopped));
    }
    builder.add_existing_issues(standing, &Cancel::never());
    builder.suppress(*suppressed);
    for note in notes {
        builder.add_note(note.clone());
    }
    (stopped, missed.clone())
}

/// Checks whether a limit ended the review before the first request.
fn is_nothing_sent(run: &ModelRun, ending: &EngineOutcome, stats: &ConversationStats, spent: &ModelSpending) -> bool {
    let by_limit =
        matches!(ending.stop_reason(), StopReason::CostLimit | StopReason::TokenLimit | StopReason::WindowLimit);
    by_limit && spent.turns == 0 && stats.broken_off.receipt_note().is_none() && run.handovers().is_empty()
}

fn finish(
    run: &ModelRun,
    mut builder: ReviewBuilder,
    ending: &EngineOutcome,
    stats: &ConversationStats,
    spent: ModelSpending,
    took_ms: u64,
) -> Review {
    run.notes.iter().for_each(|note| builder.add_note(note.clone()));
    if let Some(note) = stats.broken_off.receipt_note() {
        builder.add_note(note);
    }
    run.handovers().into_iter().for_each(|note| builder.add_note(note));
    if let Some(note) = stats.compaction.receipt_note() {
        builder.add_note(note);
    }
    if let Some(why) = stats.in_text {
        builder.add_note(format!("The model called its tools in the text, because {why}."));
    }
    let unasked = *ending == EngineOutcome::Done && spent.turns == 0;
    if unasked {
        let carried = run.known.prior.as_ref().is_some_and(|prior| !prior.carried.is_empty());
        let why = if carried {
            "Every changed file with lines to review is as it was at the review before"
        } else {
            "No changed file has lines to review"
        };
        builder.add_note(format!("{why}, so the model was not asked and nothing was sent."));
    }
    let capabilities = run.provider.capabilities();
    builder.finish(
        ending,
        run.floor,
        &run.known,
        ProvenanceInput {
            run: run.run,
            engine: Engine::Model,
            rules: Some(run.packs.hash().to_owned()),
            model: Some(ModelContribution {
                provider: capabilities.provider.to_string(),
                model: capabilities.model.clone(),
                prompts: Some(run.prompts.hash().to_owned()),
                instructions: run.instructions.as_deref().map(instructions_hash),
                guidelines: run.guidelines.provenance(),
                turns: spent.turns,
                answered: run.record_answerer(),
                usage: if unasked || is_nothing_sent(run, ending, stats, &spent) {
                    Usage::NOTHING
                } else {
                    spent.usage
                },
                second_look: spent.second_look,
                tool_calls: stats.calls,
                tool_errors: stats.errors,
                limits_hit: stats.limits.clone(),
            }),
            // Of the run, not of this session.
            started_at: run.past.account().map_or_else(|| run.started.0.clone(), |account| account.started_at.clone()),
            took_ms,
        },
    )
}
