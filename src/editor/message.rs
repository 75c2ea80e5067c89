//! The messages of the protocol: JSON objects with `type`, `payload` and `id`. Main functions: [`encode`], [`parse`].

use serde_json::{Value, json};
use uuid::Uuid;

/// A peer's answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EditorReply {
    pub(super) success: bool,
    /// The peer's explanation; untrusted.
    pub(super) error: Option<String>,
    /// The result; untrusted.
    pub(super) data: Value,
}

/// A message of a peer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PeerMessage {
    /// An answer, with the id of its request.
    Reply(Uuid, EditorReply),
    /// The answer of an extension that could not parse what it received.
    Unparsed,
    /// A message of another participant of a bus.
    Bus {
        /// `true` if it asks all servers for their presence.
        is_marco: bool,
    },
}

/// Encodes a message with the fields of all generations: each ignores those that it does not know. One line, with its end.
pub(super) fn encode(kind: &str, mut payload: Value, shell: u32, id: Uuid) -> Vec<u8> {
    payload["terminal_shell_pid"] = shell.into();
    let mut bytes = json!({ "shellPid": shell, "type": kind, "payload": payload, "id": id }).to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

/// Parses a message; `None` if it has no known shape.
pub(super) fn parse(bytes: &[u8]) -> Option<PeerMessage> {
    let message: Value = serde_json::from_slice(bytes).ok()?;
    let reply = match message.get("type").map(Value::as_str) {
        Some(Some("response")) => message.get("payload")?,
        Some(kind) => return Some(PeerMessage::Bus { is_marco: kind == Some("marco") }),
        None => &message,
    };
    let success = reply.get("success")?.as_bool()?;
    let error = reply.get("error").and_then(Value::as_str).map(str::to_owned);
    let data = reply.get("data").cloned().unwrap_or_default();
    match message.get("id")?.as_str()? {
        "unknown" => Some(PeerMessage::Unparsed),
        id => Some(PeerMessage::Reply(Uuid::try_parse(id).ok()?, EditorReply { success, error, data })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_that_every_generation_reads() {
        let id = Uuid::from_u128(7);
        let line = String::from_utf8(encode("present_review", json!({ "content": "a\nb" }), 42, id)).unwrap();
        assert_eq!(
            line,
            "{\"shellPid\":42,\"type\":\"present_review\",\"payload\":{\"content\":\"a\\nb\",\"terminal_shell_pid\":42},\
             \"id\":\"00000000-0000-0000-0000-000000000007\"}\n"
        );
    }

    #[test]
    fn both_shapes_of_a_reply_are_read() {
        let id = Uuid::from_u128(7);
        let reply = |success, error: Option<&str>, data| {
            Some(PeerMessage::Reply(id, EditorReply { success, error: error.map(str::to_owned), data }))
        };
        for (message, read) in [
            (json!({ "id": id, "success": true }), reply(true, None, Value::Null)),
            (json!({ "id": id, "success": false, "error": "no" }), reply(false, Some("no"), Value::Null)),
            (
                json!({ "type": "response", "payload": { "success": true, "data": [1] }, "id": id, "shellPid": 0 }),
                reply(true, None, json!([1])),
            ),
            (
                json!({ "id": "unknown", "success": false, "error": "Invalid JSON message" }),
                Some(PeerMessage::Unparsed),
            ),
            (json!({ "type": "marco", "payload": {} }), Some(PeerMessage::Bus { is_marco: true })),
            (json!({ "type": "polo", "payload": {} }), Some(PeerMessage::Bus { is_marco: false })),
            (json!({ "type": 1 }), Some(PeerMessage::Bus { is_marco: false })),
            (json!({ "id": "x", "success": true }), None),
            (json!({ "id": id, "success": "yes" }), None),
            (json!({ "type": "response", "id": id }), None),
        ] {
            assert_eq!(parse(message.to_string().as_bytes()), read, "{message}");
        }
        assert_eq!(parse(b"{]"), None);
    }
}
