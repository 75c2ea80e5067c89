//! The main steps of a review: collect → open the trees → run the engine → save → deliver. Main function: [`review`].

use crate::app::context::settings;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::deliver::{self, DeliveredReview, OutputFile, ReviewLocation};
use super::engine::{EngineJob, ModelContext, NewRun, RunMode, run_engine};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::model;
use crate::app::context::prompts;
use crate::app::prepare::change;
use crate::app::prepare::change::PreparedChange;
use crate::app::prepare::guidelines;
use crate::app::prepare::inputs::ContentHashes;
use crate::app::prepare::inputs::RunRequest;
use crate::app::prepare::instructions;
use crate::app::prepare::instructions::Instructions;
use crate::app::prepare::instructions::TrustLevel;
use crate::app::prepare::pull;
use crate::app::prepare::sarif;
use crate::config::Flags;
use crate::domain::event::{Event, EventSink, ReviewStage};
use crate::domain::guideline::Guidelines;
use crate::domain::request::{Compare, ReviewRequest, ReviewScope};
use crate::domain::run::RunId;
use crate::prompt::Prompts;
use crate::sys::blocking;
use crate::sys::cancel::{Cancel, CancelReason};
use crate::sys::clock;

/// The input of a review.
#[derive(Debug, Clone)]
pub struct ReviewJob {
    /// The id of the run.
    pub run: RunId,
    /// The request.
    pub request: ReviewRequest,
    /// The settings from the command line.
    pub flags: Flags,
    /// The files to write.
    pub outputs: Vec<OutputFile>,
    /// The choice of the previous review.
    pub compare: Compare,
    /// SARIF reports of other scanners.
    pub leads: Vec<PathBuf>,
}

/// Reviews a change, saves the run, and writes the requested files.
///
/// An interrupt or an expired deadline during the review is not an error: the findings so far are saved and delivered, marked incomplete.
pub async fn review(
    job: ReviewJob,
    around: ProcessEnv,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
) -> Result<DeliveredReview, AppError> {
    review_with(job, TrustLevel::User, around, events, cancel).await
}

/// Reviews a change like [`review()`]; `whose` determines where instructions are read.
pub(in crate::app) async fn review_with(
    job: ReviewJob,
    whose: TrustLevel,
    around: ProcessEnv,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
) -> Result<DeliveredReview, AppError> {
    let started = (clock::now(), Instant::now());

    let ReviewJob { run, request, flags, outputs, compare, leads } = job;
    let compare = Compare { with: compare.with.for_scope(&request.scope), ..compare };
    // The model does not depend on the repository, so its errors are reported before anything is collected.
    let resolved = settings::resolve(None, &flags, &around)?;
    let chosen = model::choose(&resolved, &around.providers)?;
    let second = model::choose_verifier(&resolved, &around.providers, chosen.as_ref())?;
    model::priced(&resolved.settings, chosen.iter().chain(&second))?;
    for text in chosen.iter().chain(&second).flat_map(|chosen| &chosen.notices) {
        events.emit(Event::Warning { text: text.clone() });
    }
    let asked = RunRequest::new(&request, &flags, whose);
    let gathering = ReviewInputs { request, flags, compare, leads, whose, is_model: chosen.is_some() };
    // The user's time limit starts here; the project's settings can only shorten it.
    let bounded = cancel.with_deadline(resolved.settings.timeout);
    let EngineInputs { subject, instructions, guidelines, prompts, contents } =
        gather_inputs(gathering, &around, &events, &bounded).await?;
    if let (None, Some(instructions)) = (&chosen, &instructions) {
        let text = format!("the built-in rules do not read instructions; {} is for a model", instructions.from);
        events.emit(Event::Notice { text });
    }
    let guidelines = Arc::new(guidelines);
    let by_model =
        chosen.zip(prompts).map(|(chosen, prompts)| ModelContext { chosen, second, instructions, guidelines, prompts });
    let sitting = RunMode::First(Box::new(NewRun { asked, contents }));
    run_and_deliver(EngineJob { run, started, subject, by_model, sitting }, outputs, around, events, cancel).await
}

/// The change to review, and the options that affect it.
pub(in crate::app) struct ReviewInputs {
    pub(in crate::app) request: ReviewRequest,
    pub(in crate::app) flags: Flags,
    pub(in crate::app) compare: Compare,
    /// Reports of other scanners.
    pub(in crate::app) leads: Vec<PathBuf>,
    /// The trust level of the instructions path.
    pub(in crate::app) whose: TrustLevel,
    pub(in crate::app) is_model: bool,
}

/// The input of an engine besides the model.
pub(in crate::app) struct EngineInputs {
    pub(in crate::app) subject: PreparedChange,
    pub(in crate::app) instructions: Option<Instructions>,
    /// Guidelines, for a model.
    pub(in crate::app) guidelines: Guidelines,
    /// Prompts, for a model.
    pub(in crate::app) prompts: Option<Prompts>,
    pub(in crate::app) contents: ContentHashes,
}

/// Collects the change, opens its trees, and reads the model's context.
pub(in crate::app) async fn gather_inputs(
    gathering: ReviewInputs,
    around: &ProcessEnv,
    events: &Arc<dyn EventSink>,
    cancel: &Cancel,
) -> Result<EngineInputs, AppError> {
    let ReviewInputs { request, flags, compare, leads, whose, is_model } = gathering;
    let pulled = pull::resolve_request(&request, &flags, around, &**events, cancel).await?;
    let (scope, from_worktree) = (request.scope.clone(), request.settings_from_worktree);
    let patch = blocking::run("reading the patch", cancel, move || change::read_patch(&scope)).await??;
    let (around, told, limit) = (around.clone(), Arc::clone(events), cancel);
    let cancel = cancel.clone();
    stage(ReviewStage::Collect, events, limit, move || {
        let mut subject = match &pulled {
            Some(pulled) => change::collect_pull(pulled, &request, &flags, &around, &cancel, &*told)?,
            None => change::collect(&request, &patch, &flags, &around, &cancel, &*told)?,
        };
        subject.compare = compare;
        subject.reports = sarif::read(&leads, &request, &subject)?;
        let instructions = instructions::load(&request, &subject, whose)?;
        let guidelines = guidelines::begin(&mut subject, from_worktree, is_model, &*told)?;
        let folder = subject.settings.prompts.as_deref();
        let prompts = is_model.then(|| prompts::load(folder)).transpose()?;
        let contents = match &request.scope {
            ReviewScope::Patch(_) => ContentHashes::of_patch(&patch),
            _ => ContentHashes::of(&subject.change, subject.new.as_ref(), &subject.cancel).unwrap_or_default(),
        };
        Ok(EngineInputs { subject, instructions, guidelines, prompts, contents })
    })
    .await
}

/// Runs the engine and delivers its review.
pub(in crate::app) async fn run_and_deliver(
    work: EngineJob,
    outputs: Vec<OutputFile>,
    around: ProcessEnv,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
) -> Result<DeliveredReview, AppError> {
    let settings = work.subject.settings.clone();
    let places = ReviewLocation { repository: work.subject.repository.clone(), root: work.subject.root.clone() };

    events.emit(Event::Stage { stage: ReviewStage::Review });
    let review = Box::pin(run_engine(work, &around, Arc::clone(&events))).await?;

    // A finished review is written, however late; a second interrupt ends the process.
    let limit = Cancel::never();
    let work = move || Ok(deliver::deliver(review, settings, places, &outputs, &around, &cancel));
    stage(ReviewStage::Deliver, &events, &limit, work).await
}

/// Runs a stage off the async threads, and announces it. A stage that exceeds `limit` is abandoned.
pub(in crate::app) async fn stage<T: Send + 'static>(
    stage: ReviewStage,
    events: &Arc<dyn EventSink>,
    limit: &Cancel,
    work: impl FnOnce() -> Result<T, AppError> + Send + 'static,
) -> Result<T, AppError> {
    events.emit(Event::Stage { stage });
    let what = match stage {
        ReviewStage::Collect => "collecting the change",
        ReviewStage::Review => "reviewing the change",
        ReviewStage::Deliver => "writing the results",
        ReviewStage::Post => "posting the review",
    };
    blocking::run(what, limit, work).await?
}

/// Runs `work` until it ends, or until the second of two interrupts: the first requests that it stops and delivers what it has.
///
/// Work that cannot observe the first one (for instance while it waits for a pipe) is abandoned after `grace`.
pub async fn interruptible<T>(
    cancel: &Cancel,
    events: &dyn EventSink,
    grace: Duration,
    work: impl Future<Output = Result<T, AppError>>,
) -> Result<T, AppError> {
    tokio::pin!(work);
    tokio::select! {
        ended = &mut work => return ended,
        () = wait_for_interrupt() => cancel.interrupt(),
    }
    let text = "stopping; what was found is being kept (interrupt once more to stop at once)".to_owned();
    events.emit(Event::Notice { text });
    tokio::select! {
        ended = work => ended,
        () = wait_for_interrupt() => Err(AppError::Stopped(CancelReason::Interrupted)),
        () = tokio::time::sleep(grace) => Err(AppError::Stopped(CancelReason::Interrupted)),
    }
}

/// Runs a command whose reads may block forever, on a thread that may wait. `what` names it in the error after a timeout.
pub fn with_time_limit<T: Send + 'static>(
    what: &'static str,
    limit: Duration,
    work: impl FnOnce() -> Result<T, AppError> + Send + 'static,
) -> Result<T, AppError> {
    blocking::run_here(what, &Cancel::after(limit), work)?
}

/// The user's time limit for a run: from the flags, else the user's settings. A project's can only shorten it.
pub fn time_limit(flags: &Flags, around: &ProcessEnv) -> Result<Duration, AppError> {
    Ok(settings::resolve(None, flags, around)?.settings.timeout)
}

/// Waits for Ctrl-C, or for the termination signal of runners and service managers.
pub async fn wait_for_interrupt() {
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        return;
    }
    let _ = tokio::signal::ctrl_c().await;
}
