//! The languages. Main type: [`Wire`].
//!
//! Each file reads requests of one language and writes answers in it, streamed and whole, as the provider's own documents say.

mod chat;
mod gemini;
mod messages;
mod ollama;
mod responses;

use serde_json::Value;

use super::answer::Answer;
use super::asked::{Asked, Block};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Anthropic's Messages.
    Messages,
    /// `OpenAI`'s Responses.
    Responses,
    /// `OpenAI`'s chat completions.
    Chat,
    /// Google's `generateContent`.
    Gemini,
    /// Ollama's own.
    Ollama,
}

impl Wire {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Messages, Self::Responses, Self::Chat, Self::Gemini, Self::Ollama];

    /// The wire's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The provider that speaks it, as `--model` names it.
    pub const fn provider(self) -> &'static str {
        match self {
            Self::Messages => "anthropic",
            Self::Responses => "openai",
            Self::Chat => "openai-chat",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The language of a path, without its query.
    pub fn of(path: &str) -> Option<Self> {
        match path {
            "/v1/messages" => Some(Self::Messages),
            "/v1/responses" => Some(Self::Responses),
            "/v1/chat/completions" => Some(Self::Chat),
            "/api/chat" => Some(Self::Ollama),
            _ => {
                let model = path.strip_prefix("/v1beta/models/").or_else(|| path.strip_prefix("/v1/models/"))?;
                let method = model.split_once(':')?.1;
                matches!(method, "generateContent" | "streamGenerateContent").then_some(Self::Gemini)
            }
        }
    }

    /// The variables of the environment that lead a client here: the key's, where it needs one, and the address's.
    pub fn variables(self) -> (Option<&'static str>, &'static str, &'static str) {
        match self {
            Self::Messages => (Some("ANTHROPIC_API_KEY"), "ANTHROPIC_BASE_URL", ""),
            Self::Responses | Self::Chat => (Some("OPENAI_API_KEY"), "OPENAI_BASE_URL", "/v1"),
            Self::Gemini => (Some("GEMINI_API_KEY"), "GEMINI_BASE_URL", ""),
            Self::Ollama => (None, "OLLAMA_HOST", ""),
        }
    }

    /// The headers of which one holds the key, and what stands before it.
    pub const fn key_headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Messages => &[("x-api-key", ""), ("authorization", "Bearer ")],
            Self::Responses | Self::Chat | Self::Ollama => &[("authorization", "Bearer ")],
            Self::Gemini => &[("x-goog-api-key", "")],
        }
    }

    /// What an answer's id begins with.
    pub const fn answer_prefix(self) -> &'static str {
        match self {
            Self::Messages => "msg_",
            Self::Responses => "resp_",
            Self::Chat => "chatcmpl-",
            Self::Gemini | Self::Ollama => "answer-",
        }
    }

    /// The id of a call.
    pub fn call_id(self, answer: usize, call: usize) -> String {
        let prefix = if self == Self::Messages { "toolu_" } else { "call_" };
        format!("{prefix}{answer:04}x{call:02}")
    }

    /// Reads a request; what the provider would refuse is told.
    pub fn read(self, path: &str, body: &Value) -> Result<Asked, Vec<String>> {
        let (asked, refused) = match self {
            Self::Messages => messages::read(body),
            Self::Responses => responses::read(body),
            Self::Chat => chat::read(body),
            Self::Gemini => gemini::read(path, body),
            Self::Ollama => ollama::read(body),
        };
        if refused.is_empty() { Ok(asked) } else { Err(refused) }
    }

    /// An answer in pieces, as they are sent.
    pub fn streamed(self, answer: &Answer, asked: &Asked) -> Vec<Vec<u8>> {
        match self {
            Self::Messages => messages::streamed(answer),
            Self::Responses => responses::streamed(answer),
            Self::Chat => chat::streamed(answer, asked.stream_usage == Some(true)),
            Self::Gemini => gemini::streamed(answer),
            Self::Ollama => ollama::streamed(answer),
        }
    }

    /// An answer at once.
    pub fn whole(self, answer: &Answer) -> Value {
        match self {
            Self::Messages => messages::whole(answer),
            Self::Responses => responses::whole(answer),
            Self::Chat => chat::whole(answer),
            Self::Gemini => gemini::whole(answer),
            Self::Ollama => ollama::whole(answer),
        }
    }

    /// The body of an error.
    pub fn error(self, status: u16, message: &str) -> Value {
        match self {
            Self::Messages => messages::error(status, message),
            Self::Responses | Self::Chat => super::answer::openai_error(status, message),
            Self::Gemini => gemini::error(status, message),
            Self::Ollama => serde_json::json!({ "error": message }),
        }
    }

    /// An error inside a stream.
    pub fn error_event(self, message: &str) -> Vec<u8> {
        match self {
            Self::Messages => super::answer::event("error", &messages::error(529, message)),
            Self::Responses => responses::error_event(message),
            Self::Chat => super::answer::data(&self.error(500, message), "\n"),
            Self::Gemini => super::answer::data(&self.error(503, message), "\r\n"),
            Self::Ollama => format!("{}\n", self.error(500, message)).into_bytes(),
        }
    }

    /// The content type of a streamed answer.
    pub const fn stream_type(self) -> &'static str {
        match self {
            Self::Messages | Self::Responses | Self::Chat | Self::Gemini => "text/event-stream; charset=utf-8",
            Self::Ollama => "application/x-ndjson",
        }
    }

    /// An answer as it must come back in the next request.
    pub fn blocks(self, answer: &Answer) -> Vec<Block> {
        match self {
            Self::Messages => messages::blocks(answer),
            Self::Responses => responses::blocks(answer),
            Self::Gemini => gemini::blocks(answer),
            Self::Chat | Self::Ollama => super::ledger::blocks(answer, Vec::new(), true),
        }
    }
}
