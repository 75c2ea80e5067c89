//! Rewrites references for one surface. Main function: [`rewrite()`]; main type: [`ReferenceStyle`].

use std::fmt::Write as _;
use std::path::PathBuf;

use super::markdown::{escape, unescape};
use crate::domain::percent::{encode_file_uri, encode_path as encode};
use crate::domain::place::LineRange;
use crate::domain::presented::{CheckedRef, RefForm, RefPlace};
use crate::domain::text::{strip_block, strip_line};

/// The form in which a surface writes references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceStyle {
    /// Markdown with relative links: `[t](path#L1-L2)`. A pattern becomes the lines it was found on; if none are known it stays.
    Fragment,
    /// Markdown with ``[`path:42`][]``, for clients that know no other form. It can name one line only, and no text of its own.
    Rustdoc,
    /// Markdown with `file:` URLs.
    File {
        /// The folder on this machine that holds the tree; absolute.
        base: PathBuf,
    },
    /// Markdown with links into a forge.
    Forge {
        /// The URL prefix of files of the reviewed commit, with a slash at the end: `https://host/owner/name/blob/<sha>/`.
        blob: String,
    },
    /// Text for a terminal that supports links.
    Osc8 {
        /// The folder on this machine that holds the tree; absolute.
        root: PathBuf,
    },
    /// Text for a terminal without links.
    Plain,
}

impl ReferenceStyle {
    fn is_for_terminal(&self) -> bool {
        match self {
            Self::Osc8 { .. } | Self::Plain => true,
            Self::Fragment | Self::Rustdoc | Self::File { .. } | Self::Forge { .. } => false,
        }
    }
}

/// Rewrites the references of a document (of exactly this text, in order) in the given form.
///
/// A broken reference keeps its text and loses its link. In Markdown all other bytes stay. Text for a terminal is stripped of escapes and
/// control characters as a whole, so that its only escapes are the links of this function, which are made of plain ASCII.
pub fn rewrite(markdown: &str, references: &[CheckedRef], dialect: &ReferenceStyle) -> String {
    let mut out = String::with_capacity(markdown.len() + references.len() * 32);
    let mut copied = 0;
    for reference in references {
        let Some(written) = markdown.get(reference.at.clone()).filter(|_| reference.at.start >= copied) else {
            continue;
        };
        push_around(&mut out, &markdown[copied..reference.at.start], dialect);
        let begins_line = begins_line(&markdown[..reference.at.start]);
        out.push_str(&rewrite_one(reference, written, begins_line, dialect));
        copied = reference.at.end;
    }
    push_around(&mut out, &markdown[copied..], dialect);
    out
}

fn push_around(out: &mut String, text: &str, dialect: &ReferenceStyle) {
    if dialect.is_for_terminal() { out.push_str(&strip_block(text)) } else { out.push_str(text) }
}

fn rewrite_one(reference: &CheckedRef, written: &str, begins_line: bool, dialect: &ReferenceStyle) -> String {
    let place = match &reference.found {
        Ok(place) => place,
        Err(_) if dialect.is_for_terminal() => return strip_line(&reference.text),
        Err(_) => return unlinked(reference, written, begins_line),
    };
    match dialect {
        ReferenceStyle::Fragment => fragment(reference, written, place),
        ReferenceStyle::Rustdoc => rustdoc(reference, place),
        ReferenceStyle::File { base } => {
            let anchor = lines_or_anchor(reference, written, place.lines, true);
            link(reference, &format!("{}{anchor}", encode_file_uri(base, place.path.as_bytes())))
        }
        ReferenceStyle::Forge { blob } => {
            // A forge renders Markdown, and rendered text has no line anchors.
            let rendered = matches!(place.path.extension(), Some("md" | "markdown" | "mdx" | "rst" | "adoc"));
            let source = if rendered && place.lines.is_some() { "?plain=1" } else { "" };
            let anchor = lines_or_anchor(reference, written, place.lines, false);
            link(reference, &format!("{blob}{}{source}{anchor}", encode(place.path.as_bytes())))
        }
        ReferenceStyle::Osc8 { root } => {
            format!(
                "\x1b]8;;{}\x1b\\{}\x1b]8;;\x1b\\",
                encode_file_uri(root, place.path.as_bytes()),
                render_for_terminal(reference, place)
            )
        }
        ReferenceStyle::Plain => render_for_terminal(reference, place),
    }
}

/// Returns the text alone. A character that would begin a block there, now that the bracket before it is gone, is escaped.
fn unlinked(reference: &CheckedRef, written: &str, begins_line: bool) -> String {
    if reference.form == RefForm::Plain {
        return written.to_owned();
    }
    let text = if begins_line { reference.text.trim_start() } else { &reference.text };
    let marks_block = text.starts_with(['#', '>', '+', '-', '=', '~', '|', '<', ':'])
        || text.starts_with("* ")
        || text.starts_with("```");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if begins_line && marks_block {
        format!("\\{text}")
    } else if begins_line && digits > 0 && text[digits..].starts_with(['.', ')']) {
        format!("{}\\{}", &text[..digits], &text[digits..])
    } else {
        text.to_owned()
    }
}

/// Checks whether only block markers precede it in its line.
fn begins_line(before: &str) -> bool {
    // Looks back over the markers only: a line may be as long as the document.
    let is_mark = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '\t' | '>' | '-' | '+' | '*' | '.' | ')');
    let text = before.trim_end_matches(is_mark);
    text.is_empty() || text.ends_with(['\n', '\r'])
}

/// Returns the text of a link, as Markdown.
fn link_text(reference: &CheckedRef) -> String {
    match reference.form {
        RefForm::Plain if !reference.text.starts_with('`') => escape(&unescape(&reference.text)),
        _ if reference.text.trim().is_empty() => escape(&reference.to.path),
        _ => reference.text.clone(),
    }
}

fn link(reference: &CheckedRef, destination: &str) -> String {
    format!("[{}]({destination})", link_text(reference))
}

fn fragment(reference: &CheckedRef, written: &str, place: &RefPlace) -> String {
    let to = &reference.to;
    let mut destination = encode(&to.path_bytes());
    match &to.pattern {
        Some(pattern) if place.lines.is_none() => {
            let _ = write!(destination, "?{}", encode(pattern.as_bytes()));
            destination.push_str(&lines_or_anchor(reference, written, to.lines, true));
        }
        _ => destination.push_str(&lines_or_anchor(reference, written, place.lines, true)),
    }
    link(reference, &destination)
}

/// Returns `#L42-L50`, or the heading anchor that the link had.
fn lines_or_anchor(reference: &CheckedRef, written: &str, lines: Option<LineRange>, with_columns: bool) -> String {
    let Some(lines) = lines else {
        // Only an inline link holds its destination itself.
        let anchor = written.strip_suffix(')').and_then(|link| Some(link.rsplit_once("](")?.1.rsplit_once('#')?.1));
        let plain = |anchor: &&str| {
            !anchor.is_empty() && anchor.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.%".contains(&byte))
        };
        return anchor
            .filter(plain)
            .filter(|_| reference.to.pattern.is_none())
            .map(|anchor| format!("#{anchor}"))
            .unwrap_or_default();
    };
    let column = |column: Option<u32>| {
        let same = with_columns && reference.to.lines == Some(lines);
        column.filter(|_| same).map(|column| format!("C{column}")).unwrap_or_default()
    };
    let (first, last) = reference.to.columns;
    let mut out = format!("#L{}{}", lines.start(), column(first));
    if lines.count() > 1 || !column(last).is_empty() {
        let _ = write!(out, "-L{}{}", lines.end(), column(last));
    }
    out
}

fn rustdoc(reference: &CheckedRef, place: &RefPlace) -> String {
    let path = &reference.to.path;
    let line = place.lines.map_or(1, LineRange::start);
    let end =
        place.lines.filter(|lines| lines.count() > 1).map(|lines| format!("-{}", lines.end())).unwrap_or_default();
    let pointer = format!("[`{path}:{line}`][]{end}");
    let shown = unescape(&reference.text);
    let shown = shown.trim_matches(['`', ' ']);
    let says_it = shown.is_empty() || shown == path || shown == format!("{path}:{line}{end}");
    // A backtick would end the code, and the clients accept no longer fence.
    if path.contains('`') {
        link_text(reference)
    } else if path.starts_with('"') {
        // The clients know no quoting: the path is shown without a link.
        if says_it { link_text(reference) } else { format!("{} (`{path}:{line}{end}`)", link_text(reference)) }
    } else if says_it {
        pointer
    } else {
        format!("{} ({pointer})", link_text(reference))
    }
}

/// Returns the text for a reader at a terminal, with the place appended if the text does not name it.
fn render_for_terminal(reference: &CheckedRef, place: &RefPlace) -> String {
    let text = strip_line(&reference.text);
    let mut at = strip_line(&place.path.display_name());
    if let Some(lines) = place.lines {
        let _ = write!(at, ":{}", lines.start());
        if lines.count() > 1 {
            let _ = write!(at, "-{}", lines.end());
        }
    }
    if text.trim().is_empty() {
        at
    } else if reference.form == RefForm::Plain || unescape(&text).contains(&at) {
        text
    } else {
        format!("{text} ({at})")
    }
}

#[cfg(test)]
mod tests;
