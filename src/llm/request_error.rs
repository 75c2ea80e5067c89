//! Conversion of failures to a [`TurnFault`]: transport errors, error bodies, waits. Main type: [`FaultSource`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::context_overflow::is_too_long;
use super::fault::TurnFault;
use super::frames::ResponseFault;
use super::rate_limit::RateLimitHeaders;
use crate::domain::text::strip_line;
use crate::sys::clock;
use crate::sys::http::{BoxedCause, describe};

/// Maximum number of characters of a server's message that are shown.
const WORDS: usize = 300;

/// Longest wait that is believed; a longer one is taken for an error.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// Source of an error, and the secrets that its message must not repeat.
#[derive(Debug, Clone)]
pub(super) struct FaultSource {
    /// The provider's word.
    pub(super) provider: Arc<str>,
    /// The address, without credentials.
    pub(super) address: String,
    /// Keys and passwords that a server may echo.
    pub(super) secrets: Vec<crate::domain::secret::Secret>,
}

/// Failed attempt.
#[derive(Debug, Clone)]
pub(super) enum FailedRequest {
    /// The server returned an error status.
    Rejected(ErrorResponse),
    /// Anything else.
    Fault(TurnFault),
}

/// Error status with its details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ErrorResponse {
    /// The HTTP status.
    pub(super) status: u16,
    /// The body, or its beginning.
    pub(super) body: String,
    /// Requested wait before a retry.
    pub(super) retry_after: Option<Duration>,
    /// Target of a redirect.
    pub(super) location: Option<String>,
    pub(super) told: RateLimitHeaders,
}

impl ErrorResponse {
    /// Reads the head of a response.
    pub(super) fn new<'a>(status: u16, header: impl Fn(&str) -> Option<&'a str>) -> Self {
        let location = header("location").map(str::to_owned);
        let retry_after = wait(&header).map(|wait| wait.min(LONGEST_WAIT));
        // A wait after any other error applies to this request alone.
        let all_wait = retry_after.filter(|_| matches!(status, 429 | 503 | 529));
        let told = RateLimitHeaders::read(&header, all_wait, Instant::now());
        Self { status, body: String::new(), retry_after, location, told }
    }

    /// Returns the error with its body.
    pub(super) fn saying(self, body: String) -> Self {
        let retry_after = self.retry_after.or_else(|| wait_in(&body).map(|wait| wait.min(LONGEST_WAIT)));
        Self { body, retry_after, ..self }
    }
}

impl FaultSource {
    /// Converts an error status.
    pub(super) fn rejected(&self, rejected: &ErrorResponse) -> TurnFault {
        let said = match (&rejected.location, rejected.status) {
            (Some(location), 300..=399) => {
                let host = location.split(['?', '#']).next().unwrap_or_default();
                let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
                format!(
                    "it redirects to {host}, and nothing that holds a key follows there; set the address to where the server is"
                )
            }
            (_, _) => words(&rejected.body),
        };
        let said = if said.is_empty() { "it gives no reason".to_owned() } else { said };
        if let Some(window) = is_too_long(rejected.status, &rejected.body) {
            return TurnFault::TooLong { provider: self.provider.clone(), message: self.clean(&said), window };
        }
        TurnFault::Status {
            provider: self.provider.clone(),
            status: rejected.status,
            message: self.clean(&said),
            retry_after: rejected.retry_after,
        }
    }

    /// Converts an error within a response that began well.
    pub(super) fn answer(&self, trouble: ResponseFault) -> TurnFault {
        match trouble {
            ResponseFault::Said { status, message } if is_too_long(status.unwrap_or(400), &message).is_some() => {
                let window = is_too_long(status.unwrap_or(400), &message).flatten();
                TurnFault::TooLong { provider: self.provider.clone(), message: self.clean(&message), window }
            }
            ResponseFault::Said { status: Some(status), message } => TurnFault::Status {
                provider: self.provider.clone(),
                status,
                message: self.clean(&message),
                retry_after: None,
            },
            ResponseFault::Said { status: None, message } | ResponseFault::Cut(message) => {
                TurnFault::BrokenOff { provider: self.provider.clone(), message: self.clean(&message) }
            }
            ResponseFault::Unreadable(message) => self.unreadable(&message),
        }
    }

    /// Converts an unreadable response.
    pub(super) fn unreadable(&self, message: &str) -> TurnFault {
        TurnFault::Unreadable { provider: self.provider.clone(), message: self.clean(message) }
    }

    /// Creates the error for a timeout: no data arrived for too long.
    pub(super) fn timed_out(&self, quiet: Duration) -> TurnFault {
        TurnFault::Silent { provider: self.provider.clone(), quiet }
    }

    /// Converts a connection failure, before or after the response began.
    pub(super) fn connection_failed(&self, cause: BoxedCause, began: bool) -> TurnFault {
        let message = describe(cause);
        if began {
            TurnFault::BrokenOff { provider: self.provider.clone(), message: self.clean(&message) }
        } else {
            TurnFault::Unreachable {
                provider: self.provider.clone(),
                message: self.clean(&format!("{}: {message}", self.address)),
            }
        }
    }

    /// Returns one line of at most [`WORDS`] characters without secrets.
    fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if !secret.reveal().is_empty() {
                text = text.replace(secret.reveal(), "(the key)");
            }
        }
        let line = strip_line(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        if line.chars().count() <= WORDS {
            return line;
        }
        line.chars().take(WORDS - 1).chain(['…']).collect()
    }
}

/// Extracts the message from the body of an error: every provider has its own format, and a proxy in between has none.
fn words(body: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        let body = body.trim();
        return if body.starts_with('<') { "a page for people, not for programs".to_owned() } else { body.to_owned() };
    };
    let value = value.get(0).unwrap_or(&value);
    let places =
        ["/error/message", "/message", "/error", "/detail", "/detail/0/msg", "/errors/0/message", "/error/error"];
    let said = places.iter().find_map(|place| value.pointer(place)?.as_str().filter(|text| !text.trim().is_empty()));
    said.map_or_else(|| value.to_string(), str::to_owned)
}

/// Reads `retry-after-ms` (a number of several providers), `retry-after` (seconds or a date, RFC 9110 §10.2.3).
fn wait<'a>(header: &impl Fn(&str) -> Option<&'a str>) -> Option<Duration> {
    let number = |text: &str, unit: f64| {
        let seconds = text.trim().parse::<f64>().ok()? / unit;
        Duration::try_from_secs_f64(seconds.max(0.0)).ok()
    };
    header("retry-after-ms").and_then(|text| number(text, 1000.0)).or_else(|| {
        header("retry-after").and_then(|text| number(text, 1.0).or_else(|| clock::until_http_date(text.trim())))
    })
}

/// Reads Gemini's wait, which is in the body: `{"error": {"details": [{"retryDelay": "37s"}]}}`.
fn wait_in(body: &str) -> Option<Duration> {
    let value: Value = serde_json::from_str(body).ok()?;
    let value = value.get(0).unwrap_or(&value);
    let details = value.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}
