//! Lists and shows saved runs, and marks their findings as dismissed.

use crate::app::context::saved_runs::read;
use crate::app::context::{saved_runs, settings};

use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::config::{Flags, dismissals};
use crate::domain::change::ChangeSet;
use crate::domain::dismissal::LONGEST_REASON;
use crate::domain::filter::{FilterError, PathFilter};
use crate::domain::finding::{
    DismissalNote, DismissedBy, Finding, FindingId, FindingStatus, Severity, assign_prominence,
};
use crate::domain::review::Review;
use crate::domain::run::RunId;
use crate::domain::text::strip_line;
use crate::store::change;
use std::path::Path;
use std::sync::Arc;

/// Loads a saved review by its id, a prefix of it, or `last`: the newest of the repository of `directory`, and outside of any the newest of all.
/// Its files have their diffs if the run saved them.
pub fn show(around: &ProcessEnv, name: &str, directory: &Path) -> Result<Review, AppError> {
    let mut review = read(around, saved_runs::find_here(around, name, directory)?)?;
    let saved = around.store.read(review.id, change::NAME).ok().and_then(|bytes| change::read(&bytes).ok());
    // A diff is an addition: without one, or with that of another change, the review is still shown.
    let is_same = |saved: &ChangeSet| {
        let paths = |change: &ChangeSet| change.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>();
        saved.head == review.change.head && paths(saved) == paths(&review.change)
    };
    if let Some(saved) = saved.filter(is_same) {
        Arc::make_mut(&mut review.change).files = saved.files;
    }
    Ok(review)
}

/// A selection of findings of a review.
#[derive(Debug, Clone, Default)]
pub struct FindingsAsk {
    /// The minimum severity.
    pub floor: Option<Severity>,
    /// A filter by path: a glob (see [`PathFilter`]), a file, or a folder.
    pub path: Option<String>,
}

/// Finds the finding with this id, or the only one whose id has this prefix.
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

/// Selects findings, most severe first.
pub fn findings<'r>(review: &'r Review, ask: &FindingsAsk) -> Result<Vec<&'r Finding>, FilterError> {
    let path = ask.path.as_deref();
    let glob = path.map(|path| PathFilter::new(&[path.to_owned()], &[])).transpose()?;
    let wanted = |finding: &&Finding| {
        let bad = ask.floor.is_none_or(|floor| finding.severity <= floor);
        let here = glob.as_ref().is_none_or(|glob| {
            finding.anchors.iter().any(|anchor| {
                glob.allows(&anchor.path)
                    || path.is_some_and(|path| anchor.path.display_name() == path.trim_start_matches("./"))
            })
        });
        bad && here
    };
    Ok(review.findings.iter().filter(wanted).collect())
}

/// Marks a finding of a saved run as dismissed, with the reason in the review's notes. All files of the run are updated.
///
/// Reviews of the branch on this machine apply it; others report it again, unless the project dismisses it
/// ([`dismiss_for_project`](crate::app::dismiss_for_project)).
pub fn dismiss(around: &ProcessEnv, id: RunId, finding: &FindingId, reason: &str) -> Result<Review, AppError> {
    let reason = read_reason(reason)?;
    let review = read(around, id)?;
    let found = review.findings.iter().find(|one| one.id == *finding);
    let found = found.ok_or_else(|| no_finding(&review, &finding.0))?;
    if found.status == FindingStatus::Dismissed {
        let why = format!("the finding {finding} was dismissed already; the notes of the review say why");
        return Err(AppError::Unusable(why));
    }
    mark_dismissed(around, review, finding, DismissalNote { reason, until: None, by: DismissedBy::Reader })
}

/// Reads the reason of a dismissal, which a reader must understand later.
pub(in crate::app) fn read_reason(text: &str) -> Result<String, AppError> {
    dismissals::reason(text).ok_or_else(|| {
        let most = LONGEST_REASON;
        AppError::Unusable(format!(
            "a finding is dismissed for a reason of 1 to {most} characters: say why it is not one"
        ))
    })
}

/// Saves a review in which a finding is dismissed; if it already was, replaces the reason.
pub(in crate::app) fn mark_dismissed(
    around: &ProcessEnv,
    mut review: Review,
    finding: &FindingId,
    why: DismissalNote,
) -> Result<Review, AppError> {
    let Some(found) = review.findings.iter_mut().find(|one| one.id == *finding) else {
        return Err(no_finding(&review, &finding.0));
    };
    if found.dismissed.as_ref() == Some(&why) {
        return Ok(review);
    }
    let was_dismissed = found.status == FindingStatus::Dismissed;
    let note = format!("The finding {finding} was dismissed: {}", why.describe());
    found.dismiss(why);
    assign_prominence(&mut review.findings);
    review.coverage.dismissed += u32::from(!was_dismissed);
    review.coverage.notes.push(note);
    let store = &around.store;
    let (folder, identity) = store.read_record(review.id).map_or((None, None), |was| (was.folder, was.identity));
    saved_runs::keep(store, &review, folder, identity)?;
    Ok(review)
}

/// Builds the error for a missing finding, with the ids that exist.
pub(in crate::app) fn no_finding(review: &Review, finding: &str) -> AppError {
    const NAMED: usize = 20;
    let named = review.findings.iter().take(NAMED);
    let known: Vec<_> = named.map(|finding| format!("{} ({})", finding.id, strip_line(&finding.title))).collect();
    let has = match review.findings.len() {
        0 => "it has none at all".to_owned(),
        all if all > NAMED => format!("it has {} and {} more", known.join(", "), all - NAMED),
        _ => format!("it has {}", known.join(", ")),
    };
    AppError::Unusable(format!("the review {} has no finding {finding:?}; {has}", review.id))
}

/// Removes the runs that are older than the settings allow; returns their number.
pub fn prune(around: &ProcessEnv) -> Result<usize, AppError> {
    let settings = settings::resolve(None, &Flags::default(), around)?.settings;
    Ok(around.store.prune(settings.keep_runs)?)
}
