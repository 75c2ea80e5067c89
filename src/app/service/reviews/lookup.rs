//! The reviews that a server's clients may read, and the resolution of their names. Main type: [`ReviewListing`].
//!
//! A review quotes its code: a client that may not read a repository does not see its reviews either.

use crate::app::context::saved_runs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use super::super::Service;
use super::super::notifier::ChangeNotice;
use super::run::{ReviewSnapshot, ReviewState};
use crate::app::context::error::AppError;
use crate::app::findings::runs;
use crate::domain::finding::FindingId;
use crate::domain::review::Review;
use crate::domain::run::RunId;
use crate::domain::run_record::{RunRecord, SavedRun};

/// Limit on the ids named in an error.
const NAMED: usize = 5;

/// A review in a list.
#[derive(Debug, Clone)]
pub enum ReviewListing {
    /// A review of this process that is not saved: it is running, failed, or could not be saved.
    Here(ReviewSnapshot),
    /// A saved one.
    Kept(RunRecord),
}

impl ReviewListing {
    /// The run.
    pub fn id(&self) -> RunId {
        match self {
            Self::Here(snapshot) => snapshot.id,
            Self::Kept(record) => record.id,
        }
    }

    /// The time of its start: RFC 3339, UTC.
    pub fn started_at(&self) -> &str {
        match self {
            Self::Here(snapshot) => &snapshot.started_at,
            Self::Kept(record) => &record.started_at,
        }
    }

    /// The repository's folder.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Here(snapshot) => Some(&snapshot.folder),
            Self::Kept(record) => record.folder.as_deref(),
        }
    }
}

/// An error in finding a review.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum FindFault {
    #[error(
        "no review of the repositories this server may look in has the id {given:?}{}",
        if known.is_empty() { "; there is none yet: start one with the tool review".to_owned() } else { format!("; the newest are {}", super::listed(known)) }
    )]
    Unknown { given: String, known: Vec<RunId> },
    /// Several reviews match.
    #[error("several reviews begin with {given:?} ({}): give more of the id", super::listed(ids))]
    Ambiguous { given: String, ids: Vec<RunId> },
    /// The repository has none.
    #[error("no review of {} is kept yet: start one with the tool review", .0.display())]
    NoneOf(PathBuf),
    /// Any other error.
    #[error(transparent)]
    App(#[from] AppError),
}

/// An error in dismissing a finding.
#[derive(Debug, thiserror::Error)]
pub enum DismissFault {
    /// The server is read-only.
    #[error("this server changes nothing that is kept: start it with --allow-write to let clients dismiss findings")]
    ReadOnly,
    /// The review is still running.
    #[error("the review {0} is still running: its findings can be dismissed when it has ended")]
    Running(RunId),
    /// Any other error.
    #[error(transparent)]
    App(#[from] AppError),
}

impl Service {
    /// Lists the reviews of the allowed repositories, newest first.
    pub fn list_reviews(&self) -> Result<Vec<ReviewListing>, AppError> {
        let mut list = Vec::new();
        for run in saved_runs::list(&self.around)? {
            let SavedRun::Whole(record) = run else { continue };
            if self.is_visible(&record) {
                list.push(ReviewListing::Kept(record));
            }
        }
        for run in self.reviews.all() {
            let snapshot = run.snapshot();
            match &snapshot.state {
                ReviewState::Ended(ended) if ended.not_kept.is_none() => {}
                ReviewState::Ended(_) | ReviewState::Running(_) | ReviewState::Failed { .. } => {
                    list.push(ReviewListing::Here(snapshot));
                }
            }
        }
        list.sort_by(|a, b| b.started_at().cmp(a.started_at()).then_with(|| a.id().cmp(&b.id())));
        Ok(list)
    }

    /// Finds the only review whose id has the prefix `given`; the latest of a repository if it is `None`, `last` or `latest`.
    pub fn find_review(&self, given: Option<&str>, repo: Option<&str>) -> Result<RunId, FindFault> {
        let given = match given {
            None | Some("last" | "latest") => return self.latest_review(repo),
            Some(given) => given,
        };
        if let Ok(id) = given.parse::<RunId>()
            && self.has_review(id)
        {
            return Ok(id);
        }
        let list = self.list_reviews()?;
        let wanted = given.to_ascii_lowercase();
        let fits = |listing: &&ReviewListing| !wanted.is_empty() && listing.id().to_string().starts_with(&wanted);
        let ids: Vec<RunId> = list.iter().filter(fits).map(ReviewListing::id).take(NAMED).collect();
        match ids.as_slice() {
            [one] => Ok(*one),
            [] => {
                let known = list.iter().take(NAMED).map(ReviewListing::id).collect();
                Err(FindFault::Unknown { given: given.to_owned(), known })
            }
            _ => Err(FindFault::Ambiguous { given: given.to_owned(), ids }),
        }
    }

    /// Checks whether an allowed repository has this review.
    fn has_review(&self, id: RunId) -> bool {
        self.reviews.run(id).is_some()
            || saved_runs::record(&self.around, id).is_ok_and(|record| self.is_visible(&record))
    }

    /// Checks whether a run belongs to an allowed repository; the repository may no longer exist.
    fn is_visible(&self, record: &RunRecord) -> bool {
        record.folder.as_deref().is_some_and(|folder| self.roots().contains(folder))
    }

    /// Finds the newest readable review of a repository (of the server's by default); without any, the newest one that runs.
    pub fn latest_review(&self, repo: Option<&str>) -> Result<RunId, FindFault> {
        let (folder, _) = self.repository(repo)?;
        let unkept = self.reviews.all().into_iter().map(|run| run.snapshot()).filter(|snapshot| {
            let nowhere_else = matches!(&snapshot.state, ReviewState::Ended(ended) if ended.not_kept.is_some());
            nowhere_else && snapshot.folder == folder
        });
        let unkept: Vec<_> = unkept.map(|snapshot| (snapshot.started_at, snapshot.id)).collect();
        let kept = saved_runs::latest_of(&self.around, &folder);
        // A store that fails has saved nothing new.
        let kept = if unkept.is_empty() { kept? } else { kept.unwrap_or_default() };
        let kept = kept.map(|record| (record.started_at, record.id));
        let newest = unkept.into_iter().chain(kept).max_by(|a, b| a.0.cmp(&b.0));
        // Before the first one has ended, the one that runs is the answer: whoever hears that there is none starts another.
        let running = || {
            let all = self.reviews.all().into_iter().map(|run| run.snapshot());
            let here = all.filter(|snapshot| snapshot.folder == folder && !snapshot.state.is_over());
            here.map(|snapshot| (snapshot.started_at, snapshot.id)).max_by(|a, b| a.0.cmp(&b.0))
        };
        newest.or_else(running).map(|(_, id)| id).ok_or(FindFault::NoneOf(folder))
    }

    /// Finds the newest review of the same repository that was started after this one and is not readable: it is running, or failed.
    pub fn later_review(&self, id: RunId) -> Result<Option<ReviewSnapshot>, AppError> {
        let list = self.list_reviews()?;
        let Some(at) = list.iter().position(|listing| listing.id() == id) else { return Ok(None) };
        let folder = list[at].folder().map(Path::to_owned);
        Ok(list.into_iter().take(at).find_map(|listing| match listing {
            ReviewListing::Here(snapshot)
                if Some(&snapshot.folder) == folder.as_ref() && !matches!(snapshot.state, ReviewState::Ended(_)) =>
            {
                Some(snapshot)
            }
            ReviewListing::Here(_) | ReviewListing::Kept(_) => None,
        }))
    }

    /// Loads an ended review.
    pub fn review(&self, id: RunId) -> Result<Arc<Review>, AppError> {
        if let Some(ReviewSnapshot { state: ReviewState::Ended(ended), .. }) = self.snapshot(id)
            && let Some(review) = ended.unkept
        {
            return Ok(review);
        }
        saved_runs::read(&self.around, id).map(Arc::new)
    }

    /// Dismisses a finding of a saved review, with a reason.
    pub fn dismiss(&self, id: RunId, finding: &FindingId, reason: &str) -> Result<Review, DismissFault> {
        if !self.may_write() {
            return Err(DismissFault::ReadOnly);
        }
        if self.snapshot(id).is_some_and(|snapshot| !snapshot.state.is_over()) {
            return Err(DismissFault::Running(id));
        }
        let review = {
            let _writing = self.reviews.writing.lock().unwrap_or_else(PoisonError::into_inner);
            runs::dismiss(&self.around, id, finding, reason)?
        };
        self.notifier().notify(ChangeNotice::Review(id));
        Ok(review)
    }
}
