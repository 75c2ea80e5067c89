//! Rate limiter: requests and tokens per minute, from the settings and from the provider's headers. Main types: [`RateLimiters`] of a process, [`RateLimiter`] of
//! one key.
//!
//! A limit is respected by waiting before a request is sent, instead of running into refusals. All conversations of a process that use the same key
//! at the same address share one queue. The token bucket is our own, because the size of a turn is known only afterwards: the estimate is corrected
//! then, which may leave the bucket in debt, and a request larger than a minute's tokens is sent once the bucket is full. (`governor` has neither:
//! its cells are spent for good, and requests above its burst are refused forever.)

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::secret::Secret;
use crate::sys::clock;

/// A minute, in seconds.
const MINUTE: f64 = 60.0;
/// Longest reset time that is believed. A time farther away is about days, not minutes: then the request is sent, and the server refuses it.
const BELIEVED: Duration = Duration::from_mins(10);

/// Rate limit of a provider, as the user configured it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests per minute; `None` for no limit.
    pub requests: Option<u32>,
    /// Tokens a minute, sent and received, cached ones included; likewise.
    pub tokens: Option<u64>,
}

/// A provider, its address and a key.
type RateLimitKey = (String, String, String);

/// The lines of a process, one for each key at each address. Cloning it shares them.
#[derive(Clone, Default)]
pub struct RateLimiters(Arc<Mutex<RateLines>>);

#[derive(Default)]
struct RateLines {
    lines: HashMap<RateLimitKey, Arc<RateLimiter>>,
    /// The number of processes that divide each rate among them; 0 for this one alone.
    sharers: u32,
}

/// Without the keys.
impl fmt::Debug for RateLimiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Paces").finish_non_exhaustive()
    }
}

impl RateLimiters {
    /// Returns the rate limiter for a key; an existing one keeps its limits.
    pub(super) fn limiter_for(
        &self,
        provider: &str,
        address: &str,
        key: Option<&Secret>,
        rate: RateLimit,
    ) -> Arc<RateLimiter> {
        let key = key.map_or_else(String::new, |key| key.reveal().to_owned());
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let RateLines { lines, sharers } = &mut *guard;
        let line = lines.entry((provider.to_owned(), address.to_owned(), key));
        Arc::clone(line.or_insert_with(|| {
            let now = Instant::now();
            let line = RateLimiter::new(rate, now);
            if *sharers > 1 {
                line.share(*sharers, now);
                // The others may have sent a minute's requests a moment ago.
                line.empty();
            }
            Arc::new(line)
        }))
    }

    /// Divides each rate of the settings among this many processes, in equal parts.
    pub fn share(&self, sharers: u32) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guard.sharers = sharers;
        guard.lines.values().for_each(|line| line.share(sharers, Instant::now()));
    }
}

/// The line of one key.
pub(super) struct RateLimiter(Mutex<LimiterState>);

struct LimiterState {
    /// Limits from the settings.
    requests: Option<QuotaBucket>,
    tokens: Option<QuotaBucket>,
    /// Latest limits from the provider.
    told: RateLimitHeaders,
}

/// Token bucket: its level, and how fast it refills.
#[derive(Debug, Clone, Copy)]
struct QuotaBucket {
    /// Amount that all sharers together may use per minute.
    whole: f64,
    /// Amount that is refilled per minute, which is also the capacity.
    minute: f64,
    /// Current level; negative while in debt.
    level: f64,
    at: Instant,
}

impl QuotaBucket {
    fn new(minute: f64, now: Instant) -> Self {
        Self { whole: minute, minute, level: minute, at: now }
    }

    fn share(&mut self, sharers: u32, now: Instant) {
        self.fill(now);
        self.minute = self.whole / f64::from(sharers.max(1));
        self.level = self.level.min(self.minute);
    }

    fn fill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.level = (self.level + passed * self.minute / MINUTE).min(self.minute);
        self.at = now;
    }

    /// Returns the time until `amount` is available, or the whole capacity if that is less.
    fn wait(&self, amount: f64) -> Duration {
        let missing = amount.min(self.minute) - self.level;
        Duration::try_from_secs_f64((missing * MINUTE / self.minute).max(0.0)).unwrap_or(BELIEVED)
    }
}

/// Rate-limit headers of a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RateLimitHeaders {
    requests: Option<RemainingQuota>,
    tokens: Option<RemainingQuota>,
    /// Time before which nothing may be sent.
    not_before: Option<Instant>,
}

/// Remaining quota until a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RemainingQuota {
    amount: u64,
    until: Instant,
}

impl RateLimitHeaders {
    /// Reads the headers of a response; `retry_after` is the wait it requests after a refusal.
    pub(super) fn read<'a>(
        header: impl Fn(&str) -> Option<&'a str>,
        retry_after: Option<Duration>,
        now: Instant,
    ) -> Self {
        let left = |remaining: &str, reset: &str| {
            let amount = header(remaining)?.trim().parse().ok()?;
            let wait = reset_in(header(reset)?)?;
            (wait <= BELIEVED).then(|| RemainingQuota { amount, until: now + wait })
        };
        let least = |one: Option<RemainingQuota>, other: Option<RemainingQuota>| match (one, other) {
            (Some(one), Some(other)) => Some(if other.amount < one.amount { other } else { one }),
            (one, other) => one.or(other),
        };
        let anthropic = |what: &str| {
            left(&format!("anthropic-ratelimit-{what}-remaining"), &format!("anthropic-ratelimit-{what}-reset"))
        };
        let common = |what: &str| left(&format!("x-ratelimit-remaining-{what}"), &format!("x-ratelimit-reset-{what}"));
        let bare = left("x-ratelimit-remaining", "x-ratelimit-reset");
        Self {
            requests: anthropic("requests").or_else(|| common("requests")).or(bare),
            tokens: least(least(anthropic("tokens"), anthropic("input-tokens")), common("tokens")),
            not_before: retry_after.filter(|wait| *wait <= BELIEVED).map(|wait| now + wait),
        }
    }
}

/// Parses the time until a limit resets: a duration (`6m0s`), a time (RFC 3339), seconds from now, or a Unix time.
fn reset_in(text: &str) -> Option<Duration> {
    /// Seconds from now are fewer.
    const EPOCH: f64 = 1e9;
    /// Seconds since 1970 are fewer, milliseconds are more.
    const MILLIS: f64 = 1e11;
    let text = text.trim();
    let Ok(number) = text.parse::<f64>() else { return clock::length(text).or_else(|| clock::until_rfc3339(text)) };
    if number < EPOCH {
        return Duration::try_from_secs_f64(number).ok();
    }
    let number: i64 = text.split('.').next()?.parse().ok()?;
    clock::until_epoch(if i64_to_f64(number) < MILLIS { number.saturating_mul(1_000) } else { number })
}

#[expect(clippy::cast_precision_loss, reason = "a time to the second, and an amount to the token, are near enough")]
const fn i64_to_f64(number: i64) -> f64 {
    number as f64
}

/// Converts a number to the unit of buckets.
fn amount(number: u64) -> f64 {
    i64_to_f64(i64::try_from(number).unwrap_or(i64::MAX))
}

impl RateLimiter {
    fn new(rate: RateLimit, now: Instant) -> Self {
        let bucket = |minute: u64| QuotaBucket::new(amount(minute.max(1)), now);
        Self(Mutex::new(LimiterState {
            requests: rate.requests.map(|minute| bucket(u64::from(minute))),
            tokens: rate.tokens.map(bucket),
            told: RateLimitHeaders::default(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, LimiterState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Divides the rates among this many processes.
    fn share(&self, sharers: u32, now: Instant) {
        let mut guard = self.state();
        let LimiterState { requests, tokens, .. } = &mut *guard;
        requests.iter_mut().chain(tokens).for_each(|bucket| bucket.share(sharers, now));
    }

    /// Lets the first requests wait as if others had just been sent.
    fn empty(&self) {
        let mut guard = self.state();
        let LimiterState { requests, tokens, .. } = &mut *guard;
        requests.iter_mut().chain(tokens).for_each(|bucket| bucket.level = 0.0);
    }

    /// Checks whether the number of tokens of a request matters.
    pub(super) fn counts_tokens(&self) -> bool {
        let state = self.state();
        state.tokens.is_some() || state.told.tokens.is_some()
    }

    /// Enqueues a request of about this many tokens; returns its ticket and the time until it may be sent. Dropping a ticket unused frees its place.
    pub(super) fn enqueue(self: &Arc<Self>, tokens: u64, now: Instant) -> (RateLimitTicket, Duration) {
        let mut guard = self.state();
        let state = &mut *guard;
        let mut wait = Duration::ZERO;
        for (bucket, need) in [(&mut state.requests, 1.0), (&mut state.tokens, amount(tokens))] {
            let Some(bucket) = bucket else { continue };
            bucket.fill(now);
            wait = wait.max(bucket.wait(need));
            bucket.level -= need;
        }
        let wait = wait.max(state.gate(tokens, now));
        drop(guard);
        (RateLimitTicket { pace: Arc::clone(self), tokens, is_used: false }, wait)
    }

    /// Returns the remaining wait at the head of the queue: the provider may have changed it meanwhile.
    pub(super) fn gate(&self, tokens: u64, now: Instant) -> Duration {
        self.state().gate(tokens, now)
    }

    /// Applies the provider's headers.
    pub(super) fn apply_headers(&self, told: RateLimitHeaders) {
        let mut state = self.state();
        let RateLimitHeaders { requests, tokens, not_before } = told;
        state.told.requests = requests.or(state.told.requests);
        state.told.tokens = tokens.or(state.told.tokens);
        state.told.not_before = not_before.max(state.told.not_before);
    }
}

impl LimiterState {
    /// Returns the wait that the provider requires before this many tokens; a request that is sent at once is subtracted from its quota.
    fn gate(&mut self, tokens: u64, now: Instant) -> Duration {
        let mut until = self.told.not_before.filter(|until| *until > now);
        self.told.not_before = until;
        for (left, need) in [(&mut self.told.requests, 1), (&mut self.told.tokens, tokens)] {
            let Some(known) = left.filter(|known| known.until > now) else {
                *left = None;
                continue;
            };
            if known.amount < need {
                until = until.max(Some(known.until));
            } else if until.is_none() {
                *left = Some(RemainingQuota { amount: known.amount - need, ..known });
            }
        }
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }
}

/// A place in the line.
pub(super) struct RateLimitTicket {
    pace: Arc<RateLimiter>,
    tokens: u64,
    is_used: bool,
}

impl RateLimitTicket {
    /// Marks the request as sent.
    pub(super) fn send(&mut self) {
        self.is_used = true;
    }

    /// Corrects the estimate to the tokens that were sent and received, if known.
    pub(super) fn correct_tokens(self, took: Option<u64>) {
        let Some(took) = took else { return };
        if let Some(bucket) = &mut self.pace.state().tokens {
            bucket.level += amount(self.tokens) - amount(took);
        }
    }
}

impl Drop for RateLimitTicket {
    fn drop(&mut self) {
        if self.is_used {
            return;
        }
        let mut guard = self.pace.state();
        let state = &mut *guard;
        for (bucket, need) in [(&mut state.requests, 1.0), (&mut state.tokens, amount(self.tokens))] {
            if let Some(bucket) = bucket {
                bucket.level += need;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn pace(requests: Option<u32>, tokens: Option<u64>, now: Instant) -> Arc<RateLimiter> {
        Arc::new(RateLimiter::new(RateLimit { requests, tokens }, now))
    }

    /// Joins, sends, and says how long it was to wait.
    fn send(pace: &Arc<RateLimiter>, tokens: u64, now: Instant) -> Duration {
        let (mut ticket, wait) = pace.enqueue(tokens, now);
        ticket.send();
        wait
    }

    #[test]
    fn without_a_limit_nobody_waits() {
        let now = Instant::now();
        let pace = pace(None, None, now);
        assert!((0..1_000).all(|_| send(&pace, 1_000_000, now).is_zero()));
        assert!(!pace.counts_tokens());
    }

    #[test]
    fn requests_wait_one_behind_the_other() {
        let now = Instant::now();
        let pace = pace(Some(2), None, now);
        let waits: Vec<u64> = (0..4).map(|_| send(&pace, 1, now).as_secs()).collect();
        assert_eq!(waits, [0, 0, 30, 60]);
        assert_eq!(send(&pace, 1, now + 90 * SECOND), Duration::ZERO, "what was waited for has come back");
    }

    #[test]
    fn a_place_that_is_not_used_is_given_back() {
        let now = Instant::now();
        let pace = pace(Some(1), Some(100), now);
        drop(pace.enqueue(100, now));
        assert_eq!(send(&pace, 100, now), Duration::ZERO);
    }

    #[test]
    fn tokens_are_put_right_afterwards_and_may_leave_a_debt() {
        let now = Instant::now();
        let pace = pace(None, Some(600), now);
        let (mut ticket, wait) = pace.enqueue(100, now);
        assert_eq!(wait, Duration::ZERO);
        ticket.send();
        ticket.correct_tokens(Some(900));
        // 300 are owed and 100 are wanted, at ten a second.
        assert_eq!(send(&pace, 100, now), 40 * SECOND);
    }

    #[test]
    fn a_request_larger_than_a_minute_is_sent_once_all_is_there() {
        let now = Instant::now();
        let pace = pace(None, Some(600), now);
        assert_eq!(send(&pace, 6_000, now), Duration::ZERO);
        assert_eq!(send(&pace, 10, now), Duration::from_secs(541), "the debt first, then its own");
    }

    #[test]
    fn the_headers_of_providers_are_understood() {
        let now = Instant::now();
        let read = |headers: &'static [(&'static str, &'static str)]| {
            let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            RateLimitHeaders::read(header, None, now)
        };
        let openai = read(&[
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-remaining-tokens", "120"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ]);
        assert_eq!(openai.requests, Some(RemainingQuota { amount: 0, until: now + SECOND }));
        assert_eq!(openai.tokens, Some(RemainingQuota { amount: 120, until: now + 360 * SECOND }));
        let anthropic = read(&[
            ("anthropic-ratelimit-requests-remaining", "3"),
            ("anthropic-ratelimit-requests-reset", "1994-11-06T08:49:37Z"),
            ("anthropic-ratelimit-tokens-remaining", "900"),
            ("anthropic-ratelimit-tokens-reset", "1994-11-06T08:49:37Z"),
            ("anthropic-ratelimit-input-tokens-remaining", "800"),
            ("anthropic-ratelimit-input-tokens-reset", "1994-11-06T08:49:37Z"),
        ]);
        assert_eq!(anthropic.requests, Some(RemainingQuota { amount: 3, until: now }));
        assert_eq!(anthropic.tokens, Some(RemainingQuota { amount: 800, until: now }));
        let bare = read(&[("x-ratelimit-remaining", "5"), ("x-ratelimit-reset", "784111777000")]);
        assert_eq!(bare.requests, Some(RemainingQuota { amount: 5, until: now }));
        for odd in ["soon", "-3", "9e99", "", "25h"] {
            let headers = [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", odd)];
            let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            assert_eq!(
                RateLimitHeaders::read(header, Some(Duration::from_hours(2)), now),
                RateLimitHeaders::default(),
                "{odd:?}"
            );
        }
    }

    #[test]
    fn what_a_provider_says_holds_for_all_until_it_is_over() {
        let now = Instant::now();
        let pace = pace(None, None, now);
        let left = |amount, seconds| Some(RemainingQuota { amount, until: now + seconds * SECOND });
        pace.apply_headers(RateLimitHeaders { requests: left(1, 20), tokens: left(500, 40), not_before: None });
        assert!(pace.counts_tokens());
        assert_eq!(send(&pace, 100, now), Duration::ZERO);
        assert_eq!(send(&pace, 100, now), 20 * SECOND, "the one request that was left is under way");
        assert_eq!(send(&pace, 900, now + 21 * SECOND), 19 * SECOND);
        assert_eq!(send(&pace, 900, now + 41 * SECOND), Duration::ZERO);
        pace.apply_headers(RateLimitHeaders { not_before: Some(now + 50 * SECOND), ..RateLimitHeaders::default() });
        assert_eq!(pace.gate(1, now + 41 * SECOND), 9 * SECOND);
    }

    #[test]
    fn processes_divide_a_rate_among_them() {
        let now = Instant::now();
        let pace = pace(Some(6), None, now);
        pace.share(3, now);
        let waits: Vec<u64> = (0..4).map(|_| send(&pace, 1, now).as_secs()).collect();
        assert_eq!(waits, [0, 0, 30, 60], "two a minute");
        pace.share(1, now + 90 * SECOND);
        assert_eq!(send(&pace, 1, now + 90 * SECOND), Duration::ZERO);
        assert_eq!(send(&pace, 1, now + 90 * SECOND), 10 * SECOND, "six a minute again");
        let paces = RateLimiters::default();
        paces.share(2);
        let line = paces.limiter_for("p", "https://a", None, RateLimit { requests: Some(6), tokens: None });
        assert!(send(&line, 1, Instant::now()) > 15 * SECOND, "one that joins does not begin with a full minute");
    }

    #[test]
    fn one_key_at_one_address_is_one_line() {
        let paces = RateLimiters::default();
        let key = |key: &str| Secret::new(key);
        let rate = RateLimit { requests: Some(1), tokens: None };
        let line =
            |provider: &str, address: &str, key: &Secret| paces.clone().limiter_for(provider, address, Some(key), rate);
        let one = line("p", "https://a", &key("k"));
        assert!(Arc::ptr_eq(&one, &line("p", "https://a", &key("k"))));
        for other in
            [line("q", "https://a", &key("k")), line("p", "https://b", &key("k")), line("p", "https://a", &key("l"))]
        {
            assert!(!Arc::ptr_eq(&one, &other));
        }
        assert!(!format!("{paces:?}").contains('k'));
    }
}
