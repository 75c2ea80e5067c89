//! The wire formats that providers speak. Main type: [`WireFormat`].
//!
//! How a format spells a request and its response belongs in `wire`.

/// The wire formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireFormat {
    /// Anthropic's Messages.
    Messages,
    /// `OpenAI`'s Responses.
    Responses,
    /// `OpenAI`'s chat completions, supported by most servers.
    Chat,
    /// Google's `generateContent`.
    Gemini,
    /// Ollama's own.
    Ollama,
}

impl WireFormat {
    /// Returns the word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
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
