//! XML documents in a log, as trees. Main function: [`xml_roots`].
//!
//! A document may be cut off or followed by other lines: what is whole is read. What the elements mean belongs in their parsers.

use std::ops::RangeInclusive;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::super::log::Log;
use super::machine::OutputText;

/// Maximum depth of elements; deeper ones are skipped.
const DEEPEST: usize = 48;
/// Maximum number of bytes of the text of an element.
const LONGEST_TEXT: usize = 32_768;

/// Maximum number of bytes of the name of an entity.
const LONGEST_ENTITY: usize = 10;
/// Maximum number of bytes read in vain: each line that looks like the start of a document could otherwise read to the end.
const MOST_WASTED: usize = 256 << 20;

/// An element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct XmlElement {
    /// The name without its namespace.
    pub(super) name: String,
    /// The names and values of the attributes, without namespaces.
    attributes: Vec<(String, String)>,
    /// The text of the element itself.
    pub(super) text: String,
    /// The elements in it.
    pub(super) children: Vec<XmlElement>,
    /// Its lines in the log, by index.
    pub(super) lines: RangeInclusive<usize>,
    /// `true` if its end was read.
    pub(super) is_whole: bool,
}

impl XmlElement {
    /// Returns an attribute; `""` if it is missing.
    pub(super) fn attribute(&self, name: &str) -> &str {
        self.attributes.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    }

    /// Returns the first child with a name.
    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }
}

/// Finds the documents of standard output whose root has one of the names.
pub(super) fn xml_roots(log: &Log, names: &[&str]) -> Vec<XmlElement> {
    let output = OutputText::of(log);
    let opens = |line: &str| {
        let name = line.trim_start_matches('\u{feff}').trim_start().strip_prefix('<');
        name.is_some_and(|name| name.starts_with("?xml") || names.iter().any(|known| name.starts_with(known)))
    };
    let (mut found, mut next, mut wasted) = (Vec::new(), 0, 0);
    for &(start, _) in &output.starts {
        let text = output.text.get(start..).unwrap_or_default();
        if start >= next && wasted < MOST_WASTED && opens(text.lines().next().unwrap_or_default()) {
            let known = found.len();
            next = start.saturating_add(read_document(&output, start, names, &mut found)).max(start + 1);
            wasted += if found.len() == known { text.len() } else { 0 };
        }
    }
    found
}

/// Reads from byte `start` to the end of the root, or as far as it is XML; returns the number of bytes read.
fn read_document(output: &OutputText, start: usize, names: &[&str], found: &mut Vec<XmlElement>) -> usize {
    let mut reader = Reader::from_str(output.text.get(start..).unwrap_or_default());
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_dangling_amp = true;
    let position = |reader: &Reader<&[u8]>| usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
    let mut open: Vec<(XmlElement, usize)> = Vec::new();
    let mut skipped = 0usize;
    let mut closed_root = None;
    while closed_root.is_none() {
        let from = position(&reader);
        match reader.read_event() {
            Ok(Event::Start(_)) if open.len() >= DEEPEST => skipped += 1,
            Ok(Event::End(_)) if skipped > 0 => skipped -= 1,
            _ if skipped > 0 && position(&reader) > from => {}
            Ok(Event::Start(element)) => open.push((element_of(&element), start.saturating_add(from))),
            Ok(Event::Empty(element)) => {
                open.push((element_of(&element), start.saturating_add(from)));
                closed_root = close(output, &mut open, start.saturating_add(position(&reader)), true);
            }
            Ok(Event::End(_)) => {
                closed_root = close(output, &mut open, start.saturating_add(position(&reader)), true);
            }
            Ok(Event::Text(text)) => add_text(&mut open, &decoded(&String::from_utf8_lossy(&text))),
            Ok(Event::CData(text)) => add_text(&mut open, &String::from_utf8_lossy(&text)),
            Ok(Event::GeneralRef(name)) => {
                add_text(&mut open, &decoded(&format!("&{};", String::from_utf8_lossy(&name))));
            }
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    let end = position(&reader);
    while closed_root.is_none() && !open.is_empty() {
        closed_root = close(output, &mut open, start.saturating_add(end), false);
    }
    found.extend(closed_root.filter(|root| names.contains(&root.name.as_str())));
    end
}

/// Closes the innermost element at byte `end`; returns it if it is the root.
fn close(output: &OutputText, open: &mut Vec<(XmlElement, usize)>, end: usize, is_whole: bool) -> Option<XmlElement> {
    let (mut element, start) = open.pop()?;
    element.lines = output.lines(start, end);
    element.is_whole = is_whole;
    match open.last_mut() {
        Some((parent, _)) => {
            parent.children.push(element);
            None
        }
        None => Some(element),
    }
}

fn add_text(open: &mut [(XmlElement, usize)], text: &str) {
    if let Some((element, _)) = open.last_mut()
        && element.text.len() < LONGEST_TEXT
    {
        element.text.push_str(text);
    }
}

fn element_of(start: &BytesStart<'_>) -> XmlElement {
    let local = |name: &[u8]| {
        let name = String::from_utf8_lossy(name);
        name.rsplit(':').next().unwrap_or_default().to_owned()
    };
    let mut attributes = Vec::new();
    // The writing is read tolerantly, as in HTML: one bad attribute loses no other.
    for attribute in start.html_attributes().with_checks(false).flatten() {
        attributes.push((local(attribute.key.as_ref()), decoded(&String::from_utf8_lossy(&attribute.value))));
    }
    XmlElement {
        name: local(start.name().as_ref()),
        attributes,
        text: String::new(),
        children: Vec::new(),
        lines: 0..=0,
        is_whole: false,
    }
}

/// Replaces the five entities and the references to characters; any other stays as it is.
fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let end = after.bytes().take(LONGEST_ENTITY).position(|byte| byte == b';');
        let parts = end.and_then(|end| Some((after.get(..end)?, after.get(end + 1..)?)));
        let entity = parts.and_then(|(name, after)| Some((character(name)?, after)));
        out.push(entity.map_or('&', |(letter, _)| letter));
        rest = entity.map_or(after, |(_, after)| after);
    }
    out + rest
}

fn character(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let hex = number.strip_prefix(['x', 'X']);
            let code = hex.map_or_else(|| number.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok())?;
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(text: &str) -> Vec<XmlElement> {
        xml_roots(&Log::of_output(text.as_bytes()), &["r"])
    }

    #[test]
    fn documents_between_other_lines_are_trees() {
        let found = roots(
            "noise <x>\n<?xml version='1.0'?>\n<n:r a='1 &lt;&#x41;'>\n<b>x &amp; <![CDATA[<y>]]></b>\n</n:r>\nbye\n<r/>",
        );
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].attribute("a"), found[0].lines.clone()), ("1 <A", 2..=4));
        assert_eq!(found[0].child("b").map(|child| child.text.as_str()), Some("x & <y>"));
        assert!(found[1].is_whole);
    }

    #[test]
    fn a_cut_document_and_a_deep_one_are_read_as_far_as_possible() {
        let cut = roots("<r><a/><b c='1'><d");
        assert_eq!(cut[0].children.len(), 2);
        assert!(!cut[0].is_whole && !cut[0].children[1].is_whole && cut[0].children[0].is_whole);
        let deep = roots(&format!("<r>{}{}<z/></r>", "<a>".repeat(100_000), "</a>".repeat(100_000)));
        assert_eq!(deep[0].children.len(), 2);
    }

    #[test]
    fn unknown_entities_stay() {
        assert_eq!(decoded("&nbsp;&#xD800;& &quot;&amp;lt;"), "&nbsp;&#xD800;& \"&lt;");
    }
}
