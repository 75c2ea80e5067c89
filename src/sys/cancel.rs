//! Stopping: one flag and one deadline that everything inherits. Main type: [`Cancel`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// A handle that long loops ask whether to go on. Clones share the flag.
#[derive(Debug, Clone)]
pub struct Cancel {
    interrupt: Arc<Interrupt>,
    deadline: Option<Instant>,
}

/// The flag, and the tasks that wait for it.
#[derive(Debug, Default)]
struct Interrupt {
    is_set: AtomicBool,
    waiting: Notify,
}

/// The reason why work was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CancelReason {
    /// It was requested.
    #[error("interrupted")]
    Interrupted,
    /// The time given to the whole run is over.
    #[error("the time limit was reached (raise it with --timeout)")]
    DeadlinePassed,
}

impl Cancel {
    /// Never stops on its own.
    pub fn never() -> Self {
        Self { interrupt: Arc::default(), deadline: None }
    }

    /// Stopped already, for this reason.
    pub fn stopped(why: CancelReason) -> Self {
        match why {
            CancelReason::Interrupted => {
                let cancel = Self::never();
                cancel.interrupt();
                cancel
            }
            CancelReason::DeadlinePassed => Self::after(Duration::ZERO),
        }
    }

    /// Stops after `limit`.
    pub fn after(limit: Duration) -> Self {
        Self { interrupt: Arc::default(), deadline: Instant::now().checked_add(limit) }
    }

    /// Returns the same flag with a deadline `limit` from now, or the earlier one it already has.
    #[must_use]
    pub fn with_deadline(&self, limit: Duration) -> Self {
        let new = Instant::now().checked_add(limit);
        let deadline = match (self.deadline, new) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, new) => old.or(new),
        };
        Self { interrupt: Arc::clone(&self.interrupt), deadline }
    }

    /// Stops everything that shares the flag.
    pub fn interrupt(&self) {
        self.interrupt.is_set.store(true, Ordering::SeqCst);
        self.interrupt.waiting.notify_waiters();
    }

    /// Asked inside every long loop.
    pub fn check(&self) -> Result<(), CancelReason> {
        if self.interrupt.is_set.load(Ordering::Relaxed) {
            return Err(CancelReason::Interrupted);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(CancelReason::DeadlinePassed),
            _ => Ok(()),
        }
    }

    /// Checks whether [`check`](Self::check) would stop.
    pub fn is_stopped(&self) -> bool {
        self.check().is_err()
    }

    /// Waits until [`check`](Self::check) would stop, and returns the reason.
    pub async fn until_stopped(&self) -> CancelReason {
        loop {
            // Registered before the flag is read, so that no interrupt is missed in between.
            let interrupted = self.interrupt.waiting.notified();
            if let Err(why) = self.check() {
                return why;
            }
            match self.deadline {
                Some(deadline) => drop(tokio::time::timeout_at(deadline.into(), interrupted).await),
                None => interrupted.await,
            }
        }
    }

    /// The time that is left, where there is a limit.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_stop_together() {
        let cancel = Cancel::never();
        let clone = cancel.clone();
        assert_eq!(clone.check(), Ok(()));
        cancel.interrupt();
        assert_eq!(clone.check(), Err(CancelReason::Interrupted));
    }

    #[tokio::test]
    async fn who_waits_is_told_of_an_interrupt_and_of_the_deadline() {
        let cancel = Cancel::never().with_deadline(Duration::from_mins(1));
        let (why, ()) = tokio::join!(cancel.until_stopped(), async { cancel.interrupt() });
        assert_eq!(why, CancelReason::Interrupted);
        assert_eq!(Cancel::after(Duration::from_millis(5)).until_stopped().await, CancelReason::DeadlinePassed);
    }

    #[test]
    fn a_later_deadline_does_not_replace_an_earlier_one() {
        let cancel = Cancel::after(Duration::ZERO).with_deadline(Duration::from_mins(1));
        assert_eq!(cancel.check(), Err(CancelReason::DeadlinePassed));
        assert_eq!(Cancel::never().with_deadline(Duration::from_mins(1)).check(), Ok(()));
    }

    #[test]
    fn what_is_stopped_says_why() {
        for why in [CancelReason::Interrupted, CancelReason::DeadlinePassed] {
            assert_eq!(Cancel::stopped(why).check(), Err(why));
        }
    }

    #[test]
    fn a_deadline_passes() {
        assert_eq!(Cancel::after(Duration::ZERO).check(), Err(CancelReason::DeadlinePassed));
    }
}
