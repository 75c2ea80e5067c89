//! Reads files with one string per line: Java properties, `.ini`, and YAML translations. Main functions: [`parse_properties`], [`parse_yaml`].

use super::KeyedString;

/// Parses `key=value`, `key: value` or `key="value"`; a backslash at the end of a line continues it on the next one.
pub(super) fn parse_properties(text: &str) -> Vec<KeyedString> {
    let mut found = Vec::new();
    let mut lines = (1u32..).zip(text.lines());
    while let Some((from, line)) = lines.next() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '!', ';', '[']) {
            continue;
        }
        let Some((key, value)) = line.split_once('=').or_else(|| line.split_once(':')) else { continue };
        let (key, mut value, mut to) = (key.trim(), value.trim().to_owned(), from);
        while value.ends_with('\\') && !value.ends_with("\\\\") {
            value.pop();
            let Some((number, more)) = lines.next() else { break };
            value.push_str(more.trim());
            to = number;
        }
        let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        found.push(KeyedString { key: key.to_owned(), value: bare.unwrap_or(&value).to_owned(), from, to });
    }
    found
}

/// Parses `key: value` on one line, with the keys of the levels above. Multi-line strings count as empty.
pub(super) fn parse_yaml(text: &str) -> Vec<KeyedString> {
    let mut found = Vec::new();
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut block: Option<usize> = None;
    for (number, line) in (1u32..).zip(text.lines()) {
        let rest = line.trim_start();
        let depth = line.len() - rest.len();
        if rest.is_empty() || rest.starts_with('#') || block.is_some_and(|of| depth > of) {
            continue;
        }
        block = None;
        let Some((key, value)) = member(rest) else { continue };
        while above.last().is_some_and(|(of, _)| *of >= depth) {
            above.pop();
        }
        if value.is_empty() {
            above.push((depth, key.to_owned()));
            continue;
        }
        if value.starts_with(['|', '>']) {
            block = Some(depth);
        }
        if above.len() < 16 {
            let value = scalar(value).unwrap_or_default();
            let mut path: Vec<&str> = above.iter().map(|(_, key)| key.as_str()).collect();
            path.push(key);
            found.push(KeyedString { key: path.join("."), value: value.to_owned(), from: number, to: number });
        }
    }
    found
}

fn member(line: &str) -> Option<(&str, &str)> {
    if line.starts_with(['-', '{', '[', '%', '&', '*', '?']) {
        return None;
    }
    if let Some(quote) = line.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let (key, rest) = line[1..].split_once(quote)?;
        return Some((key, rest.trim_start().strip_prefix(':')?.trim()));
    }
    let (key, value) = line.split_once(':')?;
    (value.is_empty() || value.starts_with([' ', '\t'])).then(|| (key.trim(), value.trim()))
}

/// Returns the text of a value that ends on its line.
fn scalar(value: &str) -> Option<&str> {
    if value.starts_with(['{', '[', '&', '*', '!', '|', '>']) {
        return None;
    }
    match value.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        Some(quote) => {
            let inner = &value[1..];
            let end = inner.rfind(quote)?;
            let after = inner[end + 1..].trim_start();
            (after.is_empty() || after.starts_with('#')).then_some(&inner[..end])
        }
        None => Some(value.split(" #").next().unwrap_or(value).trim_end()),
    }
}
