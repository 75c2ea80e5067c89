//! Sending the one review that brings the new comments, and what to do when the forge does not simply take it.

use std::time::Duration;

use crate::domain::forge::{DeliveryAct, DeliveryVerdict, FindingMark, ReviewNote, ReviewVerdict, RunMark};
use crate::forge::{FaultKind, ForgeError, NewComment, NewReview};

use super::super::bisect::{BisectTrial, bisect_comments};
use super::super::draft::SummaryOnlyReason;
use super::{HeadMoved, PlanExecutor, PostResult, is_refusal, new_comments};

/// The number of reviews created and deleted to find the refused comments.
const MOST_TRIALS: usize = 40;
/// The delay before the forge is queried for a request that it did not confirm.
const SETTLING: Duration = Duration::from_millis(500);

/// The reason why a review was not taken.
enum UnsentReview {
    /// The head is no part of the pull request any more.
    Moved,
    /// An account may not request changes on its own pull request.
    OwnPull,
    /// Our account has begun another review.
    Begun,
    /// Something in it is wrong: the forge's words.
    Wrong(ForgeError),
    /// Anything else.
    Failed(ForgeError),
}

/// Classifies a refusal of the forge, which gives the reason as text only.
fn meaning(error: ForgeError) -> UnsentReview {
    if error.kind != FaultKind::Refused {
        return UnsentReview::Failed(error);
    }
    let words = error.message.to_ascii_lowercase();
    if words.contains("not part of the pull request") {
        UnsentReview::Moved
    } else if words.contains("own pull request") {
        UnsentReview::OwnPull
    } else if words.contains("one pending review") {
        UnsentReview::Begun
    } else {
        UnsentReview::Wrong(error)
    }
}

impl PlanExecutor<'_> {
    /// Posts the new comments and says the verdict. Comments that the forge refuses go to the summary.
    pub(super) async fn send_review(&self, done: &mut PostResult) -> Result<(), HeadMoved> {
        for number in &self.plan.discard {
            match self.github.delete_pending(self.pull, *number).await {
                Ok(()) => {
                    done.has_arrived = true;
                    done.notes.push("A review that an earlier run had only begun was taken back.".to_owned());
                }
                Err(error) if error.kind == FaultKind::NotFound => {}
                Err(error) => {
                    let text = format!("a review that an earlier run had begun could not be taken back: {error}");
                    done.fail(error.kind, text);
                }
            }
        }
        let (mut was_sorted, mut was_taken_back) = (false, false);
        // At most: as planned, as a comment, without what is refused, without what a trial left.
        for _ in 0..4 {
            let Some(review) = self.new_review(done) else { return Ok(()) };
            match self.send(&review).await {
                Ok(note) => {
                    done.has_arrived = true;
                    done.delivered.review_url = Some(note.comment.url).filter(|url| !url.is_empty());
                    self.find_pages(done).await;
                    return Ok(());
                }
                Err(UnsentReview::Moved) => return Err(HeadMoved),
                Err(UnsentReview::OwnPull) if done.verdict == DeliveryVerdict::RequestChanges => {
                    done.verdict = DeliveryVerdict::Comment;
                    let text = "GitHub refuses that an account requests changes on its own pull request: it comments.";
                    done.notes.push(text.to_owned());
                    if new_comments(done).is_empty() {
                        return Ok(());
                    }
                }
                Err(UnsentReview::Wrong(error)) if !was_sorted && !review.comments.is_empty() => {
                    was_sorted = true;
                    self.sort_out(done, &error).await;
                    if new_comments(done).is_empty() && !self.plan.must_say {
                        return Ok(());
                    }
                }
                Err(UnsentReview::Begun) if !was_taken_back && self.take_back().await => was_taken_back = true,
                Err(unsent) => {
                    give_up(done, unsent);
                    return Ok(());
                }
            }
        }
        give_up(done, UnsentReview::OwnPull);
        Ok(())
    }

    /// Takes back what a trial of this run left begun; whether there was something.
    async fn take_back(&self) -> bool {
        let Ok(Some(begun)) = self.mine_of_this_run(true).await else { return false };
        let Some(number) = begun.comment.number else { return false };
        self.github.delete_pending(self.pull, number).await.is_ok()
    }

    /// Sends a review once. Where the answer was lost, it looks whether the review is there before it sends it again.
    async fn send(&self, review: &NewReview) -> Result<ReviewNote, UnsentReview> {
        let mut lost = match self.github.create_review(self.pull, review).await {
            Err(error) if error.may_have_happened => error,
            answered => return answered.map_err(meaning),
        };
        for again in [true, false] {
            tokio::time::sleep(SETTLING).await;
            match self.mine_of_this_run(false).await {
                Ok(Some(there)) => return Ok(there),
                Ok(None) => {}
                Err(error) => return Err(UnsentReview::Failed(error)),
            }
            if !again {
                break;
            }
            lost = match self.github.create_review(self.pull, review).await {
                Err(error) if error.may_have_happened => error,
                answered => return answered.map_err(meaning),
            };
        }
        Err(UnsentReview::Failed(lost))
    }

    /// The review of this run that was not there when the plan was made.
    async fn mine_of_this_run(&self, is_pending: bool) -> Result<Option<ReviewNote>, ForgeError> {
        let wanted = RunMark { run: self.run, head: self.head };
        let reviews = self.github.reviews(self.pull).await?;
        Ok(reviews.into_iter().rev().find(|review| {
            review.comment.mine
                && (review.verdict == ReviewVerdict::Pending) == is_pending
                && !self.known_reviews.contains(&review.comment.node)
                && RunMark::read_as(&review.comment.body, self.plan.trust).as_ref() == Some(&wanted)
        }))
    }

    /// Finds the comments that the forge refuses and puts them into the summary.
    async fn sort_out(&self, done: &mut PostResult, error: &ForgeError) {
        let comments = new_comments(done);
        let sorted = bisect_comments(comments.len(), &error.message, MOST_TRIALS, async |part: &[usize]| {
            let some: Vec<NewComment> = part.iter().map(|at| comments[*at].1.clone()).collect();
            self.is_taken(self.with_comments(done, None, some)).await
        })
        .await;
        for (at, reason) in sorted.bad {
            done.move_to_summary(
                comments[at].0,
                SummaryOnlyReason::Refused,
                format!("GitHub refused it on its lines: {reason}."),
            );
        }
        for at in sorted.unknown {
            let why = "GitHub refused some comments on their lines, and it was not found out whether this is one.";
            done.move_to_summary(comments[at].0, SummaryOnlyReason::Refused, why.to_owned());
        }
        if let Some(error) = sorted.broken {
            done.fail(error.kind, format!("it was not found out which comments are refused: {error}"));
        }
    }

    /// Begins a review with some of the comments, and takes it back.
    async fn is_taken(&self, some: NewReview) -> BisectTrial<ForgeError> {
        let begun = match self.github.create_review(self.pull, &some).await {
            Ok(note) => note,
            Err(error) if error.may_have_happened => match self.mine_of_this_run(true).await {
                Ok(Some(note)) => note,
                Ok(None) => return BisectTrial::Broken(error),
                Err(error) => return BisectTrial::Broken(error),
            },
            Err(error) if error.kind == FaultKind::Refused => return BisectTrial::Bad(error.message),
            Err(error) => return BisectTrial::Broken(error),
        };
        let Some(number) = begun.comment.number else { return BisectTrial::Good };
        match self.github.delete_pending(self.pull, number).await {
            Ok(()) => BisectTrial::Good,
            Err(error) if error.kind == FaultKind::NotFound => BisectTrial::Good,
            Err(error) => BisectTrial::Broken(error),
        }
    }

    /// The pages of the new comments. That they cannot be read is no failure: the comments are there.
    async fn find_pages(&self, done: &mut PostResult) {
        if new_comments(done).is_empty() {
            return;
        }
        let Ok(threads) = self.github.threads(self.pull).await else { return };
        for thread in threads.iter().rev() {
            let Some(first) = thread.comments.first().filter(|first| first.mine) else { continue };
            let Some(mark) = FindingMark::read_as(&first.body, self.plan.trust) else { continue };
            let new = done.entries.iter_mut().find(|entry| {
                matches!(entry.item.act, DeliveryAct::Posted | DeliveryAct::PostedAgain)
                    && entry.is_found
                    && entry.item.finding == mark.id
            });
            if let Some(entry) =
                new.filter(|entry| entry.item.url.is_none() || entry.item.act == DeliveryAct::PostedAgain)
            {
                entry.item.url = Some(first.url.clone()).filter(|url| !url.is_empty());
            }
        }
    }
}

/// Nothing of the review could be posted: all its comments go to the summary, and that is a failure.
fn give_up(done: &mut PostResult, unsent: UnsentReview) {
    let kind = match &unsent {
        UnsentReview::Wrong(error) | UnsentReview::Failed(error) => error.kind,
        UnsentReview::Begun | UnsentReview::OwnPull | UnsentReview::Moved => FaultKind::Refused,
    };
    let text = match unsent {
        UnsentReview::Begun => "the review could not be posted: this account has begun a review of the pull request and not handed it in; submit or \
             discard it on the page of the pull request, then run review post again"
            .to_owned(),
        UnsentReview::Wrong(error) if is_refusal(&error) => format!("GitHub refused the review: {error}"),
        UnsentReview::Wrong(error) | UnsentReview::Failed(error) => format!("the review could not be posted: {error}"),
        UnsentReview::OwnPull | UnsentReview::Moved => "GitHub refused the review again and again".to_owned(),
    };
    for (at, _) in new_comments(done) {
        done.move_to_summary(at, SummaryOnlyReason::NotPosted, "It could not be posted on its lines.".to_owned());
    }
    done.fail(kind, text);
}
