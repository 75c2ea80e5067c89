//! Stopping: one flag and one deadline that everything inherits. Main type: [`Cancel`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A handle that long loops ask whether to go on. Clones share the flag.
#[derive(Debug, Clone)]
pub struct Cancel {
    interrupted: Arc<AtomicBool>,
    deadline: Option<Instant>,
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
        Self { interrupted: Arc::default(), deadline: None }
    }

    /// Stopped already, for this reason.
    pub fn stopped(why: CancelReason) -> Self {
        match why {
            CancelReason::Interrupted => Self { interrupted: Arc::new(AtomicBool::new(true)), deadline: None },
            CancelReason::DeadlinePassed => Self::after(Duration::ZERO),
        }
    }

    /// Stops after `limit`.
    pub fn after(limit: Duration) -> Self {
        Self { interrupted: Arc::default(), deadline: Instant::now().checked_add(limit) }
    }

    /// Returns the same flag with a deadline `limit` from now, or the earlier one it already has.
    #[must_use]
    pub fn with_deadline(&self, limit: Duration) -> Self {
        let new = Instant::now().checked_add(limit);
        let deadline = match (self.deadline, new) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, new) => old.or(new),
        };
        Self { interrupted: Arc::clone(&self.interrupted), deadline }
    }

    /// Stops everything that shares the flag.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::SeqCst);
    }

    /// Asked inside every long loop.
    pub fn check(&self) -> Result<(), CancelReason> {
        if self.interrupted.load(Ordering::Relaxed) {
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
