//! Fields that a server may not know. They are sent until it refuses them, and then never again. Main type: [`RequestFields`].

use std::sync::atomic::{AtomicU8, Ordering};

use super::wire_format::WireFormat;

/// A field that a request can do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub(super) enum OptionalField {
    /// Requests the usage within the stream.
    Usage = 1,
    /// Identifies requests with a common prefix.
    CacheKey = 2,
    /// Requests the encrypted reasoning.
    Reasoning = 4,
    /// Requires a tool call. Models that always think refuse it.
    ForcedCall = 8,
    /// Uses the older name of the output limit in chat completions. The newer one is used if the older one is refused.
    OldLimitName = 16,
    /// Lets the server decide about thinking whose conversation has changed. If it refuses, it is told to drop the thinking.
    BoundThinking = 32,
    /// Offers tools. If they are refused, calls are written in text.
    Tools = 64,
}

impl OptionalField {
    /// Checks whether this is a field that others do not send, so that a server may not know it at all.
    const fn is_extra(self) -> bool {
        match self {
            Self::Usage | Self::CacheKey | Self::Reasoning => true,
            Self::ForcedCall | Self::OldLimitName | Self::BoundThinking | Self::Tools => false,
        }
    }
}

/// All optional fields, with the phrases of their refusals.
const REFUSALS: &[(OptionalField, &[WireFormat], &[&str])] = &[
    // What refuses tools may be a server, a gateway or a model.
    (OptionalField::Tools, WireFormat::ALL, NO_TOOLS),
    (OptionalField::OldLimitName, &[WireFormat::Chat], &["max_completion_tokens"]),
    (
        OptionalField::BoundThinking,
        &[WireFormat::Messages],
        &["bound to a different conversation", "prefix_mismatch_behavior"],
    ),
    (OptionalField::Usage, &[WireFormat::Chat], &["stream_options", "include_usage"]),
    (OptionalField::CacheKey, &[WireFormat::Responses], &["prompt_cache_key"]),
    (OptionalField::Reasoning, &[WireFormat::Responses], &["encrypted", "'include'", "\"include\"", "include["]),
    (
        OptionalField::ForcedCall,
        &[WireFormat::Messages, WireFormat::Responses, WireFormat::Chat, WireFormat::Gemini],
        &["tool_choice", "toolchoice", "functioncallingconfig", "function_calling_config"],
    ),
];

/// Errors of servers for a model, or a configuration, without tools. All are from reports of users: Ollama, `OpenAI`, Azure, `DeepInfra`,
/// `OpenRouter`, vLLM (a server that was started without a parser for calls), llama.cpp (without its templates), `DashScope`, Bedrock.
const NO_TOOLS: &[&str] = &[
    "does not support tools",
    "doesn't support tools",
    "does not support tool",
    "doesn't support tool",
    "does not support function",
    "doesn't support function",
    "tools is not supported",
    "tools are not supported",
    "tool use is not supported",
    "tool calling is not supported",
    "tool calls are not supported",
    "tool call is not supported",
    "functions are not supported",
    "function call is not supported",
    "function calling is not supported",
    "function calling is not enabled",
    "support tool use",
    "support function calling",
    "tool choice requires --enable-auto-tool-choice",
    "tools param requires --jinja",
    "unsupported param: tools",
    "unsupported tool_call_parser",
];

/// Errors of servers that reject unknown fields without naming them.
const STRANGERS: &[&str] = &[
    "unknown field",
    "unrecognized",
    "unexpected field",
    "extra inputs",
    "extra fields",
    "not permitted",
    "unknown parameter",
];

/// The optional fields that are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestFields(u8);

impl RequestFields {
    /// Checks whether a field is in the set.
    pub(super) fn contains(self, optional: OptionalField) -> bool {
        self.0 & optional as u8 != 0
    }
}

/// Optional features that a request used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UsedFields {
    /// The fields that it could have had.
    pub(super) given: RequestFields,
    /// `true` if it required a call.
    pub(super) forced: bool,
    /// `true` if it offered tools.
    pub(super) tools: bool,
}

/// Fields that one server was seen to refuse.
#[derive(Debug, Default)]
pub(super) struct RefusedFields(AtomicU8);

impl RefusedFields {
    /// Creates the set with the fields known to be refused.
    pub(super) fn with_refused(refused: &[OptionalField]) -> Self {
        Self(AtomicU8::new(refused.iter().fold(0, |all, optional| all | *optional as u8)))
    }

    pub(super) fn fields_to_send(&self) -> RequestFields {
        RequestFields(!self.0.load(Ordering::Relaxed))
    }

    /// Learns from a refusal. Whether asking again can help: something of what was sent will not be sent again.
    pub(super) fn learn(&self, wire: WireFormat, sent: UsedFields, status: u16, body: &str) -> bool {
        let body = body.to_lowercase();
        let is_sent = |optional: OptionalField| {
            sent.given.contains(optional)
                && match optional {
                    OptionalField::ForcedCall => sent.forced,
                    OptionalField::Tools => sent.tools,
                    _ => true,
                }
        };
        let named = REFUSALS.iter().find(|(optional, wires, words)| {
            // Some servers fail over tools in ways of their own.
            let may_say_so = matches!(status, 400 | 404 | 422)
                || *optional == OptionalField::Tools && matches!(status, 405 | 500 | 501);
            may_say_so && wires.contains(&wire) && is_sent(*optional) && words.iter().any(|word| body.contains(word))
        });
        if named.is_none() && !matches!(status, 400 | 404 | 422) {
            return false;
        }
        let unnamed = || {
            let first = REFUSALS
                .iter()
                .find(|(optional, wires, _)| wires.contains(&wire) && is_sent(*optional) && optional.is_extra());
            first.filter(|_| STRANGERS.iter().any(|word| body.contains(word)))
        };
        let Some((optional, _, _)) = named.or_else(unnamed) else { return false };
        self.0.fetch_or(*optional as u8, Ordering::Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(refused: &RefusedFields) -> UsedFields {
        UsedFields { given: refused.fields_to_send(), forced: false, tools: true }
    }

    #[test]
    fn a_refused_field_is_not_sent_again() {
        let refused = RefusedFields::default();
        let given = refused.fields_to_send();
        assert!(given.contains(OptionalField::Usage));
        assert!(refused.learn(
            WireFormat::Chat,
            sent(&refused),
            400,
            r#"{"error":"Unknown parameter: stream_options"}"#
        ));
        assert!(!refused.fields_to_send().contains(OptionalField::Usage));
        assert!(!refused.learn(WireFormat::Chat, sent(&refused), 400, "stream_options"), "it was not sent");
    }

    #[test]
    fn other_errors_teach_nothing() {
        let refused = RefusedFields::default();
        assert!(!refused.learn(WireFormat::Chat, sent(&refused), 400, "context length exceeded"));
        assert!(!refused.learn(WireFormat::Chat, sent(&refused), 500, "stream_options"));
        assert!(!refused.learn(WireFormat::Chat, sent(&refused), 400, "tool_choice"), "no call was forced");
        assert!(!refused.learn(WireFormat::Messages, sent(&refused), 400, "extra inputs are not permitted"));
    }

    #[test]
    fn a_server_that_refuses_tools_is_offered_none_again() {
        for (status, words) in [
            (400, r#"{"error":"registry.example/gemma:2b does not support tools"}"#),
            (400, "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"),
            (404, "No endpoints found that support tool use. To learn more about provider routing"),
            (405, "Tool calling is not supported for model: small"),
            (500, "tools param requires --jinja flag"),
        ] {
            let refused = RefusedFields::default();
            assert!(
                !refused.learn(WireFormat::Chat, UsedFields { tools: false, ..sent(&refused) }, status, words),
                "{words}"
            );
            assert!(refused.learn(WireFormat::Chat, sent(&refused), status, words), "{words}");
            assert!(
                !refused.fields_to_send().contains(OptionalField::Tools)
                    && refused.fields_to_send().contains(OptionalField::Usage),
                "{words}"
            );
        }
        assert!(!RefusedFields::default().learn(
            WireFormat::Chat,
            sent(&RefusedFields::default()),
            503,
            "does not support tools"
        ));
    }
}
