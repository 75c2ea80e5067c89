//! Sending the one review that brings the new comments, and what to do when the forge does not simply take it.

use std::time::Duration;

use crate::domain::forge::{DeliveryAct, FindingMark, ReviewNote, ReviewVerdict, RunMark, Verdict};
use crate::forge::{FaultKind, ForgeError, NewComment, NewReview};

use super::super::bisect::{Trial, bisect};
use super::super::draft::WhyBeside;
use super::{Carry, Done, HeadMoved, is_refusal, new_comments};

/// The number of reviews created and deleted to find the refused comments.
const MOST_TRIALS: usize = 40;
/// The delay before the forge is queried for a request that it did not confirm.
const SETTLING: Duration = Duration::from_millis(500);

/// The reason why a review was not taken.
enum Unsent {
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
fn meaning(error: ForgeError) -> Unsent {
    if error.kind != FaultKind::Refused {
        return Unsent::Failed(error);
    }
    let words = error.message.to_ascii_lowercase();
    if words.contains("not part of the pull request") {
        Unsent::Moved
    } else if words.contains("own pull request") {
        Unsent::OwnPull
    } else if words.contains("one pending review") {
        Unsent::Begun
    } else {
        Unsent::Wrong(error)
    }
}

impl Carry<'_> {
    /// Posts the new comments and says the verdict. Comments that the forge refuses go to the summary.
    pub(super) async fn review(&self, done: &mut Done) -> Result<(), HeadMoved> {
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
                Err(Unsent::Moved) => return Err(HeadMoved),
                Err(Unsent::OwnPull) if done.verdict == Verdict::RequestChanges => {
                    done.verdict = Verdict::Comment;
                    let text = "GitHub refuses that an account requests changes on its own pull request: it comments.";
                    done.notes.push(text.to_owned());
                    if new_comments(done).is_empty() {
                        return Ok(());
                    }
                }
                Err(Unsent::Wrong(error)) if !was_sorted && !review.comments.is_empty() => {
                    was_sorted = true;
                    self.sort_out(done, &error).await;
                    if new_comments(done).is_empty() && !self.plan.must_say {
                        return Ok(());
                    }
                }
                Err(Unsent::Begun) if !was_taken_back && self.take_back().await => was_taken_back = true,
                Err(unsent) => {
                    give_up(done, unsent);
                    return Ok(());
                }
            }
        }
        give_up(done, Unsent::OwnPull);
        Ok(())
    }

    /// Takes back what a trial of this run left begun; whether there was something.
    async fn take_back(&self) -> bool {
        let Ok(Some(begun)) = self.mine_of_this_run(true).await else { return false };
        let Some(number) = begun.comment.number else { return false };
        self.github.delete_pending(self.pull, number).await.is_ok()
    }

    /// Sends a review once. Where the answer was lost, it looks whether the review is there before it sends it again.
    async fn send(&self, review: &NewReview) -> Result<ReviewNote, Unsent> {
        let mut lost = match self.github.create_review(self.pull, review).await {
            Err(error) if error.may_have_happened => error,
            answered => return answered.map_err(meaning),
        };
        for again in [true, false] {
            tokio::time::sleep(SETTLING).await;
            match self.mine_of_this_run(false).await {
                Ok(Some(there)) => return Ok(there),
                Ok(None) => {}
                Err(error) => return Err(Unsent::Failed(error)),
            }
            if !again {
                break;
            }
            lost = match self.github.create_review(self.pull, review).await {
                Err(error) if error.may_have_happened => error,
                answered => return answered.map_err(meaning),
            };
        }
        Err(Unsent::Failed(lost))
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
    async fn sort_out(&self, done: &mut Done, error: &ForgeError) {
        let comments = new_comments(done);
        let sorted = bisect(comments.len(), &error.message, MOST_TRIALS, async |part: &[usize]| {
            let some: Vec<NewComment> = part.iter().map(|at| comments[*at].1.clone()).collect();
            self.is_taken(self.with_comments(done, None, some)).await
        })
        .await;
        for (at, reason) in sorted.bad {
            done.move_to_summary(
                comments[at].0,
                WhyBeside::Refused,
                format!("GitHub refused it on its lines: {reason}."),
            );
        }
        for at in sorted.unknown {
            let why = "GitHub refused some comments on their lines, and it was not found out whether this is one.";
            done.move_to_summary(comments[at].0, WhyBeside::Refused, why.to_owned());
        }
        if let Some(error) = sorted.broken {
            done.fail(error.kind, format!("it was not found out which comments are refused: {error}"));
        }
    }

    /// Begins a review with some of the comments, and takes it back.
    async fn is_taken(&self, some: NewReview) -> Trial<ForgeError> {
        let begun = match self.github.create_review(self.pull, &some).await {
            Ok(note) => note,
            Err(error) if error.may_have_happened => match self.mine_of_this_run(true).await {
                Ok(Some(note)) => note,
                Ok(None) => return Trial::Broken(error),
                Err(error) => return Trial::Broken(error),
            },
            Err(error) if error.kind == FaultKind::Refused => return Trial::Bad(error.message),
            Err(error) => return Trial::Broken(error),
        };
        let Some(number) = begun.comment.number else { return Trial::Good };
        match self.github.delete_pending(self.pull, number).await {
            Ok(()) => Trial::Good,
            Err(error) if error.kind == FaultKind::NotFound => Trial::Good,
            Err(error) => Trial::Broken(error),
        }
    }

    /// The pages of the new comments. That they cannot be read is no failure: the comments are there.
    async fn find_pages(&self, done: &mut Done) {
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
fn give_up(done: &mut Done, unsent: Unsent) {
    let kind = match &unsent {
        Unsent::Wrong(error) | Unsent::Failed(error) => error.kind,
        Unsent::Begun | Unsent::OwnPull | Unsent::Moved => FaultKind::Refused,
    };
    let text = match unsent {
        Unsent::Begun => "the review could not be posted: this account has begun a review of the pull request and not handed it in; submit or \
             discard it on the page of the pull request, then run review post again"
            .to_owned(),
        Unsent::Wrong(error) if is_refusal(&error) => format!("GitHub refused the review: {error}"),
        Unsent::Wrong(error) | Unsent::Failed(error) => format!("the review could not be posted: {error}"),
        Unsent::OwnPull | Unsent::Moved => "GitHub refused the review again and again".to_owned(),
    };
    for (at, _) in new_comments(done) {
        done.move_to_summary(at, WhyBeside::NotPosted, "It could not be posted on its lines.".to_owned());
    }
    done.fail(kind, text);
}
