//! Summary of a review without words of a model. Main function: [`plain_summary`].

use crate::domain::place::WorkspaceAt;
use crate::domain::review::{CoverageState, Review, ReviewOutcome};
use crate::domain::text::count_noun;

/// Returns one or two sentences that count the findings.
pub(super) fn plain_summary(review: &Review) -> String {
    let count = review.unresolved().count();
    let dismissed = match review.coverage.dismissed {
        0 => String::new(),
        count => format!(" ({} dismissed)", count_noun(count as usize, "finding")),
    };
    if review.outcome == ReviewOutcome::Failed && count == 0 {
        return format!("Nothing was {}.", review.provenance.engine.past_tense());
    }
    if review.change.files.is_empty() && review.coverage.notes.is_empty() {
        if review.change.new_at == WorkspaceAt::PatchOnly {
            return "Nothing to review: the patch changes nothing.".to_owned();
        }
        return format!(
            "Nothing to review: {} has no change that {} lacks.",
            review.change.head_name, review.change.target
        );
    }
    let reviewed = review.coverage.files.iter().filter(|file| file.state != CoverageState::Skipped).count();
    let files = format!("{reviewed} changed file{}", if reviewed == 1 { "" } else { "s" });
    if count == 0 && reviewed == 0 {
        return "Nothing to report: there was nothing to look at.".to_owned();
    }
    if count == 0 {
        return format!("Nothing to report in {files}{dismissed}.");
    }
    let by_severity: Vec<String> =
        review.by_severity().iter().map(|(severity, count)| format!("{count} {severity}")).collect();
    let findings = count_noun(count, "finding");
    // Rule findings count, whatever happened to the model.
    let whence = if reviewed == 0 { "from the rules alone".to_owned() } else { format!("in {files}") };
    format!("{findings} {whence}: {}{dismissed}.", by_severity.join(", "))
}
