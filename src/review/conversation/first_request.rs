//! First request of a conversation. Main types: [`FirstRequest`], [`ToolList`].

use crate::llm::{Message, ToolCallFormat, ToolDefinition, TurnRequest};
use crate::prompt::{PromptError, Prompts};
use crate::review::tokens::estimate_tokens;
use crate::tools::Toolbox;

/// Tools of a conversation, in an order that never changes.
#[derive(Debug)]
pub(in crate::review) struct ToolList {
    tools: Vec<ToolDefinition>,
    /// Size in a request, in tokens.
    pub(in crate::review) size: u64,
}

impl ToolList {
    /// Returns the tools of a toolbox, and those that are the conversation's own.
    pub(in crate::review) fn with(tools: &Toolbox, own: impl IntoIterator<Item = ToolDefinition>) -> Self {
        let reading = tools.specs().map(|tool| ToolDefinition {
            name: tool.name.to_owned(),
            description: tool.description.to_owned(),
            schema: (tool.schema)(),
        });
        let tools: Vec<ToolDefinition> = reading.chain(own).collect();
        let size =
            |tool: &ToolDefinition| estimate_tokens(&tool.description) + estimate_tokens(&tool.schema.to_string());
        Self { size: tools.iter().map(size).sum(), tools }
    }
}

/// First request of a conversation.
#[derive(Debug)]
pub(in crate::review) struct FirstRequest {
    pub(in crate::review) request: TurnRequest,
    /// Message, for the journal.
    pub(super) message: String,
    /// Size in estimated tokens.
    pub(in crate::review) size: u64,
}

impl FirstRequest {
    pub(in crate::review) fn new(
        prompts: &Prompts,
        tools: &ToolList,
        speech: ToolCallFormat,
        max_output: u32,
        system: String,
        message: String,
    ) -> Result<Self, PromptError> {
        let grammar = prompts.text_protocol()?;
        let size = tools.size
            + estimate_tokens(&system)
            + estimate_tokens(&message)
            + if speech.is_native() { 0 } else { estimate_tokens(&grammar) };
        let request = TurnRequest {
            system,
            tools: tools.tools.clone(),
            messages: vec![Message::User { text: message.clone(), mark: true }],
            max_output,
            speech,
            grammar,
            ..TurnRequest::default()
        };
        Ok(Self { request, message, size })
    }
}
