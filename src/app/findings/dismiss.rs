//! Dismisses a finding for the project. Main function: [`dismiss_for_project`].
//!
//! Reading dismissals belongs in `dismissed`; a dismissal stored only in a saved review, in `runs`.

use crate::app::context::saved_runs;
use crate::app::prepare::dismissals::DismissError;
use std::path::{Path, PathBuf};

use super::runs::{self, finding_like};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::prepare::dismissals::read_from_disk;
use crate::config::{SettingsDocument, dismissals as file};
use crate::domain::day::Day;
use crate::domain::dismissal::{DISMISSED_FILE, Dismissal};
use crate::domain::finding::{DismissalNote, DismissedBy, Finding, OriginKind};
use crate::domain::run::RunId;
use crate::domain::text::strip_line;
use crate::sys::clock;
use crate::sys::contained_folder::ContainedFolder;
use crate::sys::repo::Repo;

/// The dismissal of a finding for the project.
#[derive(Debug, Clone)]
pub struct DismissAsk {
    /// A folder of the repository.
    pub directory: PathBuf,
    /// The run: its id, a prefix of it or `last`; `None` for the newest of this repository.
    pub run: Option<String>,
    /// The id of the finding, or a prefix of it.
    pub finding: String,
    /// The reason for the dismissal.
    pub reason: String,
    /// The last day of its validity.
    pub until: Option<Day>,
    /// The files that the dismissal covers; `None` for the one with the finding.
    pub glob: Option<String>,
}

/// A dismissed finding.
#[derive(Debug, Clone)]
pub struct ProjectDismissal {
    /// The run of the finding.
    pub run: RunId,
    /// The finding.
    pub finding: Finding,
    /// The file of dismissals.
    pub file: PathBuf,
    /// `true` if the file already dismissed the finding: its reason is replaced.
    pub again: bool,
    /// The reason why the saved review could not be marked, if so.
    pub not_marked: Option<String>,
}

/// Writes a dismissal into the project's file in the working tree and marks the finding in the saved review.
///
/// Other reviews apply it once the branch that they compare with has the file.
pub fn dismiss_for_project(around: &ProcessEnv, ask: &DismissAsk) -> Result<ProjectDismissal, AppError> {
    let repo = Repo::open(&ask.directory)?;
    let root = repo.workdir().ok_or(DismissError::Bare)?.to_owned();
    let run = saved_runs::find_in_repository(around, &repo, ask.run.as_deref())?;
    let review = saved_runs::read(around, run)?;
    let finding = finding_like(&review.findings, ask.finding.trim())
        .ok_or_else(|| runs::no_finding(&review, &ask.finding))?
        .clone();
    if finding.status.is_over() {
        return Err(DismissError::Over(finding.id.to_string(), finding.status).into());
    }
    let dismissal = dismissal(&finding, ask)?;
    let again = write(&root, &dismissal)?;
    let why = DismissalNote { reason: dismissal.reason, until: dismissal.until, by: DismissedBy::Project };
    let marked = runs::mark_dismissed(around, review, &finding.id, why);
    let file = root.join(DISMISSED_FILE);
    Ok(ProjectDismissal { run, finding, file, again, not_marked: marked.err().map(|error| error.to_string()) })
}

fn dismissal(finding: &Finding, ask: &DismissAsk) -> Result<Dismissal, AppError> {
    let reason = runs::read_reason(&ask.reason)?;
    let today = clock::today();
    if let Some((until, today)) = ask.until.zip(today).filter(|(until, today)| until < today) {
        return Err(DismissError::Past { until, today }.into());
    }
    let glob = ask.glob.as_deref().map(file::glob).transpose().map_err(DismissError::Glob)?;
    let path = finding.anchors.first().map(|anchor| anchor.path.clone());
    // Every finding has an anchor, except one read from a damaged file.
    let path = path.ok_or_else(|| AppError::damaged(&finding.id, &"the finding has no place"))?;
    if let Some(glob) = glob.as_ref().filter(|glob| !glob.filter.allows(&path)) {
        return Err(DismissError::Elsewhere { glob: glob.pattern.clone(), path }.into());
    }
    Ok(Dismissal {
        id: finding.id.clone(),
        fingerprint: finding.fingerprint.clone(),
        title: strip_line(&finding.title),
        // The rule id distinguishes findings of rules; a model's finding needs its severity.
        severity: (finding.origin.kind == OriginKind::Model).then_some(finding.severity),
        path,
        glob,
        reason,
        until: ask.until,
        on: today,
    })
}

/// Writes the entry and returns `true` if the finding had one. The file must be valid before it is changed.
fn write(root: &Path, dismissal: &Dismissal) -> Result<bool, AppError> {
    let before = read_from_disk(root)?;
    let text = match &before {
        Some(bytes) => {
            file::parse(DISMISSED_FILE, bytes)?;
            SettingsDocument::from_bytes(DISMISSED_FILE, bytes)?.text
        }
        None => String::new(),
    };
    let edited = file::set_entry(&text, dismissal).map_err(DismissError::Edit)?;
    // An entry that cannot be parsed must fail now, not at the next review.
    file::parse(DISMISSED_FILE, edited.text.as_bytes())?;
    let beneath = ContainedFolder::new(root).map_err(DismissError::Write)?;
    let (folder, _) = DISMISSED_FILE.split_once('/').unwrap_or_default();
    beneath.make_folder(folder).map_err(DismissError::Write)?;
    let written = beneath.replace(DISMISSED_FILE.as_bytes(), before.as_deref(), edited.text.as_bytes());
    if !written.map_err(DismissError::Write)? {
        return Err(DismissError::Changed.into());
    }
    Ok(edited.replaced)
}
