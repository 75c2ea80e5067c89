//! Masks secrets in texts from a forge before anything reads them. Main functions: [`mask_pull`], [`mask_conversation`].
//!
//! Ids of remarks are derived from the unmasked texts (`forge::bots`), so masking comes after; the number of lines stays.

use crate::domain::forge::{Comment, PullConversation, PullRequest, Remark};
use crate::domain::text::mask;

/// Masks the pull request itself.
pub(super) fn mask_pull(pull: &mut PullRequest) {
    own(&mut pull.title);
    own(&mut pull.body);
    own(&mut pull.base_ref);
}

pub(super) fn mask_conversation(conversation: &mut PullConversation, remarks: &mut [Remark]) {
    let PullConversation { threads, reviews, comments } = conversation;
    let threads = threads.iter_mut().flat_map(|thread| &mut thread.comments);
    let reviews = reviews.iter_mut().map(|review| &mut review.comment);
    for Comment { body, .. } in threads.chain(reviews).chain(comments) {
        own(body);
    }
    for Remark { title, body, prompt, .. } in remarks {
        own(title);
        own(body);
        if let Some(prompt) = prompt {
            own(&mut prompt.text);
        }
    }
}

fn own(text: &mut String) {
    *text = mask(text).text;
}
