//! The reasons why an engine's work ends. Main type: [`StopReason`].

use crate::domain::words::words;

words! {
    /// What ended the engine's work. Only [`Finished`](Self::Finished) can be complete.
    #[schemars(rename = "Ended")]
    pub enum StopReason: as_str {
        /// It said that it was done.
        Finished = "finished",
        /// Somebody interrupted it.
        Interrupted = "interrupted",
        /// Its time was up.
        Deadline = "deadline",
        /// It had as many turns as it may have.
        TurnLimit = "turn_limit",
        /// It used as many tokens as it may use.
        TokenLimit = "token_limit",
        /// It spent as much money as it may spend.
        CostLimit = "cost_limit",
        /// The conversation no longer fits the model's window.
        WindowLimit = "window_limit",
        /// The provider failed for good.
        ProviderFault = "provider_fault",
        /// The provider would not take the request, and never will: a wrong key, a model that it does not serve, a filter, an empty account.
        RequestRefused = "request_refused",
        /// The model stopped without saying that it was done, and did so again when told.
        Unfinished = "unfinished",
        /// The model, or a filter of its provider, refused.
        Refused = "refused",
        /// The model answered nothing, and did so again when told.
        EmptyAnswer = "empty_answer",
        /// The model wrote its tool calls as text, and did so again when told.
        LeakedMarkup = "leaked_markup",
        /// The model's answers were cut at the most it may answer, again and again.
        OutputLimit = "output_limit",
        /// The model's tool calls could not be read, and again not when it was told.
        MalformedCalls = "malformed_calls",
    }
}

impl StopReason {
    /// Checks whether a resumed run may continue after it: it was interrupted, a budget was spent, a provider failed. What the model
    /// itself ended stays ended.
    pub const fn is_resumable(self) -> bool {
        matches!(
            self,
            Self::Interrupted
                | Self::Deadline
                | Self::TurnLimit
                | Self::TokenLimit
                | Self::CostLimit
                | Self::WindowLimit
                | Self::ProviderFault
                | Self::RequestRefused
        )
    }

    /// Checks whether the model or its provider is to blame: with nothing reviewed, the process ends with 4.
    pub const fn is_provider_fault(self) -> bool {
        matches!(
            self,
            Self::ProviderFault
                | Self::RequestRefused
                | Self::Unfinished
                | Self::Refused
                | Self::EmptyAnswer
                | Self::LeakedMarkup
                | Self::OutputLimit
                | Self::MalformedCalls
        )
    }
}
