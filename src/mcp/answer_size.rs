//! The size of an answer as a client passes it to its model, in characters. Main functions: [`room`], [`fit_list`], [`bound`].
//!
//! Clients cut longer answers in the middle, or show nothing of them, and their models do not know what they missed. So each tool ends its
//! answer where the room does, with a `next` that goes on from there; [`bound`] holds whatever no tool foresaw.

use serde_json::{Map, Value};

use super::sanitize;
use super::tool::McpToolResult;

/// Upper bound on the characters of an answer's text, and on those of its fields: just below the lowest limit of the clients that were
/// measured (25 000).
pub(super) const ANSWER_CHARS: usize = 24_000;
/// Clients with another limit, by the beginning of the name they give themselves, and the characters of an answer for them. Qwen Code passes
/// on the text and the fields together.
const OTHERS: [(&str, usize); 2] = [("claude-code", 48_000), ("qwen-cli-mcp-client", 12_000)];
/// The limit that the list of tools names for clients that take it from there (`anthropic/maxResultSizeChars`).
pub(super) const LARGEST: usize = 60_000;
/// Upper bounds that are tried for the longest strings of an answer that is too large, in characters.
const STRINGS: [usize; 7] = [16_000, 8_000, 4_000, 2_000, 1_000, 500, 200];

/// Returns the characters that an answer to a client may have.
pub(super) fn room(client: Option<&str>) -> usize {
    let other = OTHERS.iter().find(|(name, _)| client.is_some_and(|client| client.starts_with(name)));
    other.map_or(ANSWER_CHARS, |(_, room)| *room)
}

/// Returns the characters of a value as it is sent.
fn length(value: &Value) -> usize {
    sanitize::value(value.clone()).to_string().chars().count()
}

/// Returns the characters of an answer: of its text or of its fields, whichever has more.
pub(super) fn size(answer: &McpToolResult) -> usize {
    let text = answer.text.as_ref().map_or(0, |text| sanitize::text(text).chars().count());
    text.max(answer.structured.as_ref().map_or(0, length))
}

/// Drops items from the end of the list `name` until the fields fit, with `reserve` characters for what is added later; one stays. Returns
/// the number of the remaining ones.
pub(super) fn fit_list(fields: &mut Map<String, Value>, name: &str, room: usize, reserve: usize) -> usize {
    let Some(Value::Array(items)) = fields.get_mut(name).map(Value::take) else { return 0 };
    fields.insert(name.to_owned(), Value::Array(Vec::new()));
    let mut used = length(&Value::Object(fields.clone())) + reserve;
    let fitting = items.iter().take_while(|item| {
        used += length(item) + 1;
        used <= room
    });
    let count = fitting.count().max(1);
    let remaining: Vec<Value> = items.into_iter().take(count).collect();
    let count = remaining.len();
    fields.insert(name.to_owned(), Value::Array(remaining));
    count
}

/// Cuts what is too large for a client, and says so: long strings first; fields that have no long strings become an error.
pub(super) fn bound(mut answer: McpToolResult, room: usize) -> McpToolResult {
    if size(&answer) <= room {
        return answer;
    }
    if let Some(fields) = answer.structured.take() {
        let whole = length(&fields);
        let shorter = |most: &usize| {
            let mut fields = fields.clone();
            shorten_strings(&mut fields, *most);
            Some(fields).filter(|fields| length(fields) <= room)
        };
        let fitting = if whole <= room { Some(fields.clone()) } else { STRINGS.iter().find_map(shorter) };
        let Some(fitting) = fitting else {
            return McpToolResult::error(format!(
                "the answer has {whole} characters, and clients let {room} through: ask for less at a time"
            ));
        };
        answer.structured = Some(fitting);
    }
    if let Some(text) = &mut answer.text {
        shorten_text(text, room);
    }
    answer
}

fn shorten_strings(value: &mut Value, most: usize) {
    match value {
        Value::String(text) => shorten_text(text, most),
        Value::Array(items) => items.iter_mut().for_each(|item| shorten_strings(item, most)),
        Value::Object(fields) => fields.values_mut().for_each(|field| shorten_strings(field, most)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Cuts a text to `most` characters as they are sent, with a mark that says how many are missing.
fn shorten_text(text: &mut String, most: usize) {
    let sent = sanitize::text(text);
    let count = sent.chars().count();
    if count <= most {
        return;
    }
    let mark = format!(" [cut: {count} characters in all]");
    let head: String = sent.chars().take(most.saturating_sub(mark.len())).collect();
    *text = head + &mark;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_client_that_is_known_for_it_gets_more_or_less() {
        assert_eq!((room(None), room(Some("codex")), room(Some("claude-code"))), (24_000, 24_000, 48_000));
        assert_eq!(room(Some("qwen-cli-mcp-client-review")), 12_000);
        assert!(OTHERS.iter().all(|(_, room)| *room < LARGEST));
    }

    #[test]
    fn a_list_ends_where_the_room_does() {
        let items: Vec<Value> = (0..100).map(|number| json!({ "title": format!("{number:02} é\u{202e}") })).collect();
        let mut fields = Map::from_iter([("id".to_owned(), json!("x")), ("items".to_owned(), json!(items))]);
        let count = fit_list(&mut fields, "items", 1_000, 100);
        assert!((20..40).contains(&count), "{count}");
        let used = length(&Value::Object(fields.clone()));
        assert!(used <= 900 && used > 850, "{used}");
        assert_eq!(fields["items"].as_array().map(Vec::len), Some(count));
        assert_eq!(fit_list(&mut fields, "items", 10, 0), 1, "one stays, so that the next call gets further");
    }

    #[test]
    fn whatever_is_too_large_is_cut_and_says_so() {
        let long = "\u{202e}".repeat(5_000);
        let of = |structured: Value| McpToolResult { text: Some(long.clone()), ..McpToolResult::of(structured) };
        let small = McpToolResult::of(json!({ "body": "short" }));
        assert_eq!(bound(small.clone(), 1_000), small);
        let cut = bound(of(json!({ "body": long, "id": "x" })), 1_000);
        assert!(size(&cut) <= 1_000, "{}", size(&cut));
        let fields = cut.structured.unwrap();
        assert_eq!(fields["id"], "x");
        assert!(fields["body"].as_str().unwrap().ends_with("[cut: 40000 characters in all]"), "{fields}");
        assert!(cut.text.unwrap().ends_with("[cut: 40000 characters in all]"));
        let many: Vec<usize> = (0..1_000).collect();
        let refused = bound(of(json!({ "numbers": many })), 1_000);
        assert!(refused.is_error && refused.text.unwrap().contains("ask for less"));
    }
}
