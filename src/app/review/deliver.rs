//! The end of a run: saves it, writes the requested files and determines the exit code. Main type: [`DeliveredReview`].

use super::resume_hint::{next_step, resume_hint};
use crate::app::context::saved_runs::keep;
use crate::app::context::saved_runs::render;
use std::path::PathBuf;

use crate::app::context::environment::ProcessEnv;
use crate::app::prepare::inputs;
use crate::app::prepare::previous::hidden;
use crate::config::Settings;
use crate::domain::finding::Severity;
use crate::domain::review::{Review, ReviewOutcome};
use crate::domain::text::count_noun;
use crate::review::JOURNAL;
use crate::store::{RunLock, Store, change};
use crate::sys::cancel::{Cancel, CancelReason};
use crate::sys::files;

/// A file to write, with its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    /// The name of a presenter.
    pub format: String,
    /// The destination.
    pub file: PathBuf,
}

/// A review that was saved and delivered.
#[derive(Debug)]
pub struct DeliveredReview {
    /// The review.
    pub review: Review,
    /// The settings of the run.
    pub settings: Settings,
    /// The folder that is checked out, for links to its files.
    pub root: Option<PathBuf>,
    /// The files that could not be written; one sentence each.
    pub failures: Vec<String>,
    /// The reason why the run could not be saved. Saving is not requested by the user, so a failure changes no exit code.
    pub not_kept: Option<String>,
    /// The command that resumes the run, if it stopped early and resuming may help.
    pub goes_on: Option<String>,
    /// `true` if the user interrupted it.
    pub interrupted: bool,
    /// The error of a run in which the provider failed before anything was reviewed, with the source of its key and what to do.
    pub fault: Option<String>,
    /// The step that completes an incomplete review, if resuming it is not that step.
    pub next_step: Option<String>,
}

impl DeliveredReview {
    /// A saved review whose files were written again; `failures` are those that could not be.
    pub(in crate::app) fn served(review: Review, settings: Settings, failures: Vec<String>) -> Self {
        let (root, not_kept, goes_on, fault, next_step) = (None, None, None, None, None);
        Self { review, settings, root, failures, not_kept, goes_on, interrupted: false, fault, next_step }
    }

    /// The exit code. If several apply: 130, 4, 1, 3, 5 in that order (2 never gets here).
    pub fn exit_code(&self) -> u8 {
        exit_code(&self.review, self.settings.fail_on, self.interrupted, !self.failures.is_empty())
    }

    /// Describes in one line the findings that fail the gate without being shown; `None` if there are none.
    pub fn hidden_gate(&self) -> Option<String> {
        hidden_gate(&self.review, self.settings.fail_on)
    }
}

/// Explains why a run whose findings are all hidden fails: the review alone does not show it.
fn hidden_gate(review: &Review, fail_on: Option<Severity>) -> Option<String> {
    let floor = fail_on?;
    let hidden = review.count_blocking(floor).hidden;
    (hidden > 0)
        .then(|| format!("--fail-on {floor} counts {} that --min-severity hides", count_noun(hidden, "finding")))
}

fn exit_code(review: &Review, fail_on: Option<Severity>, interrupted: bool, unpublished: bool) -> u8 {
    let at_or_above = fail_on.is_some_and(|floor| review.count_blocking(floor).all() > 0);
    match review.outcome {
        _ if interrupted => 130,
        ReviewOutcome::Failed if review.ended.is_provider_fault() => 4,
        _ if at_or_above => 1,
        ReviewOutcome::Incomplete | ReviewOutcome::Failed => 3,
        ReviewOutcome::Complete if unpublished => 5,
        ReviewOutcome::Complete => 0,
    }
}

/// Describes the failure of the provider in a run that reviewed nothing; `keys` are the providers, each with the source of its key.
fn provider_fault(review: &Review, keys: &[(String, String)]) -> Option<String> {
    if review.outcome != ReviewOutcome::Failed || !review.ended.is_provider_fault() {
        return None;
    }
    let reason = review.reasons.first().map_or("the model failed", String::as_str).trim_end_matches('.');
    let of = keys.iter().find(|(provider, _)| reason.starts_with(provider.as_str())).or(keys.first());
    let key = of.map_or_else(String::new, |(_, from)| format!("; the key is from {from}"));
    Some(format!(
        "{reason}{key}; nothing was reviewed (`review doctor` tests the model, --no-model runs the rules alone)"
    ))
}

/// The location of the reviewed change on this machine.
pub(in crate::app) struct ReviewLocation {
    /// The repository's folder.
    pub(in crate::app) repository: Option<PathBuf>,
    /// The folder of the working tree, if the reviewed state is the one checked out.
    pub(in crate::app) root: Option<PathBuf>,
}

/// The facts of a run that are saved with its review.
pub(in crate::app) struct RunSaving {
    /// The hash of everything that the review depends on, in a batch.
    pub(in crate::app) identity: Option<String>,
    /// The lock of the run: whoever lost it writes nothing more.
    pub(in crate::app) held: Option<RunLock>,
    /// The providers of the run, each with the source of its key.
    pub(in crate::app) keys: Vec<(String, String)>,
}

/// Writes a review to files; returns a sentence for each one that could not be written.
pub(in crate::app) fn write_outputs(review: &Review, outputs: &[OutputFile], fail_on: Option<Severity>) -> Vec<String> {
    let write = |output: &OutputFile| {
        let bytes = render(review, &output.format, fail_on)?;
        files::write_output(&output.file, &bytes).err().map(|error| error.to_string())
    };
    outputs.iter().filter_map(write).collect()
}

/// Saves the findings hidden by thresholds: the next review of the branch must know them.
fn keep_hidden(store: &Store, review: &Review) -> Result<(), String> {
    let hidden = &review.coverage.hidden;
    // A resumed run may hide nothing any more.
    if hidden.is_empty() && !store.has_files(review.id, &[hidden::NAME]).map_err(|error| error.to_string())? {
        return Ok(());
    }
    let bytes = hidden::write(hidden).map_err(|error| error.to_string())?;
    store.save(review.id, hidden::NAME, &bytes).map_err(|error| error.to_string())
}

/// Saves the change with its diffs, so that a saved review can be shown with them; a run that can be resumed has it already.
fn keep_change(store: &Store, review: &Review) -> Result<(), String> {
    if store.has_files(review.id, &[change::NAME]).map_err(|error| error.to_string())? {
        return Ok(());
    }
    let bytes = change::write(&review.change).map_err(|error| error.to_string())?;
    store.save(review.id, change::NAME, &bytes).map_err(|error| error.to_string())
}

/// Saves the review and writes its files. A file that cannot be written is reported; the others are still written.
pub(in crate::app) fn deliver(
    review: Review,
    settings: Settings,
    places: ReviewLocation,
    saving: RunSaving,
    outputs: &[OutputFile],
    around: &ProcessEnv,
    cancel: &Cancel,
) -> DeliveredReview {
    let store = &around.store;
    let RunSaving { identity, held, keys } = saving;
    let saved = keep(store, &review, places.repository, identity).map_err(|error| error.to_string());
    let not_kept = saved.and_then(|()| keep_hidden(store, &review)).and_then(|()| keep_change(store, &review)).err();
    drop(held);
    // Old runs are removed when a new one arrives. A failure to remove them does not affect this review.
    let _ = store.prune_often(settings.keep_runs);

    let failures = write_outputs(&review, outputs, settings.fail_on);
    let is_whole = not_kept.is_none() && store.has_files(review.id, &[inputs::NAME, JOURNAL]).unwrap_or(false);
    let interrupted = cancel.check() == Err(CancelReason::Interrupted);
    let fault = if interrupted { None } else { provider_fault(&review, &keys) };
    // A run in which nothing was reviewed has nothing to resume.
    let goes_on = resume_hint(review.id, review.ended).filter(|_| is_whole && fault.is_none());
    let next_step = if goes_on.is_some() || fault.is_some() { None } else { next_step(&review) };
    DeliveredReview { review, settings, root: places.root, failures, not_kept, goes_on, interrupted, fault, next_step }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::finding::FindingStatus;
    use crate::domain::review::StopReason;
    use crate::present::json;

    /// A review with a finding of high severity.
    fn review(outcome: ReviewOutcome, ended: StopReason) -> Review {
        let mut review = json::parse(include_bytes!("../../../fixtures/documents/typical.json")).unwrap();
        (review.outcome, review.ended) = (outcome, ended);
        assert!(review.count_blocking(Severity::High).all() > 0);
        review
    }

    #[test]
    fn of_several_codes_the_first_in_the_order_counts() {
        use ReviewOutcome::{Complete, Failed, Incomplete};
        use StopReason::{Deadline, Finished, ProviderFault, Refused};
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
        let mut review = review(ReviewOutcome::Complete, StopReason::Finished);
        review.coverage.below_floor.clear();
        for (at, finding) in review.findings.iter_mut().enumerate() {
            finding.status = [FindingStatus::Fixed, FindingStatus::Dismissed][at % 2];
        }
        assert_eq!(exit_code(&review, Some(Severity::Nit), false, false), 0);
        review.findings[0].status = FindingStatus::Reopened;
        assert_eq!(exit_code(&review, Some(Severity::Nit), false, false), 1);
    }
}
