//! Google's `generateContent` (`POST /v1beta/models/{model}:streamGenerateContent`), the Gemini API.

use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatRequest, ContentPart, ToolChoice as LibraryChoice};
use serde_json::Value;

use super::parts::{conversation, list, said, text, tools, with_tools};
use super::{ForLibrary, Said, Setup};
use crate::llm::draft::{Arguments, Block, CallDraft, Draft};
use crate::llm::frames::{Decoder, Trouble};
use crate::llm::optional::Optional;
use crate::llm::turn::{Stop, ToolChoice, TurnRequest};
use crate::llm::usage::{Count, Counted};

/// Says a request.
pub(super) fn request(request: &TurnRequest, setup: &Setup<'_>) -> Said {
    let chat = ChatRequest::new(conversation(&request.messages)).with_system(request.system.clone());
    let chat = with_tools(chat, tools(request, None));
    let mut options = ChatOptions::default().with_max_tokens(request.max_output);
    if request.choice == ToolChoice::Required && setup.given.has(Optional::ForcedCall) {
        options = options.with_tool_choice(LibraryChoice::Required);
    }
    // The library does not see which generation it is: for some it would invent a signature where the model gave none. The name is not in the
    // body, and the address that it stands in is ours.
    Said::Library(Box::new(ForLibrary {
        kind: AdapterKind::Gemini,
        name: "model".to_owned(),
        chat,
        options,
        headers: &[],
    }))
}

/// Reads the chunks.
#[derive(Default)]
pub(super) struct Reader {
    draft: Draft,
    /// Whether the last text has a signature: what follows is a part of its own.
    sealed: bool,
}

impl Decoder for Reader {
    fn draft(&mut self) -> &mut Draft {
        &mut self.draft
    }

    fn read(&mut self, frame: &Value) -> Result<(), Trouble> {
        // An error in the middle may come as a list.
        let frame = frame.get(0).unwrap_or(frame);
        if let Some(error) = frame.get("error") {
            return Err(said(error));
        }
        self.count(&frame["usageMetadata"]);
        let blocked = text(&frame["promptFeedback"], "blockReason");
        let Some(candidate) = list(frame, "candidates").first() else {
            if !blocked.is_empty() {
                self.draft.stop = Some(Stop::Refused);
                self.draft.ended = true;
            }
            return Ok(());
        };
        for part in list(&candidate["content"], "parts") {
            self.part(part);
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.draft.stop = Some(stop(reason));
            self.draft.ended = true;
        }
        Ok(())
    }
}

impl Reader {
    /// `promptTokenCount` counts cached ones; thoughts are no candidates. A field that would be zero is left out, as in all of the
    /// provider's JSON: without cached tokens none were read.
    fn count(&mut self, usage: &Value) {
        let input = Count::at(usage, "/promptTokenCount").plus(Count::at(usage, "/toolUsePromptTokenCount"));
        // Google's JSON leaves out numbers that are zero.
        let cache_read = match Count::at(usage, "/cachedContentTokenCount") {
            Count::Unsaid if input != Count::Unsaid => Count::Said(0),
            said => said,
        };
        let counted = Counted {
            input,
            output: Count::at(usage, "/candidatesTokenCount").plus(Count::at(usage, "/thoughtsTokenCount")),
            cache_read,
            cache_write: Count::Unsaid,
        };
        self.draft.counted = self.draft.counted.later(counted);
    }

    fn part(&mut self, part: &Value) {
        let signature = text(part, "thoughtSignature");
        if let Some(call) = part.get("functionCall") {
            let arguments = call.get("args").cloned().unwrap_or_default();
            self.draft.grew(&arguments.to_string());
            let (id, name) = (text(call, "id").to_owned(), text(call, "name").to_owned());
            let signatures = if signature.is_empty() { Vec::new() } else { vec![signature.to_owned()] };
            self.draft.blocks.push(Block::Call(CallDraft {
                id,
                name,
                arguments: Arguments::Value(arguments),
                signatures,
            }));
            self.sealed = false;
            return;
        }
        let words = text(part, "text");
        let thought = part["thought"].as_bool().unwrap_or_default();
        if signature.is_empty() {
            if thought {
                self.draft.grew(words);
            } else if self.sealed && !words.is_empty() {
                self.draft.grew(words);
                self.draft.blocks.push(Block::Text(words.to_owned()));
                self.sealed = false;
            } else {
                self.draft.text(words);
            }
            return;
        }
        // A signature belongs to the part that it stands in, also to an empty one.
        self.draft.grew(words);
        self.draft.blocks.push(Block::Opaque(ContentPart::ThoughtSignature(signature.to_owned())));
        self.draft.blocks.push(Block::Text(if thought { String::new() } else { words.to_owned() }));
        self.sealed = true;
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "STOP" => Stop::Done,
        "MAX_TOKENS" => Stop::OutputLimit,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => Stop::Refused,
        other => Stop::Other(other.to_owned()),
    }
}
