//! The wire formats that providers speak. Main type: [`WireFormat`].
//!
//! How a format spells a request and its response belongs in `wire`.

use crate::domain::words::words;

words! {
    /// The wire formats.
    pub enum WireFormat: word {
        /// Anthropic's Messages.
        Messages = "messages",
        /// `OpenAI`'s Responses.
        Responses = "responses",
        /// `OpenAI`'s chat completions, supported by most servers.
        Chat = "chat",
        /// Google's `generateContent`.
        Gemini = "gemini",
        /// Ollama's own.
        Ollama = "ollama",
    }
}

impl WireFormat {
    /// Returns the path of a turn as a message batch names it; `None` if no batch API of this format is known.
    pub const fn batch_endpoint(self) -> Option<&'static str> {
        match self {
            Self::Messages => Some("/v1/messages"),
            Self::Responses => Some("/v1/responses"),
            Self::Chat => Some("/v1/chat/completions"),
            Self::Gemini | Self::Ollama => None,
        }
    }

    /// Returns the header in which the first server of this format wanted its key.
    pub(super) const fn key_header(self) -> &'static str {
        match self {
            Self::Messages => "x-api-key",
            Self::Gemini => "x-goog-api-key",
            Self::Responses | Self::Chat | Self::Ollama => "authorization",
        }
    }
}
