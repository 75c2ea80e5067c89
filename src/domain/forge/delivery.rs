//! The receipt of delivery: what was put on a pull request, what was not, and why. Main type: [`Delivery`].

use super::names::PullId;
use crate::domain::finding::{FindingId, Severity};
use crate::domain::id::CommitId;
use crate::domain::run::RunId;

/// The verdict of our review. It never approves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeliveryVerdict {
    /// It comments.
    Comment,
    /// It asks for changes.
    RequestChanges,
}

/// The action taken for one finding, or for one thread of an earlier review.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeliveryAct {
    /// A new comment on its lines.
    Posted,
    /// It stands on the pull request already and was left alone.
    Left,
    /// Its thread was resolved: what it is about is gone.
    Resolved,
    /// The code it is about is gone, but its thread could not be resolved.
    ResolveRefused,
    /// It came back; its thread was reopened.
    Reopened,
    /// It came back, its thread could not be reopened, and it was posted anew.
    PostedAgain,
    /// Another account resolved its thread; it was not raised again.
    ResolvedByOthers,
    /// It was not found this time, but nothing shows that it is gone: its thread stays open.
    StillOpen,
    /// It stands in the summary.
    InSummary,
    /// It stands only in the kept review: the summary has no room.
    InArtefact,
    /// It is about lines that an earlier, complete review saw as they are: not raised, counted.
    Late,
    /// The forge refused it, and it could not be put elsewhere.
    Refused,
}

/// The action taken for the summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SummaryAct {
    /// There was none.
    Created,
    /// It was brought up to date.
    Updated,
    /// It said the same already.
    Unchanged,
    /// It could not be written.
    Failed,
}

/// One line of the receipt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeliveryItem {
    /// The finding; of an earlier review where only a thread is left of it.
    pub finding: FindingId,
    /// The severity.
    pub severity: Severity,
    /// Its title.
    pub title: String,
    /// Its result.
    pub act: DeliveryAct,
    /// Why, where that is not plain: one sentence.
    pub reason: Option<String>,
    /// Its URL on the forge.
    pub url: Option<String>,
}

/// The posted review and summary.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeliveryResult {
    /// The page of the review that was posted; `None` if there was nothing to post.
    pub review_url: Option<String>,
    /// The page of the summary.
    pub summary_url: Option<String>,
}

/// The receipt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// The run whose review was delivered.
    pub run: RunId,
    /// The destination.
    pub pull: PullId,
    /// The commit that was reviewed.
    pub reviewed: CommitId,
    /// The head when it was delivered.
    pub head: CommitId,
    /// RFC 3339, UTC.
    pub at: String,
    /// The login of the posting account.
    pub by: String,
    /// The verdict of the review.
    pub verdict: DeliveryVerdict,
    /// Pages of what was put there.
    pub delivered: DeliveryResult,
    /// The action taken for the summary.
    pub summary: SummaryAct,
    /// Each finding and each thread of ours.
    pub items: Vec<DeliveryItem>,
    /// The deviations from the plan, or could not be done: one sentence each.
    pub notes: Vec<String>,
    /// The failures, so that the delivery is not whole (exit 5): one sentence each.
    pub failures: Vec<String>,
    /// `true` if nothing was changed on the forge, and for no other reason than that the login may not.
    pub is_forbidden: bool,
}

impl Delivery {
    /// Checks whether everything stands where it should.
    pub fn is_complete(&self) -> bool {
        self.failures.is_empty()
    }
}
