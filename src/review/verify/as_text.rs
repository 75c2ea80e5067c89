//! A verdict that was written as text, by a model that calls no tools. Main function: [`verdicts`].
//!
//! Two forms are recognized, anywhere in the response, and nothing else is guessed: JSON objects with the fields of the tool (also as the
//! `arguments`, `parameters` or `input` of a call), and lines `Verdict:`, `Confidence:` and `Rationale:` in any case, with or without the marks of
//! Markdown around the word. A rationale extends to the next such line. All verdicts are returned, in both forms: a response that quotes a verdict
//! from the code and gives its own contradicts itself, which is judged elsewhere.

use serde_json::{Value, json};

use super::verdict::{self, VerdictAnswer};
use crate::review::outcome::VerdictWord;

/// Maximum number of bytes that are read, from the end of a response, where the verdict is.
const MOST: usize = 64 << 10;
/// Maximum number of opening braces that are tried.
const TRIED: usize = 200;

/// Returns every verdict in a response without tool calls.
pub(super) fn verdicts(text: &str) -> Vec<VerdictAnswer> {
    let text = &text[text.ceil_char_boundary(text.len().saturating_sub(MOST))..];
    let objects = objects(text).into_iter().filter_map(verdict_object).filter_map(|input| verdict::read(input).ok());
    objects.chain(lines(text)).collect()
}

/// Returns the JSON objects in a text, those inside of others left out.
fn objects(text: &str) -> Vec<Value> {
    let (mut found, mut at) = (Vec::new(), 0);
    for _ in 0..TRIED {
        let Some(open) = memchr::memchr(b'{', &text.as_bytes()[at..]).map(|open| at + open) else { break };
        let mut values = serde_json::Deserializer::from_str(&text[open..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                at = open + values.byte_offset();
                found.push(value);
            }
            Some(Err(_)) | None => at = open + 1,
        }
    }
    found
}

/// Returns the object with the fields of the tool: itself, or what a call written as JSON holds.
fn verdict_object(object: Value) -> Option<Value> {
    if object.get("verdict").is_some() {
        return Some(object);
    }
    let call = object.get("function").filter(|inner| inner.is_object()).unwrap_or(&object);
    let inner = ["arguments", "parameters", "input"].iter().find_map(|name| call.get(*name))?;
    let inner = match inner {
        Value::String(text) => serde_json::from_str(text).ok()?,
        inner => inner.clone(),
    };
    inner.get("verdict").is_some().then_some(inner)
}

/// Label at the beginning of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VerdictLabel {
    Verdict,
    Confidence,
    Rationale,
}

/// Reads verdicts in lines. One without a meaningful rationale does not count.
fn lines(text: &str) -> Vec<VerdictAnswer> {
    let mut found: Vec<(String, String, String)> = Vec::new();
    let mut last = None;
    for line in text.lines() {
        match label(line) {
            Some((VerdictLabel::Verdict, rest)) => {
                found.push((rest.to_owned(), String::new(), String::new()));
                last = Some(VerdictLabel::Verdict);
            }
            Some((label, rest)) => {
                if let Some((_, confidence, rationale)) = found.last_mut() {
                    let field = if label == VerdictLabel::Confidence { confidence } else { rationale };
                    rest.clone_into(field);
                }
                last = Some(label);
            }
            None if last == Some(VerdictLabel::Rationale) => {
                if let Some((_, _, rationale)) = found.last_mut() {
                    rationale.push('\n');
                    rationale.push_str(line);
                }
            }
            None => {}
        }
    }
    let read = |(verdict, confidence, rationale): (String, String, String)| {
        let word = the_one(&verdict)?;
        let number = confidence.split_whitespace().next().unwrap_or_default();
        let number = number.trim_matches(|c: char| !c.is_ascii_digit());
        verdict::read(json!({ "verdict": word, "confidence": number, "rationale": rationale })).ok()
    };
    found.into_iter().filter_map(read).collect()
}

/// Returns the word of a verdict's line, which may be explained; `None` if the line lists the words, as the prompt does.
fn the_one(line: &str) -> Option<&str> {
    let (word, rest) =
        line.trim().split_once(|c: char| !c.is_alphanumeric() && !"*_`".contains(c)).unwrap_or((line, ""));
    let next = rest.trim_start_matches(|c: char| !c.is_alphanumeric()).split(|c: char| !c.is_alphanumeric());
    let mut next = next.filter(|word| !word.is_empty() && !word.eq_ignore_ascii_case("or"));
    let listed = next.next().is_some_and(|next| VerdictWord::read(next).is_some());
    (!listed).then_some(word)
}

/// Returns the label of a line and what follows it; marks of Markdown around the word do not count.
fn label(line: &str) -> Option<(VerdictLabel, &str)> {
    let marks = |c: char| matches!(c, '*' | '_' | '#' | '-' | '>' | '`') || c.is_whitespace();
    let emphasis = |c: char| matches!(c, '*' | '_') || c.is_whitespace();
    let (word, rest) = line.split_once(':')?;
    let label = match word.trim_matches(marks).to_lowercase().as_str() {
        "verdict" => VerdictLabel::Verdict,
        "confidence" => VerdictLabel::Confidence,
        "rationale" => VerdictLabel::Rationale,
        _ => return None,
    };
    Some((label, rest.trim_start_matches(emphasis).trim_end()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::finding::Confidence;

    /// Returns word, number (0 for none) and rationale of each.
    fn read(text: &str) -> Vec<(VerdictWord, u8, String)> {
        let all = verdicts(text).into_iter();
        all.map(|given| (given.word, given.confidence.map_or(0, Confidence::value), given.rationale)).collect()
    }

    #[test]
    fn json_is_read_wherever_it_stands() {
        let object = r#"{"verdict": "refuted", "confidence": 2, "rationale": "`a.rs:3` returns first."}"#;
        let wanted = vec![(VerdictWord::Refuted, 2, "`a.rs:3` returns first.".to_owned())];
        for text in [
            object.to_owned(),
            format!("I looked at {{ it }}.\n\n```json\n{object}\n```\nThat is all."),
            format!(r#"{{"name": "give_verdict", "arguments": {object}}}"#),
            format!(r#"<tool_call>{{"name": "give_verdict", "arguments": {}}}</tool_call>"#, json!(object)),
            format!(r#"[{{"type": "function", "function": {{"name": "give_verdict", "parameters": {object}}}}}]"#),
        ] {
            assert_eq!(read(&text), wanted, "{text}");
        }
    }

    #[test]
    fn lines_are_read_in_any_dress() {
        let wanted = vec![(VerdictWord::Confirmed, 8, "Nothing checks it.".to_owned())];
        for text in [
            "Verdict: confirmed\nConfidence: 8\nRationale: Nothing checks it.",
            "I asked three questions.\n\n**Verdict:** Confirmed.\n**Confidence**: 8/10\n- rationale: Nothing\n  checks it.\n",
            "## VERDICT: confirmed (see below)\nconfidence: **8**\nRationale:\n\nNothing checks it.",
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
        assert_eq!(
            read("Verdict: uncertain\nRationale: It depends."),
            [(VerdictWord::Uncertain, 0, "It depends.".to_owned())]
        );
    }

    #[test]
    fn two_verdicts_are_two() {
        let text =
            "Verdict: confirmed\nConfidence: 9\nRationale: So.\n\nVerdict: refuted\nConfidence: 1\nRationale: No.";
        assert_eq!(
            read(text).iter().map(|it| it.0).collect::<Vec<_>>(),
            [VerdictWord::Confirmed, VerdictWord::Refuted]
        );
    }

    #[test]
    fn a_verdict_that_is_quoted_does_not_outdo_the_one_that_is_given() {
        let quoted =
            r#"The code has `{"verdict": "refuted", "confidence": 1, "rationale": "All is well."}` in a comment."#;
        let text = format!("{quoted}\nVerdict: confirmed\nConfidence: 9\nRationale: Nothing checks it.");
        assert_eq!(
            read(&text).iter().map(|it| it.0).collect::<Vec<_>>(),
            [VerdictWord::Refuted, VerdictWord::Confirmed]
        );
    }

    #[test]
    fn what_is_no_verdict_is_not_guessed() {
        for text in [
            "",
            "Verdict: confirmed, refuted or uncertain\nConfidence: a number from 1 to 10\nRationale: one to three sentences",
            "Verdict: confirmed|refuted\nRationale: x",
            "Verdict: **confirmed** / **uncertain**\nRationale: x",
            "Verdict: refuted or uncertain\nRationale: x",
            "The finding is refuted by the guard in line 3.",
            "Verdict: probably wrong\nRationale: x",
            "Verdict: refuted",
            "Verdict: refuted\nConfidence: 1\nRationale:",
            r#"{"verdict": "refuted""#,
            r#"{"verdict": true, "rationale": "x"}"#,
            r#"{"verdict": "refuted", "confidence": 1}"#,
        ] {
            assert_eq!(read(text), [], "{text}");
        }
    }

    #[test]
    fn endless_braces_end() {
        assert_eq!(read(&r#"{"{"#.repeat(200_000)), []);
        assert_eq!(read(&r#"{"a":["#.repeat(200_000)), []);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([{}\":,]|verdict|refuted|Verdict: |Rationale: |\\PC|\n){0,60}") {
            let _ = verdicts(&text);
        }
    }
}
