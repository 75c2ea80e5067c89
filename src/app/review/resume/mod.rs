//! Resumes a run: `--resume`. Main function: [`resume`]; main type: [`ResumeRequest`].
//!
//! The run continues with its recorded inputs and journal: responses that were paid for are not requested again. External inputs (commits,
//! files, settings, prompts, rules, the model) are compared first: if one of them changed, the run continues only on request. Reading the
//! run's folder belongs in `record`, reopening the change in `check`, differences in `drift`.

mod check;
mod drift;
mod error;
mod record;

use crate::app::context::settings;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use error::ResumeError;
pub(in crate::app) use error::reason_to_review_anew;
pub(in crate::app) use record::RecordedRun;

use super::deliver::{DeliveredReview, OutputFile};
use super::engine::{EngineJob, ModelContext, ResumedRun, RunMode};
use super::job::stage;
use super::job::{RunFacts, run_and_deliver};
use super::resume_hint::can_resume;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::model;
use crate::app::context::model::ChosenModel;
use crate::app::context::model::limits;
use crate::app::prepare::change;
use crate::app::prepare::inputs::RecordedReviewer;
use crate::config::{Flags, Settings};
use crate::domain::event::{Event, EventSink, ReviewStage};
use crate::domain::money::Money;
use crate::domain::request::ReviewScope;
use crate::domain::review::{ReviewOutcome, StopReason};
use crate::domain::text::count_noun;
use crate::llm;
use crate::review::JournalReplay;
use crate::sys::blocking;
use crate::sys::cancel::Cancel;
use check::{ResumeCheck, ResumeState};
use drift::DriftReport;

/// The name of the step that reads a saved run, as the subject of a sentence.
pub(in crate::app) const READING_RUN: &str = "reading the saved run";

/// The options of resuming a run.
#[derive(Debug, Clone)]
pub struct ResumeRequest {
    /// Its id, a prefix of it, or `last`.
    pub run: String,
    /// `true` to use the recorded inputs even if they changed.
    pub as_recorded: bool,
    /// The budgets, gates and outputs from the command line.
    pub flags: Flags,
    /// The current folder of the repository, if it moved.
    pub directory: Option<PathBuf>,
    /// The files to write.
    pub outputs: Vec<OutputFile>,
}

/// A resumed run, with the data for posting it.
#[derive(Debug)]
pub struct ResumeOutcome {
    /// The review.
    pub delivered: DeliveredReview,
    /// The folder of its repository.
    pub directory: PathBuf,
    /// The recorded settings of the command line, with those of this one.
    pub flags: Flags,
}

/// Resumes a run, saves it, and writes the requested files. `ready` may still refuse it, once its scope is known.
pub async fn resume(
    ask: ResumeRequest,
    ready: impl FnOnce(&ReviewScope) -> Result<(), AppError>,
    around: ProcessEnv,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
) -> Result<ResumeOutcome, AppError> {
    let began = Instant::now();
    let limit = cancel.with_deadline(settings::resolve(None, &ask.flags, &around)?.settings.timeout);
    let store = around.store.clone();
    let (held, opened) = {
        let (store, name) = (store.clone(), ask.run.clone());
        let work = move || -> Result<_, AppError> {
            let run = store.find_started(&name)?;
            // Before it is locked: the folder of a run that cannot be resumed stays unchanged.
            record::read_model_run(&store, run)?;
            let held = store.lock(run)?;
            Ok((held, RecordedRun::read(&store, run)?))
        };
        blocking::run(READING_RUN, &limit, work).await??
    };
    let request = opened.given.asked.request(ask.directory.as_deref()).ok_or(ResumeError::Unnamed(opened.run))?;
    ready(&request.scope)?;
    let mut flags = opened.given.asked.flags.for_resume(&ask.flags);
    let limit = cancel.with_deadline(settings::resolve(None, &flags, &around)?.settings.timeout);
    // The inputs are complete; only runs of the rules have no reviewer, and they were refused.
    let reviewer = opened.given.reviewer.clone().ok_or(ResumeError::Rules(opened.run))?;
    check_resumable(&opened)?;

    let mut changes = DriftReport::default();
    let ReachedModels { chosen, second } =
        connect_models(&opened, &reviewer, &mut flags, ask.as_recorded, &around, &mut changes)?;
    for text in chosen.notices.iter().chain(second.iter().flat_map(|second| &second.notices)) {
        events.emit(Event::Warning { text: text.clone() });
    }
    if let Some(of) = &opened.change.pull {
        check::pull(of, &opened.change, &around, &*events, &cancel, &mut changes).await?;
    }
    let scope = request.scope.clone();
    let patch = blocking::run("reading the patch", &limit, move || change::read_patch(&scope)).await??;
    let directory = request.directory.clone();
    let reviewed = request.scope.clone();
    let collected = {
        let (around, flags, cancel) = (around.clone(), flags.clone(), cancel.clone());
        let (as_recorded, moved) = (ask.as_recorded, ask.directory.clone());
        stage(ReviewStage::Collect, &events, &limit, move || {
            let ground =
                ResumeCheck { opened: &opened, request: &request, flags: &flags, around: &around, cancel: &cancel };
            let looked = ground.check(&patch, moved.as_deref(), as_recorded, &mut changes)?;
            Ok((opened, looked, changes))
        })
        .await?
    };
    let (mut opened, ResumeState { mut subject, instructions, guidelines, prompts }, changes) = collected;
    if !changes.is_empty() {
        if !ask.as_recorded {
            return Err(ResumeError::Changed { run: opened.run, what: changes.into_sentences() }.into());
        }
        let note = format!("This run was resumed with its recorded inputs, though {}.", changes.join());
        if !subject.notes.contains(&note) {
            subject.notes.push(note);
        }
        opened.given.notes.clone_from(&subject.notes);
    }
    let spent = opened.elapsed();
    check_time(&opened, &subject.settings, spent)?;
    // Where several reviews share a budget, the run may have ended for want of what the others had.
    if around.providers.pool.is_none() {
        check_budget(&opened, &reviewer, &subject.settings, &chosen, spent)?;
    }
    subject.cancel = cancel.with_deadline(subject.settings.timeout.saturating_sub(spent));
    let answers = count_noun(opened.count_responses(), "answer");
    events.emit(Event::Notice { text: format!("resuming the run {}: {answers} recorded already", opened.run) });
    opened.given.asked.flags = flags.clone();
    let past = build_replay(&opened)?;
    let is_standalone = opened.given.asked.is_standalone;
    let identity = opened.given.identity.clone();
    let facts = RunFacts::begin(is_standalone, identity, &reviewed, &directory, &subject.settings)?;
    let work = EngineJob {
        run: opened.run,
        // The engine adds the time of earlier sessions.
        started: (opened.started_at, began),
        subject,
        by_model: Some(ModelContext { chosen, second, instructions, guidelines: Arc::new(guidelines), prompts }),
        sitting: RunMode::Again(Box::new(ResumedRun { held, given: opened.given, past })),
    };
    let delivered = run_and_deliver(work, facts, ask.outputs, around, events, cancel).await?;
    Ok(ResumeOutcome { delivered, directory, flags })
}

/// Builds the journal replay that the engine continues.
fn build_replay(opened: &RecordedRun) -> Result<JournalReplay, ResumeError> {
    let fault = |source| ResumeError::Past { run: opened.run, source };
    if opened.entries.is_empty() {
        // The process was killed before anything was recorded.
        return Ok(JournalReplay::default());
    }
    // The process was killed between the end record and the review: everything is recorded, and only replayed.
    let is_told = opened.is_over() && opened.review.is_none();
    if is_told { JournalReplay::replay(&opened.entries) } else { JournalReplay::resume(&opened.entries) }.map_err(fault)
}

/// Refuses a run that is complete, or that would stop for the same reason again.
fn check_resumable(opened: &RecordedRun) -> Result<(), ResumeError> {
    let Some(review) = &opened.review else { return Ok(()) };
    let run = opened.run;
    match review.ended {
        _ if review.outcome == ReviewOutcome::Complete => Err(ResumeError::Finished(run)),
        ended if can_resume(ended) => Ok(()),
        ended => {
            let why = review.reasons.first().map_or("", |why| why.trim_end_matches('.')).to_owned();
            Err(ResumeError::NoUse { run, ended: ended.as_str(), why })
        }
    }
}

/// The models of the run.
struct ReachedModels {
    chosen: ChosenModel,
    second: Option<ChosenModel>,
}

/// Connects the models of the run with today's settings; adds notes if those name other models.
fn connect_models(
    opened: &RecordedRun,
    reviewer: &RecordedReviewer,
    flags: &mut Flags,
    as_recorded: bool,
    around: &ProcessEnv,
    changes: &mut DriftReport,
) -> Result<ReachedModels, AppError> {
    let name = |chosen: &ChosenModel| format!("{}/{}", chosen.row.name, chosen.model);
    let second_was = reviewer.second_look.as_ref().map(|look| look.model.name());
    // With recorded inputs, today's models need not be available.
    let today =
        choose_current(flags, around).map(Some).or_else(|error| if as_recorded { Ok(None) } else { Err(error) })?;
    if let Some((first, second)) = today {
        let models_are = first.as_ref().map_or_else(|| "the built-in rules".to_owned(), ChosenModel::names);
        let first_is = first.as_ref().map_or_else(String::new, name);
        changes.compare("the model", &reviewer.names(), &models_are);
        if let (Some(was), true) = (&second_was, models_are == reviewer.names()) {
            changes.compare("the model for the second look", was, &second.as_ref().map_or(first_is, name));
        }
    }
    changes.compare("the version of this program", &opened.given.program, crate::app::prepare::inputs::PROGRAM);
    let mut named = flags.clone();
    named.model = Some(reviewer.names());
    named.verify_model = second_was.or(named.verify_model);
    let resolved = settings::resolve(None, &named, around)?;
    let mut chosen = model::choose(&resolved, &around.providers)?.ok_or(AppError::Broken)?;
    let second = model::choose_verifier(&resolved, &around.providers, Some(&chosen))?;
    let capabilities = llm::connect(&chosen.row, &chosen.model, &chosen.access)?;
    let (was, is) = (reviewer.model.context_window, capabilities.capabilities().context_window);
    changes.compare("the window of the model", &format!("{was} tokens"), &format!("{is} tokens"));
    for (next, was) in chosen.next.iter_mut().zip(&reviewer.next) {
        next.access.context_window = Some(was.model.context_window);
    }
    if as_recorded {
        chosen.access.context_window = Some(was);
        *flags = named;
    }
    Ok(ReachedModels { chosen, second })
}

/// Chooses the models by today's settings.
fn choose_current(flags: &Flags, around: &ProcessEnv) -> Result<(Option<ChosenModel>, Option<ChosenModel>), AppError> {
    let today = settings::resolve(None, flags, around)?;
    let first = model::choose(&today, &around.providers)?;
    let second = model::choose_verifier(&today, &around.providers, first.as_ref())?;
    Ok((first, second))
}

/// Refuses to resume a run that has no time left.
fn check_time(opened: &RecordedRun, settings: &Settings, spent: Duration) -> Result<(), ResumeError> {
    if spent < settings.timeout {
        return Ok(());
    }
    let (took, limit) = (format_duration(spent), format_duration(settings.timeout));
    Err(ResumeError::OutOfTime { run: opened.run, took, limit, more: format_duration(more_time(spent, settings)) })
}

/// Refuses to resume a run that would stop like the last time, because its budget is spent.
fn check_budget(
    opened: &RecordedRun,
    reviewer: &RecordedReviewer,
    settings: &Settings,
    chosen: &ChosenModel,
    spent: Duration,
) -> Result<(), AppError> {
    let run = opened.run;
    let Some(review) = &opened.review else { return Ok(()) };
    let had = reviewer.last_limits.limits();
    let provider = llm::connect(&chosen.row, &chosen.model, &chosen.access)?;
    let has = limits(settings, provider.capabilities())?;
    let short = match review.ended {
        StopReason::TurnLimit if has.turns <= had.turns => {
            let more = had.turns.saturating_mul(2).min(1_000);
            Some(("turns", had.turns.to_string(), "--max-turns", more.to_string()))
        }
        StopReason::TokenLimit if has.input_tokens <= had.input_tokens => {
            let more = had.input_tokens.saturating_mul(2);
            Some(("tokens", had.input_tokens.to_string(), "--max-tokens", more.to_string()))
        }
        StopReason::CostLimit => {
            let more = has.cost.filter(|has| had.cost.is_some_and(|had| has.most <= had.most));
            more.map(|has| ("dollars", format_amount(has.most), "--max-cost", format_amount(has.most.times(2))))
        }
        StopReason::Deadline if has.time <= had.time => {
            Some(("minutes", format_duration(had.time), "--timeout", format_duration(more_time(spent, settings))))
        }
        _ => None,
    };
    match short {
        Some((what, had, flag, more)) => Err(ResumeError::Spent { run, what, had, flag, more }.into()),
        None => Ok(()),
    }
}

/// Formats an amount for `--max-cost`.
fn format_amount(money: Money) -> String {
    let nanos = money.nanos();
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a time limit that leaves as much time as the settings allow.
fn more_time(spent: Duration, settings: &Settings) -> Duration {
    Duration::from_secs((spent + settings.timeout).as_secs().div_ceil(60).max(1) * 60)
}

/// Formats a duration for `--timeout`.
fn format_duration(time: Duration) -> String {
    let seconds = time.as_secs().max(1);
    if seconds.is_multiple_of(60) { format!("{}m", seconds / 60) } else { format!("{seconds}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_the_flag_takes_them() {
        for (seconds, text) in [(0, "1s"), (59, "59s"), (60, "1m"), (90, "90s"), (1_200, "20m")] {
            assert_eq!(format_duration(Duration::from_secs(seconds)), text);
            assert_eq!(crate::config::parse_duration(text).unwrap(), Duration::from_secs(seconds.max(1)));
        }
    }
}
