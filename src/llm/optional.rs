//! Fields that a server may not know. They are sent until it refuses them, and then never again. Main type: [`Given`].

use std::sync::atomic::{AtomicU8, Ordering};

use super::table::Wire;

/// A field that a request can do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub(super) enum Optional {
    /// Asks for the usage within the stream.
    Usage = 1,
    /// Says which requests begin alike.
    CacheKey = 2,
    /// Asks for the encrypted reasoning.
    Reasoning = 4,
    /// Makes a call of a tool the only answer. Models that always think refuse it.
    ForcedCall = 8,
    /// Names the limit of the answer as chat completions used to. The newer name is taken where the older one is refused.
    OldLimitName = 16,
    /// Leaves it to the server what becomes of thinking whose conversation has changed. Where it refuses, it is told to drop it.
    BoundThinking = 32,
}

impl Optional {
    /// Whether it is a field more than others send, so that a server may not know it at all.
    const fn is_extra(self) -> bool {
        match self {
            Self::Usage | Self::CacheKey | Self::Reasoning => true,
            Self::ForcedCall | Self::OldLimitName | Self::BoundThinking => false,
        }
    }
}

/// Every one, with what a refusal says of it.
const REFUSALS: &[(Optional, &[Wire], &[&str])] = &[
    (Optional::OldLimitName, &[Wire::Chat], &["max_completion_tokens"]),
    (Optional::BoundThinking, &[Wire::Messages], &["bound to a different conversation", "prefix_mismatch_behavior"]),
    (Optional::Usage, &[Wire::Chat], &["stream_options", "include_usage"]),
    (Optional::CacheKey, &[Wire::Responses], &["prompt_cache_key"]),
    (Optional::Reasoning, &[Wire::Responses], &["encrypted", "'include'", "\"include\"", "include["]),
    (
        Optional::ForcedCall,
        &[Wire::Messages, Wire::Responses, Wire::Chat, Wire::Gemini],
        &["tool_choice", "toolchoice", "functioncallingconfig", "function_calling_config"],
    ),
];

/// What a server says that wants no field it does not know, without naming it.
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
pub(super) struct Given(u8);

impl Given {
    /// Whether that one is.
    pub(super) fn has(self, optional: Optional) -> bool {
        self.0 & optional as u8 != 0
    }
}

/// What one server was seen to refuse.
#[derive(Debug, Default)]
pub(super) struct Refused(AtomicU8);

impl Refused {
    /// With what is known beforehand.
    pub(super) fn knowing(refused: &[Optional]) -> Self {
        Self(AtomicU8::new(refused.iter().fold(0, |all, optional| all | *optional as u8)))
    }

    /// What to send.
    pub(super) fn given(&self) -> Given {
        Given(!self.0.load(Ordering::Relaxed))
    }

    /// Learns from a refusal. Whether asking again can help: something of what was sent will not be sent again.
    pub(super) fn learn(&self, wire: Wire, given: Given, forced: bool, status: u16, body: &str) -> bool {
        if !matches!(status, 400 | 404 | 422) {
            return false;
        }
        let body = body.to_lowercase();
        let sent = |optional: Optional| given.has(optional) && (optional != Optional::ForcedCall || forced);
        let named = REFUSALS.iter().find(|(optional, wires, words)| {
            wires.contains(&wire) && sent(*optional) && words.iter().any(|word| body.contains(word))
        });
        let unnamed = || {
            let first = REFUSALS
                .iter()
                .find(|(optional, wires, _)| wires.contains(&wire) && sent(*optional) && optional.is_extra());
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

    #[test]
    fn a_refused_field_is_not_sent_again() {
        let refused = Refused::default();
        let given = refused.given();
        assert!(given.has(Optional::Usage));
        assert!(refused.learn(Wire::Chat, given, false, 400, r#"{"error":"Unknown parameter: stream_options"}"#));
        assert!(!refused.given().has(Optional::Usage));
        assert!(!refused.learn(Wire::Chat, refused.given(), false, 400, "stream_options"), "it was not sent");
    }

    #[test]
    fn other_errors_teach_nothing() {
        let refused = Refused::default();
        assert!(!refused.learn(Wire::Chat, refused.given(), false, 400, "context length exceeded"));
        assert!(!refused.learn(Wire::Chat, refused.given(), false, 500, "stream_options"));
        assert!(!refused.learn(Wire::Chat, refused.given(), false, 400, "tool_choice"), "no call was forced");
        assert!(!refused.learn(Wire::Messages, refused.given(), false, 400, "extra inputs are not permitted"));
    }
}
