//! The wire formats: how a request is said in each, and how an answer is read. Main types: [`Setup`], [`Said`].
//!
//! One file per format, all alike: `request` and a `Decoder`. What the client library says right is left to it; what it loses or gets wrong is
//! put in its place, with the reason beside it. How a request travels belongs in `client`.

mod chat;
mod gemini;
mod messages;
mod ollama;
mod parts;
mod responses;

use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatRequest};
use serde_json::Value;

use super::draft::Draft;
use super::frames::Decoder;
use super::optional::Given;
use super::table::Wire;
use super::turn::TurnRequest;

/// What a request needs to know besides the conversation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setup<'a> {
    /// The model, as the provider knows it.
    pub(super) model: &'a str,
    /// Tokens of a request and its answer together.
    pub(super) context_window: u64,
    /// The optional fields that this server takes.
    pub(super) given: Given,
}

/// A request in the words of a wire format.
pub(super) enum Said {
    /// For the client library.
    Library(Box<ForLibrary>),
    /// A whole body: the library cannot say it.
    Own(Value),
}

/// A request for the client library.
pub(super) struct ForLibrary {
    /// The dialect.
    pub(super) kind: AdapterKind,
    /// The model's name for the library's own decisions; what goes out is the exact one. The library reads endings such as `-high` and
    /// beginnings such as `ns::` as its own, and these names have neither.
    pub(super) name: String,
    /// The conversation.
    pub(super) chat: ChatRequest,
    /// All else.
    pub(super) options: ChatOptions,
    /// Headers for this request alone.
    pub(super) headers: &'static [(&'static str, &'static str)],
}

/// Says a request.
pub(super) fn say(wire: Wire, request: &TurnRequest, setup: &Setup<'_>) -> Said {
    match wire {
        Wire::Messages => messages::request(request, setup),
        Wire::Responses => responses::request(request, setup),
        Wire::Chat => chat::request(request, setup),
        Wire::Gemini => gemini::request(request, setup),
        Wire::Ollama => ollama::request(request, setup),
    }
}

/// What reads an answer.
pub(super) fn decoder(wire: Wire) -> Box<dyn Decoder> {
    match wire {
        Wire::Messages => Box::new(messages::Reader::default()),
        Wire::Responses => Box::new(responses::Reader::default()),
        Wire::Chat => Box::new(chat::Reader::default()),
        Wire::Gemini => Box::new(gemini::Reader::default()),
        Wire::Ollama => Box::new(ollama::Reader::default()),
    }
}

/// The response that a finished answer is.
pub(super) fn response(wire: Wire, draft: Draft, request: &TurnRequest) -> super::turn::TurnResponse {
    let name_call = match wire {
        // The library knows an id of this form for one that Gemini did not give, and keeps it to itself.
        Wire::Gemini => |name: &str, number: usize| format!("call#{name}#{number}"),
        Wire::Messages | Wire::Responses | Wire::Chat | Wire::Ollama => {
            |_: &str, number: usize| format!("call_{number}")
        }
    };
    draft.into_response(request, name_call)
}
