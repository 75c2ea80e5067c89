//! Reads files with source and translation side by side: gettext's `.po` and Qt's `.ts`. Main functions: [`parse_gettext`], [`parse_qt`].

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::placeholders::PlaceholderDialect;

/// A source and its translations, one for each plural form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TranslatedPair {
    /// The syntax of its placeholders; `None` if unknown.
    pub(super) dialect: Option<PlaceholderDialect>,
    /// The source and its plural, if there is one.
    pub(super) sources: Vec<String>,
    /// The line of the source.
    pub(super) line: u32,
    pub(super) forms: Vec<PluralForm>,
    /// `true` if a number selects among the forms.
    pub(super) plural: bool,
}

/// One translation and its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PluralForm {
    pub(super) text: String,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// The section that the next line of a `.po` continues.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PoSection {
    Nothing,
    Source,
    Form,
}

pub(super) fn parse_gettext(text: &str) -> Vec<TranslatedPair> {
    let mut pairs = Vec::new();
    let mut pair = TranslatedPair::default();
    let (mut fuzzy, mut part) = (false, PoSection::Nothing);
    for (number, line) in (1u32..).zip(text.lines()) {
        let line = line.trim();
        // A comment or a blank line after a translation, or another source, begins the next entry.
        let starts =
            line.is_empty() || line.starts_with('#') || line.starts_with("msgctxt") || line.starts_with("msgid ");
        if starts && !pair.forms.is_empty() {
            let whole = std::mem::take(&mut pair);
            if !std::mem::take(&mut fuzzy) {
                pairs.push(whole);
            }
            part = PoSection::Nothing;
        }
        if line.starts_with("#~") {
            part = PoSection::Nothing;
        } else if let Some(flags) = line.strip_prefix("#,") {
            for flag in flags.split(',').map(str::trim) {
                fuzzy |= flag == "fuzzy";
                pair.dialect = dialect(flag).or(pair.dialect);
            }
        } else if line.starts_with('"') {
            match part {
                PoSection::Source => pair.sources.last_mut().into_iter().for_each(|text| text.push_str(inner(line))),
                PoSection::Form => {
                    if let Some(form) = pair.forms.last_mut() {
                        form.text.push_str(inner(line));
                        form.to = number;
                    }
                }
                PoSection::Nothing => {}
            }
        } else if line.starts_with("msgid") {
            part = PoSection::Source;
            if pair.sources.is_empty() {
                pair.line = number;
            } else {
                pair.plural = true;
            }
            pair.sources.push(inner(line).to_owned());
        } else if line.starts_with("msgstr") {
            part = PoSection::Form;
            pair.forms.push(PluralForm { text: inner(line).to_owned(), from: number, to: number });
        } else {
            part = PoSection::Nothing;
        }
    }
    if !pair.forms.is_empty() && !fuzzy {
        pairs.push(pair);
    }
    // The first one is the header.
    pairs.retain(|pair| pair.sources.first().is_some_and(|source| !source.is_empty()));
    pairs
}

fn dialect(flag: &str) -> Option<PlaceholderDialect> {
    match flag {
        "c-format" | "objc-format" => Some(PlaceholderDialect::Printf),
        "python-format" => Some(PlaceholderDialect::Percent),
        "python-brace-format" | "c++-format" | "java-format" | "csharp-format" => Some(PlaceholderDialect::Braces),
        "qt-format" | "qt-plural-format" => Some(PlaceholderDialect::Qt),
        _ => None,
    }
}

/// Returns the text between the quotation marks of a line.
fn inner(line: &str) -> &str {
    let Some(start) = line.find('"') else { return "" };
    let rest = &line[start + 1..];
    rest.strip_suffix('"').unwrap_or(rest)
}

/// Parses Qt translations, without those marked as obsolete.
pub(super) fn parse_qt(text: &str) -> Vec<TranslatedPair> {
    let mut lines = LineCounter { text, at: 0, line: 1 };
    let mut reader = Reader::from_str(text);
    let mut messages = QtMessages::default();
    loop {
        let before = lines.to(reader.buffer_position());
        let Ok(event) = reader.read_event() else { break };
        let after = lines.to(reader.buffer_position());
        match event {
            Event::Start(tag) => messages.begin(&tag, before),
            Event::End(tag) => messages.end(tag.name().as_ref()),
            Event::Text(words) => messages.words(&String::from_utf8_lossy(&words), after),
            // What `&lt;` stands for is not part of a placeholder, but separates what is around it.
            Event::GeneralRef(_) => messages.words("&", after),
            Event::Eof => break,
            _ => {}
        }
    }
    messages.pairs
}

/// Messages of a Qt file parsed so far.
struct QtMessages {
    pairs: Vec<TranslatedPair>,
    pair: TranslatedPair,
    /// The element whose text is being read.
    within: PoSection,
    /// `true` if the program does not have the message any more.
    gone: bool,
}

impl Default for QtMessages {
    fn default() -> Self {
        Self { pairs: Vec::new(), pair: TranslatedPair::default(), within: PoSection::Nothing, gone: false }
    }
}

impl QtMessages {
    fn begin(&mut self, tag: &BytesStart<'_>, line: u32) {
        match tag.name().as_ref() {
            b"message" => {
                self.pair = TranslatedPair { dialect: Some(PlaceholderDialect::Qt), ..TranslatedPair::default() };
                self.pair.plural = tag.try_get_attribute("numerus").is_ok_and(|found| found.is_some());
                self.gone = false;
            }
            b"source" => {
                (self.within, self.pair.line) = (PoSection::Source, line);
                self.pair.sources = vec![String::new()];
            }
            b"translation" => {
                let kind = tag.try_get_attribute("type").ok().flatten();
                self.gone = kind.is_some_and(|kind| matches!(kind.value.as_ref(), b"obsolete" | b"vanished"));
                if !self.pair.plural {
                    self.form(line);
                }
            }
            b"numerusform" => self.form(line),
            _ => {}
        }
    }

    fn form(&mut self, line: u32) {
        self.within = PoSection::Form;
        self.pair.forms.push(PluralForm { text: String::new(), from: line, to: line });
    }

    fn end(&mut self, name: &[u8]) {
        match name {
            b"message" if !self.gone && !self.pair.forms.is_empty() && !self.pair.sources.is_empty() => {
                self.pairs.push(std::mem::take(&mut self.pair));
            }
            b"source" | b"translation" | b"numerusform" => self.within = PoSection::Nothing,
            _ => {}
        }
    }

    fn words(&mut self, words: &str, line: u32) {
        match self.within {
            PoSection::Source => self.pair.sources.last_mut().into_iter().for_each(|text| text.push_str(words)),
            PoSection::Form => {
                if let Some(form) = self.pair.forms.last_mut() {
                    form.text.push_str(words);
                    form.to = line;
                }
            }
            PoSection::Nothing => {}
        }
    }
}

/// Counts lines up to ascending offsets.
struct LineCounter<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl LineCounter<'_> {
    fn to(&mut self, place: u64) -> u32 {
        let end = usize::try_from(place).unwrap_or(usize::MAX).min(self.text.len());
        let passed = self.text.as_bytes().get(self.at..end).unwrap_or_default();
        let lines = memchr::memchr_iter(b'\n', passed).count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.at = self.at.max(end);
        self.line
    }
}
