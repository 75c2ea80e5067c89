//! Conversions from the plain types of the tables to the SDK's. All text is sanitized here, on its way out.

use std::sync::Arc;

use rmcp::model::{
    Annotations, CallToolResult, ContentBlock, ErrorData, JsonObject, MetaObject, PromptArgument, ProtocolVersion,
    Resource, ResourceTemplate, Tool as WireTool, ToolAnnotations,
};
use serde_json::{Value, json};

use crate::mcp::answer_size;
use crate::mcp::prompts::Prompt;
use crate::mcp::pull_json;
use crate::mcp::resources::{ListedResource, ReadFault, UriTemplate};
use crate::mcp::sanitize;
use crate::mcp::tool::{McpTool, McpToolResult, ToolHints};
use crate::mcp::tool_selection::ToolSelection;

/// Checks whether a client supports structured content and resource links: they came with revision 2025-06-18.
pub(super) fn supports_structured_content(version: Option<&ProtocolVersion>) -> bool {
    version.is_none_or(|version| version.as_str() >= ProtocolVersion::V_2025_06_18.as_str())
}

pub(super) fn tool(tool: &McpTool, offer: &ToolSelection, structure: bool) -> WireTool {
    let hints = match (tool.hints)(offer) {
        ToolHints::ReadsOnly => (true, false, true),
        ToolHints::Keeps => (false, false, false),
        ToolHints::Sends | ToolHints::Runs => (false, true, false),
        ToolHints::Asks => (true, true, true),
        ToolHints::Settles => (false, true, true),
    };
    let (read_only, open_world, idempotent) = hints;
    let mut annotations = ToolAnnotations::with_title(tool.title).read_only(read_only).open_world(open_world);
    if !read_only {
        annotations = annotations.destructive((tool.hints)(offer) == ToolHints::Runs).idempotent(idempotent);
    }
    let wire = WireTool::new(tool.name, tool.description.clone(), object((tool.input)(tool.name, offer)))
        .with_annotations(annotations);
    let wire = wire.with_meta(meta(tool));
    if structure { wire.with_title(tool.title).with_raw_output_schema(object((tool.output)(tool.name))) } else { wire }
}

/// Hints for clients that know them: the size of a result that is shown whole, and the tools that are never left for a search.
fn meta(tool: &McpTool) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert("anthropic/maxResultSizeChars".to_owned(), answer_size::LARGEST.into());
    if tool.is_first {
        meta.insert("anthropic/alwaysLoad".to_owned(), true.into());
    }
    meta
}

/// Removes the keyword `format`: the ones of integers are not in the standard, and validators of clients print a warning for each.
fn without_formats(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // A property of that name is a schema itself, and no text.
            if fields.get("format").is_some_and(Value::is_string) {
                fields.shift_remove("format");
            }
            fields.values_mut().for_each(without_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(without_formats),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Converts a schema; the rows hold JSON Schemas of objects, as a test checks.
pub(super) fn object(mut schema: Value) -> Arc<JsonObject> {
    without_formats(&mut schema);
    Arc::new(match schema {
        Value::Object(fields) => fields,
        _ => JsonObject::new(),
    })
}

pub(super) fn result(answer: McpToolResult, structure: bool) -> CallToolResult {
    let McpToolResult { structured, text, links, is_error } = answer;
    let structured = structured.map(sanitize::value);
    let text = match (text, &structured) {
        (Some(text), _) => sanitize::text(&text),
        (None, Some(fields)) => fields.to_string(),
        (None, None) => String::new(),
    };
    let mut content = vec![ContentBlock::text(text)];
    if structure {
        let links = links.into_iter().map(|link| Resource::new(link.uri, link.name).with_mime_type(link.mime));
        content.extend(links.map(ContentBlock::resource_link));
    }
    let mut result = if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = structured.filter(|_| structure);
    result
}

pub(super) fn listed(listed: ListedResource) -> Resource {
    let resource = Resource::new(listed.uri, sanitize::text(&listed.name))
        .with_description(sanitize::text(&listed.description))
        .with_mime_type(listed.mime);
    let annotations =
        listed.changed.and_then(|at| serde_json::from_value::<Annotations>(json!({ "lastModified": at })).ok());
    match annotations {
        Some(annotations) => resource.with_annotations(annotations),
        None => resource,
    }
}

pub(super) fn template(template: &UriTemplate) -> ResourceTemplate {
    ResourceTemplate::new(template.uri, template.name)
        .with_description(template.description)
        .with_mime_type(template.mime)
}

pub(super) fn prompt(prompt: &Prompt) -> rmcp::model::Prompt {
    let arguments = prompt.arguments.iter().map(|argument| {
        PromptArgument::new(argument.name).with_description(argument.description).with_required(argument.required)
    });
    rmcp::model::Prompt::new(prompt.name, Some(prompt.description), Some(arguments.collect())).with_title(prompt.title)
}

/// Marks text by the repository's authors as untrusted, for clients that show where text comes from.
pub(super) fn untrusted() -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert("review/untrusted".to_owned(), Value::Bool(true));
    meta
}

/// Converts a read fault, with the error codes that clients know.
pub(super) fn read_error(fault: &ReadFault, uri: Option<&str>) -> ErrorData {
    let text = sanitize::text(&fault.to_string());
    let mut data = uri.map(|uri| json!({ "uri": sanitize::text(uri) }));
    match fault {
        ReadFault::NotFound(_) => ErrorData::resource_not_found(text, data),
        ReadFault::Failed(_) => ErrorData::internal_error(text, data),
        ReadFault::Malformed(_) => ErrorData::invalid_params(text, data),
        ReadFault::Afar(fault) => {
            if let (Some(data), Value::Object(about)) = (&mut data, sanitize::value(pull_json::fault(fault))) {
                about.into_iter().filter(|(name, _)| name != "message").for_each(|(name, value)| data[name] = value);
            }
            ErrorData::internal_error(text, data)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_schema_has_a_keyword_that_validators_complain_of() {
        let property = json!({ "properties": { "format": { "type": "integer", "format": "uint32", "minimum": 0 } } });
        let expected = json!({ "properties": { "format": { "type": "integer", "minimum": 0 } } });
        assert_eq!(Value::Object(JsonObject::clone(&object(property))), expected);
        let offer = ToolSelection::new(&["all".to_owned(), "build".to_owned()], true).unwrap();
        for one in offer.tools() {
            let wire = serde_json::to_value(tool(&one, &offer, true)).unwrap();
            assert!(!wire.to_string().contains("\"format\":\""), "{wire}");
            assert_eq!(wire["_meta"]["anthropic/maxResultSizeChars"], 60_000, "{wire}");
            let is_first = matches!(one.name, "review" | "present_review");
            assert_eq!(wire["_meta"].get("anthropic/alwaysLoad").is_some(), is_first, "{wire}");
        }
    }
}
