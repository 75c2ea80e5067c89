//! Errors in posting the review of an untrusted job. Main type: [`ArtefactError`].

use crate::app::context::error::UseCaseError;
use crate::domain::forge::{PullId, PullState};
use crate::domain::id::CommitId;

/// Limit on the listed reasons.
const MOST: usize = 10;

/// The reason why an artefact is refused. Nothing was posted. No message shows a secret: text of an artefact is shown only after a scan for
/// secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ArtefactError {
    #[error(
        "nothing was posted: there is no review to read in the artefact {folder} ({why}); it has to hold the file review.json itself, so \
         download it by its name"
    )]
    Missing { folder: String, why: String },
    /// The review is a link, a folder, a pipe or a device.
    #[error("nothing was posted: review.json of the artefact is {what}, and only a plain file is read; {SUSPICIOUS}")]
    NotPlain { what: &'static str },
    #[error(
        "nothing was posted: review.json of the artefact has {bytes} bytes, and at most {most} are read; review less at once (include, \
         exclude, min-severity)"
    )]
    TooLarge { bytes: u64, most: u64 },
    #[error("nothing was posted: review.json of the artefact is not UTF-8; {SUSPICIOUS}")]
    NotText,
    /// It contains something that looks like a secret, which is not shown.
    #[error(
        "nothing was posted: there is an unmasked secret ({kind}) in the artefact, at {at}; an honest run masks it, so {SUSPICIOUS}. If it is \
         a real one, it is public now: revoke it"
    )]
    Secret { at: String, kind: &'static str },
    /// It is not the document that this program writes.
    #[error(
        "nothing was posted: review.json of the artefact is not what this version of review writes ({why}); use the same version in both \
         workflows. If it is the same, {SUSPICIOUS}"
    )]
    Document { why: String },
    /// It has more, or longer, parts than any review has.
    #[error(
        "nothing was posted: the artefact has too much in it: {what} {at}, at most {most}; review less at once, or {SUSPICIOUS}"
    )]
    TooMuch { at: String, what: String, most: usize },
    /// It is of another commit than the run that made it.
    #[error(
        "nothing was posted: the artefact is a review of {named}, but the run that made it was of {expected}; {SUSPICIOUS}"
    )]
    OtherHead { named: String, expected: CommitId },
    /// It, or the pull request that it names, is another than that of the run.
    #[error("nothing was posted: {why}; {SUSPICIOUS}")]
    OtherPull { why: String },
    /// The pull request is not specified.
    #[error(
        "nothing was posted: neither the artefact nor you say which pull request is meant; name it with --pr (pull, in the Action)"
    )]
    NoPull,
    /// The commit is not specified.
    #[error(
        "an artefact is posted only on the commit that is said: name it with --head, or the pull request with --pr"
    )]
    NoHead,
    /// The repository that identifies the pull request came with the artefact.
    #[error(
        "the repository here lies in the artefact itself, so it is not asked which one is meant: name it with --pr OWNER/REPO#NUMBER"
    )]
    InArtefact,
    /// The pull request is not open.
    #[error("nothing was posted: {pull} is {}", state_word(*.state))]
    Closed { pull: PullId, state: PullState },
    /// The head moved on: the review is of an outdated commit.
    #[error(
        "nothing was posted: {pull} is at {} now, and the artefact is of {}; the run for the new head posts its own review",
        now.short(),
        reviewed.short()
    )]
    Superseded { pull: PullId, reviewed: CommitId, now: CommitId },
    /// It is of another change than the pull request shows.
    #[error(
        "nothing was posted: the artefact is of another change than {pull} is: {}; let the first workflow run again if the target branch or \
         its settings changed meanwhile, else {SUSPICIOUS}",
        some(reasons)
    )]
    OtherChange {
        pull: PullId,
        /// The differences, a few words each.
        reasons: Vec<String>,
    },
    /// Some of its findings could not be verified.
    #[error(
        "nothing was posted: findings of the artefact do not stand in {pull}: {}; an honest run has no such finding, so {SUSPICIOUS}",
        some(reasons)
    )]
    Unproven {
        pull: PullId,
        /// The findings and reasons, a few words each.
        reasons: Vec<String>,
    },
}

const SUSPICIOUS: &str = "look at the run that made it before you trust it";

const fn state_word(state: PullState) -> &'static str {
    match state {
        PullState::Open => "open",
        PullState::Closed => "closed",
        PullState::Merged => "merged already",
    }
}

fn some(reasons: &[String]) -> String {
    let mut text = reasons.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join("; ");
    if let Some(more) = reasons.len().checked_sub(MOST).filter(|more| *more > 0) {
        text.push_str(&format!("; and {more} more"));
    }
    text
}

impl UseCaseError for ArtefactError {
    /// The exit code: 5 if nothing could be posted, 3 if a newer run will post, 2 if the user has to specify more.
    fn exit_code(&self) -> u8 {
        match self {
            Self::Superseded { .. } => 3,
            Self::NoHead | Self::InArtefact => 2,
            Self::Missing { .. }
            | Self::NotPlain { .. }
            | Self::TooLarge { .. }
            | Self::NotText
            | Self::Secret { .. }
            | Self::Document { .. }
            | Self::TooMuch { .. }
            | Self::OtherHead { .. }
            | Self::OtherPull { .. }
            | Self::NoPull
            | Self::Closed { .. }
            | Self::OtherChange { .. }
            | Self::Unproven { .. } => 5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_reasons_some_are_told_and_the_others_counted() {
        let reasons: Vec<String> = (0..14).map(|n| format!("r{n}")).collect();
        assert!(some(&reasons).ends_with("r9; and 4 more"), "{}", some(&reasons));
        assert_eq!(some(&reasons[..2]), "r0; r1");
    }
}
