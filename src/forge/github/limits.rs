//! GitHub's limits: how an answer says that there were too many requests, and who waits for how long. Main types: [`ForgeRateLimits`], [`RateLimited`].
//!
//! Two kinds, as GitHub's pages on rate limits for REST and for GraphQL describe them: *primary* (so many an hour; `x-ratelimit-remaining: 0`,
//! and `x-ratelimit-reset` says when the hour ends) and *secondary* (too much at once; `retry-after`, or only words). GraphQL may say either with
//! a status of 200.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Deserialize;

use super::request::{ForgeResponse, GitHubApi};
use crate::sys::clock;

/// GitHub asks for a pause of a second between requests that create something, where there are many of them.
const BETWEEN_WRITES: Duration = Duration::from_secs(1);
/// The number of creating requests that are sent without delay: enough for one delivery.
const AT_ONCE: u32 = 4;
/// The wait that GitHub asks for after a secondary limit without a stated time.
const UNNAMED: Duration = Duration::from_mins(1);
/// No longer wait is believed: GitHub's windows are an hour long. A longer one is a mistake of somebody's clock.
const LONGEST: Duration = Duration::from_hours(1);

/// A rate limit that was hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RateLimited {
    pub(super) wait: Duration,
    /// `true` if it is the secondary limit: a retry may succeed.
    pub(super) is_secondary: bool,
}

/// The known rate limits. Shared by all clones of a client.
#[derive(Debug, Default)]
pub(super) struct ForgeRateLimits {
    /// When each interface may be asked again.
    blocked: Mutex<[Option<Instant>; 2]>,
    /// When all requests that created something would have been sent, had each waited for the one before.
    written_until: Mutex<Option<Instant>>,
}

impl ForgeRateLimits {
    /// Remembers a limit, so that nobody else runs into it.
    pub(super) fn remember(&self, api: GitHubApi, limited: RateLimited, now: Instant) {
        let mut blocked = self.blocked.lock().unwrap_or_else(PoisonError::into_inner);
        let until = now.checked_add(limited.wait);
        blocked[api.index()] = blocked[api.index()].max(until);
    }

    /// Returns the time for which this interface is blocked.
    pub(super) fn blocked_for(&self, api: GitHubApi, now: Instant) -> Duration {
        let blocked = self.blocked.lock().unwrap_or_else(PoisonError::into_inner);
        blocked[api.index()].map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    /// Takes the next place in the row of requests that create something: how long to wait for it.
    pub(super) fn queue(&self, now: Instant) -> Duration {
        let mut until = self.written_until.lock().unwrap_or_else(PoisonError::into_inner);
        let owed = until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        *until = now.checked_add(owed + BETWEEN_WRITES);
        owed.saturating_sub(BETWEEN_WRITES * (AT_ONCE - 1))
    }
}

/// The parts of an answer's body that may speak of a limit.
#[derive(Debug, Deserialize)]
struct LimitBody {
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: Vec<LimitText>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum LimitText {
    Said {
        #[serde(default, rename = "type")]
        kind: String,
        #[serde(default)]
        message: String,
    },
    Else(serde::de::IgnoredAny),
}

/// Checks whether an answer says that there were too many requests.
pub(super) fn detect_rate_limit(answer: &ForgeResponse, api: GitHubApi, now: SystemTime) -> Option<RateLimited> {
    let may = match answer.status {
        403 | 429 => true,
        200 => api == GitHubApi::GraphQl && speaks_of_a_limit(&answer.body),
        _ => false,
    };
    if !may {
        return None;
    }
    let words: LimitBody =
        serde_json::from_slice(&answer.body).unwrap_or(LimitBody { message: String::new(), errors: Vec::new() });
    let says_secondary = |text: &str| {
        let text = text.to_ascii_lowercase();
        text.contains("secondary rate limit") || text.contains("abuse detection")
    };
    let errors = || {
        words.errors.iter().filter_map(|word| match word {
            LimitText::Said { kind, message } => Some((kind.as_str(), message.as_str())),
            LimitText::Else(_) => None,
        })
    };
    let retry_after = answer.header("retry-after").and_then(wait);
    let is_used_up = answer.header("x-ratelimit-remaining").is_some_and(|left| left.trim() == "0");
    let is_secondary = says_secondary(&words.message) || errors().any(|(_, message)| says_secondary(message));
    let is_primary = errors().any(|(kind, _)| matches!(kind, "RATE_LIMITED" | "RATE_LIMIT"));
    if answer.status == 200 && !is_secondary && !is_primary {
        return None;
    }
    let reset = answer.header("x-ratelimit-reset").and_then(|at| until(at, now));
    if !is_secondary && (is_primary || is_used_up) {
        let wait = reset.or(retry_after).unwrap_or(UNNAMED).min(LONGEST);
        return Some(RateLimited { wait, is_secondary: false });
    }
    if is_secondary || retry_after.is_some() || answer.status == 429 {
        let wait = retry_after.or(reset.filter(|_| is_used_up)).unwrap_or(UNNAMED).min(LONGEST);
        return Some(RateLimited { wait, is_secondary: true });
    }
    None
}

/// Only then is a long answer read a second time.
fn speaks_of_a_limit(body: &[u8]) -> bool {
    ["RATE_LIMIT", "secondary rate limit"].iter().any(|word| memchr::memmem::find(body, word.as_bytes()).is_some())
}

/// `retry-after`: seconds or a date (RFC 9110 §10.2.3).
fn wait(text: &str) -> Option<Duration> {
    let text = text.trim();
    text.parse().ok().map(Duration::from_secs).or_else(|| clock::until_http_date(text))
}

/// `x-ratelimit-reset`: seconds since the epoch. One more, because both clocks are rounded.
fn until(text: &str, now: SystemTime) -> Option<Duration> {
    let at = UNIX_EPOCH.checked_add(Duration::from_secs(text.trim().parse().ok()?))?;
    Some(at.duration_since(now).unwrap_or_default() + Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_000)
    }

    fn answer(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> ForgeResponse {
        ForgeResponse::for_test(status, headers, body)
    }

    fn seconds(limited: Option<RateLimited>) -> Option<(u64, bool)> {
        limited.map(|limited| (limited.wait.as_secs(), limited.is_secondary))
    }

    #[test]
    fn the_primary_limit_ends_when_its_hour_does() {
        let used_up = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1030")];
        let body = r#"{"message":"API rate limit exceeded for user ID 1."}"#;
        for status in [403, 429] {
            assert_eq!(
                seconds(detect_rate_limit(&answer(status, &used_up, body), GitHubApi::Rest, now())),
                Some((31, false))
            );
        }
        let past = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "900")];
        assert_eq!(seconds(detect_rate_limit(&answer(403, &past, body), GitHubApi::Rest, now())), Some((1, false)));
    }

    #[test]
    fn the_secondary_limit_is_known_by_its_header_or_by_its_words() {
        let words = r#"{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}"#;
        assert_eq!(
            seconds(detect_rate_limit(&answer(403, &[("retry-after", "7")], words), GitHubApi::Rest, now())),
            Some((7, true))
        );
        let left = [("x-ratelimit-remaining", "4000"), ("x-ratelimit-reset", "4000")];
        assert_eq!(seconds(detect_rate_limit(&answer(403, &left, words), GitHubApi::Rest, now())), Some((60, true)));
        assert_eq!(seconds(detect_rate_limit(&answer(429, &[], "<html>"), GitHubApi::Rest, now())), Some((60, true)));
        assert_eq!(
            seconds(detect_rate_limit(&answer(403, &[("retry-after", "7")], ""), GitHubApi::Rest, now())),
            Some((7, true))
        );
    }

    #[test]
    fn graphql_says_it_with_a_status_of_200() {
        let body = r#"{"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}"#;
        let headers = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1010")];
        assert_eq!(
            seconds(detect_rate_limit(&answer(200, &headers, body), GitHubApi::GraphQl, now())),
            Some((11, false))
        );
        assert_eq!(detect_rate_limit(&answer(200, &headers, body), GitHubApi::Rest, now()), None);
        let quoted = r#"{"data":{"body":"we hit RATE_LIMITED and a secondary rate limit"}}"#;
        assert_eq!(
            detect_rate_limit(&answer(200, &headers, quoted), GitHubApi::GraphQl, now()),
            None,
            "a comment may speak of it"
        );
    }

    #[test]
    fn a_refusal_without_a_word_of_limits_is_none() {
        let body = r#"{"message":"Resource not accessible by integration","errors":["x",{"code":"y"}]}"#;
        let left = [("x-ratelimit-remaining", "4999")];
        assert_eq!(detect_rate_limit(&answer(403, &left, body), GitHubApi::Rest, now()), None);
        assert_eq!(detect_rate_limit(&answer(404, &[("retry-after", "3")], body), GitHubApi::Rest, now()), None);
    }

    #[test]
    fn no_wait_is_longer_than_an_hour() {
        let far = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "99999999999")];
        assert_eq!(
            detect_rate_limit(&answer(403, &far, ""), GitHubApi::Rest, now()).map(|limited| limited.wait),
            Some(LONGEST)
        );
    }

    #[test]
    fn a_limit_that_one_request_met_holds_for_all() {
        let (limits, now) = (ForgeRateLimits::default(), Instant::now());
        limits.remember(GitHubApi::Rest, RateLimited { wait: Duration::from_secs(9), is_secondary: false }, now);
        limits.remember(GitHubApi::Rest, RateLimited { wait: Duration::from_secs(2), is_secondary: true }, now);
        assert_eq!(limits.blocked_for(GitHubApi::Rest, now), Duration::from_secs(9));
        assert_eq!(limits.blocked_for(GitHubApi::GraphQl, now), Duration::ZERO);
        assert_eq!(limits.blocked_for(GitHubApi::Rest, now + Duration::from_secs(10)), Duration::ZERO);
    }

    #[test]
    fn many_requests_that_create_something_stand_a_second_apart() {
        let (limits, now) = (ForgeRateLimits::default(), Instant::now());
        let waits: Vec<u64> = (0..7).map(|_| limits.queue(now).as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 0, 1, 2, 3]);
        assert_eq!(
            limits.queue(now + Duration::from_secs(4)),
            Duration::ZERO,
            "those that wait have their turn by then"
        );
        assert_eq!(limits.queue(now + Duration::from_mins(1)), Duration::ZERO);
    }
}
