//! Removal of data that another model cannot continue with. Main function: [`TurnRequest::hand_over`].
//!
//! The order and the time of a failover are decided in `review`, where turns are requested.

use super::turn::{Message, MessagePart, TurnRequest};

/// Placeholder that Google's API takes in place of a signature for a call that another model made (ai.google.dev/gemini-api/docs/thought-signatures,
/// November 2026). The other APIs have no signatures of calls.
const FOREIGN: &str = "skip_thought_signature_validator";

/// Placeholder for an empty response: without it two messages of ours would be adjacent.
const NOTHING_LEFT: &str = "(no answer)";

impl TurnRequest {
    /// Removes data that only the previous model understands: signed thinking, encrypted reasoning, signatures of calls. Text, calls, their ids and
    /// their results stay. The operation is idempotent.
    pub fn hand_over(&mut self) {
        for message in &mut self.messages {
            let Message::Assistant { parts } = message else { continue };
            parts.retain(|part| match part {
                MessagePart::Opaque { .. } => false,
                // An empty text was only the place of a signature.
                MessagePart::Text { text } => !text.is_empty(),
                MessagePart::Call(_) => true,
            });
            let mut is_first = true;
            for part in parts.iter_mut() {
                let MessagePart::Call(call) = part else { continue };
                call.signatures = if is_first { vec![FOREIGN.to_owned()] } else { Vec::new() };
                is_first = false;
            }
            if parts.is_empty() {
                parts.push(MessagePart::Text { text: NOTHING_LEFT.to_owned() });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::llm::turn::{ModelToolCall, ToolInput, ToolResult};

    fn call(id: &str, signature: &str) -> MessagePart {
        let input = ToolInput::Object(Map::new());
        MessagePart::Call(ModelToolCall {
            id: id.to_owned(),
            name: "n".to_owned(),
            input,
            signatures: vec![signature.to_owned()],
        })
    }

    fn opaque(word: &str) -> MessagePart {
        MessagePart::Opaque { value: json!({ "Custom": { "data": { "type": "thinking", "signature": word } } }) }
    }

    fn text(text: &str) -> MessagePart {
        MessagePart::Text { text: text.to_owned() }
    }

    #[test]
    fn what_only_its_model_understands_goes_and_all_else_stays() {
        let results = Message::Results {
            results: vec![ToolResult {
                id: "c1".to_owned(),
                name: "n".to_owned(),
                text: "read".to_owned(),
                is_error: false,
            }],
            mark: true,
        };
        let user = Message::User { text: "the change".to_owned(), mark: true };
        let answer = vec![opaque("mine"), text(""), text("I look."), call("c1", "mine"), call("c2", "mine")];
        let silent = vec![opaque("mine")];
        let mut request = TurnRequest {
            system: "s".to_owned(),
            messages: vec![
                user.clone(),
                Message::Assistant { parts: answer },
                results.clone(),
                Message::Assistant { parts: silent },
            ],
            ..TurnRequest::default()
        };
        request.hand_over();
        assert!(!serde_json::to_string(&request).unwrap().contains("mine"));
        assert_eq!((&request.messages[0], &request.messages[2]), (&user, &results));
        let Message::Assistant { parts } = &request.messages[1] else { panic!() };
        let shown = serde_json::to_string(parts).unwrap();
        assert!(shown.contains("\"c1\"") && shown.contains("\"c2\"") && shown.contains("I look."), "{shown}");
        assert_eq!(parts.len(), 3);
        assert_eq!(request.messages[3], Message::Assistant { parts: vec![text("(no answer)")] });
        let once = request.clone();
        request.hand_over();
        assert_eq!(request, once);
    }
}
