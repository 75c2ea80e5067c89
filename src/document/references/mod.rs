//! The references to files in a document. Main function: [`references()`]; main type: [`DocumentReference`].
//!
//! The parser tells text, code, HTML and links apart. It does not know two forms: links whose destination has spaces (`loose`), and paths
//! in plain text (`plain`). Those are searched for in runs of text as written, so that each reference has its byte range.

use std::ops::Range;

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Parser, Tag, TagEnd};

use super::lenient_link;
use super::markdown::{is_escaped, options, unescape};
use super::plain_references;
use super::target::{DestinationSyntax, LinkTarget, parse_destination, parse_exact_reference};
use crate::domain::presented::{FileRef, RefForm};

/// A reference as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentReference {
    /// Its byte range in the document.
    pub at: Range<usize>,
    /// Its form.
    pub form: RefForm,
    /// Its visible text, as Markdown: the link's text, or the reference itself.
    pub text: String,
    /// The destination as it was written.
    pub written: String,
    /// The file it points to, or the reason why it cannot point anywhere.
    pub to: Result<FileRef, String>,
}

/// Finds the references in a document, in order; they never overlap.
///
/// None are found in fenced or indented code, in HTML, in images, and in the text of other links. URLs with a scheme other than
/// `dialectic:` and `file:` are not references, nor is a `#fragment` alone.
pub fn references(markdown: &str) -> Vec<DocumentReference> {
    let mut scan = ReferenceScan::new(markdown);
    let known = |link: BrokenLink<'_>| {
        let marked = link.link_type != LinkType::Shortcut || link.reference.starts_with('`');
        (marked && rustdoc(&link.reference).is_some())
            .then(|| (CowStr::from(link.reference.into_string()), CowStr::Borrowed("")))
    };
    for (event, at) in Parser::new_with_broken_link_callback(markdown, options(), Some(known)).into_offset_iter() {
        scan.event(event, at);
    }
    scan.end_run();
    scan.found
}

/// Parses the text between brackets in rustdoc's form: `` `path:42` `` or `path:42`.
fn rustdoc(reference: &str) -> Option<Result<FileRef, String>> {
    let bare = reference.trim_matches('`');
    parse_exact_reference(if bare.len() < reference.len() { bare } else { reference })
}

struct ReferenceScan<'m> {
    source: &'m str,
    found: Vec<DocumentReference>,
    /// Text that begins before this byte belongs to a link that the parser does not know.
    until: usize,
    /// The enclosing blocks, innermost last.
    blocks: Vec<Range<usize>>,
    /// The nesting depth inside elements that hold no references; 0 is outside.
    hidden: usize,
    /// The enclosing link, if any; then `hidden` counts its depth.
    link: Option<OpenLink>,
    /// The enclosing HTML element in a line of text whose contents are not plain text.
    element: Option<&'static str>,
    /// Opening brackets without their closing ones so far.
    open: Vec<usize>,
    /// A run of plain text, as written, that was not searched yet.
    run: Option<Range<usize>>,
}

struct OpenLink {
    kind: LinkType,
    at: Range<usize>,
    destination: String,
    /// The end of its text, as far as it was parsed.
    text_end: usize,
}

impl<'m> ReferenceScan<'m> {
    fn new(source: &'m str) -> Self {
        Self {
            source,
            found: Vec::new(),
            until: 0,
            blocks: Vec::new(),
            hidden: 0,
            link: None,
            element: None,
            open: Vec::new(),
            run: None,
        }
    }

    fn event(&mut self, event: Event<'_>, at: Range<usize>) {
        if self.hidden > 0 {
            self.inside(&event, &at);
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag, at),
            Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough) => {}
            Event::End(_) => {
                self.end_block();
                self.blocks.pop();
            }
            Event::Text(_) => self.text(at),
            Event::Code(code) => {
                self.end_run();
                self.code(&code, at);
            }
            Event::InlineHtml(html) => {
                self.end_run();
                self.html(&html);
            }
            _ => self.end_run(),
        }
    }

    fn inside(&mut self, event: &Event<'_>, at: &Range<usize>) {
        match event {
            Event::Start(_) => self.hidden += 1,
            Event::End(_) => self.hidden -= 1,
            _ => {}
        }
        if self.hidden > 0 {
            if let Some(link) = &mut self.link {
                link.text_end = link.text_end.max(at.end);
            }
        } else if let Some(link) = self.link.take() {
            self.end_link(link);
        }
    }

    fn start(&mut self, tag: Tag<'_>, at: Range<usize>) {
        match tag {
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough => return,
            Tag::Link { link_type, dest_url, .. } => {
                self.end_run();
                // A link inside keeps the enclosing text from being one.
                self.open.clear();
                self.hidden = 1;
                let text_end = at.start + 1;
                self.link = Some(OpenLink { kind: link_type, at, destination: dest_url.into_string(), text_end });
                return;
            }
            Tag::Image { .. } => {
                self.end_run();
                self.hidden = 1;
                return;
            }
            _ => {}
        }
        self.end_block();
        if matches!(tag, Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::MetadataBlock(_)) {
            self.hidden = 1;
        } else {
            self.blocks.push(at);
        }
    }

    fn end_block(&mut self) {
        self.end_run();
        self.open.clear();
        self.element = None;
    }

    fn end_link(&mut self, mut link: OpenLink) {
        if link.at.start < self.until {
            return;
        }
        // The parser leaves the empty label of a link that it does not know out of the link's bytes.
        if matches!(link.kind, LinkType::CollapsedUnknown) && self.source[link.at.end..].starts_with("[]") {
            link.at.end += 2;
            self.until = link.at.end;
        }
        let Some((close, target)) = self.target_of(&link) else { return };
        let text = self.source[link.at.start + 1..close].to_owned();
        self.found.push(DocumentReference {
            at: link.at,
            form: target.form,
            text,
            written: link.destination,
            to: target.to,
        });
    }

    /// Returns the end of the link's text, and the file it points to.
    fn target_of(&self, link: &OpenLink) -> Option<(usize, LinkTarget)> {
        let rest = self.source.get(link.text_end..link.at.end)?;
        let close = link.text_end + rest.find([']', '>'])?;
        let target = match link.kind {
            LinkType::Inline => {
                let rest = self.source.get(close + 2..link.at.end.checked_sub(1)?)?.trim();
                let (written, spelling) = match rest.strip_prefix('<') {
                    Some(rest) => (&rest[..rest.find('>')?], DestinationSyntax::Written),
                    None => (rest.split([' ', '\t', '\n', '\r']).next()?, DestinationSyntax::Written),
                };
                parse_destination(written, spelling)?
            }
            LinkType::ReferenceUnknown | LinkType::CollapsedUnknown | LinkType::ShortcutUnknown => {
                LinkTarget { form: RefForm::Rustdoc, to: rustdoc(&link.destination)? }
            }
            LinkType::Email | LinkType::WikiLink { .. } => return None,
            LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut | LinkType::Autolink => {
                parse_destination(&link.destination, DestinationSyntax::Unescaped)?
            }
        };
        Some((close, target))
    }

    fn code(&mut self, code: &str, at: Range<usize>) {
        let before = &self.source[..at.start];
        // Written as a link, it would become an image there.
        if at.start < self.until || self.element.is_some() || before.ends_with('!') {
            return;
        }
        if let Some(to) = plain_references::parse_code_span(code) {
            let text = self.source[at.clone()].to_owned();
            self.found.push(DocumentReference { at, form: RefForm::Plain, text, written: code.trim().to_owned(), to });
        }
    }

    /// The contents of these elements are code, or a link already.
    fn html(&mut self, html: &str) {
        const ELEMENTS: [&str; 8] = ["a", "code", "pre", "kbd", "samp", "script", "style", "textarea"];
        let closes = html.starts_with("</");
        let name = html.trim_start_matches(['<', '/']);
        let name = &name[..name.bytes().take_while(u8::is_ascii_alphanumeric).count()];
        let known = ELEMENTS.into_iter().find(|element| element.eq_ignore_ascii_case(name));
        match known {
            Some(element) if closes && self.element == Some(element) => self.element = None,
            Some(element) if !closes && self.element.is_none() && !html.ends_with("/>") => self.element = Some(element),
            _ => {}
        }
    }

    fn text(&mut self, at: Range<usize>) {
        let at = at.start.max(self.until)..at.end;
        if at.is_empty() {
            return;
        }
        let joined = self.run.as_ref().filter(|run| is_one_word(self.source, run.end..at.start)).map(|run| run.start);
        if joined.is_none() {
            self.end_run();
        }
        if self.element.is_none() {
            self.run = Some(joined.unwrap_or(at.start)..at.end);
        }
        for bracket in at.clone().filter(|bracket| matches!(self.source.as_bytes()[*bracket], b'[' | b']')) {
            if bracket < self.until || is_escaped(self.source, bracket) {
                continue;
            }
            if self.source.as_bytes()[bracket] == b'[' {
                self.open.push(bracket);
            } else if let Some(open) = self.open.pop()
                && self.source[bracket..].starts_with("](")
            {
                self.loose(open, bracket);
            }
        }
        // The text may continue after a link that ended in it.
        if self.run.is_none() && self.element.is_none() && self.until < at.end {
            self.run = Some(self.until.max(at.start)..at.end);
        }
    }

    fn loose(&mut self, open: usize, close: usize) {
        let limit = self.blocks.last().map_or(self.source.len(), |block| block.end);
        let Some(loose) = lenient_link::parse_link(self.source, open, close, limit) else { return };
        if let Some(run) = self.run.take()
            && run.start < open
        {
            self.run = Some(run.start..open);
            self.end_run();
        }
        while self.found.last().is_some_and(|last| last.at.end > open) {
            self.found.pop();
        }
        self.until = loose.end;
        self.open.clear();
        self.found.push(DocumentReference {
            at: open..loose.end,
            form: loose.target.form,
            text: self.source[open + 1..close].to_owned(),
            written: loose.written.to_owned(),
            to: loose.target.to,
        });
    }

    /// Searches the run of text that ends here.
    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let (source, found) = (self.source, &mut self.found);
        plain_references::find_references(source, run, |(at, to)| {
            let text = source[at.clone()].to_owned();
            let written = unescape(&text);
            found.push(DocumentReference { at, form: RefForm::Plain, text, written, to });
        });
    }
}

/// Checks whether two pieces of text with this between them are one word to their author: nothing, a backslash, or underscores in the
/// middle of a path, as in `src/__init__.py`.
fn is_one_word(source: &str, gap: Range<usize>) -> bool {
    let Some(between) = source.get(gap.clone()) else { return false };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-');
    between.is_empty()
        || between == "\\"
        || (between.bytes().all(|byte| byte == b'_')
            && source[..gap.start].ends_with(is_name)
            && source[gap.end..].starts_with(is_name))
}

#[cfg(test)]
mod tests;
