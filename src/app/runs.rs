//! Looking back at kept runs.

use std::path::Path;

use super::deliver;
use super::error::AppError;
use super::subject::{self, Surroundings};
use crate::config::Flags;
use crate::domain::filter::{FilterError, PathFilter};
use crate::domain::finding::{Finding, FindingId, FindingStatus, Severity};
use crate::domain::review::Review;
use crate::domain::run::{KeptRun, RunId, RunRecord};
use crate::domain::text::{mask, strip_line};
use crate::present::json;
use crate::store::Store;

/// A longer reason is refused, in characters.
const LONGEST_REASON: usize = 500;

/// The kept runs, newest first.
pub fn list(around: &Surroundings) -> Result<Vec<KeptRun>, AppError> {
    Ok(Store::at(&around.state).list()?)
}

/// A kept review, by its id, the beginning of its id, or `last`.
pub fn show(around: &Surroundings, name: &str) -> Result<Review, AppError> {
    read(around, Store::at(&around.state).find(name)?)
}

/// A kept review.
pub(super) fn read(around: &Surroundings, id: RunId) -> Result<Review, AppError> {
    let bytes = Store::at(&around.state).read(id, "review.json")?;
    json::parse(&bytes).map_err(|error| AppError::Damaged { id: id.to_string(), why: error.to_string() })
}

/// What a list says about one run.
pub(super) fn record(around: &Surroundings, id: RunId) -> Result<RunRecord, AppError> {
    Ok(Store::at(&around.state).record(id)?)
}

/// The newest kept run of the repository with this folder (absolute, no link in it).
pub fn latest_of(around: &Surroundings, folder: &Path) -> Result<Option<RunRecord>, AppError> {
    Ok(list(around)?.into_iter().find_map(|run| match run {
        KeptRun::Whole(record) if record.folder.as_deref() == Some(folder) => Some(record),
        KeptRun::Whole(_) | KeptRun::Unfinished { .. } | KeptRun::Damaged { .. } => None,
    }))
}

/// Which findings of a review are wanted.
#[derive(Debug, Clone, Default)]
pub struct FindingsAsk {
    /// Only those that are at least so bad.
    pub floor: Option<Severity>,
    /// Only those with a place in a file that this glob lets through (see [`PathFilter`]), or in this file or below this folder.
    pub path: Option<String>,
}

/// The finding with this id, or the only one whose id begins with it.
pub fn finding_like<'f>(findings: &'f [Finding], wanted: &str) -> Option<&'f Finding> {
    if wanted.is_empty() {
        return None;
    }
    let exact = findings.iter().find(|finding| finding.id.0 == wanted);
    exact.or_else(|| {
        let mut like = findings.iter().filter(|finding| finding.id.0.starts_with(wanted));
        like.next().filter(|_| like.next().is_none())
    })
}

/// The findings that are wanted, worst first.
pub fn findings<'r>(review: &'r Review, ask: &FindingsAsk) -> Result<Vec<&'r Finding>, FilterError> {
    let path = ask.path.as_deref();
    let glob = path.map(|path| PathFilter::new(&[path.to_owned()], &[])).transpose()?;
    let wanted = |finding: &&Finding| {
        let bad = ask.floor.is_none_or(|floor| finding.severity <= floor);
        let here = glob.as_ref().is_none_or(|glob| {
            finding.anchors.iter().any(|anchor| {
                glob.allows(&anchor.path)
                    || path.is_some_and(|path| anchor.path.spelled() == path.trim_start_matches("./"))
            })
        });
        bad && here
    };
    Ok(review.findings.iter().filter(wanted).collect())
}

/// Marks a finding of a kept run as dismissed, and says why in the review's notes. Everything that was kept of the run says so.
pub fn dismiss(around: &Surroundings, id: RunId, finding: &FindingId, reason: &str) -> Result<Review, AppError> {
    let reason = strip_line(&mask(reason.trim()).text);
    if reason.is_empty() || reason.chars().count() > LONGEST_REASON {
        return Err(AppError::Reason { most: LONGEST_REASON });
    }
    let store = Store::at(&around.state);
    let mut review = read(around, id)?;
    let known: Vec<String> = review.findings.iter().map(|finding| finding.id.to_string()).collect();
    let Some(found) = review.findings.iter_mut().find(|one| one.id == *finding) else {
        return Err(AppError::NoFinding { id: id.to_string(), finding: finding.to_string(), known });
    };
    if found.status == FindingStatus::Dismissed {
        return Err(AppError::DismissedAlready { finding: finding.to_string() });
    }
    found.status = FindingStatus::Dismissed;
    review.coverage.dismissed += 1;
    review.coverage.notes.push(format!("The finding {finding} was dismissed: {reason}"));
    let folder = store.record(id).ok().and_then(|record| record.folder);
    deliver::keep(&store, &review, folder)?;
    Ok(review)
}

/// Removes the runs that are older than the settings keep them; says how many.
pub fn prune(around: &Surroundings) -> Result<usize, AppError> {
    let settings = subject::resolve(None, &Flags::default(), around)?.settings;
    Ok(Store::at(&around.state).prune(settings.keep_runs)?)
}
