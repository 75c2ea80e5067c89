//! Performs the task of a step and reports to its runner. Main function: [`run_action`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::commands::{AnnotationLevel, annotate};
use super::error::ActionError;
use super::event;
use super::gate::{self, Kind, SUPERSEDED, StepVerdict};
use super::inputs::{self, ActionInputs, ErrorPolicy};
use super::outputs::ActionOutputs;
use super::task::{StepTask, decide_task};
use super::variables::{self, ActionVariables};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::saved_runs::render;
use crate::app::prepare::instructions::InstructionsError;
use crate::app::review::deliver::DeliveredReview;
use crate::app::runner::command::interruptible;
use crate::domain::event::EventSink;
use crate::domain::forge::{Delivery, PullId, RepoName};
use crate::domain::text::strip_line;
use crate::forge::FaultKind;
use crate::present::delivery;
use crate::sys::cancel::Cancel;
use crate::sys::files;

mod commits;
mod pull;
mod reviewing;
mod summary;

/// Maximum size in bytes of a payload: GitHub's have at most 25 MB.
const MAX_PAYLOAD: u64 = 32 << 20;

/// The outcome of a step.
#[derive(Debug)]
pub(super) enum StepOutcome {
    /// No task was performed, with the reason.
    Skipped(String),
    /// The head moved.
    Superseded {
        /// The old and the new head.
        why: String,
        /// The review that was made nevertheless: it is of another commit, or not posted.
        made: Option<StepReview>,
    },
    /// The artefact of another run was posted.
    Posted {
        receipt: Box<Delivery>,
        posted: PostDestination,
    },
    Reviewed(StepReview),
}

/// A review that was made.
#[derive(Debug)]
pub(super) struct StepReview {
    pub(super) delivered: DeliveredReview,
    pub(super) posted: PostDestination,
    /// The receipt of posting it on the pull request.
    pub(super) receipt: Option<Box<Delivery>>,
    /// The folder with the files.
    pub(super) folder: PathBuf,
    /// The files that were written, by the names of their formats.
    pub(super) files: Vec<(&'static str, PathBuf)>,
}

impl StepReview {
    fn closed(&self) -> Option<String> {
        gate::explain_failure(&self.delivered.review, self.delivered.settings.fail_on)
    }
}

/// The destination of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PostDestination {
    /// On a pull request.
    Review {
        /// The pull request.
        pull: PullId,
        /// Its page.
        url: Option<String>,
    },
    /// Annotations of the run, with the reason unless it is obvious.
    Annotations(Option<String>),
    /// No destination, with the reason.
    Nowhere(String),
}

impl PostDestination {
    fn word(&self) -> &'static str {
        match self {
            Self::Review { .. } => "review",
            Self::Annotations(_) => "annotations",
            Self::Nowhere(_) => "none",
        }
    }

    /// Describes for the log a review that is not on a pull request, if no receipt does.
    fn elsewhere(&self) -> Option<String> {
        match self {
            Self::Review { .. } | Self::Annotations(None) => None,
            Self::Annotations(Some(why)) => Some(format!("The findings are annotations of this run: {why}")),
            Self::Nowhere(why) => Some(format!("Nothing was posted: {why}")),
        }
    }
}

/// The result of a step. Its outputs and its summary are already written; the log is left to the caller.
#[derive(Debug)]
pub struct ActionResult {
    /// The verdict.
    pub verdict: StepVerdict,
    /// The review, for the log.
    pub delivered: Option<DeliveredReview>,
    /// The error, if there is no review.
    pub error: Option<AppError>,
    /// Additional messages, one line each.
    pub said: Vec<String>,
    /// Commands for the runner, whole lines.
    pub commands: String,
}

/// Runs the step described by the environment and reports to the runner. Every error becomes a result; none ends the step early.
pub async fn run_action(
    given: &ActionVariables,
    around: Result<ProcessEnv, AppError>,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
    grace: Duration,
) -> ActionResult {
    let on_error = inputs::on_error(given);
    let may_pass = on_error.as_ref().map_or(ErrorPolicy::Fail, |on_error| *on_error);
    let did = match (on_error, around) {
        (Err(error), _) => Err(error.into()),
        (_, Err(error)) => Err(error),
        (Ok(_), Ok(around)) => {
            let has_login = !around.forge.secrets().is_empty();
            let work = run(given, around, Arc::clone(&events), cancel.clone());
            let did = Box::pin(interruptible(&cancel, &*events, grace, work)).await;
            did.map_err(|error| by_input(error, has_login))
        }
    };
    let verdict = verdict(&did, may_pass);
    tell(given, did, verdict)
}

/// Rewrites an error about flags and variables for the author of the workflow.
fn by_input(error: AppError, has_login: bool) -> AppError {
    if let Some(InstructionsError::NotAtTarget { path, commit }) = error.of_use_case() {
        let (input, write) = (variables::INSTRUCTIONS.name, "commit it there first; a change cannot bring its own");
        let wrong = format!("names {path}, which is not a file at {commit}, the tip of the target branch");
        return ActionError::Input { input, wrong, write: write.to_owned() }.into();
    }
    match error {
        AppError::Forge(error) if error.kind == FaultKind::Auth && !has_login => ActionError::NoToken.into(),
        error => error,
    }
}

fn verdict(did: &Result<StepOutcome, AppError>, on_error: ErrorPolicy) -> StepVerdict {
    let (kind, came_to, ended) = match did {
        Err(error) => (Kind::Error, error.exit_code(), None),
        Ok(StepOutcome::Skipped(_)) => (Kind::Skipped, 0, None),
        Ok(StepOutcome::Superseded { .. }) => (Kind::Superseded, SUPERSEDED, None),
        Ok(StepOutcome::Posted { receipt, .. }) => (Kind::Posted, if receipt.is_complete() { 0 } else { 5 }, None),
        Ok(StepOutcome::Reviewed(StepReview { delivered, .. })) => {
            (delivered.review.outcome.into(), delivered.exit_code(), Some(delivered.review.ended))
        }
    };
    StepVerdict::of(kind, came_to, ended, on_error)
}

async fn run(
    given: &ActionVariables,
    around: ProcessEnv,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
) -> Result<StepOutcome, AppError> {
    let inputs = ActionInputs::read(given)?;
    let here = repository(given)?;
    let name = variable(given, variables::EVENT_NAME)?;
    let occasion = occasion(name, variable(given, variables::EVENT_PATH)?, &here)?;
    // Without a checkout there is no repository to look in, and none is needed.
    let directory = given.get(variables::WORKSPACE).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let what = decide_task(name, occasion, &inputs, &here)?;
    let temporary = PathBuf::from(variable(given, variables::TEMP)?);
    let flags = inputs.flags.clone();
    let job = reviewing::ActionStep { inputs, flags, around, directory, temporary, here, events, cancel };
    match what {
        StepTask::Skip(why) => Ok(StepOutcome::Skipped(why)),
        StepTask::Pull(wanted) => Box::pin(job.pull(wanted)).await,
        StepTask::Commits { base, head } => Box::pin(job.commits(&base, head)).await,
        StepTask::Artefact { folder, run, pull } => Box::pin(job.artefact(folder, run, pull)).await,
    }
}

fn variable<'g>(given: &'g ActionVariables, name: &'static str) -> Result<&'g str, ActionError> {
    given.get(name).ok_or_else(|| ActionError::Variable { name, wrong: "is not set".to_owned() })
}

fn repository(given: &ActionVariables) -> Result<RepoName, ActionError> {
    let name = variable(given, variables::REPOSITORY)?;
    let wrong = || ActionError::Variable { name: variables::REPOSITORY, wrong: "is not owner/name".to_owned() };
    name.parse().map_err(|_| wrong())
}

fn occasion(name: &str, path: &str, here: &RepoName) -> Result<event::WorkflowEvent, ActionError> {
    let payload = |why: String| ActionError::Payload { event: name.to_owned(), path: path.to_owned(), why };
    let file = Path::new(path);
    let bytes = files::open(file).and_then(|open| files::read_within(open, file, MAX_PAYLOAD));
    let bytes = bytes.map_err(|error| payload(error.source.to_string()))?;
    event::read(name, &bytes, here).map_err(payload)
}

/// Writes the outputs and the summary, and collects the messages. A failed write makes a successful step fail.
fn tell(given: &ActionVariables, did: Result<StepOutcome, AppError>, verdict: StepVerdict) -> ActionResult {
    let mut acted = ActionResult { verdict, delivered: None, error: None, said: Vec::new(), commands: String::new() };
    let mut beside = Vec::new();
    if verdict.is_neutral() {
        let text = format!(
            "This step came to {} (exit code {}), which on-error: neutral lets pass: it says nothing about the change.",
            verdict.kind.word(),
            verdict.came_to
        );
        acted.commands.push_str(&annotate(AnnotationLevel::Warning, &text));
        beside.push(text);
    }
    beside.extend(summary_notes(&did, verdict));
    if let Ok(StepOutcome::Reviewed(made)) = &did
        && let Some(text) = gate::describe_refuted(&made.delivered.review)
    {
        acted.commands.push_str(&annotate(AnnotationLevel::Warning, &text));
    }
    let mut outputs = outputs(&did, verdict);
    let written = summary::write(given, &summary::text(&did, &beside));
    if let Err(error) = &written {
        acted.said.push(format!("error: the summary of this step: {error}"));
    }
    if written.is_err() && acted.verdict.code == 0 {
        acted.verdict.code = 5;
        outputs.set("exit-code", "5");
    }
    if let Err(error) = outputs.write(given) {
        acted.said.push(format!("error: the outputs of this step: {error}"));
        acted.verdict.code = if acted.verdict.code == 0 { 5 } else { acted.verdict.code };
    }
    log(did, &mut acted);
    acted
}

/// Collects the notes of the summary: why the step fails, deviations in posting, and failures.
fn summary_notes(did: &Result<StepOutcome, AppError>, verdict: StepVerdict) -> Vec<String> {
    let (posted, receipt, failures) = match did {
        Ok(StepOutcome::Reviewed(made)) => (&made.posted, made.receipt.as_deref(), &made.delivered.failures),
        Ok(StepOutcome::Posted { receipt, posted }) => (posted, Some(&**receipt), &receipt.failures),
        Ok(StepOutcome::Skipped(_) | StepOutcome::Superseded { .. }) | Err(_) => return Vec::new(),
    };
    let closed = match did {
        Ok(StepOutcome::Reviewed(made)) if verdict.came_to == 1 => made.closed(),
        _ => None,
    };
    let notes = receipt.map(|receipt| receipt.notes.iter().cloned()).into_iter().flatten();
    // The reason for not posting is already there.
    let is_said = |failure: &&String| matches!(posted, PostDestination::Nowhere(why) if why == *failure);
    let failures = failures.iter().filter(|failure| !is_said(failure)).map(|failure| format!("error: {failure}"));
    closed.into_iter().chain(notes).chain(failures).collect()
}

fn outputs(did: &Result<StepOutcome, AppError>, verdict: StepVerdict) -> ActionOutputs {
    let mut outputs = ActionOutputs::default();
    outputs.set("outcome", verdict.kind.word());
    outputs.set("exit-code", verdict.came_to.to_string());
    let posted = match did {
        Ok(StepOutcome::Reviewed(made)) => Some(&made.posted),
        Ok(StepOutcome::Posted { posted, .. }) => Some(posted),
        Ok(StepOutcome::Skipped(_) | StepOutcome::Superseded { .. }) | Err(_) => None,
    };
    outputs.set("posted", posted.map_or("none", PostDestination::word));
    if let Some(PostDestination::Review { url: Some(url), .. }) = posted {
        outputs.set("url", url);
    }
    if let Ok(StepOutcome::Posted { receipt, .. }) = did {
        outputs.set("run", receipt.run.to_string());
    }
    let (made, is_said) = match did {
        Ok(StepOutcome::Reviewed(made)) => (made, true),
        // The review is of another commit than the step.
        Ok(StepOutcome::Superseded { made: Some(made), .. }) => (made, false),
        Ok(StepOutcome::Superseded { made: None, .. } | StepOutcome::Skipped(_) | StepOutcome::Posted { .. })
        | Err(_) => return outputs,
    };
    let review = &made.delivered.review;
    if is_said {
        outputs.set("findings", review.unresolved().count().to_string());
        outputs.set("blocking", gate::count_blocking(review, made.delivered.settings.fail_on).to_string());
    }
    outputs.set("run", review.id.to_string());
    outputs.set("folder", made.folder.display().to_string());
    for (format, file) in &made.files {
        outputs.set(format, file.display().to_string());
    }
    outputs
}

/// Builds the log: the review, annotations if any, and a line for each further message.
fn log(did: Result<StepOutcome, AppError>, acted: &mut ActionResult) {
    match did {
        Err(error) => {
            acted.commands.push_str(&annotate(AnnotationLevel::Error, &error.to_string()));
            acted.error = Some(error);
        }
        Ok(StepOutcome::Skipped(why)) => acted.commands.push_str(&annotate(AnnotationLevel::Notice, &why)),
        Ok(StepOutcome::Superseded { why, made }) => {
            acted.commands.push_str(&annotate(AnnotationLevel::Warning, &why));
            acted.delivered = made.map(|made| made.delivered);
            let failures = acted.delivered.iter().flat_map(|delivered| &delivered.failures);
            acted.commands.extend(failures.map(|failure| annotate(AnnotationLevel::Error, failure)));
        }
        Ok(StepOutcome::Posted { receipt, .. }) => {
            acted.said.extend(delivery::item_lines(&receipt));
            acted.said.push(delivery::lines(&receipt));
            acted.commands.extend(receipt.failures.iter().map(|failure| annotate(AnnotationLevel::Error, failure)));
        }
        Ok(StepOutcome::Reviewed(made)) => {
            acted.said.extend(made.posted.elsewhere().map(|text| format!("review: {}", strip_line(&text))));
            if matches!(made.posted, PostDestination::Review { .. }) {
                acted.said.extend(made.receipt.as_deref().map(delivery::lines));
            }
            if let (1, Some(why)) = (acted.verdict.came_to, made.closed()) {
                match made.posted {
                    // GitHub shows at most ten errors of a step, and other errors need them.
                    PostDestination::Annotations(_) => acted.said.push(format!("review: {why}")),
                    PostDestination::Review { .. } | PostDestination::Nowhere(_) => {
                        acted.commands.push_str(&annotate(AnnotationLevel::Error, &why));
                    }
                }
            }
            if matches!(made.posted, PostDestination::Annotations(_)) {
                let lines = render(&made.delivered.review, "annotations", made.delivered.settings.fail_on);
                acted.commands.push_str(&String::from_utf8_lossy(&lines.unwrap_or_default()));
            }
            acted
                .commands
                .extend(made.delivered.failures.iter().map(|failure| annotate(AnnotationLevel::Error, failure)));
            acted.delivered = Some(made.delivered);
        }
    }
}
