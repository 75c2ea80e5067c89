//! A server that fails again and again is left alone for a while. Main type: [`CircuitBreaker`].

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of consecutive failures that opens the breaker.
const FAILURES: u32 = 5;
/// For so long.
const REST: Duration = Duration::from_mins(1);

/// Counts requests that got no answer worth the name. Shared by all clones of a client.
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker(Mutex<BreakerState>);

#[derive(Debug, Default)]
struct BreakerState {
    failures: u32,
    /// When the server may be asked again; `None` while all is well.
    open_until: Option<Instant>,
    /// `true` if one request is out to see whether the server is back.
    is_probing: bool,
}

/// Leave for one request. It says how that went; dropped without a word, as when the request was stopped, it says nothing.
#[derive(Debug)]
pub(super) struct BreakerPermit<'a> {
    breaker: &'a CircuitBreaker,
    is_probe: bool,
}

impl CircuitBreaker {
    /// Leave to ask; or how long not to.
    pub(super) fn acquire(&self, now: Instant) -> Result<BreakerPermit<'_>, Duration> {
        let mut state = self.state();
        let Some(until) = state.open_until else { return Ok(BreakerPermit { breaker: self, is_probe: false }) };
        if now < until {
            return Err(until - now);
        }
        if state.is_probing {
            return Err(Duration::from_secs(1));
        }
        state.is_probing = true;
        Ok(BreakerPermit { breaker: self, is_probe: true })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, BreakerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BreakerPermit<'_> {
    /// The server answered, whatever it said.
    pub(super) fn record_success(self) {
        let mut state = self.breaker.state();
        state.failures = 0;
        state.open_until = None;
    }

    /// It could not be reached, or failed.
    pub(super) fn record_failure(self, now: Instant) {
        let mut state = self.breaker.state();
        state.failures = state.failures.saturating_add(1);
        if self.is_probe || state.failures >= FAILURES {
            state.open_until = now.checked_add(REST);
        }
    }
}

impl Drop for BreakerPermit<'_> {
    fn drop(&mut self) {
        if self.is_probe {
            self.breaker.state().is_probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(now: Instant) -> CircuitBreaker {
        let breaker = CircuitBreaker::default();
        for _ in 0..FAILURES {
            breaker.acquire(now).unwrap().record_failure(now);
        }
        breaker
    }

    #[test]
    fn five_failures_in_a_row_open_it() {
        let now = Instant::now();
        let breaker = CircuitBreaker::default();
        for _ in 0..4 {
            breaker.acquire(now).unwrap().record_failure(now);
        }
        breaker.acquire(now).unwrap().record_success();
        for _ in 0..4 {
            breaker.acquire(now).unwrap().record_failure(now);
        }
        assert!(breaker.acquire(now).is_ok());
        breaker.acquire(now).unwrap().record_failure(now);
        assert_eq!(breaker.acquire(now).unwrap_err(), REST);
    }

    #[test]
    fn after_its_rest_one_request_looks_whether_the_server_is_back() {
        let now = Instant::now();
        let breaker = open(now);
        let later = now + REST;
        let probe = breaker.acquire(later).unwrap();
        assert!(breaker.acquire(later).is_err(), "a second one waits for the first");
        probe.record_failure(later);
        assert_eq!(breaker.acquire(later).unwrap_err(), REST, "it is left alone again");
        breaker.acquire(later + REST).unwrap().record_success();
        assert!(breaker.acquire(later).is_ok());
        assert!(breaker.acquire(later).is_ok());
    }

    #[test]
    fn a_probe_that_was_stopped_makes_room_for_another() {
        let now = Instant::now();
        let breaker = open(now);
        drop(breaker.acquire(now + REST).unwrap());
        assert!(breaker.acquire(now + REST).is_ok());
    }
}
