//! The values of a call's fields, as the schema wants them. Main type: [`Input`].

use serde_json::{Map, Value};

use super::kind::{FieldKind, ToolField, ToolFields};
use super::marks::unescaped;

/// Input of a call under construction.
#[derive(Debug, Default)]
pub(super) struct Input(Map<String, Value>);

/// Raw value of a field: the rest of the line of its mark, and the lines below.
#[derive(Debug, Default)]
pub(super) struct RawValue {
    pub(super) inline: String,
    pub(super) lines: Vec<String>,
}

impl RawValue {
    /// Returns the text without blank lines around it and without a fence around all of it.
    fn text(self) -> String {
        let Self { inline, lines } = self;
        // As some write that a block follows.
        let inline = if matches!(inline.as_str(), "|" | "|-" | ">" | ">-") { String::new() } else { inline };
        let mut lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        if inline.is_empty() {
            let blank = lines.iter().take_while(|line| line.trim().is_empty()).count();
            lines.drain(..blank);
            if is_fenced(&lines) {
                lines.pop();
                lines.remove(0);
            }
        } else {
            lines.insert(0, &inline);
        }
        lines.iter().map(|line| unescaped(line)).collect::<Vec<_>>().join("\n")
    }

    fn is_one_line(&self) -> bool {
        self.lines.iter().all(|line| line.trim().is_empty())
    }
}

/// Checks whether the first line opens a fence that the last one, and none before it, closes.
fn is_fenced(lines: &[&str]) -> bool {
    let [first, within @ .., last] = lines else { return false };
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    is_fence(first) && last.trim() == "```" && !within.iter().any(|line| is_fence(line))
}

impl Input {
    /// Takes the value of a field. An empty one is ignored.
    pub(super) fn take(&mut self, name: &str, raw: RawValue, fields: Option<&ToolFields>) {
        let (outer, inner) = name.split_once('.').unwrap_or((name, ""));
        let Some(known) = fields else {
            self.insert(name, &FieldKind::Text, false, raw);
            return;
        };
        match (known.field(outer), inner) {
            (Some(ToolField { name, kind: FieldKind::Objects(fields), .. }), inner) if !inner.is_empty() => {
                let field = fields.field(inner);
                let (inner, kind) = field.map_or((inner, &FieldKind::Text), |field| (field.name.as_str(), &field.kind));
                if let Some(value) = value(kind, field.is_some_and(|field| field.required), raw) {
                    self.add_to_list(name, inner, value);
                }
            }
            (Some(ToolField { name, kind, required, .. }), "") => self.insert(name, kind, *required, raw),
            _ => self.insert(name, &FieldKind::Text, true, raw),
        }
    }

    /// For a duplicate field, the later one wins, as in JSON.
    fn insert(&mut self, name: &str, kind: &FieldKind, required: bool, raw: RawValue) {
        if let Some(value) = value(kind, required, raw) {
            self.0.insert(name.to_owned(), value);
        }
    }

    /// A repeated field begins the next object of the list.
    fn add_to_list(&mut self, name: &str, inner: &str, value: Value) {
        let list = self.0.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        if !list.is_array() {
            *list = Value::Array(Vec::new());
        }
        let Value::Array(items) = list else { return };
        match items.last_mut() {
            Some(Value::Object(last)) if !last.contains_key(inner) => {
                last.insert(inner.to_owned(), value);
            }
            _ => items.push(Value::Object([(inner.to_owned(), value)].into_iter().collect())),
        }
    }

    /// Takes text before any field as a whole input in JSON, which some models insist on.
    pub(super) fn take_json(&mut self, text: &str) {
        if self.0.is_empty()
            && text.trim_start().starts_with('{')
            && let Ok(Value::Object(input)) = serde_json::from_str(text.trim())
        {
            self.0 = input;
        }
    }

    pub(super) fn finish(self) -> Map<String, Value> {
        self.0
    }
}

fn value(kind: &FieldKind, required: bool, raw: RawValue) -> Option<Value> {
    let one_line = raw.is_one_line();
    let text = raw.text();
    let said = text.trim();
    // Words that mean absence in an optional field. A text of several lines is never one.
    let nothing = one_line && !required && ["null", "none", "n/a"].iter().any(|word| said.eq_ignore_ascii_case(word));
    if said.is_empty() || nothing {
        return None;
    }
    let plain = said.trim_matches(['"', '\'', '`']).trim();
    Some(match kind {
        FieldKind::Text => Value::String(text),
        FieldKind::Word(_) => Value::String(plain.to_owned()),
        FieldKind::Scalar(_) => match serde_json::from_str::<Value>(&plain.to_ascii_lowercase()) {
            Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
            Ok(_) | Err(_) => Value::String(plain.to_owned()),
        },
        FieldKind::Json | FieldKind::Objects(_) => serde_json::from_str(said).unwrap_or(Value::String(text)),
    })
}
