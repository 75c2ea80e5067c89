//! The previous review of a branch: finds it, and maps its findings onto the current change. Main functions: [`load_previous`], [`write()`],
//! [`read`].
//!
//! Everything that needs a repository happens here, before an engine runs, and is put into one [`Prior`]; conclusions are drawn in `review`
//! without a repository. So a run can be replayed from the bytes of [`write()`].

mod document;
mod find;
pub(in crate::app) mod hidden;
mod relocate;
mod unchanged;

use std::sync::Arc;

pub(in crate::app) use document::{NAME, PriorError, read, write};
pub(in crate::app) use unchanged::ReviewerIdentity;

use super::change::PreparedChange;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::domain::event::{Event, EventSink};
use crate::domain::finding::{Finding, FindingStatus};
use crate::domain::prior::{COMPARED, EarlierFinding, EarlierFindingStatus, Prior};
use crate::domain::review::Review;
use crate::domain::run::RunId;
use crate::domain::text::count_noun;
use crate::sys::blocking;
use find::PreviousReview;
use relocate::PriorPlaces;

/// Limit on the earlier findings that are followed; beyond it, a new review is more useful.
const MOST: usize = 2_000;

/// Finds the previous review and maps its findings onto the current change; saves it with the run. A change that has one keeps it.
pub(in crate::app) async fn load_previous(
    run: RunId,
    subject: PreparedChange,
    around: &ProcessEnv,
    who: ReviewerIdentity,
    events: &Arc<dyn EventSink>,
) -> Result<PreparedChange, AppError> {
    find_and_keep(Some(run), subject, around, who, events).await
}

/// Finds and maps the history for a preview: nothing is saved.
pub(in crate::app) async fn load_history(
    subject: PreparedChange,
    around: &ProcessEnv,
    who: ReviewerIdentity,
    events: &Arc<dyn EventSink>,
) -> Result<PreparedChange, AppError> {
    find_and_keep(None, subject, around, who, events).await
}

async fn find_and_keep(
    keep: Option<RunId>,
    mut subject: PreparedChange,
    around: &ProcessEnv,
    who: ReviewerIdentity,
    events: &Arc<dyn EventSink>,
) -> Result<PreparedChange, AppError> {
    if subject.known.prior.is_some() {
        return Ok(subject);
    }
    let (around, events, cancel) = (around.clone(), Arc::clone(events), subject.cancel.clone());
    let work = move || {
        if let Some(found) = find::find_previous(&subject, &around, events.as_ref())? {
            let bytes = write(&prior(&subject, &found, &who)?)?;
            let saved = keep.map(|run| around.store.save(run, document::NAME, &bytes));
            if let Some(Err(error)) = saved {
                let text = format!("this run cannot be told again: {error}");
                events.emit(Event::Notice { text });
            }
            // The saved bytes are used, so that a replay reads the same.
            subject.known.prior = Some(read(&bytes)?);
        }
        Ok(subject)
    };
    blocking::run("looking for the previous review", &cancel, work).await?
}

fn day(review: &Review) -> &str {
    review.provenance.started_at.get(..10).unwrap_or("an unknown day")
}

/// Builds the first note of the receipt: only run and day differ between reviews.
fn compared_with(run: RunId, day: &str) -> String {
    format!("{COMPARED} {run} of {day}.")
}

fn prior(subject: &PreparedChange, found: &PreviousReview, who: &ReviewerIdentity) -> Result<Prior, AppError> {
    let review = &found.review;
    let mut notes = found.notes.clone();
    let mut findings = review.findings.clone();
    let more = findings.len().saturating_sub(MOST);
    if more > 0 {
        findings.truncate(MOST);
        notes.push(format!("Only the worst {MOST} findings of the earlier review were looked for: {more} were not."));
    }
    let mut places = PriorPlaces::open(subject, review)?;
    let disproved = |finding: &Finding| {
        review.coverage.previous.as_ref().is_some_and(|previous| previous.disproved.contains(&finding.id))
    };
    let mut earlier = Vec::with_capacity(findings.len());
    for finding in findings {
        let disproved = disproved(&finding);
        let is_disproved = match finding.status {
            FindingStatus::Refuted => true,
            status => status == FindingStatus::Fixed && disproved,
        };
        let (finding, standing, near) =
            if is_disproved { (finding, EarlierFindingStatus::Gone, None) } else { places.relocate(finding) };
        earlier.push(EarlierFinding { finding, standing, near, disproved });
    }
    notes.extend(places.notes());
    let carried = unchanged::find_unchanged(subject, found, who, &earlier, &mut notes);
    let (run, day) = (review.id, day(review));
    let mut said = vec![compared_with(run, day)];
    if !carried.is_empty() && !found.is_own {
        notes.push("What the earlier review says it saw stands in a file that was given, and is believed.".to_owned());
    }
    if !carried.is_empty() {
        let files = match carried.len() {
            1 => "1 changed file is".to_owned(),
            many => format!("{} are", count_noun(many, "changed file")),
        };
        said.push(format!("{files} as at the review before, and not reviewed again (--full does)."));
    }
    notes.splice(0..0, said);
    Ok(Prior { run, findings: earlier, carried, notes })
}
