//! Watches pull requests for changes by polling the forge. Main type: [`PullWatch`].
//!
//! No request is made without a watcher. A forge that fails or limits the rate is polled less and less often.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::fault::{PullFault, PullFaultKind};
use super::{ChangeNotice, Service, folded};
use crate::domain::forge::{PullId, PullState, RepoName};
use crate::forge::{Marks, PullFilter};

/// Limit on watched pull requests and lists over all clients: each costs requests continuously.
const MOST: usize = 32;
/// Upper bound of the polling interval after failures.
const LONGEST: Duration = Duration::from_mins(15);
/// Limit on the compared pull requests of a list.
const LISTED: usize = 100;

/// The target of a watch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchTarget {
    /// A pull request and its conversation.
    One(PullId),
    /// The list of a repository's open pull requests.
    Open(RepoName),
}

/// A watch; it ends when this is dropped.
pub struct PullWatch {
    what: WatchTarget,
    service: Weak<Service>,
}

/// The watched targets with their number of watchers and cancellation token.
#[derive(Default)]
pub(super) struct WatchRegistry(Mutex<BTreeMap<WatchTarget, (usize, CancellationToken)>>);

impl WatchRegistry {
    fn all(&self) -> MutexGuard<'_, BTreeMap<WatchTarget, (usize, CancellationToken)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PullWatch {
    fn drop(&mut self) {
        let Some(service) = self.service.upgrade() else { return };
        let mut all = service.pulls.watched.all();
        let Some((count, stop)) = all.get_mut(&self.what) else { return };
        *count -= 1;
        if *count == 0 {
            stop.cancel();
            all.remove(&self.what);
        }
    }
}

impl Service {
    /// Starts to send [`ChangeNotice::Pull`] or [`ChangeNotice::Pulls`] for each change.
    pub fn watch_pulls(self: &Arc<Self>, what: &WatchTarget) -> Result<PullWatch, PullFault> {
        self.check_forge_access()?;
        let what = key(what);
        // Data read from now on must not be older than the compared state.
        self.forget_pulls(&what);
        let mut all = self.pulls.watched.all();
        if !all.contains_key(&what) && all.len() >= MOST {
            let message = format!("{MOST} pull requests are watched already");
            return Err(PullFault::new(PullFaultKind::Busy, message, "end another subscription first"));
        }
        let (count, _) = all.entry(what.clone()).or_insert_with(|| {
            let stop = CancellationToken::new();
            tokio::spawn(watch(Arc::downgrade(self), what.clone(), stop.clone(), self.pulls.served.every));
            (0, stop)
        });
        *count += 1;
        Ok(PullWatch { what, service: Arc::downgrade(self) })
    }

    fn forget_pulls(&self, what: &WatchTarget) {
        match what {
            WatchTarget::One(id) => self.forget_pull(id),
            WatchTarget::Open(repo) => self.pulls.lists.forget(&(repo.clone(), Some(PullState::Open))),
        }
    }

    fn notify_changed(&self, what: &WatchTarget) {
        self.forget_pulls(what);
        self.notifier().notify(match what {
            WatchTarget::One(id) => ChangeNotice::Pull(id.clone()),
            WatchTarget::Open(repo) => ChangeNotice::Pulls(repo.clone()),
        });
    }

    /// Checks for a change, and returns the current state.
    async fn look_at_pulls(&self, what: &WatchTarget, before: PullSnapshot) -> Result<(bool, PullSnapshot), PullFault> {
        let github = self.github().await?;
        match what {
            WatchTarget::One(id) => {
                let (changed, marks) = github.poll_changes(id, before.marks).await?;
                Ok((changed, PullSnapshot { marks, ..PullSnapshot::default() }))
            }
            WatchTarget::Open(repo) => {
                let filter = PullFilter { state: Some(PullState::Open), limit: LISTED };
                let page = github.pulls(repo, filter).await?;
                let listed = page.pulls.iter().map(|one| {
                    let pull = &one.pull;
                    (pull.id.number.value(), pull.updated_at.clone(), one.unresolved, one.comments)
                });
                let list = Some((page.total, listed.collect()));
                Ok((list != before.list, PullSnapshot { list, ..PullSnapshot::default() }))
            }
        }
    }
}

/// The compared state.
#[derive(Clone, Default)]
struct PullSnapshot {
    marks: Marks,
    list: Option<(usize, Vec<WatchedRow>)>,
}

/// The compared fields of a listed pull request: number, last change, unresolved threads, comments.
type WatchedRow = (u32, String, usize, usize);

fn key(what: &WatchTarget) -> WatchTarget {
    match what {
        WatchTarget::One(id) => WatchTarget::One(folded(id)),
        WatchTarget::Open(repo) => WatchTarget::Open(super::folded_repo(repo)),
    }
}

async fn watch(service: Weak<Service>, what: WatchTarget, stop: CancellationToken, every: Duration) {
    let (mut seen, mut failures, mut wait) = (None::<PullSnapshot>, 0, Duration::ZERO);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
        }
        let Some(service) = service.upgrade() else { return };
        let looked = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            looked = service.look_at_pulls(&what, seen.clone().unwrap_or_default()) => looked,
        };
        match looked {
            Ok((changed, now)) => {
                // The first poll only sets the state, unless earlier ones failed: then a change may have been missed.
                if changed && (seen.is_some() || failures > 0) {
                    service.notify_changed(&what);
                }
                (seen, failures, wait) = (Some(now), 0, every);
            }
            Err(fault) => {
                failures += 1;
                wait = pause(every, failures, fault.retry_after);
            }
        }
    }
}

/// The delay after a number of consecutive failures.
fn pause(every: Duration, failures: u32, asked_for: Option<Duration>) -> Duration {
    let longer = every.saturating_mul(1 << failures.min(8)).min(LONGEST);
    // A longer delay requested by the forge is respected, up to a day.
    longer.max(asked_for.unwrap_or_default().min(Duration::from_hours(24)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forge_that_fails_is_asked_less_and_less_often() {
        let every = Duration::from_mins(1);
        let waits: Vec<u64> = (1..7).map(|failures| pause(every, failures, None).as_secs()).collect();
        assert_eq!(waits, [120, 240, 480, 900, 900, 900]);
        assert_eq!(pause(every, 1, Some(Duration::from_hours(1))), Duration::from_hours(1));
        assert_eq!(pause(every, u32::MAX, Some(Duration::MAX)), Duration::from_hours(24));
    }
}
