//! Evaluates all cases of a folder. Main functions: [`evaluate`], [`earlier`].

use crate::app::context::settings;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::case::EvalCase;
use super::error::EvalError;
use super::folder::cases;
use super::recipe::{PreparedCase, prepare};
use super::run::{OnceSink, not_run, run};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::model;
use crate::app::context::prompts;
use crate::app::runner::Runner;
use crate::config::Flags;
use crate::domain::eval::{CaseResult, CaseRun, EarlierEvaluation, Evaluation, RunEnd};
use crate::domain::event::{Event, EventSink, ReviewStage};
use crate::domain::text::count_noun;
use crate::present::eval;
use crate::sys::blocking;
use crate::sys::cancel::{Cancel, CancelReason};
use crate::sys::clock;
use crate::sys::files;
use crate::sys::temporary::TemporaryFolder;

/// Maximum size in bytes of an evaluation file.
const MAX_EARLIER: u64 = 256 << 20;

/// The options of an evaluation.
#[derive(Debug, Clone)]
pub struct EvalJob {
    /// The folder that holds the cases.
    pub folder: PathBuf,
    /// A glob for the names of the cases to run.
    pub only: Option<String>,
    /// The number of reviews per case, at least one.
    pub repeat: u32,
    /// The number of concurrent reviews, at least one.
    pub at_once: usize,
    /// The folder below which cases may name repositories; the cases' folder if `None`.
    pub repositories: Option<PathBuf>,
    /// The folder to store the runs in, a subfolder for each review; `None` to discard them.
    pub keep: Option<PathBuf>,
    /// The settings from the command line.
    pub flags: Flags,
}

/// A case ready for review.
struct ReadyCase {
    case: EvalCase,
    prepared: PreparedCase,
}

/// Reviews every case with the configured engine, each in a repository and a state folder of its own.
///
/// A case that cannot be reviewed is part of the result. Defects of the cases or of the engine's settings are reported before anything is
/// reviewed. An interrupt ends the running reviews; their findings so far are part of the result.
pub async fn evaluate(
    job: EvalJob,
    around: ProcessEnv,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
) -> Result<Evaluation, AppError> {
    let (started_at, started) = (clock::now(), Instant::now());
    check_engine(&job.flags, &around)?;
    let place = TemporaryFolder::new().map_err(EvalError::from)?;
    let ready = {
        let (job, root, watched) = (job.clone(), place.path().to_owned(), cancel.clone());
        blocking::run("preparing the cases", &cancel, move || make_ready(&job, &root, &watched)).await??
    };
    let repeat = job.repeat.max(1);
    let ready: Arc<[ReadyCase]> = ready.into();
    let reviews: Vec<(usize, u32)> =
        (0..ready.len()).flat_map(|at| (0..repeat).map(move |number| (at, number))).collect();
    let total = reviews.len() as u64;
    events.emit(Event::Stage { stage: ReviewStage::Review });
    events.emit(Event::Progress { stage: ReviewStage::Review, done: 0, total });

    let once: Arc<dyn EventSink> = Arc::new(OnceSink::new(Arc::clone(&events)));
    let queue = reviews.iter().map(|&(at, number)| {
        let state = state_of(&job, place.path(), at, &ready[at].case, number);
        let (flags, once, cancel) = (job.flags.clone(), Arc::clone(&once), cancel.clone());
        let (ready, around) = (Arc::clone(&ready), around.clone());
        async move {
            let ReadyCase { case, prepared } = &ready[at];
            Box::pin(run(case, prepared, flags, state, &around, once, cancel)).await
        }
    });
    let mut done: Vec<(usize, u32, CaseRun)> = Vec::new();
    let ended = |review: usize, result: Result<CaseRun, AppError>| {
        let (at, number) = reviews[review];
        let case = &ready[at].case;
        let run = result.unwrap_or_else(|error| not_run(case, &error));
        let text = format!("{} of {total}: {}: {}", done.len() + 1, case.name, in_short(&run));
        done.push((at, number, run));
        events.emit(Event::Notice { text });
        events.emit(Event::Progress { stage: ReviewStage::Review, done: done.len() as u64, total });
    };
    Runner::new(job.at_once).run_queue(queue, &cancel, ended).await;

    done.sort_by_key(|(at, number, _)| (*at, *number));
    let mut results: Vec<CaseResult> = ready.iter().map(result_of).collect();
    for (at, _, run) in done {
        if let Some(result) = results.get_mut(at) {
            result.runs.push(run);
        }
    }
    Ok(Evaluation {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        took_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        repeat,
        cases: results,
        interrupted: cancel.check() == Err(CancelReason::Interrupted),
    })
}

/// Checks the engine's settings once, because a defect would make every case fail.
fn check_engine(flags: &Flags, around: &ProcessEnv) -> Result<(), AppError> {
    let resolved = settings::resolve(None, flags, around)?;
    let chosen = model::choose(&resolved, &around.providers)?;
    model::choose_verifier(&resolved, &around.providers, chosen.as_ref())?;
    prompts::load(resolved.settings.prompts.as_deref())?;
    Ok(())
}

fn make_ready(job: &EvalJob, root: &Path, cancel: &Cancel) -> Result<Vec<ReadyCase>, AppError> {
    let repositories = job.repositories.as_deref().unwrap_or(&job.folder);
    let found = cases(&job.folder, job.only.as_deref())?;
    let ready = found.into_iter().enumerate().map(|(at, case)| {
        // Named by number: a case's name must not become part of a path.
        let prepared = prepare(&case, &root.join(at.to_string()), repositories, cancel)?;
        Ok(ReadyCase { case, prepared })
    });
    ready.collect()
}

fn state_of(job: &EvalJob, root: &Path, at: usize, case: &EvalCase, number: u32) -> PathBuf {
    match &job.keep {
        Some(keep) => keep.join(&case.name).join((number + 1).to_string()),
        None => root.join(at.to_string()).join(format!("state-{number}")),
    }
}

fn result_of(ready: &ReadyCase) -> CaseResult {
    let ReadyCase { case, prepared } = ready;
    CaseResult {
        name: case.name.clone(),
        about: case.about.clone(),
        digest: prepared.digest.clone(),
        expected: case.expected.clone(),
        runs: Vec::new(),
    }
}

/// Formats a run in one line of progress.
fn in_short(run: &CaseRun) -> String {
    let score = &run.score;
    let found = score.issues.iter().filter(|issue| issue.found.is_found()).count();
    let issues = match score.issues.len() {
        0 => String::new(),
        all => format!(", found {found} of {}", count_noun(all, "issue")),
    };
    let wrong = match score.extra.len() {
        0 => String::new(),
        wrong => format!(", {}", count_noun(wrong, "wrong finding")),
    };
    let why = match &run.end {
        RunEnd::Complete => String::new(),
        end => format!(" ({})", end.describe()),
    };
    format!("{}{issues}{wrong}{why}", run.end.as_str().replace('_', " "))
}

/// Reads an evaluation from a file.
pub fn earlier(file: &Path) -> Result<EarlierEvaluation, AppError> {
    let bytes = files::open(file).and_then(|open| files::read_within(open, file, MAX_EARLIER));
    let bytes = bytes.map_err(EvalError::from)?;
    let fault =
        |error: eval::EvaluationParseError| EvalError::NotEarlier { file: file.to_owned(), why: error.to_string() };
    Ok(eval::parse(&bytes).map_err(fault)?)
}

/// Writes an evaluation to a file named by the user.
pub fn write_evaluation(file: &Path, bytes: &[u8]) -> Result<(), AppError> {
    Ok(files::write_output(file, bytes).map_err(EvalError::from)?)
}
