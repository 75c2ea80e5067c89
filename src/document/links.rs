//! The links and headings of a document. Main type: [`DocumentLinks`].
//!
//! Checking whether a destination exists belongs in `rules`. References in presented text, which have forms of their own, are in
//! `references`.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::markdown::options;
use crate::domain::text::LazyPattern;

/// A link or an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentLink {
    /// Its bytes; those of its definition, if the destination is there.
    pub at: Range<usize>,
    /// The destination, with Markdown escapes undone.
    pub destination: String,
}

/// The links of a document, and the headings that can be linked to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DocumentLinks {
    /// Links and images, including those in HTML, each position once.
    pub links: Vec<DocumentLink>,
    /// The texts of the headings at any level.
    pub headings: Vec<String>,
}

/// HTML attributes that name another file.
static IN_HTML: LazyPattern =
    LazyPattern::new(r#"(?is)<!--.*?-->|<(?:img|a)\b[^<>]*?\s(?:src|href)\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')"#);

impl DocumentLinks {
    /// Parses the document.
    pub fn of(markdown: &str) -> Self {
        let mut page = Self::default();
        let mut seen = BTreeSet::new();
        let mut heading: Option<String> = None;
        let parser = Parser::new_ext(markdown, options() | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS);
        let mut events = parser.into_offset_iter();
        while let Some((event, at)) = events.next() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => page.headings.extend(heading.take()),
                Event::Text(text) | Event::Code(text) => {
                    if let Some(said) = &mut heading {
                        said.push_str(&text);
                    }
                }
                Event::SoftBreak | Event::HardBreak => {
                    if let Some(said) = &mut heading {
                        said.push(' ');
                    }
                }
                Event::Start(
                    Tag::Link { link_type, dest_url, id, .. } | Tag::Image { link_type, dest_url, id, .. },
                ) => {
                    let at = match link_type {
                        LinkType::Inline => at,
                        LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut => {
                            match events.reference_definitions().get(&id) {
                                Some(definition) => definition.span.clone(),
                                None => continue,
                            }
                        }
                        _ => continue,
                    };
                    if seen.insert((at.start, at.end)) {
                        page.links.push(DocumentLink { at, destination: dest_url.into_string() });
                    }
                }
                Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_) => page.html(markdown, at),
                _ => {}
            }
        }
        page
    }

    fn html(&mut self, markdown: &str, at: Range<usize>) {
        let (Some(pattern), Some(html)) = (IN_HTML.regex(), markdown.get(at.clone())) else { return };
        for found in pattern.captures_iter(html) {
            if let (Some(whole), Some(value)) = (found.get(0), found.get(1).or(found.get(2))) {
                let at = at.start + whole.start()..at.start + whole.end();
                self.links.push(DocumentLink { at, destination: value.as_str().trim().replace("&amp;", "&") });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(markdown: &str) -> Vec<(String, String)> {
        let links = DocumentLinks::of(markdown).links;
        links.into_iter().map(|link| (markdown[link.at].to_owned(), link.destination)).collect()
    }

    #[test]
    fn every_form_of_a_link_is_found_where_its_destination_stands() {
        let markdown = "[a](b\\_c.md) ![d](<e f.png> \"t\")\n[g][1] [1] <https://h>\n\n[1]: i.md#j\n[2]: unused.md\n";
        assert_eq!(
            links(markdown),
            [
                ("[a](b\\_c.md)".to_owned(), "b_c.md".to_owned()),
                ("![d](<e f.png> \"t\")".to_owned(), "e f.png".to_owned()),
                ("[1]: i.md#j".to_owned(), "i.md#j".to_owned()),
            ]
        );
        let html = "<p>\n<img\n width=1 src=\"a.png\">\n<!-- <img src=\"b.png\"> -->\n</p>\n\nx <a href='c.md'>c</a>\n";
        let found: Vec<String> = links(html).into_iter().map(|(_, destination)| destination).collect();
        assert_eq!(found, ["a.png", "c.md"]);
    }

    #[test]
    fn code_holds_no_links_and_quotes_hold_headings() {
        let page =
            DocumentLinks::of("---\nt: [x](y.md)\n---\n```\n[a](b.md)\n```\n`[c](d.md)`\n\n> # E `f` *g*\n\nH\n=\n");
        assert_eq!(page.links, []);
        assert_eq!(page.headings, ["E f g", "H"]);
    }
}
