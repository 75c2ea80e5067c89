//! Wire formats: building requests and reading responses. Main types: [`WireSetup`], [`WireRequest`].
//!
//! One file per format, all alike: `request` and a `Decoder`. A body is written in the order in which providers cache: first what all requests of a
//! conversation share (model, tools, system), then the conversation, then what may change in a single turn. So each body is a prefix of the next,
//! byte for byte. Sending a request belongs in `client`.

mod chat;
mod gemini;
mod messages;
mod ollama;
pub(super) mod parts;
mod responses;

use serde_json::Value;

use super::draft::ResponseDraft;
use super::events::Framing;
use super::frames::Decoder;
use super::optional_fields::RequestFields;
use super::turn::TurnRequest;
use super::wire_format::WireFormat;

/// Data for a request besides the conversation.
#[derive(Debug, Clone, Copy)]
pub(super) struct WireSetup<'a> {
    /// The model, as the provider knows it.
    pub(super) model: &'a str,
    /// Tokens of a request and its response together.
    pub(super) context_window: u64,
    /// Optional fields that this server accepts.
    pub(super) given: RequestFields,
}

/// Request in a wire format.
#[derive(Debug)]
pub(super) struct WireRequest {
    pub(super) body: Value,
    /// Headers for this request alone.
    pub(super) headers: &'static [(&'static str, &'static str)],
}

impl WireRequest {
    /// Creates a body without headers of its own.
    fn plain(body: Value) -> Self {
        Self { body, headers: &[] }
    }
}

pub(super) fn build_request(wire: WireFormat, request: &TurnRequest, setup: &WireSetup<'_>) -> WireRequest {
    match wire {
        WireFormat::Messages => messages::request(request, setup),
        WireFormat::Responses => responses::request(request, setup),
        WireFormat::Chat => chat::request(request, setup),
        WireFormat::Gemini => gemini::request(request, setup),
        WireFormat::Ollama => ollama::request(request, setup),
    }
}

/// Returns the framing of a streamed response.
pub(super) const fn framing(wire: WireFormat) -> Framing {
    match wire {
        WireFormat::Messages | WireFormat::Responses | WireFormat::Chat | WireFormat::Gemini => Framing::Events,
        WireFormat::Ollama => Framing::Lines,
    }
}

/// Returns the reader of a response.
pub(super) fn decoder(wire: WireFormat) -> Box<dyn Decoder> {
    match wire {
        WireFormat::Messages => Box::new(messages::MessagesReader::default()),
        WireFormat::Responses => Box::new(responses::ResponsesReader::default()),
        WireFormat::Chat => Box::new(chat::ChatReader::default()),
        WireFormat::Gemini => Box::new(gemini::GeminiReader::default()),
        WireFormat::Ollama => Box::new(ollama::OllamaReader::default()),
    }
}

/// Converts a finished draft to a response.
pub(super) fn response(wire: WireFormat, draft: ResponseDraft, request: &TurnRequest) -> super::turn::TurnResponse {
    let name_call = match wire {
        // An id of this form is known for one that the server did not give, and is not sent back.
        WireFormat::Gemini => gemini::own_id,
        WireFormat::Messages | WireFormat::Responses | WireFormat::Chat | WireFormat::Ollama => {
            |_: &str, number: usize| format!("call_{number}")
        }
    };
    draft.into_response(request, name_call)
}
