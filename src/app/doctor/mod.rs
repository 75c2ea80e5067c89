//! Checks that reviews work here: settings, git, this machine, the forge, and the model, with a few probe requests. Main function:
//! [`doctor`].
//!
//! Nothing of a repository is sent anywhere. Each file covers one area and returns [`DoctorCheck`]s; `probe` sends requests to a model. Rendering
//! a [`DoctorReport`] belongs in `present`.

mod advice;
mod forge;
mod git;
mod machine;
mod model;
mod probe;
mod settings;
mod verdict;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use machine::TerminalInfo;
pub(in crate::app) use model::try_model;

use crate::app::context::error::AppError;
use crate::config::Flags;
use crate::domain::doctor::{DoctorCheck, DoctorReport};
use crate::domain::event::EventSink;
use crate::domain::request::{ReviewRequest, ReviewScope};
use crate::sys::blocking;
use crate::sys::cancel::{Cancel, CancelReason};
use crate::sys::clock;

/// The options of the checks.
#[derive(Debug, Clone)]
pub struct DoctorAsk {
    /// The current folder.
    pub directory: PathBuf,
    /// The base of the comparison.
    pub target: Option<String>,
    /// `true` if the project's settings are read from the working tree.
    pub settings_from_worktree: bool,
    /// The settings from the command line.
    pub flags: Flags,
    /// `true` to make no network requests.
    pub offline: bool,
    /// The total time limit for requests.
    pub limit: Duration,
    /// The terminal that this process writes to.
    pub terminal: TerminalInfo,
}

impl DoctorAsk {
    fn request(&self) -> ReviewRequest {
        ReviewRequest {
            directory: self.directory.clone(),
            scope: ReviewScope::Branch { target: self.target.clone(), head: None },
            settings_from_worktree: self.settings_from_worktree,
        }
    }
}

/// Runs all checks. An area that cannot be checked is a check that says so; an error is a defect of this program.
pub async fn doctor(ask: DoctorAsk, events: Arc<dyn EventSink>, cancel: Cancel) -> Result<DoctorReport, AppError> {
    let (started_at, began) = (clock::now(), Instant::now());
    let cancel = cancel.with_deadline(ask.limit);
    let offline = ask.offline;
    let (mut checks, found, forge) = {
        let watched = cancel.clone();
        blocking::run("looking at the repository", &cancel, move || around(&ask, &watched)).await?
    };
    checks.extend(forge::check(forge, offline, &cancel).await);
    checks.extend(model::check(found, offline, &*events, &cancel).await);
    let interrupted = cancel.check() == Err(CancelReason::Interrupted);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(DoctorReport { version, started_at, took: began.elapsed(), interrupted, checks })
}

/// Runs the checks that need no network, and returns the input of the others.
fn around(ask: &DoctorAsk, cancel: &Cancel) -> (Vec<DoctorCheck>, Option<settings::FoundSettings>, forge::FoundForge) {
    let looked = git::open(ask);
    let (mut checks, found) = settings::check(ask, &looked);
    checks.extend(git::check(&looked, cancel));
    checks.extend(machine::check(ask, &looked));
    (checks, found, forge::find(cancel))
}
