//! The reasons why an engine's work ends. Main type: [`StopReason`].

use serde::{Deserialize, Serialize};

/// What ended the engine's work. Only [`Finished`](Self::Finished) can be complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Ended")]
pub enum StopReason {
    /// It said that it was done.
    Finished,
    /// Somebody interrupted it.
    Interrupted,
    /// Its time was up.
    Deadline,
    /// It had as many turns as it may have.
    TurnLimit,
    /// It used as many tokens as it may use.
    TokenLimit,
    /// It spent as much money as it may spend.
    CostLimit,
    /// The conversation no longer fits the model's window.
    WindowLimit,
    /// The provider failed for good.
    ProviderFault,
    /// The provider would not take the request, and never will: a wrong key, a model that it does not serve, a filter, an empty account.
    RequestRefused,
    /// The model stopped without saying that it was done, and did so again when told.
    Unfinished,
    /// The model, or a filter of its provider, refused.
    Refused,
    /// The model answered nothing, and did so again when told.
    EmptyAnswer,
    /// The model wrote its tool calls as text, and did so again when told.
    LeakedMarkup,
    /// The model's answers were cut at the most it may answer, again and again.
    OutputLimit,
    /// The model's tool calls could not be read, and again not when it was told.
    MalformedCalls,
}

impl StopReason {
    /// The word used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Deadline => "deadline",
            Self::TurnLimit => "turn_limit",
            Self::TokenLimit => "token_limit",
            Self::CostLimit => "cost_limit",
            Self::WindowLimit => "window_limit",
            Self::ProviderFault => "provider_fault",
            Self::RequestRefused => "request_refused",
            Self::Unfinished => "unfinished",
            Self::Refused => "refused",
            Self::EmptyAnswer => "empty_answer",
            Self::LeakedMarkup => "leaked_markup",
            Self::OutputLimit => "output_limit",
            Self::MalformedCalls => "malformed_calls",
        }
    }

    /// Checks whether a resumed run may continue after it: it was interrupted, a budget was spent, a provider failed. What the model
    /// itself ended stays ended.
    pub const fn is_resumable(self) -> bool {
        match self {
            Self::Interrupted
            | Self::Deadline
            | Self::TurnLimit
            | Self::TokenLimit
            | Self::CostLimit
            | Self::WindowLimit
            | Self::ProviderFault
            | Self::RequestRefused => true,
            Self::Finished
            | Self::Unfinished
            | Self::Refused
            | Self::EmptyAnswer
            | Self::LeakedMarkup
            | Self::OutputLimit
            | Self::MalformedCalls => false,
        }
    }

    /// Checks whether the model or its provider is to blame: with nothing reviewed, the process ends with 4.
    pub const fn is_provider_fault(self) -> bool {
        match self {
            Self::ProviderFault
            | Self::RequestRefused
            | Self::Unfinished
            | Self::Refused
            | Self::EmptyAnswer
            | Self::LeakedMarkup
            | Self::OutputLimit
            | Self::MalformedCalls => true,
            Self::Finished
            | Self::Interrupted
            | Self::Deadline
            | Self::TurnLimit
            | Self::TokenLimit
            | Self::CostLimit
            | Self::WindowLimit => false,
        }
    }
}
