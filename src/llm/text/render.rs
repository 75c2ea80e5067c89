//! Calls and results as lines of the protocol. Main functions: [`render_answer`], [`render_results`].

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::marks::{CALL, END, MarkLine, RESULT, escaped};
use crate::llm::turn::{MessagePart, ModelToolCall, ToolInput, ToolResult};

/// Renders the model's response as it should have been written.
pub(super) fn render_answer(parts: &[MessagePart]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            MessagePart::Text { text: said } => text.push_str(said),
            MessagePart::Call(call) => {
                begin_line(&mut text);
                self::call(&mut text, call);
            }
            // Only its provider understands it, and only beside the calls that it belongs to.
            MessagePart::Opaque { .. } => {}
        }
    }
    text
}

fn call(text: &mut String, call: &ModelToolCall) {
    match &call.input {
        ToolInput::Object(input) => {
            text.push_str(&format!("{CALL} {}\n", call.name));
            fields(text, input, escaped);
        }
        // Unchanged: it has no end.
        ToolInput::Malformed(raw) if raw.starts_with(CALL) => {
            text.push_str(raw.trim_end());
            text.push('\n');
            return;
        }
        ToolInput::Malformed(raw) => {
            text.push_str(&format!("{CALL} {}\n", call.name));
            block(text, raw, escaped);
        }
    }
    text.push_str(END);
    text.push('\n');
}

/// Escapes a message of ours: the contents of its data fences are escaped as results are.
pub(super) fn escape_message(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end: Option<String> = None;
    for whole in text.split_inclusive('\n') {
        let line = whole.strip_suffix('\n').unwrap_or(whole);
        match &end {
            Some(closing) if line == closing => end = None,
            Some(_) => {
                out.push_str(&shown(line));
                out.push_str(&whole[line.len()..]);
                continue;
            }
            None => {
                let opening = line.strip_prefix("<<data ").filter(|rest| rest.ends_with(">>"));
                end = opening.and_then(|rest| rest.split(' ').next()).map(|mark| format!("<<end {mark}>>"));
            }
        }
        out.push_str(whole);
    }
    out
}

/// Escapes a line that was read. A mark behind a diff sign or a line number is escaped, too, because a model that quotes the line leaves those out.
fn shown(line: &str) -> Cow<'_, str> {
    let (margin, body) = line.split_at(margin(line));
    match escaped(body) {
        Cow::Borrowed(_) => Cow::Borrowed(line),
        Cow::Owned(body) => Cow::Owned(format!("{margin}{body}")),
    }
}

/// Returns the length in bytes of a diff sign, or of a number and a tab, at the beginning of a line.
fn margin(line: &str) -> usize {
    if line.starts_with(['+', '-']) {
        return 1;
    }
    let numbered = line.trim_start_matches(' ');
    let rest = numbered.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix('\t') {
        Some(body) if rest.len() < numbered.len() => line.len() - body.len(),
        Some(_) | None => 0,
    }
}

/// Renders tool results. Nothing in a result can end it, or begin another: lines that look so are escaped.
pub(super) fn render_results(results: &[ToolResult]) -> String {
    let mut text = String::new();
    for ToolResult { name, text: said, .. } in results {
        begin_line(&mut text);
        text.push_str(&format!("{RESULT} {name}\n"));
        match serde_json::from_str(said) {
            Ok(Value::Object(answer)) => fields(&mut text, &answer, shown),
            Ok(_) | Err(_) => block(&mut text, said, shown),
        }
        text.push_str(END);
        text.push('\n');
    }
    text
}

/// Function that renders a line of a value.
type LineWriter = fn(&str) -> Cow<'_, str>;

fn fields(text: &mut String, input: &Map<String, Value>, line: LineWriter) {
    for (name, value) in input {
        match value {
            Value::Array(items) if is_listed(name, items) => {
                for item in items {
                    for (inner, value) in item.as_object().into_iter().flatten() {
                        field(text, &format!("{name}.{inner}"), value, line);
                    }
                }
            }
            value => field(text, name, value, line),
        }
    }
}

/// Checks whether a list can be written field by field: objects that begin with the same field each, so that one can be distinguished from the next.
fn is_listed(name: &str, items: &[Value]) -> bool {
    let first = |item: &Value| item.as_object().and_then(|item| item.keys().next().cloned());
    let begins = items.first().and_then(first);
    let can_be_marked = |name: &str| MarkLine::of(&format!("@@{name}")).is_some_and(|mark| mark.name == name);
    begins.is_some()
        && can_be_marked(name)
        && items.iter().all(|item| {
            first(item) == begins
                && item.as_object().into_iter().flatten().all(|(name, value)| {
                    can_be_marked(name) && !value.is_object() && !value.is_array() && !value.is_null()
                })
        })
}

fn field(text: &mut String, name: &str, value: &Value, line: LineWriter) {
    let Value::String(words) = value else {
        text.push_str(&format!("@@{name}: {value}\n"));
        return;
    };
    // Values whose blanks would be lost, or that could be misread on one line, get lines of their own.
    if words.contains('\n') || words.trim() != words {
        text.push_str(&format!("@@{name}:\n"));
        block(text, words, line);
    } else {
        text.push_str(&format!("@@{name}: {words}\n"));
    }
}

fn block(text: &mut String, words: &str, written: LineWriter) {
    for line in words.strip_suffix('\n').unwrap_or(words).split('\n') {
        text.push_str(&written(line));
        text.push('\n');
    }
}

fn begin_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}
