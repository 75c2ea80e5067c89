//! Inserts content into a document. Main function: [`edit()`].

use std::ops::Range;

use super::markdown::escape;
use super::sections::{Outline, missing_closing, normalize_heading};
use crate::domain::presented::PresentMode;

/// A document after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedDocument {
    /// The new text.
    pub markdown: String,
    /// The byte range that is new.
    pub written: Range<usize>,
    /// A note to the caller if something was done differently from the request.
    pub note: Option<String>,
}

/// Inserts `content` into the document `current`.
///
/// Bytes outside the edited part stay as they are; blank lines around it are only ever added. A fence or comment before the join that was
/// never closed is closed there, since it would swallow what follows.
pub fn edit(current: &str, content: &str, mode: &PresentMode) -> EditedDocument {
    match mode {
        PresentMode::Replace => replace_all(content),
        PresentMode::Append => append(current, content),
        PresentMode::UpdateSection { section } => update(current, content, section),
    }
}

fn replace_all(content: &str) -> EditedDocument {
    EditedDocument { markdown: content.to_owned(), written: 0..content.len(), note: None }
}

fn append(current: &str, content: &str) -> EditedDocument {
    let said = current.trim_end_matches(NEWLINES);
    let added = content.trim_start_matches(NEWLINES);
    if said.is_empty() {
        return replace_all(added);
    }
    if added.is_empty() {
        return EditedDocument { markdown: current.to_owned(), written: current.len()..current.len(), note: None };
    }
    let eol = line_ending(current);
    let mut out = String::with_capacity(current.len() + added.len() + 16);
    out.push_str(current);
    let closed = missing_closing(said);
    let mut ended = newlines(&current[said.len()..]);
    if let Some(end) = &closed {
        if ended == 0 {
            out.push_str(eol);
        }
        out.push_str(end);
        ended = 0;
    }
    for _ in ended..2 {
        out.push_str(eol);
    }
    let written = out.len()..out.len() + added.len();
    out.push_str(added);
    let note =
        closed.map(|end| format!("the document ended inside a block that was never closed: {end} was put behind it"));
    EditedDocument { markdown: out, written, note }
}

fn update(current: &str, content: &str, section: &str) -> EditedDocument {
    let outline = Outline::of(current);
    let content = without_blank_lines(content);
    let leading = Outline::of(content).leading().cloned();
    let found = names(section).into_iter().find_map(|name| outline.section(&name, current.len()));
    let Some((heading, end)) = found else {
        return add(current, content, leading.is_some_and(|brought| brought.level <= ADDED_LEVEL), section);
    };
    // A deeper heading is inside the section and does not rename it.
    let brought = leading.filter(|brought| brought.level <= heading.level).map(|brought| brought.setext);
    let eol = line_ending(current);
    let mut out = String::with_capacity(current.len() + content.len() + 16);
    out.push_str(&current[..heading.at.start]);
    match brought {
        // An underlined heading would absorb the line above it.
        Some(true) if !ends_blank(&out) => out.push_str(eol),
        Some(_) => {}
        None => {
            let body = &current[heading.at.end..end];
            let gap = if body.trim().is_empty() { "" } else { &body[..body.len() - after_blank_lines(body).len()] };
            let line = current[heading.at.clone()].trim_end_matches(NEWLINES);
            out.push_str(line);
            out.push_str(&current[heading.at.start + line.len()..heading.at.end]);
            if line.len() == heading.at.len() {
                out.push_str(eol);
            }
            out.push_str(if body.trim().is_empty() { eol } else { gap });
        }
    }
    let written = out.len()..out.len() + content.len();
    out.push_str(content);
    // Text between the section and the next one is not part of the section.
    let old = &current[heading.at.start..end];
    let rest = &current[heading.at.start + without_trailing_blank_lines(old).len()..];
    let mut note = None;
    if end < current.len() {
        if let Some(mark) = missing_closing(content) {
            out.push_str(eol);
            out.push_str(&mark);
            note = Some(format!("the content ends inside a block that it does not close: {mark} was put behind it"));
        }
        let gap = &rest[..rest.len() - (current.len() - end)];
        for _ in newlines(gap)..2 {
            out.push_str(eol);
        }
    }
    out.push_str(rest);
    EditedDocument { markdown: out, written, note }
}

/// The level of the heading of a section that is added.
const ADDED_LEVEL: u8 = 2;

/// Appends a section that does not exist yet.
fn add(current: &str, content: &str, brings_heading: bool, section: &str) -> EditedDocument {
    let name = section.split_whitespace().collect::<Vec<_>>().join(" ");
    let eol = line_ending(current);
    let EditedDocument { markdown, written, note } = if brings_heading {
        append(current, content)
    } else {
        append(current, &format!("## {}{eol}{eol}{content}", heading_text(&name)))
    };
    let mut said = format!("there is no section {name:?}: it was added at the end");
    if let Some(note) = note {
        said.push_str("; ");
        said.push_str(&note);
    }
    EditedDocument { markdown, written, note: Some(said) }
}

/// Returns the section's name as Markdown that is found again under that name.
fn heading_text(name: &str) -> String {
    let wanted = names(name);
    let stands = |text: &str| {
        let outline = Outline::of(&format!("## {text}\n"));
        matches!(outline.headings.as_slice(), [heading] if wanted.contains(&heading.text))
    };
    if stands(name) {
        return name.to_owned();
    }
    let escaped = escape(name);
    if stands(&escaped) {
        return escaped;
    }
    name.chars().flat_map(|c| c.is_ascii_punctuation().then_some('\\').into_iter().chain([c])).collect()
}

/// Returns the possible names of a section: the plain text of the request and, since people copy headings, its rendering as Markdown.
fn names(section: &str) -> Vec<String> {
    let plain = normalize_heading(section);
    let hashes = plain.bytes().take_while(|byte| *byte == b'#').count();
    let bare = if hashes <= 6 && plain[hashes..].starts_with(' ') { plain[hashes..].trim() } else { plain.as_str() };
    let shown = Outline::of(&format!("# {bare}\n")).headings.into_iter().next().map(|heading| heading.text);
    let mut names = vec![plain.clone()];
    names.extend([Some(bare.to_owned()), shown].into_iter().flatten().filter(|name| *name != plain));
    names.retain(|name| !name.is_empty());
    names
}

const NEWLINES: [char; 2] = ['\n', '\r'];

/// Detects the line ending of the document.
fn line_ending(markdown: &str) -> &'static str {
    match markdown.find('\n') {
        Some(at) if markdown[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Checks whether text appended here begins after a blank line, or at the start.
fn ends_blank(text: &str) -> bool {
    let last = text.trim_end_matches([' ', '\t', '\n', '\r']);
    last.is_empty() || newlines(&text[last.len()..]) >= 2
}

fn without_blank_lines(text: &str) -> &str {
    without_trailing_blank_lines(after_blank_lines(text))
}

/// Returns the text from its first non-blank line on; the indentation of that line stays.
fn after_blank_lines(text: &str) -> &str {
    let blank = text.len() - text.trim_start_matches([' ', '\t', '\n', '\r']).len();
    let start = text[..blank].rfind(NEWLINES).map_or(0, |end| end + 1);
    &text[start..]
}

/// Returns the text up to the end of its last non-blank line, without the line ending.
fn without_trailing_blank_lines(text: &str) -> &str {
    let last = text.trim_end_matches([' ', '\t', '\n', '\r']).len();
    &text[..text[last..].find(NEWLINES).map_or(text.len(), |end| last + end)]
}

#[cfg(test)]
mod tests;
