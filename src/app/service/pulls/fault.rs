//! Errors of pull request operations, for the client. Main type: [`PullFault`].

use std::time::Duration;

use crate::forge::{FaultKind, ForgeError};

/// The kind of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PullFaultKind {
    /// The forge failed, or refused the request.
    Forge(FaultKind),
    /// The request is invalid.
    InvalidInput,
    /// An id matches several remarks.
    Ambiguous,
    /// The server is read-only.
    ReadOnly,
    /// This server does not serve pull requests.
    Off,
    /// The server is at its capacity.
    Busy,
    /// An internal error.
    Broken,
}

impl PullFaultKind {
    /// The name used in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Forge(kind) => kind.as_str(),
            Self::InvalidInput => "invalid_input",
            Self::Ambiguous => "ambiguous",
            Self::ReadOnly => "read_only",
            Self::Off => "off",
            Self::Busy => "busy",
            Self::Broken => "internal",
        }
    }

    /// `true` if a retry may succeed.
    pub const fn is_retryable(self) -> bool {
        match self {
            // A retry may be faster.
            Self::Forge(FaultKind::Stopped) | Self::Busy => true,
            Self::Forge(kind) => kind.is_retryable(),
            Self::InvalidInput | Self::Ambiguous | Self::ReadOnly | Self::Off | Self::Broken => false,
        }
    }
}

/// A failure: what happened, and what to do about it. Contains no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PullFault {
    /// Its kind.
    pub kind: PullFaultKind,
    /// A description of the failure.
    pub message: String,
    /// The action that the client, or the operator of the server, can take.
    pub action: String,
    /// The delay that the forge requests.
    pub retry_after: Option<Duration>,
    /// The forge's id of the request.
    pub correlation: Option<String>,
}

impl PullFault {
    /// Creates a fault of this server.
    pub(super) fn new(kind: PullFaultKind, message: impl Into<String>, action: impl Into<String>) -> Self {
        Self { kind, message: message.into(), action: action.into(), retry_after: None, correlation: None }
    }

    /// An invalid request.
    pub(super) fn input(message: impl Into<String>, action: impl Into<String>) -> Self {
        Self::new(PullFaultKind::InvalidInput, message, action)
    }

    /// A missing object.
    pub(super) fn not_found(message: impl Into<String>, action: impl Into<String>) -> Self {
        Self::new(PullFaultKind::Forge(FaultKind::NotFound), message, action)
    }
}

impl From<ForgeError> for PullFault {
    fn from(error: ForgeError) -> Self {
        let ForgeError { kind, mut message, mut action, retry_after, request_id, .. } = error;
        // A client of a server set no time limit and cannot raise one.
        if kind == FaultKind::Stopped {
            "the forge took too long to answer".clone_into(&mut message);
            "ask again later".clone_into(&mut action);
        }
        Self { kind: PullFaultKind::Forge(kind), message, action, retry_after, correlation: request_id }
    }
}
