//! Text protocol: tool calls and their results written in text, for models without native tool calls. Main functions: [`to_text_protocol`], [`parse_calls`].
//!
//! A request is converted to one without tools: the grammar and the catalogue of tools join the system text, calls and results of the history become
//! lines. A response is parsed back into the same [`MessagePart::Call`]s. The grammar is in `docs/text-protocol.md`; the words that explain it to a model
//! come with the request, because templates do not belong here.

mod catalogue;
mod kind;
mod marks;
mod parse;
mod render;
mod values;

use std::collections::HashSet;

use parse::AnswerParser;

use super::turn::{
    FinishReason, Message, MessagePart, ModelToolCall, ToolCallFormat, ToolChoice, TurnRequest, TurnResponse,
};

/// Prefix of the ids of calls that were parsed from text: no provider knows them.
const ID: &str = "text_call_";

/// Checks whether a call was parsed from the text of a response.
pub fn was_text(call: &ModelToolCall) -> bool {
    call.id.starts_with(ID)
}

/// Checks whether the input of an unreadable call is one of the text protocol without an end.
pub fn is_open(input: &str) -> bool {
    input.starts_with(marks::CALL)
}

/// Converts a request to one without tools: the text holds what the server needs.
pub(super) fn to_text_protocol(request: &TurnRequest) -> TurnRequest {
    let mut system = request.system.trim_end().to_owned();
    if !request.tools.is_empty() {
        system.push_str("\n\n");
        system.push_str(request.grammar.trim());
        system.push_str("\n\n");
        system.push_str(&catalogue::describe_tools(&request.tools));
    }
    let mut said = TurnRequest {
        system,
        tools: Vec::new(),
        choice: ToolChoice::Auto,
        messages: Vec::with_capacity(request.messages.len()),
        max_output: request.max_output,
        speech: ToolCallFormat::Text,
        grammar: String::new(),
    };
    for message in &request.messages {
        add(&mut said.messages, message);
    }
    said
}

/// Adds a message in text. Two of ours in a row become one: many servers want the roles to take turns.
fn add(said: &mut Vec<Message>, message: &Message) {
    let (text, mark) = match message {
        Message::User { text, mark } => (render::escape_message(text), *mark),
        Message::Results { results, mark } => (render::render_results(results), *mark),
        Message::Assistant { parts } => {
            let text = render::render_answer(parts);
            // Data that only another format needs is dropped; if nothing remains, a word in brackets does, as for an empty response.
            let text = if text.trim().is_empty() { "(no answer)".to_owned() } else { text };
            said.push(Message::Assistant { parts: vec![MessagePart::Text { text }] });
            return;
        }
    };
    if let Some(Message::User { text: before, mark: marked }) = said.last_mut() {
        before.push_str("\n\n");
        before.push_str(&text);
        *marked |= mark;
        return;
    }
    said.push(Message::User { text, mark });
}

/// Parses the calls in the text of a response to `request`. Calls that the server parsed on its own are left alone.
pub(super) fn parse_calls(response: TurnResponse, request: &TurnRequest) -> TurnResponse {
    let mut ids = TextCallIds::of(request);
    let mut parts = Vec::with_capacity(response.parts.len());
    let last = response.parts.iter().rposition(|part| matches!(part, MessagePart::Text { .. }));
    let mut parser = AnswerParser::new(&request.tools);
    let mut invented = false;
    for (at, part) in response.parts.into_iter().enumerate() {
        match part {
            // Text behind results that the model invented is based on them.
            _ if invented => {}
            MessagePart::Text { text } => {
                parser.push(&text);
                // A call may continue behind a thought.
                if Some(at) != last {
                    continue;
                }
                let parsed = std::mem::replace(&mut parser, AnswerParser::new(&request.tools)).finish();
                invented = parsed.invented;
                parts.extend(parsed.pieces.into_iter().map(|piece| match piece {
                    parse::AnswerPiece::Text(text) => MessagePart::Text { text },
                    parse::AnswerPiece::Call { name, input } => {
                        MessagePart::Call(ModelToolCall { id: ids.next(), name, input, signatures: Vec::new() })
                    }
                }));
            }
            part @ (MessagePart::Call(_) | MessagePart::Opaque { .. }) => parts.push(part),
        }
    }
    let calls = parts.iter().any(|part| matches!(part, MessagePart::Call(_)));
    let stop = match response.stop {
        FinishReason::Done | FinishReason::Calls if calls => FinishReason::Calls,
        stop => stop,
    };
    TurnResponse { parts, stop, usage: response.usage }
}

/// The ids of a conversation: results are matched by them.
struct TextCallIds {
    used: HashSet<String>,
    number: usize,
}

impl TextCallIds {
    fn of(request: &TurnRequest) -> Self {
        let used: HashSet<String> = request.calls().map(|call| call.id.clone()).collect();
        let number = used.len();
        Self { used, number }
    }

    fn next(&mut self) -> String {
        loop {
            let id = format!("{ID}{}", self.number);
            self.number += 1;
            if self.used.insert(id.clone()) {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests;
