//! The verdict of a review, computed from findings alone. Main function: [`decide_verdict`].
//!
//! No text has a say in it: not the model's, not the pull request's. It never approves.

use crate::domain::finding::Severity;
use crate::domain::forge::{DeliveryVerdict, MarkTrust, PullConversation, ReviewNote, ReviewVerdict, RunMark};

/// The input of the verdict.
#[derive(Debug, Clone, Default)]
pub(super) struct VerdictGrounds {
    /// The severities of the findings and of earlier ones that still apply.
    pub blocking: Vec<Severity>,
    /// The severities of late findings: they block nothing, but neither do they let an earlier objection go.
    pub late: Vec<Severity>,
    /// From which severity on changes are requested.
    pub floor: Option<Severity>,
    /// `true` if the review saw all of the change as it is now.
    pub is_whole: bool,
    /// `true` if the pull request is our own account's: the forge lets nobody request changes of himself.
    pub is_own_pull: bool,
}

/// The action for the verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VerdictAction {
    /// The verdict.
    pub verdict: DeliveryVerdict,
    /// `true` if it has to be said even if there is nothing else to say.
    pub must_say: bool,
    /// Earlier reviews of ours whose objection no longer holds, by their numbers.
    pub dismiss: Vec<u64>,
    /// The note for the user.
    pub notes: Vec<String>,
}

/// The verdict, given what stands on the pull request.
pub(super) fn decide_verdict(
    grounds: &VerdictGrounds,
    conversation: &PullConversation,
    trust: MarkTrust,
) -> VerdictAction {
    let objections: Vec<&ReviewNote> = objections(conversation, trust).collect();
    let reaches =
        |severities: &[Severity]| grounds.floor.is_some_and(|floor| severities.iter().any(|one| *one <= floor));
    let mut judged =
        VerdictAction { verdict: DeliveryVerdict::Comment, must_say: false, dismiss: Vec::new(), notes: Vec::new() };
    if reaches(&grounds.blocking) {
        if grounds.is_own_pull {
            let text = "This would request changes, but the pull request was opened by the same account and GitHub refuses that: it comments.";
            judged.notes.push(text.to_owned());
            return judged;
        }
        judged.verdict = DeliveryVerdict::RequestChanges;
        judged.must_say = objections.is_empty();
        return judged;
    }
    // Without a floor nothing says what the earlier one objected to: it goes only when nothing is left at all.
    let nothing_left = match grounds.floor {
        Some(_) => !reaches(&grounds.late),
        None => grounds.blocking.is_empty() && grounds.late.is_empty(),
    };
    if objections.is_empty() {
        return judged;
    }
    if nothing_left && grounds.is_whole {
        judged.dismiss = objections.iter().filter_map(|review| review.comment.number).collect();
    } else {
        judged
            .notes
            .push("An earlier review of ours still requests changes: nothing shows that they were made.".to_owned());
    }
    judged
}

/// Our reviews of this trust that ask for changes. The account may be a person's, so that only those count that say which run they are of.
fn objections(conversation: &PullConversation, trust: MarkTrust) -> impl Iterator<Item = &ReviewNote> {
    conversation.reviews.iter().filter(move |review| {
        review.verdict == ReviewVerdict::ChangesRequested
            && review.comment.mine
            && RunMark::read_as(&review.comment.body, trust).is_some()
    })
}
