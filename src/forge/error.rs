//! Failures of a forge, with advice for the user. Main types: [`ForgeError`], [`FaultKind`].

use std::time::Duration;

use crate::domain::words::words;
use crate::sys::cancel::CancelReason;

words! {
    /// The kind of a failure: row P23 of the compatibility table has these kinds, and [`Refused`](Self::Refused) is ours.
    pub enum FaultKind: as_str {
        /// There is no token, or the forge does not know it.
        Auth = "auth",
        /// The token may not do this.
        Permission = "permission",
        /// There is no such thing, or the token may not know of it.
        NotFound = "not_found",
        /// Too many requests.
        RateLimit = "rate_limit",
        /// The forge could not be reached, or failed.
        Network = "network",
        /// The response could not be read.
        Parse = "parse",
        /// It failed so often that it is not asked for a while.
        CircuitOpen = "circuit_open",
        /// The forge understood and said no (422, 409).
        Refused = "refused",
        /// The deadline passed, or somebody interrupted.
        Stopped = "stopped",
    }
}

impl FaultKind {
    /// Checks whether the same request may succeed later.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::RateLimit | Self::Network | Self::CircuitOpen)
    }
}

/// A failure of a forge. Its message says what happened; [`action`](Self::action) what to do about it. Neither holds the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {action}")]
pub struct ForgeError {
    /// The kind.
    pub kind: FaultKind,
    /// The message, with the forge's own words sanitized.
    pub message: String,
    /// The advice for the user.
    pub action: String,
    /// The HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// The wait that the forge asks for.
    pub retry_after: Option<Duration>,
    /// The forge's id of the request, by which its support finds it.
    pub request_id: Option<String>,
    /// `true` if the forge may have done what it was asked, so that asking again may do it twice.
    pub may_have_happened: bool,
    /// The reason for its cancellation, if it was cancelled.
    pub stopped: Option<CancelReason>,
}

impl ForgeError {
    /// A failure of which no more is known than this.
    pub fn new(kind: FaultKind, message: impl Into<String>, action: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            action: action.into(),
            status: None,
            retry_after: None,
            request_id: None,
            may_have_happened: false,
            stopped: None,
        }
    }
}

/// The time is over, or somebody asked to stop.
impl From<CancelReason> for ForgeError {
    fn from(stopped: CancelReason) -> Self {
        let action = match stopped {
            CancelReason::Interrupted => "run it again",
            CancelReason::DeadlinePassed => "give it more time",
        };
        Self { stopped: Some(stopped), ..Self::new(FaultKind::Stopped, stopped.to_string(), action) }
    }
}
