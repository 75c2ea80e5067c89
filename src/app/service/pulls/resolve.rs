//! Resolves remarks. Main method: [`Service::resolve_remark`].
//!
//! A thread is resolved by the forge itself. For a remark outside of threads, a comment of our own account on the pull request records the
//! resolution (`forge::bots::state`).

use super::ChangeNotice;
use super::FaultKind;
use super::PullView;
use super::Service;
use super::fault::PullFault;
use super::fault::PullFaultKind;
use super::folded;
use crate::domain::forge::{Held, PullId, Remark, Thread};
use crate::forge::GitHub;
use crate::forge::bots::state::{ResolveResult, StateTooLarge};
use crate::sys::clock;

/// The record of a resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResolvedBy {
    /// The forge resolved its thread.
    Thread,
    /// A comment of ours that records resolved entries of bots' lists.
    StateComment,
    /// Our own comment with a list of Qodo's entries.
    Tracker,
}

/// A resolved remark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedRemark {
    /// Its complete id.
    pub id: String,
    /// The record.
    pub by: ResolvedBy,
    /// `true` if it was already resolved and nothing was changed.
    pub already: bool,
    /// An additional note, one sentence.
    pub note: Option<String>,
}

impl From<StateTooLarge> for PullFault {
    fn from(fault: StateTooLarge) -> Self {
        Self::new(PullFaultKind::Forge(FaultKind::Refused), fault.to_string(), "delete that comment on the forge")
    }
}

/// The place of the resolution.
struct ResolveSite<'a> {
    github: &'a GitHub,
    id: &'a PullId,
    read: &'a PullView,
}

impl Service {
    /// Resolves a remark unless it already is. `given` is the id of a remark or a suffix of it, or that of a whole thread.
    pub async fn resolve_remark(&self, id: &PullId, given: &str) -> Result<ResolvedRemark, PullFault> {
        self.check_forge_access()?;
        if !self.may_write() {
            let message = "this server may not change what stands on a pull request";
            return Err(PullFault::new(
                PullFaultKind::ReadOnly,
                message,
                "whoever runs it starts it with --allow-write",
            ));
        }
        let _turn = self.pulls.resolving.lock().await;
        // The written state depends on the read one, so cached data will not do.
        self.forget_pull(id);
        let read = self.pull(id).await?;
        let github = self.github().await?.about(&id.repo);
        let at = ResolveSite { github: &github, id, read: &read };
        let resolved = at.resolve(given).await;
        // Also after a failure: part of it may have been done.
        self.forget_pull(id);
        let resolved = resolved?;
        if !resolved.already {
            self.notifier().notify(ChangeNotice::Pull(folded(id)));
        }
        Ok(resolved)
    }
}

impl ResolveSite<'_> {
    async fn resolve(&self, given: &str) -> Result<ResolvedRemark, PullFault> {
        // The whole thread, if it was split into several remarks.
        let whole = self.read.conversation.threads.iter().find(|thread| thread.node == given);
        if let Some(thread) = whole {
            return self.thread(thread).await;
        }
        let remark = self.read.remark(given)?;
        match (remark.held, self.read.thread_of(remark)) {
            (Held::Thread, Some(thread)) => self.thread(thread).await,
            (Held::Part | Held::Nitpick | Held::OutsideDiff, _) => self.listed(remark).await,
            (Held::Guide, _) => self.tracked(remark).await,
            (Held::Overview | Held::Thread, _) => {
                let message = format!("nothing on the forge can say that {} is resolved", remark.id);
                Err(PullFault::new(PullFaultKind::Forge(FaultKind::Refused), message, "answer it on the pull request"))
            }
        }
    }

    async fn thread(&self, thread: &Thread) -> Result<ResolvedRemark, PullFault> {
        if !thread.is_resolved {
            may_resolve(thread)?;
            self.github.resolve(&thread.node).await?;
        }
        let already = thread.is_resolved;
        Ok(ResolvedRemark { id: thread.node.clone(), by: ResolvedBy::Thread, already, note: None })
    }

    /// Resolves an entry of a list, or a part of a text with several entries.
    async fn listed(&self, remark: &Remark) -> Result<ResolvedRemark, PullFault> {
        let mut state = self.read.state.clone();
        let at = clock::now();
        let by = if remark.is_resolved { String::new() } else { self.github.viewer().await?.login };
        let recorded = state.resolve(remark, &self.read.remarks, &by, &at);
        if !remark.is_resolved {
            self.write(state.number(), &state.write(&at)?).await?;
        }
        let open =
            self.read.thread_of(remark).filter(|thread| recorded == ResolveResult::AllParts && !thread.is_resolved);
        let note = match open {
            Some(thread) if thread.can_resolve => {
                self.github.resolve(&thread.node).await?;
                Some("All parts are resolved now, and so is their thread.".to_owned())
            }
            Some(_) => {
                Some("All parts are resolved now; their thread stays open: this account may not resolve it.".to_owned())
            }
            None => None,
        };
        let already = remark.is_resolved && !open.is_some_and(|thread| thread.can_resolve);
        Ok(ResolvedRemark { id: remark.id.clone(), by: ResolvedBy::StateComment, already, note })
    }

    /// Resolves an entry of Qodo's guide.
    async fn tracked(&self, remark: &Remark) -> Result<ResolvedRemark, PullFault> {
        if !remark.is_resolved {
            let mut tracker = self.read.tracker.clone();
            tracker.resolve(remark);
            self.write(tracker.number(), &tracker.write(&self.read.remarks, &clock::now())?).await?;
        }
        let already = remark.is_resolved;
        Ok(ResolvedRemark { id: remark.id.clone(), by: ResolvedBy::Tracker, already, note: None })
    }

    async fn write(&self, number: Option<u64>, body: &str) -> Result<(), PullFault> {
        match number {
            Some(number) => self.github.update_comment(&self.id.repo, number, body).await?,
            None => self.github.create_comment(self.id, body).await?,
        };
        Ok(())
    }
}

fn may_resolve(thread: &Thread) -> Result<(), PullFault> {
    if thread.can_resolve {
        return Ok(());
    }
    let message = format!("this account may not resolve the thread {}", thread.node);
    let action = "use a token that may write to the repository, or ask whoever opened the pull request";
    Err(PullFault::new(PullFaultKind::Forge(FaultKind::Permission), message, action))
}
