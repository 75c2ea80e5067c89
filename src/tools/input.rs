//! Tool inputs as models write them: numbers in quotes are numbers, `null` counts as absent. Schemas as models read them.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fault::{ErrorKind, ToolFault};
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::workspace::WorkspaceError;

/// Separator between an input error and the names of the input's fields.
pub(crate) const FIELDS: &str = ". The fields are: ";

/// A side, with a schema that every provider understands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SideInput {
    Old,
    #[default]
    New,
}

impl From<SideInput> for DiffSide {
    fn from(side: SideInput) -> Self {
        match side {
            SideInput::Old => Self::Old,
            SideInput::New => Self::New,
        }
    }
}

/// Reads an optional number: `12`, `12.0`, `"12"`; `None` for `null` and for an empty string.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let bad = || D::Error::custom(format!("{value} is not a whole number from 0 up"));
    let number = match &value {
        Value::Null => return Ok(None),
        Value::String(text) if text.trim().is_empty() => return Ok(None),
        Value::String(text) => text.trim().parse::<u64>().map_err(|_| bad())?,
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => whole,
            // A whole number that was written with a point.
            (None, Some(float)) if float >= 0.0 && float.fract() == 0.0 => {
                format!("{float:.0}").parse::<u64>().unwrap_or(u64::MAX)
            }
            _ => return Err(bad()),
        },
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => return Err(bad()),
    };
    Ok(Some(u32::try_from(number).unwrap_or(u32::MAX)))
}

/// Reads an optional text; `None` for `null` and white space.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.trim().is_empty()))
}

/// Reads an optional list of texts: one alone, or several; `None` without one that is not white space.
pub(crate) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let bad = || D::Error::custom(format!("{value} is not a list of strings"));
    let listed = match &value {
        Value::Null => Vec::new(),
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(bad)).collect::<Result<_, _>>()?
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Err(bad()),
    };
    let listed: Vec<String> = listed.into_iter().filter(|text| !text.trim().is_empty()).collect();
    Ok(Some(listed).filter(|listed| !listed.is_empty()))
}

/// Reads a side; `null` is the new one.
pub(crate) fn side<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SideInput, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Parses the input of a tool; the error names the problem and the existing fields.
pub(crate) fn parse<T: DeserializeOwned + JsonSchema>(input: Value) -> Result<T, ToolFault> {
    // Some models write the object into a string.
    let input = match input {
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Value::Null => Value::Object(serde_json::Map::new()),
        other => other,
    };
    serde_path_to_error::deserialize(input).map_err(|error| {
        let schema = schema::<T>();
        let names = schema["properties"].as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>());
        let names = names.unwrap_or_default().join(", ");
        let field = error.path().to_string();
        let error = error.into_inner().to_string();
        // Which fields there are follows anyway, those among them that a server adds.
        let error = match error.split_once(", expected ") {
            Some((unknown, _)) if unknown.starts_with("unknown field") => unknown.to_owned(),
            _ => error,
        };
        // A missing or an unknown field is named by the error itself.
        let field =
            if field == "." || error.contains(&format!("`{field}`")) { String::new() } else { format!("`{field}`: ") };
        ToolFault::new(ErrorKind::InvalidInput, format!("invalid input: {field}{error}{FIELDS}{names}"))
    })
}

/// Returns the schema of an input: self-contained, and without the marks that only some providers accept.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    schema_by::<T>(SchemaSettings::draft2020_12(), false)
}

/// Returns the schema for reading or for writing; only answers may say `null`, which inputs accept for absent and need not be told.
pub(super) fn schema_by<T: JsonSchema>(mut settings: SchemaSettings, has_null: bool) -> Value {
    settings.meta_schema = None;
    settings.inline_subschemas = true;
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    plain(&mut schema, has_null);
    // The tool's own description covers the whole.
    if let Value::Object(fields) = &mut schema {
        fields.shift_remove("description");
    }
    schema
}

fn plain(schema: &mut Value, has_null: bool) {
    let Value::Object(fields) = schema else { return };
    fields.shift_remove("title");
    fields.shift_remove("format");
    // Line breaks of a doc comment mean nothing in the schema.
    if let Some(Value::String(description)) = fields.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    if fields.get("default").is_some_and(Value::is_null) {
        fields.shift_remove("default");
    }
    // Numbers that count something are not negative; a reader of the schema pays for each word.
    if fields.get("minimum").is_some_and(|minimum| *minimum == 0) {
        fields.shift_remove("minimum");
    }
    if let Some(Value::Array(types)) = fields.get("type").filter(|_| !has_null) {
        let other = types.iter().find(|name| *name != "null").cloned().unwrap_or_default();
        fields.insert("type".to_owned(), other);
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(|property| plain(property, has_null));
    }
    if let Some(items) = fields.get_mut("items") {
        plain(items, has_null);
    }
}

/// Parses the path of a file; the error shows the given spelling.
pub(crate) fn file_path(given: &str) -> Result<RepoPath, ToolFault> {
    RepoPath::parse(given.trim()).map_err(|error| {
        let fault = ToolFault::from(WorkspaceError::from(error));
        ToolFault { message: format!("{given:?}: {}", fault.message), ..fault }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[serde(default, deserialize_with = "number")]
        count: Option<u32>,
    }

    #[test]
    fn numbers_are_read_as_models_write_them() {
        for (given, read) in [
            (json!(12), Some(12)),
            (json!("12"), Some(12)),
            (json!(" 12 "), Some(12)),
            (json!(12.0), Some(12)),
            (json!(null), None),
            (json!(""), None),
            (json!(99_999_999_999_u64), Some(u32::MAX)),
        ] {
            let sample: Sample = parse(json!({ "count": given })).unwrap();
            assert_eq!(sample.count, read, "{given}");
        }
        for bad in [json!(-1), json!(1.5), json!("x"), json!([1]), json!(true)] {
            assert!(parse::<Sample>(json!({ "count": bad })).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_unknown_field_is_named_with_those_there_are() {
        let fault = parse::<Sample>(json!({ "cuont": 1 })).unwrap_err();
        assert_eq!(fault.message, "invalid input: unknown field `cuont`. The fields are: count");
    }

    #[test]
    fn an_object_inside_a_string_is_read() {
        assert_eq!(parse::<Sample>(json!("{\"count\": 3}")).unwrap().count, Some(3));
    }
}
