//! Errors of turns. Main type: [`TurnFault`].

use std::sync::Arc;
use std::time::Duration;

/// Reasons why an attempt at a turn failed. The messages are one line, name the cause, and hold nothing secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum TurnFault {
    /// The server returned an error status.
    #[error("{provider} answered {status}: {message}{}", hint(*status))]
    Status {
        provider: Arc<str>,
        status: u16,
        /// Message of the server: one line, at most 300 characters.
        message: String,
        retry_after: Option<Duration>,
    },
    /// The conversation exceeds the context window.
    #[error("{provider} says that the conversation is too long: {message}")]
    TooLong {
        provider: Arc<str>,
        /// Message of the server: one line, at most 300 characters.
        message: String,
        /// Context window in tokens, if the server reports it.
        window: Option<u64>,
    },
    /// Its limits of requests or tokens a minute would have let the request through too late.
    #[error("{provider} may not be asked for another {} s, and there is not so much time", wait.as_secs().max(1))]
    Paced { provider: Arc<str>, wait: Duration },
    /// The connection failed, or was lost before a response began.
    #[error("{provider} could not be reached: {message}")]
    Unreachable {
        provider: Arc<str>,
        /// Description, including the address without credentials.
        message: String,
    },
    /// The response was interrupted.
    #[error("{provider} broke off in the middle of its answer: {message}")]
    BrokenOff { provider: Arc<str>, message: String },
    /// No data arrived for too long.
    #[error("{provider} sent nothing for {} s", quiet.as_secs())]
    Silent { provider: Arc<str>, quiet: Duration },
    /// The response is not what the provider's API promises.
    #[error("{provider} sent an answer that cannot be read: {message}")]
    Unreadable { provider: Arc<str>, message: String },
    /// The program of an assistant ended before its task.
    #[error("{provider} ended {message}")]
    Ended { provider: Arc<str>, message: String },
}

/// Returns what the user can check, if the status says that it is up to them.
fn hint(status: u16) -> &'static str {
    match status {
        401 | 403 => " (is the key right, and may it use this model?)",
        402 => " (is there credit left in the account?)",
        404 => " (are the model's name and the address right?)",
        _ => "",
    }
}

impl TurnFault {
    /// Checks whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            // An account without credit gets the same status as one that is rate-limited; only the words differ.
            Self::Status { status: 429, message, .. } if message.contains("billing") => false,
            Self::Status { status, .. } => matches!(status, 408 | 409 | 425 | 429 | 500..=599),
            Self::Unreachable { .. } | Self::BrokenOff { .. } | Self::Silent { .. } => true,
            Self::TooLong { .. } | Self::Paced { .. } | Self::Unreadable { .. } | Self::Ended { .. } => false,
        }
    }

    /// Checks whether the server responds, but does not accept this request, now or later.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Status { .. }) && !self.is_transient()
    }

    /// Checks whether the attempt may have cost something that was not reported: the server began to respond, or may have.
    pub fn may_have_cost(&self) -> bool {
        match self {
            Self::BrokenOff { .. } | Self::Silent { .. } | Self::Unreadable { .. } | Self::Ended { .. } => true,
            Self::Status { .. } | Self::TooLong { .. } | Self::Paced { .. } | Self::Unreachable { .. } => false,
        }
    }

    /// Returns how long the server asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            Self::TooLong { .. }
            | Self::Paced { .. }
            | Self::Unreachable { .. }
            | Self::BrokenOff { .. }
            | Self::Silent { .. }
            | Self::Unreadable { .. }
            | Self::Ended { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_look_at_and_a_busy_server_does_not() {
        let said = |status| {
            let message = "no".to_owned();
            TurnFault::Status { provider: "p".into(), status, message, retry_after: None }.to_string()
        };
        assert_eq!(said(401), "p answered 401: no (is the key right, and may it use this model?)");
        assert!(said(404).contains("the model's name"));
        assert_eq!(said(529), "p answered 529: no");
        let refuses = |status| {
            TurnFault::Status { provider: "p".into(), status, message: "no".to_owned(), retry_after: None }.is_refusal()
        };
        assert!([400, 401, 402, 403, 404, 413, 422].into_iter().all(refuses));
        assert!(![408, 409, 425, 429, 500, 503, 529].into_iter().any(refuses));
        assert!(!TurnFault::Unreadable { provider: "p".into(), message: "no".to_owned() }.is_refusal());
    }

    #[test]
    fn an_empty_account_is_not_asked_again() {
        let told = |status, message: &str| TurnFault::Status {
            provider: "p".into(),
            status,
            message: message.to_owned(),
            retry_after: None,
        };
        assert!(told(429, "Rate limit reached").is_transient() && told(529, "Overloaded").is_transient());
        assert!(
            !told(429, "You exceeded your current quota, please check your plan and billing details.").is_transient()
        );
        assert!(!told(400, "Bad request").is_transient() && !told(401, "No key").is_transient());
    }
}
