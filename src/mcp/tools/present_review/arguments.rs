//! The arguments of `present_review`, checked in the order and with the error texts that its clients know. Main function: [`read`].

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::domain::presented::{DocumentSelector, PresentMode, PresentReview};

const CONTENT: &str = "Content parameter is required";
const MODE: &str = "Mode must be 'replace', 'update-section', or 'append'";
const SECTION: &str = "Section parameter required for update-section mode";
/// Upper bound on the name of a section, in bytes: it becomes a heading, and is echoed.
const LONGEST_SECTION: usize = 1_000;
const KNOWN: [&str; 5] = ["content", "mode", "section", "baseUri", "reviewId"];

/// The request, as far as the arguments alone determine it.
pub(super) struct PresentArguments {
    /// The request.
    pub(super) ask: PresentReview,
    /// Arguments without a meaning here.
    pub(super) ignored: Vec<String>,
}

/// Parses the arguments; the error is about the first invalid one.
pub(super) fn read(input: &Map<String, Value>) -> Result<PresentArguments, String> {
    let content = required(input, "content").map_err(|wrong| format!("{CONTENT}: {}", wrong.message("content", "")))?;
    let mode = mode(input)?;
    let base = optional(input, "baseUri").map_err(|wrong| wrong.message("baseUri", ""))?;
    let id = optional(input, "reviewId").map_err(|wrong| wrong.message("reviewId", ""))?;
    let document = match id {
        None => DocumentSelector::Own,
        Some(word) if word.eq_ignore_ascii_case("new") => DocumentSelector::New,
        Some(id) => {
            DocumentSelector::Known(id.parse().map_err(|fault| format!("Invalid reviewId: {fault}, or \"new\""))?)
        }
    };
    let ask = PresentReview { content: content.to_owned(), mode, base: base.map(PathBuf::from), document };
    let ignored = input.keys().filter(|name| !KNOWN.contains(&name.as_str())).cloned().collect();
    Ok(PresentArguments { ask, ignored })
}

fn mode(input: &Map<String, Value>) -> Result<PresentMode, String> {
    let word = match input.get("mode") {
        None | Some(Value::Null | Value::Bool(false)) => "replace",
        Some(Value::Number(number)) if number.as_f64() == Some(0.0) => "replace",
        Some(Value::String(word)) if word.is_empty() => "replace",
        Some(Value::String(word)) => word,
        Some(_) => "",
    };
    match word {
        "replace" => Ok(PresentMode::Replace),
        "append" => Ok(PresentMode::Append),
        "update-section" => {
            let section = required(input, "section").map_err(|wrong| {
                format!("{SECTION}: {}", wrong.message("section", " (required for update-section mode)"))
            })?;
            if section.len() > LONGEST_SECTION {
                return Err(format!("Invalid section: longer than {LONGEST_SECTION} bytes"));
            }
            Ok(PresentMode::UpdateSection { section: section.to_owned() })
        }
        _ => Err(format!("{MODE}: Invalid mode: must be one of replace, update-section, append")),
    }
}

/// Reasons why a string is invalid.
enum TextFault {
    Missing,
    NoText,
    Blank,
}

impl TextFault {
    fn message(&self, name: &str, when: &str) -> String {
        match self {
            Self::Missing => format!("Missing required parameter: {name}{when}"),
            Self::NoText => format!("Invalid {name}: expected string"),
            Self::Blank => format!("Invalid {name}: cannot be empty"),
        }
    }
}

/// Returns a string without the white space around it.
fn required<'a>(input: &'a Map<String, Value>, name: &str) -> Result<&'a str, TextFault> {
    optional(input, name)?.ok_or(TextFault::Missing)
}

/// Returns a string if it is there; `null` counts as missing.
fn optional<'a>(input: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, TextFault> {
    let text = match input.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text,
        Some(_) => return Err(TextFault::NoText),
    };
    // The characters that `trim()` of JavaScript removes: also the byte order mark.
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if trimmed.is_empty() { Err(TextFault::Blank) } else { Ok(Some(trimmed)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(input: &Value) -> Result<PresentArguments, String> {
        read(input.as_object().unwrap())
    }

    fn ask(input: &Value) -> PresentReview {
        asked(input).map_or_else(|fault| panic!("{fault}"), |asked| asked.ask)
    }

    #[test]
    fn what_is_wrong_is_told_in_the_words_that_clients_know() {
        let mode = "Mode must be 'replace', 'update-section', or 'append': Invalid mode: must be one of replace, update-section, append";
        let long = "x".repeat(9);
        for (input, told) in [
            (json!({}), "Content parameter is required: Missing required parameter: content"),
            (json!({ "content": null }), "Content parameter is required: Missing required parameter: content"),
            (json!({ "content": 7 }), "Content parameter is required: Invalid content: expected string"),
            (json!({ "content": ["a"] }), "Content parameter is required: Invalid content: expected string"),
            (json!({ "content": "" }), "Content parameter is required: Invalid content: cannot be empty"),
            (json!({ "content": " \n\u{feff}" }), "Content parameter is required: Invalid content: cannot be empty"),
            (json!({ "content": "a", "mode": "prepend" }), mode),
            (json!({ "content": "a", "mode": "Replace" }), mode),
            (json!({ "content": "a", "mode": true }), mode),
            (json!({ "content": "a", "mode": 1 }), mode),
            (json!({ "content": "a", "mode": {} }), mode),
            (json!({ "content": "a", "mode": " " }), mode),
            (
                json!({ "content": "a", "mode": "update-section" }),
                "Section parameter required for update-section mode: Missing required parameter: section (required for update-section mode)",
            ),
            (
                json!({ "content": "a", "mode": "update-section", "section": null }),
                "Section parameter required for update-section mode: Missing required parameter: section (required for update-section mode)",
            ),
            (
                json!({ "content": "a", "mode": "update-section", "section": 3 }),
                "Section parameter required for update-section mode: Invalid section: expected string",
            ),
            (
                json!({ "content": "a", "mode": "update-section", "section": "\t" }),
                "Section parameter required for update-section mode: Invalid section: cannot be empty",
            ),
            (json!({ "content": "a", "baseUri": 1 }), "Invalid baseUri: expected string"),
            (json!({ "content": "a", "baseUri": "  " }), "Invalid baseUri: cannot be empty"),
            (json!({ "content": "a", "reviewId": false }), "Invalid reviewId: expected string"),
            (json!({ "content": "a", "reviewId": "" }), "Invalid reviewId: cannot be empty"),
            (
                json!({ "content": "a", "reviewId": long }),
                "Invalid reviewId: not the id of a presented document: \"xxxxxxxxx\" (a UUID such as present_review returns as reviewId), or \"new\"",
            ),
        ] {
            assert_eq!(asked(&input).err().as_deref(), Some(told), "{input}");
        }
    }

    #[test]
    fn a_section_is_named_in_a_line() {
        let named = |section: String| json!({ "content": "a", "mode": "update-section", "section": section });
        assert!(asked(&named("x".repeat(LONGEST_SECTION))).is_ok());
        let told = asked(&named("x".repeat(LONGEST_SECTION + 1))).err();
        assert_eq!(told.as_deref(), Some("Invalid section: longer than 1000 bytes"));
    }

    #[test]
    fn the_first_that_is_wrong_is_told() {
        let told = |input| asked(&input).err().unwrap();
        assert!(told(json!({ "mode": "x", "section": 1, "baseUri": 1 })).starts_with("Content"));
        assert!(told(json!({ "content": "a", "mode": "x", "section": 1, "baseUri": 1 })).starts_with("Mode"));
        assert!(
            told(json!({ "content": "a", "mode": "update-section", "section": 1, "baseUri": 1 }))
                .starts_with("Section")
        );
        assert!(told(json!({ "content": "a", "baseUri": 1, "reviewId": 1 })).contains("baseUri"));
    }

    #[test]
    fn nothing_false_and_null_mean_replace() {
        for mode in [json!(null), json!(""), json!(false), json!(0), json!("replace")] {
            assert_eq!(ask(&json!({ "content": "a", "mode": mode })).mode, PresentMode::Replace, "{mode}");
        }
        assert_eq!(ask(&json!({ "content": "a" })).mode, PresentMode::Replace);
        assert_eq!(ask(&json!({ "content": "a", "mode": "append", "section": 5 })).mode, PresentMode::Append);
    }

    #[test]
    fn texts_lose_the_white_space_around_them() {
        let ask = ask(&json!({
            "content": "\n# A\n\n", "mode": "update-section", "section": " Next Steps ", "baseUri": " file:///srv/x ", "reviewId": " new "
        }));
        assert_eq!((ask.content.as_str(), ask.document), ("# A", DocumentSelector::New));
        assert_eq!(ask.mode, PresentMode::UpdateSection { section: "Next Steps".to_owned() });
        assert_eq!(ask.base.as_deref(), Some(std::path::Path::new("file:///srv/x")));
    }

    #[test]
    fn what_means_nothing_here_is_ignored_by_name() {
        let asked = asked(&json!({ "content": "a", "base_uri": "/", "title": 1 })).ok().unwrap();
        assert_eq!(asked.ignored, ["base_uri", "title"]);
    }
}
