//! The engine with a model: leads from the rules, the opening, the turns, the review. Main function: [`review_with_model`].

use std::sync::Arc;
use std::time::Instant;

use super::admission::{Admission, NotAdmitted};
use super::builder::{Lead, ReviewBuilder};
use super::conversation::{ConversationStats, ToolList};
use super::error::EngineError;
use super::journal::{ConversationId, Journal, JournalRecord, RecordedRules, RecordedTrees};
use super::outcome::{EngineOutcome, ModelContribution, ProvenanceInput, instructions_hash, unreviewed_files};
use super::parts::{self, ModelReviewInput, ModelReviewOutcome};
use super::plan::{Opening, PlannedParts, ReviewLayout};
use super::run::ModelRun;
use super::verify::{VerificationOutcome, verify_findings};
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::domain::review::{Review, StopReason};
use crate::domain::run::{Engine, Usage};
use crate::domain::verification::VerificationTotals as Numbers;
use crate::evidence::GrammarLanguages;
use crate::prompt::{LeadVars, PromptError};
use crate::rules::{self, RulesInput, RulesReport};
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
        None if input.layout.units.iter().all(Vec::is_empty) => Some(EngineOutcome::Done),
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
    if let Some(run) = Arc::get_mut(run) {
        run.started.1 += began.elapsed();
        run.tools = run.tools.with_cancel(cancel.clone());
        run.cancel = cancel;
    }
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

/// Prepares the review: runs the rules, divides the change, and builds the first messages.
pub(super) fn prepare(run: &ModelRun, journal: &Journal) -> Result<PreparedReview, EngineError> {
    prepare_with(run, journal, add_rule_leads)
}

/// Prepares the review without the rules: only the leads of other tools are added.
pub(super) fn prepare_without_rules(run: &ModelRun, journal: &Journal) -> Result<PreparedReview, EngineError> {
    prepare_with(run, journal, |run, _, builder, _| {
        let mut report = RulesReport::default();
        rules::add_reports(&rules_input(run, &run.packs.trees()), &run.reports, &mut report);
        let _ = builder.add_leads(&report.claims, &run.cancel);
        None
    })
}

fn prepare_with(
    run: &ModelRun,
    journal: &Journal,
    add_leads: impl FnOnce(&ModelRun, &RecordedTrees, &mut ReviewBuilder, &mut Journal) -> Option<CancelReason>,
) -> Result<PreparedReview, EngineError> {
    let mut journal = journal.of(ConversationId::WHOLE);
    let trees =
        RecordedTrees::new([Arc::clone(&run.new), Arc::clone(&run.old)], &run.past, journal.of(ConversationId::WHOLE));
    let mut builder = ReviewBuilder::new(Arc::clone(&run.change), Arc::clone(&trees.new), Arc::clone(&trees.old))
        .with_guidelines(Arc::clone(&run.guidelines))
        .with_languages(GrammarLanguages::with(Arc::new(run.packs.trees())));
    let stopped = add_leads(run, &trees, &mut builder, &mut journal);
    builder.add_earlier(&run.known);
    builder.set_aside_dismissed(&run.known, &run.started.0);
    let carried = run.known.carried_files();
    builder.mark_carried(&carried);
    let tools = ToolList::with(&run.tools, ReviewBuilder::definitions(run.tools.runs_builds()));
    let leads: Vec<LeadVars> = builder.leads().map(vars).collect();
    let laid = PlannedParts { run, tools: tools.size, leads: &leads, carried: &carried };
    let layout = ReviewLayout::of(&laid)?;
    if run.past.plan().is_none() {
        journal.record(None, layout.record(&run.change, &carried));
    }
    let (mut parts, mut whole) = (Vec::new(), None);
    if layout.units.len() > 1 {
        let ranks = laid.ranks();
        for (at, mut part) in builder.split(&layout.units).into_iter().enumerate() {
            let opening = open_conversation(&laid, &layout, at, &mut part, &ranks)?;
            parts.push((part, opening));
        }
    } else {
        whole = Some(open_conversation(&laid, &layout, 0, &mut builder, &[])?);
    }
    let input = ModelReviewInput { builder, tools, layout, parts, whole };
    Ok(PreparedReview { input, trees, stopped })
}

fn rules_input<'a>(run: &'a ModelRun, trees: &'a TreeCache) -> RulesInput<'a> {
    RulesInput {
        change: &run.change,
        new: run.new.as_ref(),
        old: run.old.as_ref(),
        packs: &run.packs,
        trees,
        cancel: &run.cancel,
        events: run.events.as_ref(),
    }
}

/// Adds the leads of the rules: those of an earlier session, else those found now. Returns the reason if the rules were stopped.
fn add_rule_leads(
    run: &ModelRun,
    trees: &RecordedTrees,
    builder: &mut ReviewBuilder,
    journal: &mut Journal,
) -> Option<CancelReason> {
    if let Some(RecordedRules { claims, notes, stopped, missed, unchecked, standing, suppressed }) = run.past.rules() {
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
        if stopped.is_none() {
            builder.record_rules(&run.packs, missed.iter().cloned());
        }
        for note in notes {
            builder.add_note(note.clone());
        }
        return stopped;
    }
    if run.past.is_finished() {
        return Some(CancelReason::Interrupted);
    }
    let trees_of_rules = run.packs.trees();
    let input = rules_input(run, &trees_of_rules);
    let mut report = rules::run(&input);
    rules::add_reports(&input, &run.reports, &mut report);
    let rest = builder.add_leads(&report.claims, &run.cancel);
    builder.add_existing_issues(&report.standing, &run.cancel);
    builder.suppress(report.suppressed);
    report.notes.iter().for_each(|note| builder.add_note(note.clone()));
    let stopped = report.stopped.or(rest.map(|(_, stopped)| stopped));
    let missed: Vec<RepoPath> = unreviewed_files(&report.files).collect();
    if stopped.is_none() {
        builder.record_rules(&run.packs, missed.iter().cloned());
    }
    let ended = stopped.map(|stopped| EngineOutcome::Stopped(stopped).stop_reason());
    let unchecked = u32::try_from(rest.map_or(0, |(unchecked, _)| unchecked)).unwrap_or(u32::MAX);
    let _ = trees.new.omissions();
    let rules = RecordedRules {
        claims: report.claims,
        notes: report.notes,
        stopped: ended,
        missed,
        unchecked,
        standing: report.standing,
        suppressed: report.suppressed,
    };
    journal.record(None, JournalRecord::Rules(rules));
    stopped
}

/// Builds the first message; what it does not show is recorded in the builder.
fn open_conversation(
    laid: &PlannedParts<'_>,
    layout: &ReviewLayout,
    at: usize,
    builder: &mut ReviewBuilder,
    ranks: &[usize],
) -> Result<Opening, PromptError> {
    let leads: Vec<LeadVars> = builder.leads().map(vars).collect();
    let opening = laid.opening(layout, at, &leads, ranks)?;
    opening.left_out.iter().for_each(|left_out| builder.record_omitted_diff(left_out));
    builder.withhold_leads(opening.leads_left_out.iter().cloned());
    opening.notes.iter().for_each(|note| builder.add_note(note.clone()));
    Ok(opening)
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

/// Converts a lead to the variables of the first message.
fn vars(lead: &Lead) -> LeadVars {
    let place = match lead.lines {
        Some(lines) => format!("{}:{}", lead.path, lines.start()),
        None => lead.path.to_string(),
    };
    let place = match lead.side {
        DiffSide::New => place,
        DiffSide::Old => format!("{place} (before the change)"),
    };
    LeadVars {
        id: lead.id.clone(),
        rule: lead.rule.clone(),
        severity: lead.severity,
        category: lead.category,
        place,
        title: lead.title.clone(),
        body: lead.body.clone(),
    }
}
