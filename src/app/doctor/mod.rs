//! Whether a review would work here: settings, git, this machine, the forge, and the model, which is asked a few questions of our own.
//! Main function: [`doctor`].
//!
//! Nothing of a repository is sent anywhere. Each file looks after one area and gives [`Check`]s; `probe` asks a model, and judges what it
//! answers. How a [`Checkup`] is shown belongs in `present`.

mod advice;
mod forge;
mod git;
mod judged;
mod machine;
mod model;
mod probe;
mod settings;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use machine::Terminal;

use super::error::AppError;
use crate::config::Flags;
use crate::domain::checkup::{Check, Checkup};
use crate::domain::event::EventSink;
use crate::domain::request::{ReviewRequest, Scope};
use crate::sys::blocking;
use crate::sys::cancel::{Cancel, Stopped};
use crate::sys::clock;

/// What is to be looked at.
#[derive(Debug, Clone)]
pub struct DoctorAsk {
    /// The folder one stands in.
    pub directory: PathBuf,
    /// What a review would be compared with.
    pub target: Option<String>,
    /// Whether the project's settings are read from the disk.
    pub settings_from_worktree: bool,
    /// What the command line says about settings.
    pub flags: Flags,
    /// Whether nobody is asked over the network.
    pub offline: bool,
    /// How long asking may take, all together.
    pub limit: Duration,
    /// The terminal that this process writes to.
    pub terminal: Terminal,
}

impl DoctorAsk {
    fn request(&self) -> ReviewRequest {
        ReviewRequest {
            directory: self.directory.clone(),
            scope: Scope::Branch { target: self.target.clone(), head: None },
            settings_from_worktree: self.settings_from_worktree,
        }
    }
}

/// Looks at everything. What cannot be looked at is a check that says so; an error is a defect of this program.
pub async fn doctor(ask: DoctorAsk, events: Arc<dyn EventSink>, cancel: Cancel) -> Result<Checkup, AppError> {
    let (started_at, began) = (clock::now(), Instant::now());
    let cancel = cancel.within(ask.limit);
    let offline = ask.offline;
    let (mut checks, found, forge) = {
        let watched = cancel.clone();
        blocking::run("looking at the repository", &cancel, move || around(&ask, &watched)).await?
    };
    checks.extend(forge::check(forge, offline, &cancel).await);
    checks.extend(model::check(found, offline, &*events, &cancel).await);
    let interrupted = cancel.check() == Err(Stopped::Interrupted);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(Checkup { version, started_at, took: began.elapsed(), interrupted, checks })
}

/// What needs no network. Also what the rest is asked with.
fn around(ask: &DoctorAsk, cancel: &Cancel) -> (Vec<Check>, Option<settings::Found>, forge::Found) {
    let looked = git::look(ask);
    let (mut checks, found) = settings::check(ask, &looked);
    checks.extend(git::check(&looked, cancel));
    checks.extend(machine::check(ask, &looked));
    (checks, found, forge::find(cancel))
}
