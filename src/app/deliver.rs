//! The end of a run: keep it, write the files that were asked for, and say how the process ends. Main type: [`Delivered`].

use std::path::PathBuf;

use super::given;
use super::post::Posted;
use super::prior::hidden;
use super::resume;
use super::subject::Surroundings;
use crate::config::Settings;
use crate::domain::finding::Severity;
use crate::domain::review::{Outcome, Review};
use crate::domain::text::counted;
use crate::present::{RenderOptions, presenter};
use crate::review::JOURNAL;
use crate::store::{Store, StoreError};
use crate::sys::cancel::{Cancel, Stopped};
use crate::sys::files;

/// A file to write in some format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The name of a presenter.
    pub format: String,
    /// Where to.
    pub file: PathBuf,
}

/// A review that was kept and delivered.
#[derive(Debug)]
pub struct Delivered {
    /// The review.
    pub review: Review,
    /// The settings it was made under.
    pub settings: Settings,
    /// The folder that is checked out, for links to its files.
    pub root: Option<PathBuf>,
    /// The files that could not be written; one sentence each.
    pub failures: Vec<String>,
    /// Why the run could not be kept. Nobody asked for that, so it changes no exit code.
    pub not_kept: Option<String>,
    /// How to go on with it, where it ended too early and that may come to more: a command.
    pub goes_on: Option<String>,
    /// Whether somebody interrupted it.
    pub interrupted: bool,
    /// What became of posting it, where that was asked for.
    pub posted: Option<Posted>,
}

impl Delivered {
    /// The process's exit code. Where several hold: 130, 4, 1, 3, 5 in that order (2 never gets here).
    pub fn exit_code(&self) -> u8 {
        exit_code(&self.review, self.settings.fail_on, self.interrupted, !self.failures.is_empty())
    }

    /// What a gate counts that nobody is shown, one line; nothing where it counts none of that.
    pub fn hidden_gate(&self) -> Option<String> {
        hidden_gate(&self.review, self.settings.fail_on)
    }
}

/// Why a run whose findings are all hidden fails: the review alone does not say.
fn hidden_gate(review: &Review, fail_on: Option<Severity>) -> Option<String> {
    let floor = fail_on?;
    let hidden = review.blocking(floor).hidden;
    (hidden > 0).then(|| format!("--fail-on {floor} counts {} that --min-severity hides", counted(hidden, "finding")))
}

fn exit_code(review: &Review, fail_on: Option<Severity>, interrupted: bool, unpublished: bool) -> u8 {
    let at_or_above = fail_on.is_some_and(|floor| review.blocking(floor).all() > 0);
    match review.outcome {
        _ if interrupted => 130,
        Outcome::Failed if review.ended.is_providers() => 4,
        _ if at_or_above => 1,
        Outcome::Incomplete | Outcome::Failed => 3,
        Outcome::Complete if unpublished => 5,
        Outcome::Complete => 0,
    }
}

/// Where the change of a review is on this machine.
pub(super) struct Places {
    /// The repository's folder.
    pub(super) repository: Option<PathBuf>,
    /// The folder that is checked out, if what was reviewed is what is there.
    pub(super) root: Option<PathBuf>,
}

/// Keeps a review in every format that is looked back at. What a list reads comes last: a run that it shows is whole.
pub(super) fn keep(store: &Store, review: &Review, folder: Option<PathBuf>) -> Result<(), StoreError> {
    for (format, file) in [("json", "review.json"), ("markdown", "review.md")] {
        let Some(bytes) = render(review, format, None) else { continue };
        store.keep(review.id, file, &bytes)?;
    }
    store.keep_record(&review.record(folder)).map(|_| ())
}

/// Keeps what the floors hid: the next review of the branch must know of it.
fn keep_hidden(store: &Store, review: &Review) -> Result<(), String> {
    let hidden = &review.coverage.hidden;
    // A run that went on may hide nothing any more.
    if hidden.is_empty() && !store.has(review.id, &[hidden::NAME]) {
        return Ok(());
    }
    let bytes = hidden::write(hidden).map_err(|error| error.to_string())?;
    store.keep(review.id, hidden::NAME, &bytes).map(|_| ()).map_err(|error| error.to_string())
}

/// A review in the format of that name, measured by the gate.
pub(super) fn render(review: &Review, format: &str, fail_on: Option<Severity>) -> Option<Vec<u8>> {
    let options = RenderOptions { fail_on, ..RenderOptions::default() };
    presenter(format).map(|presenter| (presenter.render)(review, &options))
}

/// Keeps the review and writes its files. What cannot be written is said, and the rest is written all the same.
pub(super) fn deliver(
    review: Review,
    settings: Settings,
    places: Places,
    outputs: &[Output],
    around: &Surroundings,
    cancel: &Cancel,
) -> Delivered {
    let mut failures = Vec::new();
    let store = Store::at(&around.state);
    let kept = keep(&store, &review, places.repository).map_err(|error| error.to_string());
    let not_kept = kept.and_then(|()| keep_hidden(&store, &review)).err();
    // Old runs go when a new one comes. That they could not be removed changes nothing for this review.
    let _ = store.prune(settings.keep_runs);

    for output in outputs {
        let Some(bytes) = render(&review, &output.format, settings.fail_on) else { continue };
        if let Err(error) = files::write_output(&output.file, &bytes) {
            failures.push(error.to_string());
        }
    }
    let is_whole = not_kept.is_none() && store.has(review.id, &[given::NAME, JOURNAL]);
    let goes_on = resume::how(review.id, review.ended).filter(|_| is_whole);
    let interrupted = cancel.check() == Err(Stopped::Interrupted);
    Delivered { review, settings, root: places.root, failures, not_kept, goes_on, interrupted, posted: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::finding::FindingStatus;
    use crate::domain::review::Ended;
    use crate::present::json;

    /// A review with a finding of high severity.
    fn review(outcome: Outcome, ended: Ended) -> Review {
        let mut review = json::parse(include_bytes!("../../fixtures/documents/typical.json")).unwrap();
        (review.outcome, review.ended) = (outcome, ended);
        assert!(review.blocking(Severity::High).all() > 0);
        review
    }

    #[test]
    fn of_several_codes_the_first_in_the_order_counts() {
        use Ended::{Deadline, Finished, ProviderFault, Refused};
        use Outcome::{Complete, Failed, Incomplete};
        let gate = Some(Severity::Nit);
        for (outcome, ended, gate, interrupted, unpublished, code) in [
            (Complete, Finished, None, false, false, 0),
            (Complete, Finished, None, false, true, 5),
            (Complete, Finished, gate, false, true, 1),
            (Incomplete, Deadline, None, false, true, 3),
            (Incomplete, ProviderFault, None, false, false, 3),
            (Incomplete, ProviderFault, gate, false, false, 1),
            (Failed, Deadline, None, false, false, 3),
            (Failed, ProviderFault, None, false, true, 4),
            (Failed, Refused, gate, false, true, 4),
            (Failed, ProviderFault, gate, true, true, 130),
        ] {
            let review = review(outcome, ended);
            assert_eq!(exit_code(&review, gate, interrupted, unpublished), code, "{outcome:?} {ended:?} {gate:?}");
        }
    }

    #[test]
    fn what_is_fixed_or_dismissed_fails_no_gate() {
        let mut review = review(Outcome::Complete, Ended::Finished);
        review.coverage.below_floor.clear();
        for (at, finding) in review.findings.iter_mut().enumerate() {
            finding.status = [FindingStatus::Fixed, FindingStatus::Dismissed][at % 2];
        }
        assert_eq!(exit_code(&review, Some(Severity::Nit), false, false), 0);
        review.findings[0].status = FindingStatus::Reopened;
        assert_eq!(exit_code(&review, Some(Severity::Nit), false, false), 1);
    }
}
