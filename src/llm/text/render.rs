//! Calls and results as lines of the protocol. Main functions: [`answer`], [`results`].

use serde_json::{Map, Value};

use super::marks::{CALL, END, Mark, RESULT, escaped};
use crate::llm::turn::{Part, ToolCall, ToolInput, ToolResult};

/// What the model said, as it should have been written.
pub(super) fn answer(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Text { text: said } => text.push_str(said),
            Part::Call(call) => {
                begin_line(&mut text);
                self::call(&mut text, call);
            }
            // Only its provider understands it, and only beside the calls that it belongs to.
            Part::Opaque { .. } => {}
        }
    }
    text
}

fn call(text: &mut String, call: &ToolCall) {
    match &call.input {
        ToolInput::Object(input) => {
            text.push_str(&format!("{CALL} {}\n", call.name));
            fields(text, input);
        }
        // As it came: it has no end.
        ToolInput::Malformed(raw) if raw.starts_with(CALL) => {
            text.push_str(raw.trim_end());
            text.push('\n');
            return;
        }
        ToolInput::Malformed(raw) => {
            text.push_str(&format!("{CALL} {}\n", call.name));
            block(text, raw);
        }
    }
    text.push_str(END);
    text.push('\n');
}

/// A message of ours. What stands in the fences of data in it is escaped as results are, so that a model that quotes a diff copies lines that
/// mean nothing; the mark of a diff before a line is none of the line.
pub(super) fn ours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end: Option<String> = None;
    for whole in text.split_inclusive('\n') {
        let line = whole.strip_suffix('\n').unwrap_or(whole);
        match &end {
            Some(closing) if line == closing => end = None,
            Some(_) => {
                let (diff, line) = line.split_at(usize::from(line.starts_with(['+', '-'])));
                out.push_str(diff);
                out.push_str(&escaped(line));
                out.push_str(&whole[diff.len() + line.len()..]);
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

/// What the tools answered. Nothing in a result can end it, or begin another: lines that look so are escaped.
pub(super) fn results(results: &[ToolResult]) -> String {
    let mut text = String::new();
    for ToolResult { name, text: said, .. } in results {
        begin_line(&mut text);
        text.push_str(&format!("{RESULT} {name}\n"));
        match serde_json::from_str(said) {
            Ok(Value::Object(answer)) => fields(&mut text, &answer),
            Ok(_) | Err(_) => block(&mut text, said),
        }
        text.push_str(END);
        text.push('\n');
    }
    text
}

fn fields(text: &mut String, input: &Map<String, Value>) {
    for (name, value) in input {
        match value {
            Value::Array(items) if is_listed(name, items) => {
                for item in items {
                    for (inner, value) in item.as_object().into_iter().flatten() {
                        field(text, &format!("{name}.{inner}"), value);
                    }
                }
            }
            value => field(text, name, value),
        }
    }
}

/// Whether a list can be told field by field: objects that begin with the same field each, so that one can be told from the next.
fn is_listed(name: &str, items: &[Value]) -> bool {
    let first = |item: &Value| item.as_object().and_then(|item| item.keys().next().cloned());
    let begins = items.first().and_then(first);
    let can_be_marked = |name: &str| Mark::of(&format!("@@{name}")).is_some_and(|mark| mark.name == name);
    begins.is_some()
        && can_be_marked(name)
        && items.iter().all(|item| {
            first(item) == begins
                && item.as_object().into_iter().flatten().all(|(name, value)| {
                    can_be_marked(name) && !value.is_object() && !value.is_array() && !value.is_null()
                })
        })
}

fn field(text: &mut String, name: &str, value: &Value) {
    let Value::String(words) = value else {
        text.push_str(&format!("@@{name}: {value}\n"));
        return;
    };
    // What blanks would be lost of, or what could be taken for something else on one line, stands on lines of its own.
    if words.contains('\n') || words.trim() != words {
        text.push_str(&format!("@@{name}:\n"));
        block(text, words);
    } else {
        text.push_str(&format!("@@{name}: {words}\n"));
    }
}

fn block(text: &mut String, words: &str) {
    for line in words.strip_suffix('\n').unwrap_or(words).split('\n') {
        text.push_str(&escaped(line));
        text.push('\n');
    }
}

fn begin_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}
