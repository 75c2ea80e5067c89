//! Performs the task of a step and reports to its runner. Main function: [`act`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::commands::{Level, said};
use super::error::ActionError;
use super::gate::{self, Kind, SUPERSEDED, Verdict};
use super::given::{self, Given};
use super::inputs::{self, Inputs, OnError};
use super::outputs::Outputs;
use super::what::{What, decide};
use super::{event, summary};
use crate::app::deliver::{Delivered, render};
use crate::app::error::AppError;
use crate::app::instructions::InstructionsError;
use crate::app::post::Posted;
use crate::app::review::interruptible;
use crate::app::subject::Surroundings;
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

/// Maximum size in bytes of a payload: GitHub's have at most 25 MB.
const MAX_PAYLOAD: u64 = 32 << 20;

/// The outcome of a step.
#[derive(Debug)]
pub(super) enum Did {
    /// No task was performed, with the reason.
    Skipped(String),
    /// The head moved.
    Superseded {
        /// The old and the new head.
        why: String,
        /// The review that was made nevertheless: it is of another commit, or not posted.
        made: Option<Made>,
    },
    /// The artefact of another run was posted.
    Posted {
        /// The receipt.
        receipt: Box<Delivery>,
        /// The destination.
        posted: Where,
    },
    /// A review.
    Reviewed(Made),
}

/// A review that was made.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) delivered: Delivered,
    pub(super) posted: Where,
    /// The folder with the files.
    pub(super) folder: PathBuf,
    /// The files that were written, by the names of their formats.
    pub(super) files: Vec<(&'static str, PathBuf)>,
}

impl Made {
    /// The receipt of posting it on the pull request.
    fn receipt(&self) -> Option<&Delivery> {
        match &self.delivered.posted {
            Some(Posted::Done(receipt)) => Some(receipt),
            Some(Posted::Dry(_)) | None => None,
        }
    }

    fn closed(&self) -> Option<String> {
        gate::closed(&self.delivered.review, self.delivered.settings.fail_on)
    }
}

/// The destination of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Where {
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

impl Where {
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
pub struct Acted {
    /// The verdict.
    pub verdict: Verdict,
    /// The review, for the log.
    pub delivered: Option<Delivered>,
    /// The error, if there is no review.
    pub error: Option<AppError>,
    /// Additional messages, one line each.
    pub said: Vec<String>,
    /// Commands for the runner, whole lines.
    pub commands: String,
}

/// Runs the step described by the environment and reports to the runner. Every error becomes a result; none ends the step early.
pub async fn act(
    given: &Given,
    around: Result<Surroundings, AppError>,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
    grace: Duration,
) -> Acted {
    let on_error = inputs::on_error(given);
    let may_pass = on_error.as_ref().map_or(OnError::Fail, |on_error| *on_error);
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
    match error {
        AppError::Forge(error) if error.kind == FaultKind::Auth && !has_login => ActionError::NoToken.into(),
        AppError::Instructions(InstructionsError::NotAtTarget { path, commit }) => {
            let (input, write) = (given::INSTRUCTIONS.name, "commit it there first; a change cannot bring its own");
            let wrong = format!("names {path}, which is not a file at {commit}, the tip of the target branch");
            ActionError::Input { input, wrong, write: write.to_owned() }.into()
        }
        error => error,
    }
}

fn verdict(did: &Result<Did, AppError>, on_error: OnError) -> Verdict {
    let (kind, came_to, ended) = match did {
        Err(error) => (Kind::Error, error.exit_code(), None),
        Ok(Did::Skipped(_)) => (Kind::Skipped, 0, None),
        Ok(Did::Superseded { .. }) => (Kind::Superseded, SUPERSEDED, None),
        Ok(Did::Posted { receipt, .. }) => (Kind::Posted, if receipt.is_whole() { 0 } else { 5 }, None),
        Ok(Did::Reviewed(Made { delivered, .. })) => {
            (delivered.review.outcome.into(), delivered.exit_code(), Some(delivered.review.ended))
        }
    };
    Verdict::of(kind, came_to, ended, on_error)
}

async fn run(given: &Given, around: Surroundings, events: Arc<dyn EventSink>, cancel: Cancel) -> Result<Did, AppError> {
    let inputs = Inputs::read(given)?;
    let here = repository(given)?;
    let name = variable(given, given::EVENT_NAME)?;
    let occasion = occasion(name, variable(given, given::EVENT_PATH)?, &here)?;
    // Without a checkout there is no repository to look in, and none is needed.
    let directory = given.get(given::WORKSPACE).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let what = decide(name, occasion, &inputs, &here)?;
    let temporary = PathBuf::from(variable(given, given::TEMP)?);
    let flags = inputs.flags.clone();
    let job = reviewing::Step { inputs, flags, around, directory, temporary, here, events, cancel };
    match what {
        What::Skip(why) => Ok(Did::Skipped(why)),
        What::Pull(wanted) => Box::pin(job.pull(wanted)).await,
        What::Commits { base, head } => Box::pin(job.commits(&base, head)).await,
        What::Artefact { folder, run, pull } => Box::pin(job.artefact(folder, run, pull)).await,
    }
}

fn variable<'g>(given: &'g Given, name: &'static str) -> Result<&'g str, ActionError> {
    given.get(name).ok_or_else(|| ActionError::Variable { name, wrong: "is not set".to_owned() })
}

fn repository(given: &Given) -> Result<RepoName, ActionError> {
    let name = variable(given, given::REPOSITORY)?;
    let wrong = || ActionError::Variable { name: given::REPOSITORY, wrong: "is not owner/name".to_owned() };
    name.parse().map_err(|_| wrong())
}

fn occasion(name: &str, path: &str, here: &RepoName) -> Result<event::Occasion, ActionError> {
    let payload = |why: String| ActionError::Payload { event: name.to_owned(), path: path.to_owned(), why };
    let file = Path::new(path);
    let bytes = files::open(file).and_then(|open| files::read_within(open, file, MAX_PAYLOAD));
    let bytes = bytes.map_err(|error| payload(error.source.to_string()))?;
    event::read(name, &bytes, here).map_err(payload)
}

/// Writes the outputs and the summary, and collects the messages. A failed write makes a successful step fail.
fn tell(given: &Given, did: Result<Did, AppError>, verdict: Verdict) -> Acted {
    let mut acted = Acted { verdict, delivered: None, error: None, said: Vec::new(), commands: String::new() };
    let mut beside = Vec::new();
    if verdict.was_let_pass() {
        let text = format!(
            "This step came to {} (exit code {}), which on-error: neutral lets pass: it says nothing about the change.",
            verdict.kind.word(),
            verdict.came_to
        );
        acted.commands.push_str(&said(Level::Warning, &text));
        beside.push(text);
    }
    beside.extend(beside_the_review(&did, verdict));
    if let Ok(Did::Reviewed(made)) = &did
        && let Some(text) = gate::refuted(&made.delivered.review)
    {
        acted.commands.push_str(&said(Level::Warning, &text));
    }
    let mut outputs = outputs(&did, verdict);
    let written = summary::write(given, &summary::text(&did, &beside));
    if let Err(error) = &written {
        acted.said.push(format!("review: error: the summary of this step: {error}"));
    }
    if written.is_err() && acted.verdict.code == 0 {
        acted.verdict.code = 5;
        outputs.set("exit-code", "5");
    }
    if let Err(error) = outputs.write(given) {
        acted.said.push(format!("review: error: the outputs of this step: {error}"));
        acted.verdict.code = if acted.verdict.code == 0 { 5 } else { acted.verdict.code };
    }
    log(did, &mut acted);
    acted
}

/// Collects the notes of the summary: why the step fails, deviations in posting, and failures.
fn beside_the_review(did: &Result<Did, AppError>, verdict: Verdict) -> Vec<String> {
    let (posted, receipt, failures) = match did {
        Ok(Did::Reviewed(made)) => (&made.posted, made.receipt(), &made.delivered.failures),
        Ok(Did::Posted { receipt, posted }) => (posted, Some(&**receipt), &receipt.failures),
        Ok(Did::Skipped(_) | Did::Superseded { .. }) | Err(_) => return Vec::new(),
    };
    let closed = match did {
        Ok(Did::Reviewed(made)) if verdict.came_to == 1 => made.closed(),
        _ => None,
    };
    let notes = receipt.map(|receipt| receipt.notes.iter().cloned()).into_iter().flatten();
    // The reason for not posting is already there.
    let is_said = |failure: &&String| matches!(posted, Where::Nowhere(why) if why == *failure);
    let failures = failures.iter().filter(|failure| !is_said(failure)).map(|failure| format!("error: {failure}"));
    closed.into_iter().chain(notes).chain(failures).collect()
}

fn outputs(did: &Result<Did, AppError>, verdict: Verdict) -> Outputs {
    let mut outputs = Outputs::default();
    outputs.set("outcome", verdict.kind.word());
    outputs.set("exit-code", verdict.came_to.to_string());
    let posted = match did {
        Ok(Did::Reviewed(made)) => Some(&made.posted),
        Ok(Did::Posted { posted, .. }) => Some(posted),
        Ok(Did::Skipped(_) | Did::Superseded { .. }) | Err(_) => None,
    };
    outputs.set("posted", posted.map_or("none", Where::word));
    if let Some(Where::Review { url: Some(url), .. }) = posted {
        outputs.set("url", url);
    }
    if let Ok(Did::Posted { receipt, .. }) = did {
        outputs.set("run", receipt.run.to_string());
    }
    let (made, is_said) = match did {
        Ok(Did::Reviewed(made)) => (made, true),
        // The review is of another commit than the step.
        Ok(Did::Superseded { made: Some(made), .. }) => (made, false),
        Ok(Did::Superseded { made: None, .. } | Did::Skipped(_) | Did::Posted { .. }) | Err(_) => return outputs,
    };
    let review = &made.delivered.review;
    if is_said {
        outputs.set("findings", review.unresolved().count().to_string());
        outputs.set("blocking", gate::blocking(review, made.delivered.settings.fail_on).to_string());
    }
    outputs.set("run", review.id.to_string());
    outputs.set("folder", made.folder.display().to_string());
    for (format, file) in &made.files {
        outputs.set(format, file.display().to_string());
    }
    outputs
}

/// Builds the log: the review, annotations if any, and a line for each further message.
fn log(did: Result<Did, AppError>, acted: &mut Acted) {
    match did {
        Err(error) => {
            acted.commands.push_str(&said(Level::Error, &error.to_string()));
            acted.error = Some(error);
        }
        Ok(Did::Skipped(why)) => acted.commands.push_str(&said(Level::Notice, &why)),
        Ok(Did::Superseded { why, made }) => {
            acted.commands.push_str(&said(Level::Warning, &why));
            acted.delivered = made.map(|made| made.delivered);
            let failures = acted.delivered.iter().flat_map(|delivered| &delivered.failures);
            acted.commands.extend(failures.map(|failure| said(Level::Error, failure)));
        }
        Ok(Did::Posted { receipt, .. }) => {
            acted.said.extend(delivery::each(&receipt));
            acted.said.push(delivery::lines(&receipt));
            acted.commands.extend(receipt.failures.iter().map(|failure| said(Level::Error, failure)));
        }
        Ok(Did::Reviewed(made)) => {
            acted.said.extend(made.posted.elsewhere().map(|text| format!("review: {}", strip_line(&text))));
            if matches!(made.posted, Where::Review { .. }) {
                acted.said.extend(made.receipt().map(delivery::lines));
            }
            if let (1, Some(why)) = (acted.verdict.came_to, made.closed()) {
                match made.posted {
                    // GitHub shows at most ten errors of a step, and other errors need them.
                    Where::Annotations(_) => acted.said.push(format!("review: {why}")),
                    Where::Review { .. } | Where::Nowhere(_) => acted.commands.push_str(&said(Level::Error, &why)),
                }
            }
            if matches!(made.posted, Where::Annotations(_)) {
                let lines = render(&made.delivered.review, "annotations", made.delivered.settings.fail_on);
                acted.commands.push_str(&String::from_utf8_lossy(&lines.unwrap_or_default()));
            }
            acted.commands.extend(made.delivered.failures.iter().map(|failure| said(Level::Error, failure)));
            acted.delivered = Some(made.delivered);
        }
    }
}
