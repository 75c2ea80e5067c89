//! Retries of one turn with growing waits, within the run's time. Main function: [`request_turn`].

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};

use crate::domain::event::{Event, EventSink};
use crate::domain::text::strip_line;
use crate::llm::{Provider, StreamObserver, TurnFault, TurnRequest, TurnResponse};
use crate::sys::blocking::unless_stopped;
use crate::sys::cancel::{Cancel, CancelReason};

/// Attempts after the first one.
const MORE_ATTEMPTS: usize = 4;
/// No wait of our own choice is longer.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A server that sends nothing for this long has lost the request. Reasoning models are silent for minutes.
const QUIET: Duration = Duration::from_mins(5);
/// Number of bytes of a response between two progress events.
const STEP: u64 = 512;

/// Reasons for a turn without a response.
#[derive(Debug)]
pub(in crate::review) enum AttemptError {
    /// The run was stopped.
    Stopped(CancelReason),
    /// The provider failed for good.
    Fault(TurnFault),
}

/// A failed attempt, for the journal.
#[derive(Debug)]
pub(in crate::review) struct FailedAttempt {
    /// Number of the attempt, from 1.
    pub(in crate::review) attempt: u32,
    /// Error.
    pub(in crate::review) fault: TurnFault,
    /// Wait before the next attempt; `None` if there was none.
    pub(in crate::review) wait: Option<Duration>,
}

/// Context of the attempts at a turn.
pub(in crate::review) struct AttemptContext<'a> {
    pub(in crate::review) provider: &'a dyn Provider,
    pub(in crate::review) request: &'a TurnRequest,
    pub(in crate::review) turn: u32,
    pub(in crate::review) cancel: &'a Cancel,
    pub(in crate::review) events: &'a dyn EventSink,
    /// Called for an attempt that may have cost something that was not reported. Returns `true` if enough is left for another attempt.
    pub(in crate::review) lost: &'a (dyn Fn() -> bool + Sync),
}

/// Sends a request until there is a response, a permanent error, or the time is over. Also returns the failed attempts.
pub(in crate::review) async fn request_turn(
    ask: &AttemptContext<'_>,
) -> (Result<TurnResponse, AttemptError>, Vec<FailedAttempt>) {
    let mut failed: Vec<FailedAttempt> = Vec::new();
    let growth = GrowthReporter { turn: ask.turn, events: ask.events, cancel: ask.cancel, said: AtomicU64::new(0) };
    let attempts = AtomicU32::new(0);
    let attempt = || {
        attempts.fetch_add(1, Ordering::Relaxed);
        growth.said.store(0, Ordering::Relaxed);
        // The deadline is watched around the turn: a run that is out of time ends as such, not as a silent server.
        ask.provider.turn(ask.request, QUIET, &growth)
    };
    let waits = ExponentialBuilder::default()
        .with_min_delay(ask.provider.first_wait())
        .with_max_delay(LONGEST_WAIT)
        .with_max_times(MORE_ATTEMPTS)
        .with_jitter();
    let asked = attempt
        .retry(waits)
        .sleep(tokio::time::sleep)
        .when(|fault: &TurnFault| {
            let may_go_on = !fault.may_have_cost() || (ask.lost)();
            fault.is_transient() && may_go_on
        })
        .adjust(|fault: &TurnFault, wait| wait_before_retry(wait, fault, ask.cancel.remaining()))
        .notify(|fault: &TurnFault, wait| {
            let attempt = attempts.load(Ordering::Relaxed);
            ask.events.emit(Event::Retry {
                turn: ask.turn,
                attempt: attempt + 1,
                wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                reason: strip_line(&fault.to_string()),
            });
            failed.push(FailedAttempt { attempt, fault: fault.clone(), wait: Some(wait) });
        });
    let answer = unless_stopped(ask.cancel, asked).await;
    let answer = match answer {
        Err(stopped) => {
            (ask.lost)();
            Err(AttemptError::Stopped(stopped))
        }
        Ok(Err(fault)) => {
            let attempt = attempts.load(Ordering::Relaxed);
            failed.push(FailedAttempt { attempt, fault: fault.clone(), wait: None });
            Err(AttemptError::Fault(fault))
        }
        Ok(Ok(response)) => Ok(response),
    };
    (answer, failed)
}

/// Returns the wait: what the server asks for, else our own choice; `None` if the time is over or too short for it.
fn wait_before_retry(own: Option<Duration>, fault: &TurnFault, left: Option<Duration>) -> Option<Duration> {
    let wait = own.map(|own| fault.retry_after().unwrap_or(own))?;
    left.is_none_or(|left| wait < left).then_some(wait)
}

/// Reports the growth of a response as progress, not at every byte.
struct GrowthReporter<'a> {
    turn: u32,
    events: &'a dyn EventSink,
    cancel: &'a Cancel,
    said: AtomicU64,
}

impl StreamObserver for GrowthReporter<'_> {
    fn grew(&self, bytes: u64) {
        if bytes >= self.said.load(Ordering::Relaxed) + STEP {
            self.said.store(bytes, Ordering::Relaxed);
            self.events.emit(Event::Answering { turn: self.turn, bytes });
        }
    }

    fn waits(&self, wait: Duration) -> bool {
        if self.cancel.remaining().is_some_and(|left| left <= wait) {
            return false;
        }
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        self.events.emit(Event::Paced { turn: self.turn, wait_ms });
        true
    }

    fn warns(&self, text: &str) {
        self.events.emit(Event::Warning { text: strip_line(text) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(retry_after: Option<Duration>) -> TurnFault {
        TurnFault::Status { provider: "p".into(), status: 429, message: String::new(), retry_after }
    }

    #[test]
    fn the_server_says_how_long_to_wait_as_long_as_there_is_time() {
        let (short, long) = (Duration::from_secs(1), Duration::from_mins(9));
        assert_eq!(wait_before_retry(Some(short), &fault(None), None), Some(short));
        assert_eq!(wait_before_retry(Some(short), &fault(Some(long)), None), Some(long));
        assert_eq!(wait_before_retry(Some(long), &fault(Some(short)), Some(long)), Some(short));
        assert_eq!(
            wait_before_retry(Some(short), &fault(Some(long)), Some(long)),
            None,
            "it would wait for its own end"
        );
        assert_eq!(wait_before_retry(None, &fault(Some(short)), None), None, "enough attempts were made");
    }
}
