//! Changes on a pull request since a client's last request. Main type: [`PullUpdates`].
//!
//! GitHub does not report when a thread was resolved or became outdated. So a cursor identifies the state shown to its holder, which is
//! stored here for a while; a client with an unknown cursor starts over, and is notified.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

use super::PullView;
use super::Service;
use super::fault::PullFault;
use super::folded;
use crate::domain::forge::{PullId, Remark};

/// Limit on remembered cursors; the oldest are dropped first.
const REMEMBERED: usize = 64;

/// The difference between a remark and its previously shown state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemarkChange {
    /// The remark is new.
    New,
    /// The remark was resolved, reopened, answered or changed, or its lines were.
    Changed,
}

/// The changes since a cursor.
pub struct PullUpdates {
    /// The pull request as read.
    pub read: Arc<PullView>,
    /// The indices of the remarks in [`PullView::remarks`], and how they changed.
    pub remarks: Vec<(usize, RemarkChange)>,
    /// Remarks shown before that no longer exist.
    pub gone: Vec<String>,
    /// The number of new or changed remarks, including those not returned yet.
    pub total: usize,
    /// The cursor for the next request.
    pub cursor: String,
    /// Notes on what could not be read, without those already shown to the holder of the cursor.
    pub notes: Vec<String>,
    /// `true` if the cursor was unknown, so that all remarks count as new.
    pub restarted: bool,
}

/// The state shown to the holder of a cursor: remarks, a hash of each, and notes.
struct CursorState {
    pull: PullId,
    remarks: BTreeMap<String, u64>,
    notes: Vec<String>,
}

/// The states of the cursors given out.
#[derive(Default)]
pub(super) struct Cursors(Mutex<VecDeque<(String, Arc<CursorState>)>>);

impl Cursors {
    fn find(&self, cursor: &str, pull: &PullId) -> Option<Arc<CursorState>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, shown) = known.iter().find(|(name, _)| name == cursor)?;
        (shown.pull == *pull).then(|| Arc::clone(shown))
    }

    fn keep(&self, shown: CursorState) -> String {
        let name = uuid::Uuid::new_v4().simple().to_string();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.push_back((name.clone(), Arc::new(shown)));
        while known.len() > REMEMBERED {
            known.pop_front();
        }
        name
    }
}

impl Service {
    /// Returns at most `max` remarks that are new or changed since `cursor`; all of them without a cursor.
    pub async fn pull_since(&self, id: &PullId, cursor: Option<&str>, max: usize) -> Result<PullUpdates, PullFault> {
        let read = self.pull(id).await?;
        let pull = folded(id);
        let before = cursor.and_then(|cursor| self.pulls.cursors.find(cursor, &pull));
        let restarted = cursor.is_some() && before.is_none();
        let looks: Vec<u64> = read.remarks.iter().map(|remark| hash_state(&read, remark)).collect();
        let news = news(&read.remarks, &looks, before.as_deref().map(|shown| &shown.remarks));
        let there: BTreeSet<&str> = read.remarks.iter().map(|remark| remark.id.as_str()).collect();
        let (mut shown, mut gone) = (BTreeMap::new(), Vec::new());
        for (name, look) in before.iter().flat_map(|shown| &shown.remarks) {
            if there.contains(name.as_str()) {
                shown.insert(name.clone(), *look);
            } else {
                gone.push(name.clone());
            }
        }
        let total = news.len();
        let remarks: Vec<_> = news.into_iter().take(max).collect();
        shown.extend(remarks.iter().map(|(at, _)| (read.remarks[*at].id.clone(), looks[*at])));
        let is_new = |note: &&String| before.as_ref().is_none_or(|before| !before.notes.contains(note));
        let notes = read.notes.iter().filter(is_new).cloned().collect();
        let cursor = self.pulls.cursors.keep(CursorState { pull, remarks: shown, notes: read.notes.clone() });
        Ok(PullUpdates { read, remarks, gone, total, cursor, notes, restarted })
    }
}

fn news(remarks: &[Remark], looks: &[u64], before: Option<&BTreeMap<String, u64>>) -> Vec<(usize, RemarkChange)> {
    let of = |(at, remark): (usize, &Remark)| match before.and_then(|before| before.get(&remark.id)) {
        None => Some((at, RemarkChange::New)),
        Some(look) if *look != looks[at] => Some((at, RemarkChange::Changed)),
        Some(_) => None,
    };
    remarks.iter().enumerate().filter_map(of).collect()
}

/// Hashes the visible state of a remark.
fn hash_state(read: &PullView, remark: &Remark) -> u64 {
    let mut hash = DefaultHasher::new();
    (remark.is_resolved, remark.is_outdated, remark.lines, &remark.title, &remark.body).hash(&mut hash);
    for comment in read.thread_of(remark).iter().flat_map(|thread| &thread.comments) {
        (&comment.node, &comment.updated_at, comment.is_minimized, &comment.body).hash(&mut hash);
    }
    hash.finish()
}
