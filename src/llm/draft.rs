//! Response under construction. Main type: [`ResponseDraft`].

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::opaque::Opaque;
use super::turn::{FinishReason, MessagePart, ModelToolCall, ToolInput, TurnRequest, TurnResponse, TurnUsage};
use super::usage::ReportedUsage;
use crate::domain::money::Money;

/// Response received so far.
#[derive(Debug, Default)]
pub(super) struct ResponseDraft {
    /// The pieces, in order.
    pub(super) blocks: Vec<DraftBlock>,
    /// Reason why it ended.
    pub(super) stop: Option<FinishReason>,
    /// `true` if the server said that the response is complete. A stream that just ends has not.
    pub(super) ended: bool,
    /// Reported token counts.
    pub(super) counted: ReportedUsage,
    /// Cost reported by the server.
    pub(super) cost: Option<Money>,
    /// Bytes of text, reasoning and arguments.
    pub(super) grown: u64,
}

/// Piece of a response.
#[derive(Debug)]
pub(super) enum DraftBlock {
    Text(String),
    Call(CallDraft),
    /// Data that only the provider understands.
    Opaque(Opaque),
}

/// Tool call under construction.
#[derive(Debug, Default)]
pub(super) struct CallDraft {
    /// Id; empty if the server sent none.
    pub(super) id: String,
    /// The tool.
    pub(super) name: String,
    pub(super) arguments: CallArguments,
    /// Signatures that go back with it.
    pub(super) signatures: Vec<String>,
}

/// Arguments as servers send them.
#[derive(Debug)]
pub(super) enum CallArguments {
    /// JSON as text, piece by piece.
    Text(String),
    /// JSON.
    Value(Value),
}

impl Default for CallArguments {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl ResponseDraft {
    /// Adds text, appended to the last piece if that is text.
    pub(super) fn text(&mut self, text: &str) {
        self.record_growth(text);
        match self.blocks.last_mut() {
            Some(DraftBlock::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.blocks.push(DraftBlock::Text(text.to_owned())),
        }
    }

    /// Counts received text.
    pub(super) fn record_growth(&mut self, text: &str) {
        self.grown = self.grown.saturating_add(text.len() as u64);
    }

    /// Returns the response. `name_call` names a call that has no id of its own.
    pub(super) fn into_response(self, request: &TurnRequest, name_call: fn(&str, usize) -> String) -> TurnResponse {
        let mut ids = CallIds::of(request, name_call);
        let says_something = !self.blocks.is_empty();
        let mut parts: Vec<MessagePart> = self.blocks.into_iter().filter_map(|block| part(block, &mut ids)).collect();
        let calls = parts.iter().any(|part| matches!(part, MessagePart::Call(_)));
        let stop = match self.stop {
            // Many servers say "stop" after calls, too.
            None | Some(FinishReason::Done | FinishReason::Calls) => {
                if calls {
                    FinishReason::Calls
                } else {
                    FinishReason::Done
                }
            }
            Some(stop @ (FinishReason::OutputLimit | FinishReason::Refused | FinishReason::Other(_))) => stop,
        };
        // A response that was cut before the arguments of its last call says nothing about them, not that there are none.
        if let (FinishReason::OutputLimit, Some(MessagePart::Call(call))) = (&stop, parts.last_mut())
            && matches!(&call.input, ToolInput::Object(input) if input.is_empty())
        {
            call.input = ToolInput::Malformed(String::new());
        }
        TurnResponse { parts, stop, usage: TurnUsage { cost: self.cost, ..self.counted.into_usage(says_something) } }
    }
}

fn part(block: DraftBlock, ids: &mut CallIds) -> Option<MessagePart> {
    Some(match block {
        DraftBlock::Text(text) => MessagePart::Text { text },
        DraftBlock::Opaque(content) => MessagePart::Opaque { value: content.write()? },
        DraftBlock::Call(call) => {
            let name = if call.name.is_empty() { "unnamed".to_owned() } else { call.name };
            let id = ids.unique(call.id, &name);
            MessagePart::Call(ModelToolCall { id, name, input: input(call.arguments), signatures: call.signatures })
        }
    })
}

/// Arguments must be an object; empty arguments count as an empty one.
fn input(arguments: CallArguments) -> ToolInput {
    let value = match arguments {
        CallArguments::Value(Value::Null) => return ToolInput::Object(Map::new()),
        CallArguments::Value(Value::String(text)) | CallArguments::Text(text) => {
            if text.trim().is_empty() {
                return ToolInput::Object(Map::new());
            }
            match serde_json::from_str(&text) {
                Ok(Value::Object(object)) => return ToolInput::Object(object),
                Ok(_) | Err(_) => return ToolInput::Malformed(text),
            }
        }
        CallArguments::Value(value) => value,
    };
    match value {
        Value::Object(object) => ToolInput::Object(object),
        other => ToolInput::Malformed(other.to_string()),
    }
}

/// Ids of a conversation: a result is matched to its call by id, so no two calls may share one.
struct CallIds {
    used: HashSet<String>,
    name_call: fn(&str, usize) -> String,
}

impl CallIds {
    fn of(request: &TurnRequest, name_call: fn(&str, usize) -> String) -> Self {
        let used: HashSet<String> = request.calls().map(|call| call.id.clone()).collect();
        Self { used, name_call }
    }

    fn unique(&mut self, id: String, name: &str) -> String {
        let mut id = id;
        let mut number = self.used.len();
        while id.is_empty() || self.used.contains(&id) {
            id = (self.name_call)(name, number);
            number += 1;
        }
        self.used.insert(id.clone());
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_input(stop: FinishReason, arguments: &str) -> ToolInput {
        let call = |arguments: &str| {
            let arguments = CallArguments::Text(arguments.to_owned());
            DraftBlock::Call(CallDraft { name: "finish_review".to_owned(), arguments, ..CallDraft::default() })
        };
        let draft =
            ResponseDraft { blocks: vec![call(""), call(arguments)], stop: Some(stop), ..ResponseDraft::default() };
        let response = draft.into_response(&TurnRequest::default(), |name, at| format!("{name}_{at}"));
        let inputs: Vec<ToolInput> = response.calls().map(|call| call.input.clone()).collect();
        assert_eq!(inputs[0], ToolInput::Object(Map::new()), "what is whole stays");
        inputs[1].clone()
    }

    #[test]
    fn a_call_that_was_cut_before_its_arguments_is_no_call_without_any() {
        assert_eq!(last_input(FinishReason::OutputLimit, ""), ToolInput::Malformed(String::new()));
        assert_eq!(last_input(FinishReason::Done, ""), ToolInput::Object(Map::new()));
        assert!(matches!(last_input(FinishReason::OutputLimit, "{\"id\": \"F1\"}"), ToolInput::Object(_)));
    }
}
