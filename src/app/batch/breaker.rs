//! A provider that is dead: after some reviews in a row that it failed, no more are begun for a while. Main type: [`ProviderBreaker`].

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::domain::batch::{BatchEntry, BatchOutcome, ReviewSource};
use crate::domain::run::Engine;

/// The number of different reviews that fail in a row before no more are begun.
const MOST: usize = 5;
/// The first pause; it doubles up to [`LONGEST`] with each review that fails after it.
pub(super) const FIRST: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_mins(10);

/// Counts the reviews that a provider failed without a success in between.
#[derive(Debug)]
pub(super) struct ProviderBreaker {
    first: Duration,
    failed: BTreeSet<String>,
    open: Option<OpenBreaker>,
}

/// The pause of a provider that is dead.
#[derive(Debug)]
struct OpenBreaker {
    pause: Duration,
    pauses: u32,
    until: Instant,
    /// The review that tries the provider after the pause.
    trial: Option<String>,
}

impl ProviderBreaker {
    pub(super) fn new(first: Duration) -> Self {
        Self { first, failed: BTreeSet::new(), open: None }
    }

    /// Allows a review to begin, or returns the time after which to ask again. After a pause, one review tries the provider, and the others wait
    /// for its end, or until it takes longer than the longest pause.
    pub(super) fn begin(&mut self, name: &str, now: Instant) -> Result<(), Duration> {
        if let Some(pause) = self.pause(now) {
            return Err(pause.min(self.first));
        }
        if let Some(open) = &mut self.open {
            (open.trial, open.until) = (Some(name.to_owned()), now + LONGEST);
        }
        Ok(())
    }

    /// Returns the time for which no review is begun, as far as it is known.
    pub(super) fn pause(&self, now: Instant) -> Option<Duration> {
        let open = self.open.as_ref()?;
        Some(open.until.saturating_duration_since(now).min(open.pause)).filter(|wait| !wait.is_zero())
    }

    /// Returns the number of pauses so far.
    pub(super) fn pauses(&self) -> u32 {
        self.open.as_ref().map_or(0, |open| open.pauses)
    }

    /// Counts the end of a review; returns the pause that begins with it.
    pub(super) fn end(&mut self, name: &str, entry: &BatchEntry, now: Instant) -> Option<Duration> {
        let is_trial = self.open.as_ref().is_some_and(|open| open.trial.as_deref() == Some(name));
        if let (true, Some(open)) = (is_trial, &mut self.open) {
            (open.trial, open.until) = (None, now);
        }
        let was_sent = entry.engine == Some(Engine::Model) && entry.source != ReviewSource::Unchanged;
        if !was_sent || entry.exit_code == 130 {
            return None;
        }
        if !is_provider_fault(entry) {
            (self.failed, self.open) = (BTreeSet::new(), None);
            return None;
        }
        if self.failed.len() < MOST {
            self.failed.insert(name.to_owned());
        }
        let (pause, pauses) = match &self.open {
            Some(open) if is_trial => ((open.pause * 2).min(LONGEST), open.pauses + 1),
            None if self.failed.len() >= MOST => (self.first, 1),
            _ => return None,
        };
        self.open = Some(OpenBreaker { pause, pauses, until: now + pause, trial: None });
        Some(pause)
    }
}

/// Checks whether a review failed because of its provider.
pub(in crate::app) fn is_provider_fault(entry: &BatchEntry) -> bool {
    entry.outcome == BatchOutcome::Failed && entry.exit_code == 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(outcome: BatchOutcome, code: u8) -> BatchEntry {
        let entry = BatchEntry::without_review("r", "n", outcome, String::new(), code);
        BatchEntry { engine: Some(Engine::Model), ..entry }
    }

    #[test]
    fn after_failures_in_a_row_one_review_at_a_time_tries_the_provider() {
        let (mut breaker, now) = (ProviderBreaker::new(FIRST), Instant::now());
        let (dead, fine) = (entry(BatchOutcome::Failed, 4), entry(BatchOutcome::Complete, 0));
        for name in ["a", "a", "b", "c", "d"] {
            assert_eq!(breaker.end(name, &dead, now), None);
        }
        breaker.end("e", &fine, now);
        for name in ["a", "b", "c", "d"] {
            assert_eq!(breaker.end(name, &dead, now), None, "a success came in between");
        }
        let missing = BatchEntry { engine: None, ..entry(BatchOutcome::Error, 2) };
        assert_eq!(breaker.end("f", &missing, now), None);
        assert_eq!(breaker.end("e", &dead, now), Some(FIRST));
        assert_eq!(breaker.end("f", &dead, now), None, "it had begun before");
        assert_eq!((breaker.begin("g", now), breaker.pause(now)), (Err(FIRST), Some(FIRST)));
        let later = now + FIRST;
        assert_eq!((breaker.pause(later), breaker.begin("g", later)), (None, Ok(())));
        assert!(breaker.begin("h", later).is_err() && breaker.pause(later).is_some(), "one at a time");
        assert_eq!((breaker.end("g", &dead, later), breaker.pauses()), (Some(FIRST * 2), 2));
        let later = later + FIRST * 2;
        breaker.begin("h", later).unwrap();
        assert_eq!(breaker.end("h", &fine, later), None);
        assert_eq!((breaker.begin("i", later), breaker.pause(later), breaker.pauses()), (Ok(()), None, 0));
    }

    #[test]
    fn a_trial_that_says_nothing_is_followed_by_another() {
        let (mut breaker, now) = (ProviderBreaker::new(FIRST), Instant::now());
        for name in ["a", "b", "c", "d", "e"] {
            breaker.end(name, &entry(BatchOutcome::Failed, 4), now);
        }
        let later = now + FIRST;
        breaker.begin("g", later).unwrap();
        breaker.end("g", &entry(BatchOutcome::Failed, 130), later);
        assert_eq!(breaker.begin("h", later), Ok(()));
    }
}
