//! Sets one entry of a JSON file without changing the rest of it: comments, order, white space and numbers stay. Main function: [`set`].
//!
//! The result is parsed again and must equal the old value plus the entry.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Value, json};

use super::EditOutcome;

/// JSON with comments and trailing commas, and nothing else of what the parser can read.
const SYNTAX: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The reason why a file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum JsonFault {
    /// It is not JSON, with comments or without.
    #[error("it is not JSON ({0})")]
    NotJson(String),
    /// Something in it is not an object.
    #[error("{0} is not an object in it")]
    NotAnObject(String),
    /// The result would not be the expected value.
    #[error("it is written in a way that cannot be changed safely")]
    Unsafe,
}

/// Renders a file with only this entry.
pub(super) fn render_entry(servers: &str, name: &str, entry: &Value) -> String {
    let whole = json!({ servers: { name: entry } });
    format!("{whole:#}\n")
}

/// Sets the entry `name` of the object `servers`. An entry with another value is replaced only with `replace`.
pub(super) fn set(
    text: &str,
    servers: &str,
    name: &str,
    entry: &Value,
    replace: bool,
) -> Result<EditOutcome, JsonFault> {
    let (mark, text) = text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 });
    let root = CstRootNode::parse(text, &SYNTAX).map_err(|error| JsonFault::NotJson(error.to_string()))?;
    let Some(mut expected) = root.to_serde_value() else {
        // It is empty, or has only comments.
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(EditOutcome::Added(format!("{mark}{text}{gap}{}", render_entry(servers, name, entry))));
    };
    let fields = root.object_value().ok_or_else(|| JsonFault::NotAnObject("the whole".to_owned()))?;
    let all = match member(&fields, servers) {
        Some(all) => Some(all.object_value().ok_or_else(|| JsonFault::NotAnObject(servers.to_owned()))?),
        None => None,
    };
    let found = all.as_ref().and_then(|all| member(all, name));
    match (&all, &found) {
        (_, Some(found)) if found.to_serde_value().is_some_and(|found| is_same(found, entry)) => {
            return Ok(EditOutcome::Same);
        }
        (_, Some(_)) if !replace => return Ok(EditOutcome::Taken),
        (_, Some(found)) => found.set_value(written(entry)),
        (Some(all), None) => insert(all, name, entry),
        (None, None) => insert(&fields, servers, &json!({ name: entry })),
    }
    expected[servers][name] = entry.clone();
    let after = root.to_string();
    let read_back = CstRootNode::parse(&after, &SYNTAX).ok().and_then(|root| root.to_serde_value());
    if read_back != Some(expected) {
        return Err(JsonFault::Unsafe);
    }
    let after = format!("{mark}{after}");
    Ok(if found.is_some() { EditOutcome::Replaced(after) } else { EditOutcome::Added(after) })
}

/// Checks whether an entry is the wanted one; clients add an `env` without variables to it.
fn is_same(mut found: Value, wanted: &Value) -> bool {
    if wanted.get("env").is_none() && found.get("env") == Some(&json!({})) {
        found.as_object_mut().map(|fields| fields.shift_remove("env"));
    }
    found == *wanted
}

/// The member of a key; the last of several, like parsers.
fn member(object: &CstObject, key: &str) -> Option<CstObjectProp> {
    object.properties().into_iter().rfind(|member| member.decoded_name().as_deref() == Some(key))
}

/// Inserts a member after the last one of an object, formatted like the others.
fn insert(object: &CstObject, key: &str, value: &Value) {
    match object.properties().last().and_then(|last| Some((last.clone(), last.value()?))) {
        // The parser's own insertion would break up the line.
        Some((last, before)) if !object.to_string().contains('\n') => {
            last.set_value(CstInputValue::Number(format!("{before}, {}: {value}", Value::from(key))));
        }
        _ => drop(object.append(key, written(value))),
    }
}

/// A value to be inserted. All but arrays and objects is inserted as it is spelled here, which the parser does with numbers alone.
fn written(value: &Value) -> CstInputValue {
    match value {
        Value::Array(all) => CstInputValue::Array(all.iter().map(written).collect()),
        Value::Object(all) => {
            CstInputValue::Object(all.iter().map(|(key, value)| (key.clone(), written(value))).collect())
        }
        plain => CstInputValue::Number(plain.to_string()),
    }
}

#[cfg(test)]
mod tests;
