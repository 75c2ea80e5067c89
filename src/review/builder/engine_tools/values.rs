//! Enumerated values of a finding as models write them: any case, other names, small typos.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

use crate::domain::finding::{Category, Confidence, Severity};
use crate::domain::place::DiffSide;
use crate::tools::{ErrorKind, ToolFault};

/// Minimum similarity of a word to be accepted as another.
const ALIKE: f64 = 0.8;

const SEVERITIES: &[(&str, Severity)] = &[
    ("blocker", Severity::Critical),
    ("p0", Severity::Critical),
    ("major", Severity::High),
    ("error", Severity::High),
    ("p1", Severity::High),
    ("moderate", Severity::Medium),
    ("warning", Severity::Medium),
    ("p2", Severity::Medium),
    ("minor", Severity::Low),
    ("p3", Severity::Low),
    ("trivial", Severity::Nit),
    ("nitpick", Severity::Nit),
    ("info", Severity::Nit),
    ("style", Severity::Nit),
];

const CATEGORIES: &[(&str, Category)] = &[
    ("bug", Category::Logic),
    ("correctness", Category::Logic),
    ("functional", Category::Logic),
    ("reliability", Category::Logic),
    ("concurrency", Category::Logic),
    ("vulnerability", Category::Security),
    ("authorization", Category::AccessControl),
    ("authentication", Category::AccessControl),
    ("auth", Category::AccessControl),
    ("permissions", Category::AccessControl),
    ("perf", Category::Performance),
    ("efficiency", Category::Performance),
    ("maintainability", Category::Quality),
    ("readability", Category::Quality),
    ("style", Category::Quality),
    ("design", Category::Quality),
    ("side_effect", Category::SideEffects),
    ("compatibility", Category::SideEffects),
    ("test", Category::Testing),
    ("tests", Category::Testing),
    ("doc", Category::Documentation),
    ("docs", Category::Documentation),
];

/// Reads a severity.
pub(in crate::review) fn severity(word: &str) -> Result<Severity, ToolFault> {
    read("severity", word, Severity::ALL, Severity::word, SEVERITIES)
}

/// Reads a category.
pub(super) fn category(word: &str) -> Result<Category, ToolFault> {
    read("category", word, Category::ALL, Category::word, CATEGORIES)
}

fn read<T: Copy>(
    field: &str,
    given: &str,
    all: &[T],
    word: fn(T) -> &'static str,
    others: &[(&str, T)],
) -> Result<T, ToolFault> {
    let wanted = given.trim().to_lowercase().replace([' ', '-', '/'], "_");
    if let Some(exact) = all.iter().copied().find(|value| word(*value) == wanted) {
        return Ok(exact);
    }
    if let Some((_, value)) = others.iter().find(|(other, _)| *other == wanted) {
        return Ok(*value);
    }
    let scored = all.iter().map(|value| (strsim::normalized_damerau_levenshtein(word(*value), &wanted), *value));
    let nearest = scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score >= ALIKE);
    nearest.map(|(_, value)| value).ok_or_else(|| {
        let allowed: Vec<&str> = all.iter().map(|value| word(*value)).collect();
        let given: String = given.chars().take(60).collect();
        ToolFault::new(ErrorKind::InvalidInput, format!("`{field}` {given:?} is none of: {}", allowed.join(", ")))
    })
}

/// Returns the values of the `enum` in the schema.
pub(super) fn severities() -> Vec<&'static str> {
    Severity::ALL.iter().map(|severity| severity.word()).collect()
}

/// Returns the values of the `enum` in the schema.
pub(super) fn categories() -> Vec<&'static str> {
    Category::ALL.iter().map(|category| category.word()).collect()
}

/// Reads a side; an absent one is the new side.
pub(super) fn side<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DiffSide, D::Error> {
    let word = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    match word.trim().to_lowercase().as_str() {
        "" | "new" | "after" | "right" | "head" => Ok(DiffSide::New),
        "old" | "before" | "left" | "base" => Ok(DiffSide::Old),
        _ => Err(D::Error::custom(format!("{word:?} is neither \"new\" nor \"old\""))),
    }
}

/// Stated confidence of a model, if it can be parsed.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::review) enum StatedConfidence {
    #[default]
    Unsaid,
    Said(Confidence),
    /// Something else than a number from 1 to 10.
    Unclear,
}

/// Reads a confidence; it is not worth refusing a finding for.
pub(in crate::review) fn stated_confidence<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<StatedConfidence, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = match &value {
        Value::Null => return Ok(StatedConfidence::Unsaid),
        Value::String(text) if text.trim().is_empty() => return Ok(StatedConfidence::Unsaid),
        Value::String(text) => text.trim().trim_end_matches("/10").trim().parse::<f64>().ok(),
        Value::Number(number) => number.as_f64(),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let tenths = number.map(|number| if number > 0.0 && number < 1.0 { number * 10.0 } else { number });
    let found = tenths.and_then(|tenths| (1..=10u8).find(|step| (f64::from(*step) - tenths).abs() <= 0.5));
    Ok(found.and_then(Confidence::new).map_or(StatedConfidence::Unclear, StatedConfidence::Said))
}

/// Reads the name of a finding or a lead: `F1`, `f1`, `#F1`, or a number if only one kind is possible.
pub(super) fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(optional_id(deserializer)?.unwrap_or_default())
}

/// Reads an optional name.
pub(super) fn optional_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    one_id(Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn one_id(value: Value) -> Result<Option<String>, String> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        other => return Err(format!("{other} is no id")),
    };
    let text = text.trim().trim_start_matches('#').trim_matches(['[', ']', '`', '"']).to_uppercase();
    Ok((!text.is_empty() && text != "NONE" && text != "NULL").then_some(text))
}

/// Reads several names: a list, or one text with commas between them. None is given twice.
pub(super) fn ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let values = match Value::deserialize(deserializer)? {
        Value::Array(values) => values,
        Value::String(text) => text.split([',', ';']).map(|id| Value::from(id.trim_matches(['[', ']', ' ']))).collect(),
        one => vec![one],
    };
    let mut ids = Vec::new();
    for value in values {
        let id = one_id(value).map_err(D::Error::custom)?;
        ids.extend(id.filter(|id| !ids.contains(id)));
    }
    Ok(ids)
}

/// The schema of a side.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase", inline)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum SideSchema {
    New,
    Old,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_models_write_them() {
        for (given, read) in [
            ("HIGH", Severity::High),
            (" medium ", Severity::Medium),
            ("Major", Severity::High),
            ("critcal", Severity::Critical),
            ("nitpick", Severity::Nit),
        ] {
            assert_eq!(severity(given).unwrap(), read, "{given}");
        }
        for (given, read) in [
            ("Access Control", Category::AccessControl),
            ("side-effects", Category::SideEffects),
            ("bug", Category::Logic),
            ("perfomance", Category::Performance),
        ] {
            assert_eq!(category(given).unwrap(), read, "{given}");
        }
        let fault = severity("terrible").unwrap_err().message;
        assert_eq!(fault, "`severity` \"terrible\" is none of: critical, high, medium, low, nit");
    }

    #[test]
    fn ids_are_read_as_models_write_them() {
        let read = |value: Value| ids(value).unwrap();
        for value in [serde_json::json!(["l1", "#L4", "L1"]), "L1, L4".into(), "[\"L1\", \"L4\"]".into()] {
            assert_eq!(read(value.clone()), ["L1", "L4"], "{value}");
        }
        assert_eq!(read(3.into()), ["3"]);
        assert!(read(Value::Null).is_empty() && read("none".into()).is_empty());
        assert!(ids(serde_json::json!([{}])).is_err());
    }

    #[test]
    fn a_confidence_is_a_number_from_one_to_ten_however_it_is_written() {
        let read = |value: Value| match stated_confidence(value).unwrap() {
            StatedConfidence::Said(confidence) => i32::from(confidence.value()),
            StatedConfidence::Unsaid => 0,
            StatedConfidence::Unclear => -1,
        };
        for (value, expected) in [
            (serde_json::json!(8), 8),
            (serde_json::json!("7"), 7),
            (serde_json::json!("9/10"), 9),
            (serde_json::json!(0.8), 8),
            (serde_json::json!(1), 1),
            (serde_json::json!(null), 0),
            (serde_json::json!(95), -1),
            (serde_json::json!("high"), -1),
            (serde_json::json!(-3), -1),
        ] {
            assert_eq!(read(value.clone()), expected, "{value}");
        }
    }
}
