//! The main steps of a review: collect → open the trees → run the engine → save → deliver. Main function: [`review`].

use crate::app::context::settings;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::deliver::{self, DeliveredReview, OutputFile, ReviewLocation, RunSaving};
use super::engine::{EngineJob, ModelContext, NewRun, RunMode, run_engine};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::model;
use crate::app::context::model::ChosenModel;
use crate::app::context::prompts;
use crate::app::prepare::change;
use crate::app::prepare::change::PreparedChange;
use crate::app::prepare::checks;
use crate::app::prepare::guidelines;
use crate::app::prepare::inputs::ContentHashes;
use crate::app::prepare::inputs::RunRequest;
use crate::app::prepare::instructions;
use crate::app::prepare::instructions::Instructions;
use crate::app::prepare::instructions::TrustLevel;
use crate::app::prepare::pull;
use crate::app::prepare::pull::FetchedPull;
use crate::app::prepare::sarif;
use crate::app::prepare::uncommitted_count::UncommittedCount;
use crate::config::{Flags, Settings};
use crate::domain::event::{Event, EventSink, ReviewStage};
use crate::domain::guideline::Guidelines;
use crate::domain::request::{Compare, Previous, ReviewRequest, ReviewScope};
use crate::domain::review::Review;
use crate::domain::run::RunId;
use crate::domain::run_record::SavedRun;
use crate::git::{self, CommandWords, WordsMeaning};
use crate::prompt::Prompts;
use crate::review::EngineError;
use crate::sys::blocking;
use crate::sys::cancel::Cancel;
use crate::sys::clock;
use crate::sys::repo::RepoPool;

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
    /// Names of the project's own checks to run.
    pub checks: Vec<String>,
}

impl ReviewJob {
    /// A new run of a request, with nothing else.
    pub fn new(request: ReviewRequest, flags: Flags) -> Self {
        let (outputs, leads, checks) = (Vec::new(), Vec::new(), Vec::new());
        Self { run: RunId::random(), request, flags, outputs, compare: Compare::default(), leads, checks }
    }
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
    review_with(job, TrustLevel::User, KnownInputs::default(), around, events, cancel).await
}

/// The inputs of a review that a batch has found already.
#[derive(Default)]
pub(in crate::app) struct KnownInputs {
    /// The fetched pull request, if the scope is one.
    pub(in crate::app) pulled: Option<FetchedPull>,
    /// The opened repository, if the scope is none: its object cache is shared.
    pub(in crate::app) repository: Option<RepoPool>,
    /// The saved runs, newest first: each review would read the record of every one.
    pub(in crate::app) saved: Option<Arc<[SavedRun]>>,
    /// The hash of everything that the review depends on.
    pub(in crate::app) identity: Option<String>,
}

/// Reviews a change like [`review()`]; `whose` determines where instructions are read.
pub(in crate::app) async fn review_with(
    job: ReviewJob,
    whose: TrustLevel,
    known: KnownInputs,
    around: ProcessEnv,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
) -> Result<DeliveredReview, AppError> {
    let started = (clock::now(), Instant::now());

    let ReviewJob { run, request, flags, outputs, compare, leads, checks } = job;
    let is_standalone = compare.with == Previous::None;
    let compare = Compare { with: compare.with.for_scope(&request.scope), ..compare };
    // The model does not depend on the repository, so its errors are reported before anything is collected.
    let resolved = settings::resolve(None, &flags, &around)?;
    let chosen = model::choose(&resolved, &around.providers)?;
    let second = model::choose_verifier(&resolved, &around.providers, chosen.as_ref())?;
    model::priced(&resolved.settings, chosen.iter().chain(&second))?;
    for text in chosen.iter().chain(&second).flat_map(|chosen| &chosen.notices) {
        events.emit(Event::Warning { text: text.clone() });
    }
    // The user's time limit starts here; the project's settings can only shorten it.
    let bounded = cancel.with_deadline(resolved.settings.timeout);
    let mut asked = RunRequest::new(&request, &flags, whose);
    asked.is_standalone = is_standalone;
    let (scope, directory) = (request.scope.clone(), request.directory.clone());
    let KnownInputs { pulled, repository, saved, identity } = known;
    let gathering =
        ReviewInputs { request, flags, compare, leads, checks, whose, is_model: chosen.is_some(), pulled, repository };
    let EngineInputs { mut subject, instructions, guidelines, prompts, contents } =
        gather_inputs(gathering, &around, &events, &bounded).await?;
    subject.saved = saved;
    if let (None, Some(instructions)) = (&chosen, &instructions) {
        let text = format!("the built-in rules do not read instructions; {} is for a model", instructions.from);
        events.emit(Event::Notice { text });
    }
    if chosen.is_none() && !subject.settings.allow_build.is_empty() {
        let text = "the built-in rules run no builds: --allow-build is for a model; --check runs linters without one";
        events.emit(Event::Notice { text: text.to_owned() });
    }
    let facts = RunFacts::begin(is_standalone, identity.clone(), &scope, &directory, &subject.settings)?;
    let guidelines = Arc::new(guidelines);
    let by_model =
        chosen.zip(prompts).map(|(chosen, prompts)| ModelContext { chosen, second, instructions, guidelines, prompts });
    let sitting = RunMode::First(Box::new(NewRun { asked, contents, identity }));
    let job = EngineJob { run, started, subject, by_model, sitting };
    Box::pin(run_and_deliver(job, facts, outputs, around, events, cancel)).await
}

/// The facts about a run that no engine knows, for its receipt.
pub(in crate::app) struct RunFacts {
    /// `true` if the review was to be compared with none.
    is_standalone: bool,
    /// The count of uncommitted files, where the branch that is checked out is reviewed without them.
    left_out: Option<UncommittedCount>,
    /// The hash of everything that the review depends on, in a batch.
    identity: Option<String>,
}

impl RunFacts {
    /// Collects the facts; uncommitted files are counted while the engine works. A batch reviews what the object database has, and opens no
    /// working tree.
    pub(in crate::app) fn begin(
        is_standalone: bool,
        identity: Option<String>,
        scope: &ReviewScope,
        directory: &Path,
        settings: &Settings,
    ) -> Result<Self, AppError> {
        let left_out = match &identity {
            Some(_) => None,
            None => UncommittedCount::of(scope, directory, settings::filter(settings)?),
        };
        Ok(Self { is_standalone, left_out, identity })
    }

    async fn record(&mut self, review: &mut Review, events: &dyn EventSink) {
        review.coverage.is_standalone = self.is_standalone;
        let Some(left_out) = self.left_out.take() else { return };
        let no_limit = Cancel::never();
        let counted = blocking::run("counting uncommitted files", &no_limit, move || left_out.count_at_end());
        match counted.await {
            Ok(Some(count)) => review.coverage.uncommitted = u32::try_from(count).unwrap_or(u32::MAX),
            Ok(None) | Err(_) => {
                let text =
                    "it is not known whether files have uncommitted changes: reading the working tree takes too long";
                events.emit(Event::Notice { text: text.to_owned() });
            }
        }
    }
}

/// Reads the words of a command line that name the change or parts of it.
pub fn read_words(given: &CommandWords<'_>) -> Result<WordsMeaning, AppError> {
    Ok(git::read_words(given)?)
}

/// Determines the scope of a command line: a branch without commits of its own is reviewed by its uncommitted changes, if there are any.
///
/// That may read the whole working tree, so it is done off the async threads.
pub async fn choose_scope(
    request: &ReviewRequest,
    events: &Arc<dyn EventSink>,
    cancel: &Cancel,
) -> Result<ReviewScope, AppError> {
    if !request.scope.is_checked_out_branch() {
        return Ok(request.scope.clone());
    }
    let (request, events, limit) = (request.clone(), Arc::clone(events), cancel.clone());
    let work = move || change::effective_scope(&request, &limit, &*events);
    Ok(blocking::run("looking for uncommitted changes", cancel, work).await?)
}

/// The change to review, and the options that affect it.
pub(in crate::app) struct ReviewInputs {
    pub(in crate::app) request: ReviewRequest,
    pub(in crate::app) flags: Flags,
    pub(in crate::app) compare: Compare,
    /// Reports of other scanners.
    pub(in crate::app) leads: Vec<PathBuf>,
    pub(in crate::app) checks: Vec<String>,
    /// The trust level of the instructions path.
    pub(in crate::app) whose: TrustLevel,
    pub(in crate::app) is_model: bool,
    /// As in [`KnownInputs`].
    pub(in crate::app) pulled: Option<FetchedPull>,
    pub(in crate::app) repository: Option<RepoPool>,
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
    let ReviewInputs { request, flags, compare, leads, checks, whose, is_model, pulled, repository } = gathering;
    let pulled = match pulled {
        None => pull::resolve_request(&request, &flags, around, &**events, cancel).await?,
        known => known,
    };
    let (scope, from_worktree) = (request.scope.clone(), request.settings_from_worktree);
    let patch = blocking::run("reading the patch", cancel, move || change::read_patch(&scope)).await??;
    let (around, told, limit) = (around.clone(), Arc::clone(events), cancel);
    let cancel = cancel.clone();
    stage(ReviewStage::Collect, events, limit, move || {
        let mut subject = match &pulled {
            Some(pulled) => change::collect_pull(pulled, &request, &flags, &around, &cancel, &*told)?,
            None => change::collect(&request, repository.as_ref(), &patch, &flags, &around, &cancel, &*told)?,
        };
        subject.compare = compare;
        subject.reports = sarif::read(&leads, &request, &subject)?;
        subject.reports.0.extend(checks::run_checks(&checks, &subject, &around, &*told)?);
        let instructions = instructions::load(&request, &subject, whose)?;
        let guidelines = guidelines::begin(&mut subject, from_worktree, is_model)?;
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
    mut facts: RunFacts,
    outputs: Vec<OutputFile>,
    around: ProcessEnv,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
) -> Result<DeliveredReview, AppError> {
    let settings = work.subject.settings.clone();
    let places = ReviewLocation { repository: work.subject.repository.clone(), root: work.subject.root.clone() };
    let keys = work.by_model.as_ref().map(|model| key_sources(&model.chosen)).unwrap_or_default();

    events.emit(Event::Stage { stage: ReviewStage::Review });
    let (run, is_new) = (work.run, matches!(work.sitting, RunMode::First(_)));
    let reviewed = Box::pin(run_engine(work, &around, Arc::clone(&events))).await;
    if is_new && matches!(reviewed, Err(AppError::Engine(EngineError::NotAdmitted(_)))) {
        // Nothing was sent, so there is nothing to resume.
        let _ = around.store.discard(run);
    }
    let (mut review, held) = reviewed?;
    facts.record(&mut review, events.as_ref()).await;

    // A finished review is written, however late; a second interrupt ends the process.
    let limit = Cancel::never();
    let saving = RunSaving { identity: facts.identity, held, keys };
    let work = move || Ok(deliver::deliver(review, settings, places, saving, &outputs, &around, &cancel));
    stage(ReviewStage::Deliver, &events, &limit, work).await
}

/// Lists the providers of a run, each with the source of its key.
fn key_sources(chosen: &ChosenModel) -> Vec<(String, String)> {
    let all = std::iter::once(chosen).chain(&chosen.next);
    all.filter_map(|chosen| Some((chosen.row.name.to_string(), chosen.key_from.clone()?))).collect()
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

/// The user's time limit for a run: from the flags, else the user's settings. A project's can only shorten it.
pub fn time_limit(flags: &Flags, around: &ProcessEnv) -> Result<Duration, AppError> {
    Ok(settings::resolve(None, flags, around)?.settings.timeout)
}
