//! Wire formats: building requests and reading responses. Main types: [`Setup`], [`Said`].
//!
//! One file per format, all alike: `request` and a `Decoder`. A body is written in the order in which providers cache: first what all requests of a
//! conversation share (model, tools, system), then the conversation, then what may change in a single turn. So each body is a prefix of the next,
//! byte for byte. Sending a request belongs in `client`.

mod chat;
mod gemini;
mod messages;
mod ollama;
mod parts;
mod responses;

use serde_json::Value;

use super::draft::Draft;
use super::events::Framing;
use super::frames::Decoder;
use super::optional::Given;
use super::table::Wire;
use super::turn::TurnRequest;

/// Data for a request besides the conversation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setup<'a> {
    /// The model, as the provider knows it.
    pub(super) model: &'a str,
    /// Tokens of a request and its response together.
    pub(super) context_window: u64,
    /// Optional fields that this server accepts.
    pub(super) given: Given,
}

/// Request in a wire format.
#[derive(Debug)]
pub(super) struct Said {
    /// The body.
    pub(super) body: Value,
    /// Headers for this request alone.
    pub(super) headers: &'static [(&'static str, &'static str)],
}

impl Said {
    /// Creates a body without headers of its own.
    fn plain(body: Value) -> Self {
        Self { body, headers: &[] }
    }
}

/// Builds a request.
pub(super) fn say(wire: Wire, request: &TurnRequest, setup: &Setup<'_>) -> Said {
    match wire {
        Wire::Messages => messages::request(request, setup),
        Wire::Responses => responses::request(request, setup),
        Wire::Chat => chat::request(request, setup),
        Wire::Gemini => gemini::request(request, setup),
        Wire::Ollama => ollama::request(request, setup),
    }
}

/// Returns the framing of a streamed response.
pub(super) const fn framing(wire: Wire) -> Framing {
    match wire {
        Wire::Messages | Wire::Responses | Wire::Chat | Wire::Gemini => Framing::Events,
        Wire::Ollama => Framing::Lines,
    }
}

/// Returns the reader of a response.
pub(super) fn decoder(wire: Wire) -> Box<dyn Decoder> {
    match wire {
        Wire::Messages => Box::new(messages::Reader::default()),
        Wire::Responses => Box::new(responses::Reader::default()),
        Wire::Chat => Box::new(chat::Reader::default()),
        Wire::Gemini => Box::new(gemini::Reader::default()),
        Wire::Ollama => Box::new(ollama::Reader::default()),
    }
}

/// Converts a finished draft to a response.
pub(super) fn response(wire: Wire, draft: Draft, request: &TurnRequest) -> super::turn::TurnResponse {
    let name_call = match wire {
        // An id of this form is known for one that the server did not give, and is not sent back.
        Wire::Gemini => gemini::own_id,
        Wire::Messages | Wire::Responses | Wire::Chat | Wire::Ollama => {
            |_: &str, number: usize| format!("call_{number}")
        }
    };
    draft.into_response(request, name_call)
}
