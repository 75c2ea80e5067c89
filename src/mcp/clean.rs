//! What leaves the server, made harmless. Main functions: [`text`], [`value`].

use serde_json::Value;

/// A text of several lines without control characters.
pub(super) fn text(text: &str) -> String {
    crate::domain::text::strip_block(text)
}

/// The same for every text in a JSON value, names of fields included.
pub(super) fn value(value: Value) -> Value {
    match value {
        Value::String(given) => Value::String(text(&given)),
        Value::Array(items) => Value::Array(items.into_iter().map(self::value).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, field)| (text(&name), self::value(field))).collect())
        }
        other => other,
    }
}
