//! `present_review`: an assistant presents its review as Markdown, part by part; references to files in it are checked.
//!
//! Name, parameters and error texts are those of Dialectic's tool of this name, so that prompts written for it work here: errors in the
//! arguments use the wording of its documentation first, that of its code second (`arguments`). `baseUri` is required there and optional
//! here, because this server always has a folder that it was started for. [`ALIAS`] is the tool's older name: it is not listed, but
//! accepted.

mod arguments;

use std::borrow::Cow;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use self::arguments::read;
use super::super::answer_size;
use super::super::resources::presented_uri;
use super::super::tool::{McpLink, McpTool, McpToolCall, McpToolResult, ToolHints};
use super::super::tool_selection::ToolSelection;
use crate::app::{DocumentDisplay, PresentFault, PresentedDocument};
use crate::domain::percent::encode_file_uri;
use crate::domain::presented::{BrokenRef, CheckedRef, Presented};

/// The description for assistants. Every session pays for each word of it.
const DESCRIPTION: &str = "Shows the user a code review that you wrote, as Markdown.\nStructure: summary; findings, most serious first (what \
    breaks, why, where); suggestions.\nLink the places that matter, with paths from baseUri: [name](src/a.rs), [a.rs:42](src/a.rs#L42), \
    [a.rs:42-50](src/a.rs#L42-L50), [main](src/a.rs?fn main) (regex), [`src/a.rs:42`][] or src/a.rs:42. They are checked: correct those \
    reported as broken.\nmode: replace for a new review; append to add or to answer; update-section to redo one section, e.g. \
    {\"mode\": \"update-section\", \"section\": \"Suggestions\", \"content\": \"...\"}.";

/// Upper bound on broken references in the text; the fields have more.
const IN_TEXT: usize = 20;
/// Upper bounds on the named unknown arguments, and on the characters of each.
const IGNORED: usize = 10;
const IGNORED_NAME: usize = 40;
/// Upper bound on broken references in the fields.
const IN_FIELDS: usize = 200;

pub(super) const TOOL: McpTool = McpTool {
    name: "present_review",
    title: "Present a review",
    description: Cow::Borrowed(DESCRIPTION),
    input,
    output,
    hints: |_| ToolHints::Keeps,
    alias_of: None,
    is_first: true,
    by_default: true,
    group: None,
    call,
};

/// The tool under its older name, for clients whose prompts still use it.
pub(super) const ALIAS: McpTool = McpTool {
    name: "present-review",
    title: "Present a review (older name)",
    description: Cow::Borrowed("present_review by its older name."),
    alias_of: Some("present_review"),
    is_first: false,
    by_default: false,
    group: None,
    ..TOOL
};

fn input(_: &str, _: &ToolSelection) -> Value {
    json!({
        "type": "object",
        "properties": {
            "content": { "type": "string", "description": "Markdown" },
            "mode": { "type": "string", "enum": ["replace", "update-section", "append"], "default": "replace" },
            "section": { "type": "string", "description": "Heading, for update-section" },
            "baseUri": { "type": "string", "description": "Folder that links start from; default: the repository" },
            "reviewId": { "type": "string", "description": "As returned, to go on with that review; \"new\" begins another" },
        },
        "required": ["content"],
    })
}

fn output(_: &str) -> Value {
    json!({
        "type": "object",
        "properties": {
            "success": { "type": "boolean" },
            "message": { "type": "string" },
            "displayed": { "type": "boolean", "description": "In the window of an editor" },
            "reviewId": { "type": "string" },
            "uri": { "type": "string" },
            "references": {
                "type": "object",
                "properties": {
                    "total": { "type": "integer", "minimum": 0, "description": "In the whole document" },
                    "broken": {
                        "type": "array",
                        "description": "Of what this call wrote",
                        "items": {
                            "type": "object",
                            "properties": {
                                "text": { "type": "string" },
                                "why": { "type": "string" },
                                "near": { "type": "array", "items": { "type": "string" } },
                            },
                            "required": ["text", "why", "near"],
                        },
                    },
                    "more": { "type": "integer", "description": "Broken ones that are not listed" },
                    "older_broken": { "type": "integer", "minimum": 0, "description": "In what was written before" },
                },
                "required": ["total", "broken", "older_broken"],
            },
        },
        "required": ["success"],
    })
}

fn call(call: McpToolCall) -> BoxFuture<'static, McpToolResult> {
    Box::pin(async move {
        let asked = match read(&call.input) {
            Ok(asked) => asked,
            Err(fault) => return McpToolResult::error(fault),
        };
        let (service, connection, room) = (call.service, call.connection, call.room);
        let shown = service.spawn_blocking("checking the references", move |service| {
            service.present(&connection, asked.ask).map(|shown| (shown, asked.ignored))
        });
        match shown.await {
            Ok(Ok((shown, ignored))) => {
                let display = service.display(shown.presented.id).await;
                presented(&shown, &ignored, &display, room)
            }
            Ok(Err(fault)) => failed(&fault),
            Err(error) => McpToolResult::error(format!("Error presenting review: {error}")),
        }
    })
}

/// Builds an error that a caller can act on, also for those that check `success` alone.
fn failed(fault: &PresentFault) -> McpToolResult {
    let mut message = fault.to_string();
    if matches!(fault, PresentFault::Base(_) | PresentFault::NotAFolder(_)) {
        message.push_str(". Or leave baseUri out: references then start where they did, or from the server's folder");
    }
    McpToolResult {
        text: Some(format!("Failed to display review: {message}")),
        structured: Some(json!({ "success": false, "message": message })),
        is_error: true,
        links: Vec::new(),
    }
}

fn presented(shown: &PresentedDocument, ignored: &[String], display: &DocumentDisplay, room: usize) -> McpToolResult {
    let presented = &shown.presented;
    let uri = presented_uri(presented.id);
    let mut message = format!("read it at {uri} (in a terminal: review present --show {})", presented.id);
    if let Some(file) = &shown.file {
        let name = file.file_name().unwrap_or_default().as_encoded_bytes();
        let link = encode_file_uri(file.parent().unwrap_or(file), name);
        let how = match display {
            DocumentDisplay::Shown(_) => "It is also",
            DocumentDisplay::NotShown(_) => "Nothing was opened: tell the user that it is",
        };
        message.push_str(&format!(". {how} in the file {} ({link})", file.display()));
    }
    if let Some(note) = &shown.note {
        message.push_str(&format!(". {}", note.trim_end_matches('.')));
    }
    if !ignored.is_empty() {
        let names: Vec<String> =
            ignored.iter().take(IGNORED).map(|name| name.chars().take(IGNORED_NAME).collect()).collect();
        let more = if ignored.len() > IGNORED { ", …" } else { "" };
        message.push_str(&format!(". Unknown arguments were ignored: {}{more}", names.join(", ")));
    }
    let displayed = match display {
        DocumentDisplay::Shown(note) => {
            message
                .push_str(&note.as_ref().map(|note| format!(". {}", note.trim_end_matches('.'))).unwrap_or_default());
            true
        }
        DocumentDisplay::NotShown(why) => {
            message.push_str(&format!(". {}", why.trim_end_matches('.')));
            false
        }
    };
    let outcome = if displayed { "Review successfully displayed in VSCode" } else { "Review kept, not displayed" };
    let broken = BrokenReferences::of(shown);
    McpToolResult {
        text: Some(format!("{outcome}: {message}{}", broken.describe())),
        structured: Some(json!({
            "success": true,
            "message": message,
            "displayed": displayed,
            "reviewId": presented.id.to_string(),
            "uri": uri,
            "references": broken.fields(room / 2),
        })),
        links: vec![McpLink { uri, name: "The review".to_owned(), mime: "text/markdown" }],
        is_error: false,
    }
}

/// The broken references, separated by origin: a client that appends already knows the earlier ones.
struct BrokenReferences<'s> {
    presented: &'s Presented,
    /// References in the new text, with the reasons.
    new: Vec<(&'s CheckedRef, &'s BrokenRef)>,
    /// The number of references in the new text.
    written: usize,
    older: usize,
}

impl<'s> BrokenReferences<'s> {
    fn of(shown: &'s PresentedDocument) -> Self {
        let presented = &shown.presented;
        let is_new =
            |reference: &CheckedRef| reference.at.start < shown.written.end && reference.at.end > shown.written.start;
        let (new, older): (Vec<_>, Vec<_>) =
            presented.broken_references().partition(|(reference, _)| is_new(reference));
        let written = presented.references.iter().filter(|reference| is_new(reference)).count();
        Self { presented, new, written, older: older.len() }
    }

    fn as_written(&self, reference: &CheckedRef) -> String {
        as_written(self.presented.markdown.get(reference.at.clone()), reference)
    }

    fn describe(&self) -> String {
        let mut text = String::new();
        let (count, written) = (self.new.len(), self.written);
        let one_reason = self.new.first().filter(|(_, first)| {
            count > 1 && first.near.is_empty() && self.new.iter().all(|(_, fault)| fault.why == first.why)
        });
        if let Some((_, fault)) = one_reason {
            text.push_str(&format!("\n{count} of {written} file references, each: {}", fault.why));
        } else if count > 0 {
            text.push_str(&format!(
                "\n{count} of {written} file references were not found, or not looked up; correct those that are wrong and present again:"
            ));
            for (reference, fault) in self.new.iter().take(IN_TEXT) {
                let near =
                    if fault.near.is_empty() { String::new() } else { format!(" (near: {})", fault.near.join(", ")) };
                text.push_str(&format!("\n- {}: {}{near}", self.as_written(reference), fault.why));
            }
            if count > IN_TEXT {
                text.push_str(&format!("\n- and {} more", count - IN_TEXT));
            }
        }
        match self.older {
            0 => {}
            1 => text.push_str("\n1 older reference is still broken"),
            older => text.push_str(&format!("\n{older} older references are still broken")),
        }
        if self.older > 0 {
            text.push_str(&format!(" ({}/references)", presented_uri(self.presented.id)));
        }
        text
    }

    fn fields(&self, room: usize) -> Map<String, Value> {
        let listed: Vec<Value> = self
            .new
            .iter()
            .take(IN_FIELDS)
            .map(|(reference, fault)| {
                json!({ "text": self.as_written(reference), "why": fault.why, "near": fault.near })
            })
            .collect();
        let mut references = Map::new();
        references.insert("total".to_owned(), self.presented.references.len().into());
        references.insert("broken".to_owned(), listed.into());
        let more = self.new.len() - answer_size::fit_list(&mut references, "broken", room, 0);
        if more > 0 {
            references.insert("more".to_owned(), more.into());
        }
        references.insert("older_broken".to_owned(), self.older.into());
        references
    }
}

/// Returns a reference as written in the document, so that its author finds it; cut if it is long.
fn as_written(written: Option<&str>, reference: &CheckedRef) -> String {
    const LONGEST: usize = 120;
    let written = written.unwrap_or(&reference.text).replace('\n', " ");
    if written.chars().count() <= LONGEST {
        return written;
    }
    written.chars().take(LONGEST).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
