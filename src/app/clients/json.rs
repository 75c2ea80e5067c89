//! Sets one entry of a JSON file without changing any other byte: comments, order, white space and numbers stay. Main function: [`set`].
//!
//! Comments and trailing commas are replaced by blanks of the same length, so that the offsets seen by the parser and by [`members`] are
//! those of the file. The result is parsed again and must equal the old value plus the entry.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::write::EditOutcome;

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
    let PlainJson { text: plain, commas } = without_comments(text);
    if plain.trim().is_empty() {
        // The reason why a file cannot be changed.
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(EditOutcome::Added(format!("{text}{gap}{}", render_entry(servers, name, entry))));
    }
    let before: Value = serde_json::from_str(&plain).map_err(|error| JsonFault::NotJson(error.to_string()))?;
    let Value::Object(fields) = &before else { return Err(JsonFault::NotAnObject("the whole".to_owned())) };
    let found = match fields.get(servers) {
        None => None,
        Some(Value::Object(all)) => all.get(name),
        Some(_) => return Err(JsonFault::NotAnObject(servers.to_owned())),
    };
    if found == Some(entry) {
        return Ok(EditOutcome::Same);
    }
    let replaced = found.is_some();
    if replaced && !replace {
        return Ok(EditOutcome::Taken);
    }
    let root = members(&plain, plain.find('{').ok_or(JsonFault::Unsafe)?).ok_or(JsonFault::Unsafe)?;
    let after = match root.value_of(&plain, servers) {
        None => insert(text, (&plain, &commas), &root, servers, &json!({ name: entry })),
        Some(at) => {
            let inner = members(&plain, at.start).ok_or(JsonFault::Unsafe)?;
            match inner.value_of(&plain, name) {
                Some(at) => {
                    let column = indent_of(text, at.start);
                    format!("{}{}{}", &text[..at.start], pretty(entry, column, unit(text)), &text[at.end..])
                }
                None => insert(text, (&plain, &commas), &inner, name, entry),
            }
        }
    };
    let mut expected = before.clone();
    let all = expected.as_object_mut().map(|fields| fields.entry(servers).or_insert_with(|| Value::Object(Map::new())));
    if let Some(Value::Object(all)) = all {
        all.insert(name.to_owned(), entry.clone());
    }
    let read_back: Option<Value> = serde_json::from_str(&without_comments(&after).text).ok();
    match read_back == Some(expected) {
        true if replaced => Ok(EditOutcome::Replaced(after)),
        true => Ok(EditOutcome::Added(after)),
        false => Err(JsonFault::Unsafe),
    }
}

/// An object of a text: its braces and its members in order.
struct ObjectMembers {
    open: usize,
    close: usize,
    all: Vec<(Range<usize>, Range<usize>)>,
}

impl ObjectMembers {
    /// The range of a key's value; of the last occurrence, like parsers.
    fn value_of(&self, plain: &str, key: &str) -> Option<Range<usize>> {
        let is_it = |(name, _): &&(Range<usize>, Range<usize>)| {
            plain.get(name.clone()).and_then(|name| serde_json::from_str::<String>(name).ok()).as_deref() == Some(key)
        };
        self.all.iter().rev().find(is_it).map(|(_, value)| value.clone())
    }
}

/// The members of the object that opens at `open`, in a text that is JSON.
fn members(plain: &str, open: usize) -> Option<ObjectMembers> {
    let bytes = plain.as_bytes();
    if bytes.get(open) != Some(&b'{') {
        return None;
    }
    let mut all = Vec::new();
    let mut at = blanks(bytes, open + 1);
    while bytes.get(at) != Some(&b'}') {
        let key = at..value_end(bytes, at)?;
        let colon = blanks(bytes, key.end);
        if bytes.get(colon) != Some(&b':') {
            return None;
        }
        let start = blanks(bytes, colon + 1);
        let value = start..value_end(bytes, start)?;
        at = blanks(bytes, value.end);
        if bytes.get(at) == Some(&b',') {
            at = blanks(bytes, at + 1);
        }
        all.push((key, value));
    }
    Some(ObjectMembers { open, close: at, all })
}

fn blanks(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// The end of the value that begins at `from`.
fn value_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b'"' => at = string_end(bytes, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            b',' | b'}' | b']' | b':' if depth == 0 => return Some(at),
            byte if byte.is_ascii_whitespace() && depth == 0 => return Some(at),
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// The end of the string that opens at `open`.
fn string_end(bytes: &[u8], open: usize) -> Option<usize> {
    let mut at = open + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// A text with comments, a byte order mark and trailing commas replaced by blanks of the same length.
struct PlainJson {
    text: String,
    /// The offsets of these commas.
    commas: Vec<usize>,
}

fn without_comments(text: &str) -> PlainJson {
    let mut bytes = text.as_bytes().to_vec();
    if text.starts_with('\u{feff}') {
        bytes[..3].fill(b' ');
    }
    let mut at = 0;
    let (mut comma, mut commas) = (None, Vec::new());
    while at < bytes.len() {
        let end = match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => {
                comma = None;
                at = string_end(&bytes, at).unwrap_or(bytes.len());
                continue;
            }
            (b'/', Some(b'/')) => memchr::memchr2(b'\n', b'\r', &bytes[at..]).map_or(bytes.len(), |length| at + length),
            (b'/', Some(b'*')) => match memchr::memmem::find(&bytes[at + 2..], b"*/") {
                Some(length) => at + length + 4,
                None => break,
            },
            (byte, _) => {
                match (byte, comma) {
                    (b',', _) => comma = Some(at),
                    (b'}' | b']', Some(last)) => {
                        bytes[last] = b' ';
                        commas.push(last);
                        comma = None;
                    }
                    (byte, _) if !byte.is_ascii_whitespace() => comma = None,
                    _ => {}
                }
                at += 1;
                continue;
            }
        };
        bytes[at..end].iter_mut().filter(|byte| !byte.is_ascii_whitespace()).for_each(|byte| *byte = b' ');
        at = end;
    }
    PlainJson { text: String::from_utf8(bytes).unwrap_or_default(), commas }
}

/// Inserts a member after the last one of an object, formatted like the others.
fn insert(text: &str, (plain, commas): (&str, &[usize]), object: &ObjectMembers, key: &str, value: &Value) -> String {
    let (unit, key) = (unit(text), Value::from(key));
    let Some((first, last)) = object.all.first().zip(object.all.last()) else {
        // Comments inside stay at the top.
        let outer = indent_of(text, object.open);
        let inside = text[object.open + 1..object.close].trim_end();
        let column = format!("{outer}{unit}");
        let member = pretty(value, &column, unit);
        let (head, tail) = (&text[..=object.open], &text[object.close..]);
        return ended(&format!("{head}{inside}\n{column}{key}: {member}\n{outer}{tail}"), text);
    };
    let end = last.1.end;
    let on_lines = plain[object.open..first.0.start].contains('\n');
    if !on_lines {
        return format!("{}, {key}: {value}{}", &text[..end], &text[end..]);
    }
    // A comment at the end of the last member's line stays there.
    let line = text[end..object.close].lines().next().unwrap_or_default().trim_end();
    let line = if text[end..object.close].contains('\n') { end + line.len() } else { end };
    let has_comma = commas.iter().any(|at| (end..object.close).contains(at));
    let (before, behind) = if has_comma { ("", ",") } else { (",", "") };
    let column = indent_of(text, first.0.start);
    let member = pretty(value, column, unit);
    let (head, remark, tail) = (&text[..end], &text[end..line], &text[line..]);
    ended(&format!("{head}{before}{remark}\n{column}{key}: {member}{behind}{tail}"), text)
}

/// Converts the inserted text to the line endings of the file: CRLF only if every line has them, else other lines would change.
fn ended(after: &str, before: &str) -> String {
    let windows = before.matches("\r\n").count();
    if windows > 0 && windows == before.matches('\n').count() {
        after.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        after.to_owned()
    }
}

/// The indentation of the line at an offset.
fn indent_of(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..at];
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Detects the indentation unit from the first indented line.
fn unit(text: &str) -> &str {
    let indents = text.lines().map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]);
    let first = indents.into_iter().find(|indent| !indent.is_empty()).unwrap_or("  ");
    match first.as_bytes() {
        [b'\t', ..] => "\t",
        _ if first.len() <= 8 => first,
        _ => "  ",
    }
}

/// Formats a value on several lines; all but the first are indented by `column`.
fn pretty(value: &Value, column: &str, unit: &str) -> String {
    let text = format!("{value:#}");
    let mut lines = text.lines();
    let mut out = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let rest = line.trim_start_matches(' ');
        let steps = (line.len() - rest.len()) / 2;
        out.push_str(&format!("\n{column}{}{rest}", unit.repeat(steps)));
    }
    out
}

#[cfg(test)]
mod tests;
