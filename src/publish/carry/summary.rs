//! The summary: one comment of ours that is brought up to date, never a second one.

use std::borrow::Cow;

use crate::domain::forge::{Comment, DeliveryAct, MarkTrust, SummaryAct, SummaryMark};
use crate::forge::{FaultKind, ForgeError};

use super::{PlanExecutor, PostResult};

/// Checks whether two texts are the same to a forge that may trim them and end lines its own way, and but for the names of their runs.
pub(super) fn is_same_text(a: &str, b: &str) -> bool {
    let (a, b) = (without_run(a), without_run(b));
    a.trim_end().lines().eq(b.trim_end().lines())
}

/// The mark of a summary, whatever its trust.
fn mark(text: &str) -> Option<(MarkTrust, SummaryMark)> {
    MarkTrust::ALL.into_iter().find_map(|trust| Some((trust, SummaryMark::read_as(text, trust)?)))
}

fn without_run(text: &str) -> Cow<'_, str> {
    match mark(text) {
        Some((_, mark)) => Cow::Owned(text.replace(&mark.run.to_string(), "RUN")),
        None => Cow::Borrowed(text),
    }
}

impl PlanExecutor<'_> {
    /// The summary's text. What has no room in it is marked as standing only in the kept review.
    pub(super) fn summary_text(&self, done: &mut PostResult) -> String {
        let summarised = (self.summarise)(&done.progress());
        for at in summarised.left_out {
            if let Some(entry) = done.entries.get_mut(at)
                && entry.item.act == DeliveryAct::InSummary
            {
                entry.item.act = DeliveryAct::InArtefact;
                let why = entry.item.reason.take().unwrap_or_default();
                entry.item.reason = Some(format!("{why} The summary has no room for it.").trim().to_owned());
            }
        }
        summarised.body
    }

    /// Writes the summary, or leaves it where it says the same already.
    pub(super) async fn send_summary(&self, done: &mut PostResult) {
        let body = self.summary_text(done);
        if let Some(there) = &self.plan.summary
            && is_same_text(&there.body, &body)
        {
            done.summary = SummaryAct::Unchanged;
            done.delivered.summary_url = Some(there.url.clone());
            return;
        }
        let written = match self.plan.summary.as_ref().and_then(|there| there.number) {
            Some(number) => match self.github.update_comment(&self.pull.repo, number, &body).await {
                // Somebody deleted it meanwhile.
                Err(error) if error.kind == FaultKind::NotFound => {
                    self.create(&body).await.map(|comment| (SummaryAct::Created, comment))
                }
                Err(error) if error.may_have_happened => {
                    let again = self.github.update_comment(&self.pull.repo, number, &body).await;
                    again.map(|comment| (SummaryAct::Updated, comment))
                }
                updated => updated.map(|comment| (SummaryAct::Updated, comment)),
            },
            None => self.create(&body).await.map(|comment| (SummaryAct::Created, comment)),
        };
        match written {
            Ok((act, comment)) => {
                done.has_arrived = true;
                done.summary = act;
                done.delivered.summary_url = Some(comment.url).filter(|url| !url.is_empty());
            }
            Err(error) => {
                done.summary = SummaryAct::Failed;
                done.fail(error.kind, format!("the summary could not be written: {error}"));
                for entry in done.entries.iter_mut().filter(|entry| entry.item.act == DeliveryAct::InSummary) {
                    entry.item.act = DeliveryAct::InArtefact;
                    let why = entry.item.reason.take().unwrap_or_default();
                    entry.item.reason = Some(format!("{why} The summary could not be written.").trim().to_owned());
                }
            }
        }
    }

    /// Writes a first summary. Where the answer was lost, it looks whether it is there before it writes it again.
    async fn create(&self, body: &str) -> Result<Comment, ForgeError> {
        match self.github.create_comment(self.pull, body).await {
            Err(error) if error.may_have_happened => {
                let wanted = mark(body);
                let there = self
                    .github
                    .comments(self.pull)
                    .await?
                    .into_iter()
                    .rev()
                    .find(|comment| comment.mine && wanted.is_some() && mark(&comment.body) == wanted);
                match there {
                    Some(comment) => Ok(comment),
                    None => self.github.create_comment(self.pull, body).await,
                }
            }
            written => written,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::{CommitId, ObjectId};
    use crate::domain::run::RunId;

    #[test]
    fn another_run_that_says_the_same_is_no_other_summary() {
        let text = |words: &str| {
            let head = CommitId(ObjectId::new([1; 20]));
            let run = RunId::random();
            let mark = SummaryMark { run, head, merge_base: head, complete: true, made: None };
            format!("{words} `review show {run}`\n\n{}", mark.write())
        };
        assert!(is_same_text(&text("words"), &text("words")));
        assert!(!is_same_text(&text("words"), &text("others")));
        assert!(is_same_text("a\r\nb\n", "a\nb") && !is_same_text("a", "b"));
    }
}
