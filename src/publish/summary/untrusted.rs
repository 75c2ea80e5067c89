//! The summary's text for an untrusted review: what was checked of it, what was not, and that an empty list proves nothing.
//!
//! No word of the review itself stands here; its findings are told as those of any other, in `page`.

use crate::domain::run::RunId;

/// The text of the review.
pub(super) const INTRODUCTION: &str = "This review was made by the pull request's own workflow, which its author controls. The summary comment says what that means, and lists all \
     findings.";

/// The first line; `counts` are the findings, if there are any. It never sounds like a pass.
pub(super) fn heading(counts: Option<&str>) -> String {
    let words = counts.unwrap_or("names nothing, which is no pass");
    format!("## Review by the pull request's own workflow: {words}\n\n")
}

/// The basis of the review.
pub(super) const CAUTION: &str = "The workflow **is controlled by the author** of the pull request. Here it was checked that each finding quotes the \
     change as it is and that each suggestion applies; whether a finding is right, and how bad it is, was not. What the review says of itself \
     (that it is complete, what it looked at, what is fixed) is not repeated, and **nothing can be concluded from what it does not say**.\n\n";

/// Returns the pointer to the rest.
pub(super) fn foot(run: RunId) -> String {
    format!("Posted from an artefact. The artefact has the whole review (run `{run}`).")
}
