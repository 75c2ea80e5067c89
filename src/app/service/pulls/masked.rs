//! Secrets in what others wrote on a forge: taken out here, before anybody reads it. Main functions: [`pull`], [`said`].
//!
//! Names of remarks are made from the texts as they were (`forge::bots`), so this comes after; lines stay lines.

use crate::domain::forge::{Comment, Conversation, PullRequest, Remark};
use crate::domain::text::mask;

/// In what is said of a pull request.
pub(super) fn pull(pull: &mut PullRequest) {
    own(&mut pull.title);
    own(&mut pull.body);
    own(&mut pull.base_ref);
}

/// In what is said on it.
pub(super) fn said(conversation: &mut Conversation, remarks: &mut [Remark]) {
    let Conversation { threads, reviews, comments } = conversation;
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
