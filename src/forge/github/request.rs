//! A request and its answer. Main types: [`ForgeRequest`], [`ForgeResponse`].
//!
//! Sending one belongs in `send`.

use http::Method;
use http::header::{HeaderMap, HeaderValue};

/// The two interfaces; each has limits of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitHubApi {
    Rest,
    GraphQl,
}

impl GitHubApi {
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Rest => 0,
            Self::GraphQl => 1,
        }
    }
}

/// The effect of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestEffect {
    /// Nothing.
    Reads,
    /// Idempotent: it may be retried.
    Sets,
    /// It creates something: never sent again where it may have been done.
    Creates,
}

/// A request.
#[derive(Debug)]
pub(super) struct ForgeRequest {
    pub(super) api: GitHubApi,
    pub(super) method: Method,
    /// The whole address.
    pub(super) address: String,
    pub(super) body: Option<Vec<u8>>,
    /// The tag of what is known already.
    pub(super) tag: Option<String>,
    pub(super) login: Option<HeaderValue>,
    pub(super) effect: RequestEffect,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(super) struct ForgeResponse {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl ForgeResponse {
    /// A header's text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    #[cfg(test)]
    pub(super) fn for_test(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Self {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_static(value));
        }
        Self { status, headers: map, body: body.as_bytes().to_vec() }
    }
}
