//! Requests and responses, independent of any provider. Main types: [`TurnRequest`], [`TurnResponse`].
//!
//! Everything here can be written to a journal and read back: a conversation is rebuilt from it without asking anybody again.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::money::Money;
use crate::domain::run::Usage;

/// Request to a model: the whole conversation so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRequest {
    /// System text: the role and the duties of the model. The first cache mark is at its end.
    pub system: String,
    /// The tools that it may call, in an order that never changes during a conversation.
    pub tools: Vec<ToolDefinition>,
    /// Rule for calls: allowed, required or forbidden.
    pub choice: ToolChoice,
    /// The conversation, oldest first: user, then assistant and results in turn.
    pub messages: Vec<Message>,
    /// Maximum size of the response, in tokens.
    pub max_output: u32,
    /// Format of calls and their results.
    #[serde(default, skip_serializing_if = "ToolCallFormat::is_native")]
    pub speech: ToolCallFormat,
    /// Explanation of the text format of calls. It is sent only with that format.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub grammar: String,
}

/// Format of calls and their results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallFormat {
    /// Format of the provider's API.
    #[default]
    Native,
    /// In the text, for models that cannot call tools or write their calls there anyway.
    Text,
}

impl ToolCallFormat {
    /// Checks whether it is the format of the API.
    pub const fn is_native(&self) -> bool {
        matches!(self, Self::Native)
    }
}

/// A message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// From this program.
    User {
        /// Text.
        text: String,
        /// `true` if the conversation up to here will be sent again: providers with cache marks get one here.
        mark: bool,
    },
    /// Response of the model, unchanged.
    Assistant {
        /// Its parts in order, opaque ones included.
        parts: Vec<MessagePart>,
    },
    /// The results of the calls of the message before, in their order.
    Results {
        /// One for each call.
        results: Vec<ToolResult>,
        /// Like that of `User`.
        mark: bool,
    },
}

/// Part of a model's message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum MessagePart {
    /// Text for the reader.
    Text {
        /// The text.
        text: String,
    },
    /// A call of a tool.
    Call(ModelToolCall),
    /// Something that only its provider understands and that must go back verbatim: signed or encrypted thinking. It never reaches a person.
    Opaque {
        /// As `opaque` writes it.
        value: Value,
    },
}

impl MessagePart {
    /// Returns the call, if it is one.
    pub fn call(&self) -> Option<&ModelToolCall> {
        match self {
            Self::Call(call) => Some(call),
            Self::Text { .. } | Self::Opaque { .. } => None,
        }
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelToolCall {
    /// Id that matches the result to the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its input.
    pub input: ToolInput,
    /// Signatures that belong to this call and go back with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<String>,
}

/// The input of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolInput {
    /// A JSON object, as it should be.
    Object(Map<String, Value>),
    /// Text that is not a JSON object.
    Malformed(String),
}

/// Result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call.
    pub id: String,
    /// The tool's name: Gemini matches results by it.
    pub name: String,
    /// Text for the model.
    pub text: String,
    /// `true` if the text is an error.
    pub is_error: bool,
}

/// Definition of a tool for models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// Description.
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: Value,
}

/// Rule for tool calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// It decides.
    #[default]
    Auto,
    /// It must call one.
    Required,
}

/// Complete response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnResponse {
    /// Parts of the response, in order.
    pub parts: Vec<MessagePart>,
    /// Reason why it ended.
    pub stop: FinishReason,
    /// Tokens and cost.
    pub usage: TurnUsage,
}

/// Reasons why a response ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// Regular end.
    Done,
    /// It waits for results.
    Calls,
    /// Output limit reached.
    OutputLimit,
    /// It refused, or a filter did.
    Refused,
    /// Any other reason, in the provider's words.
    Other(String),
}

/// Tokens of one turn. `None` is unknown, never zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnUsage {
    /// Sent, cached ones included.
    pub input: Option<u64>,
    /// Received, reasoning included.
    pub output: Option<u64>,
    /// Input tokens that were read from a cache.
    pub cache_read: Option<u64>,
    /// Input tokens that were written to a cache.
    pub cache_write: Option<u64>,
    /// Cost of the turn, at the prices of its day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
}

impl TurnUsage {
    /// Usage of no request at all.
    pub const NOTHING: Self =
        Self { input: Some(0), output: Some(0), cache_read: Some(0), cache_write: Some(0), cost: Some(Money::NOTHING) };

    /// Adds two usages; a number that is unknown in either is unknown.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b));
        Self {
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
            cache_read: sum(self.cache_read, other.cache_read),
            cache_write: sum(self.cache_write, other.cache_write),
            cost: self.cost.zip(other.cost).map(|(a, b)| a.plus(b)),
        }
    }

    /// Converts the usage for the review.
    pub fn into_usage(self) -> Usage {
        Usage {
            input_tokens: self.input,
            output_tokens: self.output,
            cache_read_tokens: self.cache_read,
            cache_write_tokens: self.cache_write,
            cost: self.cost,
        }
    }
}

impl TurnRequest {
    /// Adds a message. Of the results, only the last two keep their mark: with the system text and the change those are the four marks that a
    /// provider accepts, and the one before the last is where the cache was written last time.
    pub fn push(&mut self, message: Message) {
        if matches!(message, Message::Results { .. }) {
            let marks = self.messages.iter_mut().rev().filter_map(|message| match message {
                Message::Results { mark, .. } => Some(mark),
                Message::User { .. } | Message::Assistant { .. } => None,
            });
            marks.skip(1).for_each(|mark| *mark = false);
        }
        // Some servers want the roles to take turns.
        if let (Some(Message::User { text, .. }), Message::User { text: more, .. }) =
            (self.messages.last_mut(), &message)
        {
            text.push_str("\n\n");
            text.push_str(more);
            return;
        }
        self.messages.push(message);
    }
}

impl TurnRequest {
    /// Returns the calls that the model made so far, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ModelToolCall> {
        let parts = self.messages.iter().flat_map(|message| match message {
            Message::Assistant { parts } => parts.as_slice(),
            Message::User { .. } | Message::Results { .. } => &[],
        });
        parts.filter_map(MessagePart::call)
    }

    /// Adds the response of the model. An empty one becomes a word in brackets: without it two messages of ours would be adjacent and be joined,
    /// which changes the cached prefix.
    pub fn push_answer(&mut self, response: &TurnResponse) {
        let mut parts = response.parts.clone();
        if parts.is_empty() {
            parts.push(MessagePart::Text { text: "(no answer)".to_owned() });
        }
        self.push(Message::Assistant { parts });
    }
}

/// Maximum length of a tool name that every provider accepts, in characters.
const LONGEST_NAME: usize = 64;

impl TurnResponse {
    /// Replaces names of tools that a provider might refuse. A model can invent a name that no API accepts: sent back as it is, it would end the
    /// conversation with an error.
    #[must_use]
    pub fn with_plain_names(mut self) -> Self {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        for part in &mut self.parts {
            let MessagePart::Call(call) = part else { continue };
            if call.name.is_empty() || call.name.len() > LONGEST_NAME || !call.name.chars().all(plain) {
                let name = call.name.chars().take(LONGEST_NAME).map(|c| if plain(c) { c } else { '_' });
                call.name = name.collect();
                if call.name.is_empty() {
                    "unnamed".clone_into(&mut call.name);
                }
            }
        }
        self
    }

    /// Returns the calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ModelToolCall> {
        self.parts.iter().filter_map(MessagePart::call)
    }

    /// Returns all text, one part after the other.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            MessagePart::Text { text } => Some(text.as_str()),
            MessagePart::Call(_) | MessagePart::Opaque { .. } => None,
        });
        texts.collect::<Vec<_>>().join("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(name: &str) -> String {
        let call = ModelToolCall {
            id: "1".to_owned(),
            name: name.to_owned(),
            input: ToolInput::Object(Map::new()),
            signatures: Vec::new(),
        };
        let response = TurnResponse {
            parts: vec![MessagePart::Call(call)],
            stop: FinishReason::Calls,
            usage: TurnUsage::default(),
        };
        response.with_plain_names().calls().next().unwrap().name.clone()
    }

    #[test]
    fn names_go_back_as_every_provider_takes_them() {
        assert_eq!(called("read_file_part"), "read_file_part");
        assert_eq!(called("functions.read file\u{e9}"), "functions_read_file_");
        assert_eq!(called(""), "unnamed");
        assert_eq!(called(&"a".repeat(99)).len(), 64);
    }
}
