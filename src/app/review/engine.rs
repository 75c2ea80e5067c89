//! Runs the chosen engine: the rules, or a model with its tools, prompts and journal. Main function: [`run_engine`].

use crate::app::context::model::limits;
use std::sync::Arc;
use std::time::Instant;

use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::model::ChosenModel;
use crate::app::prepare::builds::open_builds;
use crate::app::prepare::change::PreparedChange;
use crate::app::prepare::inputs::{
    ContentHashes, PROGRAM, PinnedSettings, RecordedReviewer, ReviewerContext, RunInputs, RunRequest,
};
use crate::app::prepare::instructions::Instructions;
use crate::app::prepare::previous::ReviewerIdentity;
use crate::app::prepare::{inputs, packs, previous};
use crate::config::{Settings, Verify};
use crate::domain::event::{Event, EventSink};
use crate::domain::guideline::Guidelines;
use crate::domain::review::Review;
use crate::domain::run::{Engine, RunId};
use crate::domain::run_record::StartedRun;
use crate::llm;
use crate::prompt::Prompts;
use crate::review::{
    self, FailoverCandidate, FindingThresholds, JOURNAL, JournalReplay, JournalSink, ModelRun, RulesRun,
    VerificationScope, VerificationSettings, review_unfinished_rules, review_with_rules,
};
use crate::rules::Packs;
use crate::store::{RunJournal, RunLock, Store, StoreError};
use crate::sys::blocking::{self, BlockingFailure};
use crate::tools::Toolbox;

/// Maximum size in bytes of a tool result that every assistant passes on whole.
const LARGEST_AGENT_RESULT: usize = 24_000;

/// The start of a run: RFC 3339 in UTC, and an instant to measure the duration.
pub(in crate::app) type RunStart = (String, Instant);

/// The input of an engine.
pub(in crate::app) struct EngineJob {
    pub(in crate::app) run: RunId,
    pub(in crate::app) started: RunStart,
    pub(in crate::app) subject: PreparedChange,
    /// The model and its context; `None` for the built-in rules.
    pub(in crate::app) by_model: Option<ModelContext>,
    pub(in crate::app) sitting: RunMode,
}

/// A model and its context besides the change.
pub(in crate::app) struct ModelContext {
    pub(in crate::app) chosen: ChosenModel,
    /// The model for verification, if it is another one.
    pub(in crate::app) second: Option<ChosenModel>,
    pub(in crate::app) instructions: Option<Instructions>,
    /// The project's guidelines.
    pub(in crate::app) guidelines: Arc<Guidelines>,
    pub(in crate::app) prompts: Prompts,
}

/// New or resumed run.
pub(in crate::app) enum RunMode {
    /// A new run: its inputs are saved.
    First(Box<NewRun>),
    /// A resumed run: its inputs are already saved.
    Again(Box<ResumedRun>),
}

/// The request behind a new run, saved with its inputs.
pub(in crate::app) struct NewRun {
    pub(in crate::app) asked: RunRequest,
    pub(in crate::app) contents: ContentHashes,
    /// The hash of everything that the review depends on, in a batch.
    pub(in crate::app) identity: Option<String>,
}

/// A resumed run.
pub(in crate::app) struct ResumedRun {
    /// The lock that keeps other processes from the run.
    pub(in crate::app) held: RunLock,
    pub(in crate::app) given: RunInputs,
    pub(in crate::app) past: JournalReplay,
}

/// Reviews the change with the engine that the settings select. The run stays locked until it is saved.
pub(in crate::app) async fn run_engine(
    mut work: EngineJob,
    around: &ProcessEnv,
    events: Arc<dyn EventSink>,
) -> Result<(Review, Option<RunLock>), AppError> {
    let packs = packs::load(&work.subject)?;
    let store = around.store.clone();
    let Some(by_model) = work.by_model.take() else { return rules_alone(work, packs, store, around, events).await };
    let ModelContext { chosen, second, instructions, guidelines, prompts } = by_model;
    let EngineJob { run, started, mut subject, sitting, .. } = work;
    let is_first = matches!(sitting, RunMode::First(_));
    let provider: Arc<dyn llm::Provider> = Arc::from(llm::connect(&chosen.row, &chosen.model, &chosen.access)?);
    let capabilities = provider.capabilities();
    // A resumed run already has the salt and the history of its first session.
    let prompts = if is_first { prompts.salted(&RunId::random().to_string()) } else { prompts };
    if is_first {
        let who = identify_reviewer(capabilities, &prompts, &packs, instructions.as_ref(), &guidelines);
        subject = previous::load_previous(run, subject, around, who, &events).await?;
    }
    let limits = limits(&subject.settings, capabilities)?;
    let agent = std::iter::once(&chosen).chain(&chosen.next).chain(&second).find_map(|model| model.row.agent);
    if let Some(agent) = agent {
        subject.notes.push(format!(
            "The login of {} was used, so this review counts on that plan; its tokens and cost are not known.",
            agent.title
        ));
    }
    let second_look = verification(&subject.settings, &provider, second.as_ref())?;
    let next = failover_candidates(&subject.settings, &chosen)?;
    let told = ReviewerContext { instructions: instructions.as_ref(), guidelines: &guidelines };
    let reviewer = RecordedReviewer::new(provider.capabilities(), &limits, &prompts, told, second_look.as_ref(), &next);
    let begun = begin(&store, run, &started, &subject, packs.hash(), Some(reviewer), &sitting);
    let journal = begun.and_then(|held| Ok((held, journal_of(&store, run)?)));
    let (held, journal) = match journal {
        Ok((held, file)) => (held, Some(Box::new(file) as Box<dyn JournalSink>)),
        Err(error) => {
            // A run that cannot save a journal continues without one and says so.
            let text = format!("this run has no journal: {error}");
            subject.notes.push(text.clone());
            events.emit(Event::Notice { text });
            (None, None)
        }
    };
    let (past, taken_up) = match sitting {
        RunMode::First(_) => (JournalReplay::default(), None),
        RunMode::Again(again) => (again.past, Some(again.held)),
    };
    let mut context = subject.tool_context();
    context.builds = open_builds(&subject, around)?;
    context.limits.bytes = context.limits.bytes.min(bytes_of_a_result(limits.window));
    if agent.is_some() {
        // An assistant cuts a longer result in the middle and does not say so.
        context.limits.bytes = context.limits.bytes.min(LARGEST_AGENT_RESULT);
    }
    let input = ModelRun {
        run,
        tools: Toolbox::new(context),
        packs,
        reports: subject.reports,
        prompts,
        limits,
        pool: around.providers.pool.clone(),
        journal,
        provider,
        next,
        relay: review::Failover::default(),
        second_look,
        instructions: instructions.map(|instructions| instructions.text),
        guidelines,
        change: subject.change,
        new: subject.new,
        old: subject.old,
        floor: threshold(&subject.settings),
        known: subject.known,
        past,
        notes: subject.notes,
        started,
        cancel: subject.cancel,
        events,
    };
    let review = review::review_with_model(input, around.providers.admission.as_deref());
    Ok((review.await?, held.or(taken_up)))
}

/// Reviews the change with the rules only.
async fn rules_alone(
    work: EngineJob,
    packs: Packs,
    store: Store,
    around: &ProcessEnv,
    events: Arc<dyn EventSink>,
) -> Result<(Review, Option<RunLock>), AppError> {
    let EngineJob { run, started, subject, sitting, .. } = work;
    let subject = previous::load_previous(run, subject, around, ReviewerIdentity::rules(packs.hash()), &events).await?;
    let cancel = subject.cancel.clone();
    let (subject, packs) = (Arc::new(subject), Arc::new(packs));
    let (lent, shared, began, told) = (Arc::clone(&subject), Arc::clone(&packs), started.clone(), Arc::clone(&events));
    let work = move || {
        // Inputs that cannot be saved are reported at the end, when the review cannot be saved either.
        let held = begin(&store, run, &began, &lent, shared.hash(), None, &sitting).ok().flatten();
        (review_with_rules(&rules_run(run, began, &lent, &shared, told.as_ref())), held)
    };
    match blocking::run("the rules", &cancel, work).await {
        Err(lost @ BlockingFailure::Abandoned { .. }) => {
            Ok((review_unfinished_rules(&rules_run(run, started, &subject, &packs, events.as_ref()), &lost), None))
        }
        done => Ok(done?),
    }
}

/// Identifies the current reviewer, for comparison with an earlier review.
pub(in crate::app) fn identify_reviewer(
    model: &llm::Capabilities,
    prompts: &Prompts,
    packs: &Packs,
    instructions: Option<&Instructions>,
    guidelines: &Arc<Guidelines>,
) -> ReviewerIdentity {
    ReviewerIdentity {
        engine: Engine::Model,
        provider: Some(model.provider.to_string()),
        model: Some(model.model.clone()),
        prompts: Some(prompts.hash().to_owned()),
        rules: Some(packs.hash().to_owned()),
        instructions: instructions.map(|instructions| review::instructions_hash(&instructions.text)),
        guidelines: Arc::clone(guidelines),
    }
}

/// Opens the journal of a run for appending. A partial last line, left by a killed process, is removed.
fn journal_of(store: &Store, run: RunId) -> Result<RunJournal, StoreError> {
    if store.has_files(run, &[JOURNAL])? {
        Ok(store.reopen(run, JOURNAL)?.1)
    } else {
        store.append_exclusive(run, JOURNAL)
    }
}

/// Saves the inputs of a new run; for a resumed run, the inputs that changed. The run counts as running as long as the returned lock is
/// held; a resumed run already holds it.
fn begin(
    store: &Store,
    run: RunId,
    started: &RunStart,
    subject: &PreparedChange,
    rules: &str,
    reviewer: Option<RecordedReviewer>,
    sitting: &RunMode,
) -> Result<Option<RunLock>, AppError> {
    let NewRun { asked, contents, identity } = match sitting {
        RunMode::First(first) => first.as_ref(),
        RunMode::Again(again) => {
            let mut given = again.given.clone();
            if let (Some(now), Some(kept)) = (reviewer, &mut given.reviewer) {
                kept.last_limits = now.last_limits;
            }
            inputs::update(store, run, &given)?;
            return Ok(None);
        }
    };
    let change = &subject.change;
    let text = |path: &Option<std::path::PathBuf>| path.as_ref()?.to_str().map(str::to_owned);
    let begun = StartedRun {
        id: run,
        started_at: started.0.clone(),
        repository: change.repository.clone(),
        target: change.target.clone(),
        head_name: change.head_name.clone(),
        pull: change.pull.as_ref().map(|pull| pull.id.clone()),
        engine: if reviewer.is_some() { Engine::Model } else { Engine::Rules },
        identity: identity.clone(),
    };
    let given = RunInputs {
        program: PROGRAM.to_owned(),
        asked: asked.clone(),
        shaping: PinnedSettings::of(&subject.settings),
        settings_at: subject.settings_at.map(|commit| commit.to_string()),
        repository: text(&subject.repository),
        root: text(&subject.root),
        rules: rules.to_owned(),
        rule_files: subject.rule_files.clone(),
        reviewer,
        contents: contents.clone(),
        reports: subject.reports.clone(),
        notes: subject.notes.clone(),
        identity: identity.clone(),
    };
    Ok(Some(inputs::save(store, &begun, &given, change, subject.dismissed.as_ref())?))
}

fn rules_run<'a>(
    run: RunId,
    started: RunStart,
    subject: &'a PreparedChange,
    packs: &'a Packs,
    events: &'a dyn EventSink,
) -> RulesRun<'a> {
    RulesRun {
        run,
        change: Arc::clone(&subject.change),
        new: Arc::clone(&subject.new),
        old: Arc::clone(&subject.old),
        packs,
        reports: &subject.reports,
        floor: threshold(&subject.settings),
        known: &subject.known,
        notes: subject.notes.clone(),
        started,
        cancel: &subject.cancel,
        events,
    }
}

pub(in crate::app) fn threshold(settings: &Settings) -> FindingThresholds {
    FindingThresholds { severity: settings.min_severity, confidence: settings.min_confidence }
}

/// Collects the failover candidates.
pub(in crate::app) fn failover_candidates(
    settings: &Settings,
    chosen: &ChosenModel,
) -> Result<Vec<FailoverCandidate>, AppError> {
    let runner = |next: &ChosenModel| {
        let provider: Arc<dyn llm::Provider> = Arc::from(llm::connect(&next.row, &next.model, &next.access)?);
        Ok(FailoverCandidate { limits: limits(settings, provider.capabilities())?, provider })
    };
    chosen.next.iter().map(runner).collect()
}

/// Determines the verification model and its scope; `None` if verification is off.
pub(in crate::app) fn verification(
    settings: &Settings,
    same: &Arc<dyn llm::Provider>,
    other: Option<&ChosenModel>,
) -> Result<Option<VerificationSettings>, AppError> {
    let which = match settings.verify {
        Verify::Auto => VerificationScope::Auto,
        Verify::All => VerificationScope::All,
        Verify::None => return Ok(None),
    };
    let provider = match other {
        Some(chosen) => Arc::from(llm::connect(&chosen.row, &chosen.model, &chosen.access)?),
        None => Arc::clone(same),
    };
    let limits = limits(settings, provider.capabilities())?;
    Ok(Some(VerificationSettings { which, provider, limits }))
}

/// Returns the maximum size in bytes of one tool result, so that a small window holds several: a twelfth of it, at four bytes per token.
fn bytes_of_a_result(window: u64) -> usize {
    usize::try_from(window / 3).unwrap_or(usize::MAX)
}
