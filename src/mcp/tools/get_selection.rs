//! `get_selection`: the text that is selected in the editor. Listed only where there is an editor, or if it is named.

use std::borrow::Cow;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::super::tool::{McpTool, McpToolCall, McpToolResult, ToolHints, UNTRUSTED};
use super::super::tool_selection::ToolSelection;
use crate::app::NO_EDITOR;

pub(super) const TOOL: McpTool = McpTool {
    name: "get_selection",
    title: "Read the selection",
    description: Cow::Borrowed("Returns the text that the user has selected in the editor, with its file and lines."),
    input,
    output,
    hints: |_| ToolHints::ReadsOnly,
    alias_of: None,
    is_first: false,
    by_default: false,
    group: None,
    call,
};

fn input(_: &str, _: &ToolSelection) -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

fn output(_: &str) -> Value {
    let number = json!({ "type": "integer", "minimum": 0 });
    json!({
        "type": "object",
        "properties": {
            "untrusted": { "type": "string", "const": UNTRUSTED },
            "selectedText": { "type": ["string", "null"] },
            "filePath": { "type": "string" },
            "startLine": number, "startColumn": number, "endLine": number, "endColumn": number, "lineNumber": number,
            "documentLanguage": { "type": "string" },
            "isUntitled": { "type": "boolean" },
            "message": { "type": "string" },
        },
        "required": ["untrusted", "selectedText"],
    })
}

fn call(call: McpToolCall) -> BoxFuture<'static, McpToolResult> {
    Box::pin(async move {
        let Some(window) = call.service.editor() else { return McpToolResult::error(NO_EDITOR) };
        match window.selection().await {
            Ok(selection) => {
                let mut fields = json!({ "untrusted": UNTRUSTED });
                if let (Some(fields), Ok(Value::Object(read))) =
                    (fields.as_object_mut(), serde_json::to_value(selection))
                {
                    fields.extend(read);
                }
                McpToolResult::of(fields)
            }
            Err(error) => McpToolResult::error(error.to_string()),
        }
    })
}
