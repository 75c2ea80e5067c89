//! Strict parsing of untrusted documents. Main functions: [`value`], [`parse_exactly`].
//!
//! Readers ignore unknown fields, so that old programs read new documents. A document that may be forged must be exactly the one that this
//! program would write: no other field, no duplicate key, no other spelling of a value.

use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::parse::{ParseError, parse};
use super::write;
use crate::domain::review::Review;

/// Reasons why a document is not one that this program writes.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ExactParseError {
    /// It is not JSON, nests too deeply, or has a duplicate key.
    #[error("it is not JSON as it has to be: {0}")]
    Json(#[source] serde_json::Error),
    #[error(transparent)]
    Review(#[from] ParseError),
    /// A field is unknown, missing, or written differently.
    #[error("{at}: {what}")]
    Field {
        /// The place (`findings[1].extra`); made of names in the document.
        at: String,
        what: &'static str,
    },
}

/// Parses JSON; an error if it nests too deeply (128 levels) or an object has a duplicate key.
pub fn value(bytes: &[u8]) -> Result<Value, ExactParseError> {
    let mut from = serde_json::Deserializer::from_slice(bytes);
    let value = UniqueKeys.deserialize(&mut from).map_err(ExactParseError::Json)?;
    from.end().map_err(ExactParseError::Json)?;
    Ok(value)
}

/// Parses a `review/1` document whose JSON is `value`; an error if rendering the review gives another document.
pub fn parse_exactly(bytes: &[u8], value: &Value) -> Result<Review, ExactParseError> {
    let review = parse(bytes)?;
    let again = serde_json::to_value(write::document(&review)).unwrap_or_default();
    match difference(value, &again) {
        None => Ok(review),
        Some((at, what)) => Err(ExactParseError::Field { at: at.trim_start_matches('.').to_owned(), what }),
    }
}

const UNKNOWN: &str = "there is no such field";
const MISSING: &str = "the field is missing";
const OTHERWISE: &str = "the value is not as this program writes it";

/// Finds the first difference of two documents.
fn difference(found: &Value, written: &Value) -> Option<(String, &'static str)> {
    match (found, written) {
        (Value::Object(found), Value::Object(written)) => {
            let within = |(key, value): (&String, &Value)| {
                let inner =
                    written.get(key).map_or_else(|| Some((String::new(), UNKNOWN)), |other| difference(value, other));
                inner.map(|(at, what)| (format!(".{key}{at}"), what))
            };
            let missing =
                || written.keys().find(|key| !found.contains_key(*key)).map(|key| (format!(".{key}"), MISSING));
            found.iter().find_map(within).or_else(missing)
        }
        (Value::Array(found), Value::Array(written)) if found.len() == written.len() => {
            let mut pairs = found.iter().zip(written).enumerate();
            pairs.find_map(|(n, (a, b))| difference(a, b).map(|(at, what)| (format!("[{n}]{at}"), what)))
        }
        (found, written) => (found != written).then_some((String::new(), OTHERWISE)),
    }
}

/// Deserializes any value in which no object has a duplicate key.
struct UniqueKeys;

impl<'de> DeserializeSeed<'de> for UniqueKeys {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(Self)?;
            // The key is not named: it may be anything.
            if all.insert(key, value).is_some() {
                return Err(de::Error::custom("an object has a key twice"));
            }
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = include_str!("../../../fixtures/documents/typical.json");

    fn read(text: &str) -> Result<Review, ExactParseError> {
        parse_exactly(text.as_bytes(), &value(text.as_bytes())?)
    }

    fn fault(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn what_this_program_writes_reads_back() {
        for text in [
            GOOD,
            include_str!("../../../fixtures/documents/empty.json"),
            include_str!("../../../fixtures/documents/hostile.json"),
        ] {
            let review = super::super::parse(text.as_bytes()).unwrap();
            let written =
                String::from_utf8(super::super::render(&review, &crate::present::RenderOptions::default())).unwrap();
            read(&written).unwrap();
        }
    }

    #[test]
    fn what_it_would_not_write_is_refused_with_its_place() {
        let review = super::super::parse(GOOD.as_bytes()).unwrap();
        let good: Value = serde_json::from_str(&super::super::render_on_one_line(&review)).unwrap();
        read(&good.to_string()).unwrap();
        let with = |pointer: &str, new: Value| {
            let mut spoiled = good.clone();
            *spoiled.pointer_mut(pointer).unwrap() = new;
            fault(&spoiled.to_string())
        };
        let mut unknown = good.clone();
        unknown["findings"][0]["approve"] = true.into();
        assert_eq!(fault(&unknown.to_string()), "findings[0].approve: there is no such field");
        let mut missing = good.clone();
        missing["coverage"].as_object_mut().unwrap().remove("notes");
        assert_eq!(fault(&missing.to_string()), "coverage.notes: the field is missing");
        assert_eq!(with("/findings/0/title", "a\u{1b}[31mb".into()), format!("findings[0].title: {OTHERWISE}"));
        assert_eq!(with("/summary/total", 0.into()), format!("summary.total: {OTHERWISE}"));
        assert_eq!(with("/change/files/0/path", "./src//a.rs".into()), format!("change.files[0].path: {OTHERWISE}"));
        assert!(with("/findings/0/severity", "blocker".into()).contains("unknown variant"));
    }

    #[test]
    fn keys_stand_once_and_nothing_nests_too_deeply() {
        assert!(fault(r#"{"a":1,"a":2}"#).contains("a key twice"));
        assert!(fault(r#"[{"a":[{"b":1,"c":2,"b":1}]}]"#).contains("a key twice"));
        assert!(fault(&"[".repeat(100_000)).contains("recursion limit"));
        assert!(fault("{} {}").contains("trailing"));
    }
}
