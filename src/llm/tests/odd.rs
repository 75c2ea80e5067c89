//! Frames that no server should send.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::frames::FrameReader;
use super::super::wire;
use super::super::wire_format::WireFormat;
use super::*;

const WIRES: [WireFormat; 5] =
    [WireFormat::Messages, WireFormat::Responses, WireFormat::Chat, WireFormat::Gemini, WireFormat::Ollama];

/// Words that mean something in one of the formats.
const WORDS: &[&str] = &[
    "type",
    "index",
    "delta",
    "content_block",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "message_start",
    "thinking",
    "thinking_delta",
    "signature",
    "signature_delta",
    "text",
    "tool_use",
    "input",
    "input_json_delta",
    "partial_json",
    "usage",
    "message",
    "input_tokens",
    "stop_reason",
    "error",
    "code",
    "response",
    "response.completed",
    "response.output_item.done",
    "response.output_text.delta",
    "item",
    "output_index",
    "output",
    "function_call",
    "reasoning",
    "encrypted_content",
    "arguments",
    "choices",
    "finish_reason",
    "tool_calls",
    "function",
    "name",
    "id",
    "content",
    "reasoning_details",
    "reasoning_content",
    "refusal",
    "candidates",
    "parts",
    "functionCall",
    "args",
    "thoughtSignature",
    "thought",
    "finishReason",
    "usageMetadata",
    "promptTokenCount",
    "promptFeedback",
    "blockReason",
    "done",
    "done_reason",
    "prompt_eval_count",
    "status",
    "phase",
    "stop",
    "incomplete_details",
    "[DONE]",
];

fn word() -> impl Strategy<Value = String> {
    prop::sample::select(WORDS).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_u64..3).prop_map(Value::from),
        word().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..5).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn odd_frames_never_break_a_reader(frames in prop::collection::vec(value(), 1..12)) {
        for wire in WIRES {
            let reading = FrameReader::new(wire::decoder(wire));
            for frame in &frames {
                reading.feed(frame.to_string().as_bytes());
            }
            if let Ok(draft) = reading.finish() {
                let answer = wire::response(wire, draft, &question());
                let again: TurnRequest = serde_json::from_value(json!(follow_up(&answer))).unwrap();
                prop_assert_eq!(again, follow_up(&answer));
            }
        }
    }
}
