//! A server that fails again and again is left alone for a while. Main type: [`Breaker`].

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of consecutive failures that opens the breaker.
const FAILURES: u32 = 5;
/// For so long.
const REST: Duration = Duration::from_mins(1);

/// Counts requests that got no answer worth the name. Shared by all clones of a client.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// When the server may be asked again; `None` while all is well.
    open_until: Option<Instant>,
    /// `true` if one request is out to see whether the server is back.
    is_probing: bool,
}

/// Leave for one request. It says how that went; dropped without a word, as when the request was stopped, it says nothing.
#[derive(Debug)]
pub(super) struct Leave<'a> {
    breaker: &'a Breaker,
    is_probe: bool,
}

impl Breaker {
    /// Leave to ask; or how long not to.
    pub(super) fn leave(&self, now: Instant) -> Result<Leave<'_>, Duration> {
        let mut state = self.state();
        let Some(until) = state.open_until else { return Ok(Leave { breaker: self, is_probe: false }) };
        if now < until {
            return Err(until - now);
        }
        if state.is_probing {
            return Err(Duration::from_secs(1));
        }
        state.is_probing = true;
        Ok(Leave { breaker: self, is_probe: true })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leave<'_> {
    /// The server answered, whatever it said.
    pub(super) fn answered(self) {
        let mut state = self.breaker.state();
        state.failures = 0;
        state.open_until = None;
    }

    /// It could not be reached, or failed.
    pub(super) fn failed(self, now: Instant) {
        let mut state = self.breaker.state();
        state.failures = state.failures.saturating_add(1);
        if self.is_probe || state.failures >= FAILURES {
            state.open_until = now.checked_add(REST);
        }
    }
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        if self.is_probe {
            self.breaker.state().is_probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(now: Instant) -> Breaker {
        let breaker = Breaker::default();
        for _ in 0..FAILURES {
            breaker.leave(now).unwrap().failed(now);
        }
        breaker
    }

    #[test]
    fn five_failures_in_a_row_open_it() {
        let now = Instant::now();
        let breaker = Breaker::default();
        for _ in 0..4 {
            breaker.leave(now).unwrap().failed(now);
        }
        breaker.leave(now).unwrap().answered();
        for _ in 0..4 {
            breaker.leave(now).unwrap().failed(now);
        }
        assert!(breaker.leave(now).is_ok());
        breaker.leave(now).unwrap().failed(now);
        assert_eq!(breaker.leave(now).unwrap_err(), REST);
    }

    #[test]
    fn after_its_rest_one_request_looks_whether_the_server_is_back() {
        let now = Instant::now();
        let breaker = open(now);
        let later = now + REST;
        let probe = breaker.leave(later).unwrap();
        assert!(breaker.leave(later).is_err(), "a second one waits for the first");
        probe.failed(later);
        assert_eq!(breaker.leave(later).unwrap_err(), REST, "it is left alone again");
        breaker.leave(later + REST).unwrap().answered();
        assert!(breaker.leave(later).is_ok());
        assert!(breaker.leave(later).is_ok());
    }

    #[test]
    fn a_probe_that_was_stopped_makes_room_for_another() {
        let now = Instant::now();
        let breaker = open(now);
        drop(breaker.leave(now + REST).unwrap());
        assert!(breaker.leave(now + REST).is_ok());
    }
}
