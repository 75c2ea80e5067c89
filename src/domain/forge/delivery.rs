//! The receipt of delivery: what was put on a pull request, what was not, and why. Main type: [`Delivery`].

use super::names::PullId;
use crate::domain::finding::{FindingId, Severity};
use crate::domain::id::CommitId;
use crate::domain::run::RunId;

/// What our review said as a whole. It never approves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It comments.
    Comment,
    /// It asks for changes.
    RequestChanges,
}

/// What became of one finding, or of one thread of an earlier review.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeliveryAct {
    /// A new comment on its lines.
    Posted,
    /// It stands on the pull request already and was left alone.
    Left,
    /// Its thread was resolved: what it is about is gone.
    Resolved,
    /// What it is about is gone, but its thread could not be resolved.
    ResolveRefused,
    /// It came back; its thread was reopened.
    Reopened,
    /// It came back, its thread could not be reopened, and it was posted anew.
    PostedAgain,
    /// Somebody else resolved its thread; it was not raised again.
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

/// What became of the summary.
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
    /// How bad.
    pub severity: Severity,
    /// Its title.
    pub title: String,
    /// What became of it.
    pub act: DeliveryAct,
    /// Why, where that is not plain: one sentence.
    pub reason: Option<String>,
    /// Where it stands on the forge.
    pub url: Option<String>,
}

/// What a review of the forge and its summary became.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Delivered {
    /// The page of the review that was posted; `None` where there was nothing to post.
    pub review_url: Option<String>,
    /// The page of the summary.
    pub summary_url: Option<String>,
}

/// The receipt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// The run whose review was delivered.
    pub run: RunId,
    /// Where to.
    pub pull: PullId,
    /// The commit that was reviewed.
    pub reviewed: CommitId,
    /// The head when it was delivered.
    pub head: CommitId,
    /// RFC 3339, UTC.
    pub at: String,
    /// Who delivered it, by login.
    pub by: String,
    /// What the review said.
    pub verdict: Verdict,
    /// Pages of what was put there.
    pub delivered: Delivered,
    /// What became of the summary.
    pub summary: SummaryAct,
    /// Each finding and each thread of ours.
    pub items: Vec<DeliveryItem>,
    /// What was done differently, or could not be done: one sentence each.
    pub notes: Vec<String>,
    /// What failed, so that the delivery is not whole (exit 5): one sentence each.
    pub failures: Vec<String>,
    /// Whether nothing was changed on the forge, and for no other reason than that the login may not.
    pub is_forbidden: bool,
}

impl Delivery {
    /// Whether everything stands where it should.
    pub fn is_whole(&self) -> bool {
        self.failures.is_empty()
    }
}
