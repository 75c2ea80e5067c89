//! One request: its deadline, how large its answer may be, how often it is tried, where it may be redirected. Main types: [`ForgeRequest`], [`ForgeResponse`].
//!
//! A token goes to the address that the user gave and nowhere else: a redirect to another server ends the request.

use std::time::{Duration, Instant, SystemTime};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, IF_NONE_MATCH, USER_AGENT};
use http::{Method, Request, Uri};

use super::request::{ForgeRequest, ForgeResponse, GitHubApi, RequestEffect};
use super::{GitHub, limits};
use crate::forge::error::{FaultKind, ForgeError};
use crate::sys::cancel::CancelReason;
use crate::sys::http::{BoxedCause, RequestFailure, classify_failure};

/// The largest answer that is read, in bytes.
const LARGEST: usize = 64 << 20;
/// A server that takes longer for one answer has lost the request. GitHub gives up after ten seconds.
const SLOWEST: Duration = Duration::from_mins(1);
/// The longest limit that is waited for.
const LONGEST_WAIT: Duration = Duration::from_mins(2);
/// Tries after the first one.
const MORE_TRIES: usize = 2;
/// The number of redirects that one request follows: a repository may have been renamed more than once.
const REDIRECTS: usize = 3;

/// The reason why there is no answer.
enum LostResponse {
    Transport(RequestFailure),
    TooLarge,
    Stopped(CancelReason),
}

/// The decision after a failed attempt.
enum RetryDecision {
    /// It failed for good.
    Fail(ForgeError),
    /// It may be tried again after a short wait.
    Again(ForgeError),
    /// It may be tried again when a limit ends.
    After(Duration, ForgeError),
    Elsewhere(Uri),
}

impl GitHub {
    /// Sends a request until there is an answer that is a success (or that nothing changed), or until it failed for good.
    pub(super) async fn send(&self, ask: &ForgeRequest) -> Result<ForgeResponse, ForgeError> {
        let leave = self.shared.breaker.acquire(Instant::now()).map_err(|wait| self.shared.blame.circuit_open(wait))?;
        let sent = self.tries(ask).await;
        match &sent {
            Err(error) if error.kind == FaultKind::Network => leave.record_failure(Instant::now()),
            Err(error) if error.kind == FaultKind::Stopped => drop(leave),
            Err(error) if error.kind == FaultKind::Auth => {
                // An App's token may have been taken back: the next request gets another.
                self.forget_tokens();
                leave.record_success();
            }
            _ => leave.record_success(),
        }
        sent
    }

    async fn tries(&self, ask: &ForgeRequest) -> Result<ForgeResponse, ForgeError> {
        let blame = &self.shared.blame;
        let unfit = |why: http::uri::InvalidUri| blame.unreadable(None, &why.to_string());
        let mut uri: Uri = ask.address.parse().map_err(unfit)?;
        let waits = ExponentialBuilder::new().with_min_delay(self.shared.first_wait).with_max_times(MORE_TRIES);
        let mut waits = waits.with_jitter().build();
        let mut redirects = 0;
        loop {
            self.turn(ask).await?;
            let next = match self.once(ask, &uri).await {
                Ok(answer) => match self.judge(ask, &answer, &uri) {
                    None => return Ok(answer),
                    Some(next) => next,
                },
                Err(lost) => self.lost(ask, lost),
            };
            match next {
                RetryDecision::Fail(error) => return Err(error),
                RetryDecision::Elsewhere(to) if redirects < REDIRECTS => {
                    redirects += 1;
                    uri = to;
                }
                RetryDecision::Elsewhere(_) => return Err(blame.unreadable(None, "it redirects without end")),
                RetryDecision::Again(error) => match waits.next() {
                    Some(wait) if self.has_time_for(wait) => self.pause(wait).await?,
                    _ => return Err(error),
                },
                RetryDecision::After(wait, error) => match waits.next() {
                    Some(_) if wait <= LONGEST_WAIT && self.has_time_for(wait) => self.pause(wait).await?,
                    _ => return Err(error),
                },
            }
        }
    }

    /// Waits until a request may go: a known limit has ended, and the one before it is long enough ago.
    async fn turn(&self, ask: &ForgeRequest) -> Result<(), ForgeError> {
        self.cancel.check()?;
        let limits = &self.shared.limits;
        let blocked = limits.blocked_for(ask.api, Instant::now());
        if !blocked.is_zero() {
            if blocked > LONGEST_WAIT || !self.has_time_for(blocked) {
                let limited = limits::RateLimited { wait: blocked, is_secondary: false };
                return Err(self.shared.blame.rate_limited(limited, None));
            }
            self.pause(blocked).await?;
        }
        if ask.effect == RequestEffect::Creates {
            self.pause(limits.queue(Instant::now())).await?;
        }
        Ok(())
    }

    /// One try.
    async fn once(&self, ask: &ForgeRequest, uri: &Uri) -> Result<ForgeResponse, LostResponse> {
        let request = request(ask, uri).map_err(|error| {
            LostResponse::Transport(RequestFailure { message: error.to_string(), is_before_sending: true })
        })?;
        let way = match ask.api {
            GitHubApi::Rest => &self.shared.rest,
            GitHubApi::GraphQl => &self.shared.graphql,
        };
        let exchange = async {
            let mut answer = way
                .http
                .send(request)
                .await
                .map_err(|error| LostResponse::Transport(classify_failure(error.as_ref())))?;
            let mut body = Vec::new();
            // Once the answer has begun, the request was received.
            let broken =
                |error: BoxedCause| RequestFailure { is_before_sending: false, ..classify_failure(error.as_ref()) };
            while let Some(piece) = answer.next_piece().await.map_err(|error| LostResponse::Transport(broken(error)))? {
                body.extend_from_slice(&piece);
                if body.len() > LARGEST {
                    return Err(LostResponse::TooLarge);
                }
            }
            Ok(ForgeResponse { status: answer.status(), headers: answer.headers().clone(), body })
        };
        tokio::select! {
            biased;
            answer = tokio::time::timeout(SLOWEST, exchange) => answer.unwrap_or_else(|_| {
                let message = format!("no answer came for {} seconds", SLOWEST.as_secs());
                Err(LostResponse::Transport(RequestFailure { message, is_before_sending: false }))
            }),
            stopped = self.cancel.until_stopped() => Err(LostResponse::Stopped(stopped)),
        }
    }

    /// Decides what to do about a response; `None` if it is usable.
    fn judge(&self, ask: &ForgeRequest, answer: &ForgeResponse, uri: &Uri) -> Option<RetryDecision> {
        if let Some(limited) = limits::detect_rate_limit(answer, ask.api, SystemTime::now()) {
            self.shared.limits.remember(ask.api, limited, Instant::now());
            return Some(RetryDecision::After(limited.wait, self.shared.blame.rate_limited(limited, Some(answer))));
        }
        match answer.status {
            200 if ask.api == GitHubApi::GraphQl => {
                // Not a word of it was carried out or read: GitHub ran out of time.
                let error = self.failed_inside(answer).map(|error| unsure(ask, error))?;
                Some(RetryDecision::Again(error))
            }
            200..=299 => None,
            304 if ask.tag.is_some() => None,
            301 | 302 | 307 | 308 => {
                // Only the latter two say that any method may be repeated there.
                let may = ask.method == Method::GET || matches!(answer.status, 307 | 308);
                let to = answer.header("location").filter(|_| may).and_then(|to| same_server(uri, to));
                Some(to.map_or_else(
                    || RetryDecision::Fail(self.shared.blame.status_error(ask.api, answer)),
                    RetryDecision::Elsewhere,
                ))
            }
            status @ 500.. => {
                let error = unsure(ask, self.shared.blame.status_error(ask.api, answer));
                let may_repeat = status != 501 && ask.effect != RequestEffect::Creates;
                Some(if may_repeat { RetryDecision::Again(error) } else { RetryDecision::Fail(error) })
            }
            _ => Some(RetryDecision::Fail(self.shared.blame.status_error(ask.api, answer))),
        }
    }

    fn lost(&self, ask: &ForgeRequest, lost: LostResponse) -> RetryDecision {
        match lost {
            LostResponse::Transport(why) => {
                let error = self.shared.blame.no_response(&why);
                match (why.is_before_sending, ask.effect) {
                    (true, _) => RetryDecision::Again(error),
                    (false, RequestEffect::Creates) => RetryDecision::Fail(unsure(ask, error)),
                    (false, _) => RetryDecision::Again(unsure(ask, error)),
                }
            }
            LostResponse::TooLarge => {
                let error = self.shared.blame.unreadable(None, &format!("it is larger than {LARGEST} bytes"));
                RetryDecision::Fail(unsure(ask, error))
            }
            LostResponse::Stopped(stopped) => RetryDecision::Fail(unsure(ask, stopped.into())),
        }
    }

    fn has_time_for(&self, wait: Duration) -> bool {
        self.cancel.remaining().is_none_or(|left| wait < left)
    }

    async fn pause(&self, wait: Duration) -> Result<(), ForgeError> {
        tokio::select! {
            biased;
            stopped = self.cancel.until_stopped() => Err(stopped.into()),
            () = tokio::time::sleep(wait) => Ok(()),
        }
    }
}

fn request(ask: &ForgeRequest, uri: &Uri) -> Result<Request<Vec<u8>>, http::Error> {
    let mut request = Request::builder().method(ask.method.clone()).uri(uri.clone());
    request = request
        .header(ACCEPT, "application/vnd.github+json")
        .header(USER_AGENT, concat!("review/", env!("CARGO_PKG_VERSION")))
        .header("x-github-api-version", "2022-11-28");
    if let Some(login) = &ask.login {
        request = request.header(AUTHORIZATION, login.clone());
    }
    if let Some(tag) = &ask.tag {
        request = request.header(IF_NONE_MATCH, tag);
    }
    match &ask.body {
        Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.clone()),
        None => request.body(Vec::new()),
    }
}

/// Marks the failure as one of a request that may have taken effect.
fn unsure(ask: &ForgeRequest, error: ForgeError) -> ForgeError {
    ForgeError { may_have_happened: ask.effect != RequestEffect::Reads, ..error }
}

/// Returns the target of a redirect, if it stays on the same server.
fn same_server(from: &Uri, to: &str) -> Option<Uri> {
    let to: Uri = to.parse().ok()?;
    let mut parts = from.clone().into_parts();
    if let Some(authority) = to.authority() {
        let same_scheme = to.scheme() == from.scheme();
        let same_host = from.host().is_some_and(|host| host.eq_ignore_ascii_case(authority.host()));
        if !same_scheme || !same_host || to.port_u16() != from.port_u16() || authority.as_str().contains('@') {
            return None;
        }
    }
    parts.path_and_query = Some(to.path_and_query().filter(|path| path.as_str().starts_with('/'))?.clone());
    Uri::from_parts(parts).ok()
}
