//! Chooses the previous review. Main function: [`find_previous`].

use crate::app::context::saved_runs;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use super::super::change::PreparedChange;
use super::super::diff_source::DiffOrigin;
use super::document::PriorError;
use super::hidden;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::domain::event::{Event, EventSink};
use crate::domain::finding::{Finding, FindingStatus, by_worst};
use crate::domain::place::WorkspaceAt;
use crate::domain::request::Previous;
use crate::domain::review::Review;
use crate::domain::run_record::{RunRecord, SavedRun};
use crate::domain::text::mask;
use crate::git;
use crate::present::json;
use crate::store::StoreError;
use crate::sys::files;

/// Maximum size in bytes of a review file.
const MAX_FILE: u64 = 64 << 20;
/// Limit on the branches examined whose names begin like the head's.
const MOST_NAMES: usize = 1_000;
/// Limit on the saved runs tried.
const MOST_TRIED: usize = 5;

/// A previous review.
pub(super) struct PreviousReview {
    pub(super) review: Review,
    /// `true` for a run of this machine, `false` for a file, which anyone may have written.
    pub(super) is_own: bool,
    pub(super) notes: Vec<String>,
}

/// Finds the previous review; `None` if there is none, or none is requested.
pub(super) fn find_previous(
    subject: &PreparedChange,
    around: &ProcessEnv,
    events: &dyn EventSink,
) -> Result<Option<PreviousReview>, AppError> {
    let found = match &subject.compare.with {
        Previous::None => None,
        Previous::Newest => newest(subject, around, events)?,
        Previous::Named(name) => Some(load_named(subject, around, name)?),
    };
    Ok(found.map(sanitize))
}

fn newest(
    subject: &PreparedChange,
    around: &ProcessEnv,
    events: &dyn EventSink,
) -> Result<Option<PreviousReview>, AppError> {
    let saved = match &subject.saved {
        Some(saved) => Arc::clone(saved),
        None => saved_runs::list(around)?.into(),
    };
    let runs = saved.iter().filter_map(|run| match run {
        SavedRun::Whole(record) if !record.is_standalone && is_of(record, subject) => Some(record.id),
        _ => None,
    });
    let mut notes = Vec::new();
    for id in runs.take(MOST_TRIED) {
        match saved_runs::read(around, id) {
            // Records of earlier versions do not say it.
            Ok(review) if review.coverage.is_standalone => {}
            Ok(review) if is_related(&review, subject) => return Ok(Some(load_own(review, around, notes))),
            Ok(_) => {}
            Err(error) => {
                let text = format!("The review {id} was passed over: {error}");
                events.emit(Event::Notice { text: text.clone() });
                notes.push(text);
            }
        }
    }
    Ok(None)
}

/// Loads a run of this machine, with the findings hidden by thresholds: they are part of the history whatever is shown today.
fn load_own(mut review: Review, around: &ProcessEnv, mut notes: Vec<String>) -> PreviousReview {
    let coverage = &review.coverage;
    if !coverage.below_floor.is_empty() || !coverage.below_confidence.is_empty() {
        let bytes = around.store.read(review.id, hidden::NAME).map_err(|error| error.to_string());
        match bytes.and_then(|bytes| hidden::read(&bytes).map_err(|error| error.to_string())) {
            Ok(hidden) => review.findings.extend(hidden),
            Err(error) => notes.push(format!("What the earlier review found and did not show is not known: {error}")),
        }
        review.findings.sort_by(by_worst);
    }
    PreviousReview { review, is_own: true, notes }
}

/// Checks whether a run is of the same pull request, or of the same branch of the same repository with the same target.
fn is_of(record: &RunRecord, subject: &PreparedChange) -> bool {
    let change = &subject.change;
    if let Some(pull) = &change.pull {
        return record.pull.as_ref() == Some(&pull.id);
    }
    let same_folder = record.folder.is_some() && record.folder == subject.repository;
    same_folder && record.pull.is_none() && record.head_name == change.head_name && record.target == change.target
}

/// Checks whether a review with the same names is of related history: all detached heads and working trees have the same name.
fn is_related(review: &Review, subject: &PreparedChange) -> bool {
    let (then, now) = (&review.change, &subject.change);
    if let (Some(then), Some(now)) = (&then.pull, &now.pull) {
        return then.server == now.server;
    }
    if let WorkspaceAt::Index | WorkspaceAt::Worktree = now.new_at {
        return then.head.is_none() && then.base == now.base;
    }
    let DiffOrigin::Repository(pool) = &subject.diffs else { return false };
    let branches = pool
        .acquire()
        .ok()
        .and_then(|repo| git::list_branches(&repo, &now.head_name, MOST_NAMES, &subject.cancel).ok());
    let is_branch = branches.is_some_and(|names| names.contains(&now.head_name));
    let commits: HashSet<(&str, &str)> =
        then.commits.iter().map(|commit| (commit.subject.as_str(), commit.date.as_str())).collect();
    let patches: HashSet<_> = then.files.iter().filter_map(|file| file.patch_id.as_ref()).collect();
    is_branch
        || then.head == now.head
        || now.commits.iter().any(|commit| commits.contains(&(commit.subject.as_str(), commit.date.as_str())))
        || now.files.iter().filter_map(|file| file.patch_id.as_ref()).any(|id| patches.contains(id))
}

/// Loads the review that the user named: a saved run, or a file.
fn load_named(subject: &PreparedChange, around: &ProcessEnv, name: &str) -> Result<PreviousReview, AppError> {
    let store = &around.store;
    let path = Path::new(name);
    let mut found = match store.find(name) {
        Ok(id) => load_own(saved_runs::read(around, id)?, around, Vec::new()),
        Err(StoreError::Unknown(_) | StoreError::Empty) if path.exists() => {
            let bytes = files::open(path).and_then(|file| files::read_within(file, path, MAX_FILE));
            let review = json::parse(&bytes.map_err(AppError::Input)?)
                .map_err(|source| PriorError::NotAReview { name: name.to_owned(), source })?;
            PreviousReview { review, is_own: false, notes: Vec::new() }
        }
        Err(StoreError::Unknown(_) | StoreError::Empty) => return Err(PriorError::Nothing(name.to_owned()).into()),
        Err(error) => return Err(error.into()),
    };
    let (then, now) = (&found.review.change, &subject.change);
    if then.target != now.target {
        found.notes.push(format!("The earlier review compared with {}, this one with {}.", then.target, now.target));
    }
    if then.repository != now.repository {
        found.notes.push(format!("The earlier review was of {}, this one is of {}.", then.repository, now.repository));
    }
    Ok(found)
}

/// Removes findings with a duplicate id; masks secrets in a file's review, as in all input.
fn sanitize(mut found: PreviousReview) -> PreviousReview {
    let mut known = HashSet::new();
    let before = found.review.findings.len();
    found.review.findings.retain(|finding| known.insert(finding.id.clone()));
    let twice = before - found.review.findings.len();
    if twice > 0 {
        found.notes.push(format!("{twice} findings of the earlier review had the name of another and were left out."));
    }
    // A file may be written by anyone: it dismisses nothing.
    if !found.is_own {
        for finding in &mut found.review.findings {
            mask_secrets(finding);
            finding.dismissed = None;
            if finding.status == FindingStatus::Dismissed {
                finding.status = FindingStatus::Open;
            }
        }
    }
    found
}

fn mask_secrets(finding: &mut Finding) {
    let hide = |text: &mut String| *text = mask(text).text;
    hide(&mut finding.title);
    hide(&mut finding.body);
    finding.verification.rationale.iter_mut().for_each(hide);
    finding.anchors.iter_mut().for_each(|anchor| hide(&mut anchor.quote));
    // It was not verified here.
    finding.suggestion = None;
}
