//! Markdown of a model as HTML: paragraphs, emphasis, lists, quotations and code. Main function: [`render`].
//!
//! Everything else is text: HTML is shown, an address is shown beside its words, and nothing is a link or loads an image.

use std::fmt::Write as _;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::{escape, inline_code};
use crate::domain::text::{shorten, strip_block};

/// Upper bound on the characters of a text.
const MOST: usize = 30_000;
/// Upper bound on the depth of lists and quotations; what is deeper is shown on the level above.
const DEEPEST: usize = 12;

/// Renders Markdown.
pub(super) fn render(markdown: &str) -> String {
    let text = shorten(&strip_block(markdown), MOST);
    let mut writer = MarkdownWriter { out: String::with_capacity(text.len() * 2), depth: 0, destinations: Vec::new() };
    Parser::new(&text).for_each(|event| writer.event(event));
    writer.out
}

struct MarkdownWriter {
    out: String,
    /// The number of lists, items and quotations around.
    depth: usize,
    /// The addresses of the links around, with the place at which their words begin.
    destinations: Vec<(String, usize)>,
}

impl MarkdownWriter {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Code(code) => self.out.push_str(&inline_code(&code)),
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>\n"),
            Event::Rule => self.out.push_str("<hr>\n"),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.out.push_str(&escape(&text)),
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.out.push_str("<p>"),
            // The headings of the page are its own.
            Tag::Heading { .. } => self.out.push_str("<p><strong>"),
            Tag::CodeBlock(_) => self.out.push_str("<pre class=\"code\" tabindex=\"0\">"),
            Tag::Emphasis => self.out.push_str("<em>"),
            Tag::Strong => self.out.push_str("<strong>"),
            Tag::List(Some(first)) => self.open(&format!("<ol start=\"{first}\">")),
            Tag::List(None) => self.open("<ul>"),
            Tag::Item => self.open("<li>"),
            Tag::BlockQuote(_) => self.open("<blockquote>"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.destinations.push((dest_url.into_string(), self.out.len()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.out.push_str("</p>\n"),
            TagEnd::Heading(_) => self.out.push_str("</strong></p>\n"),
            TagEnd::CodeBlock => self.out.push_str("</pre>\n"),
            TagEnd::Emphasis => self.out.push_str("</em>"),
            TagEnd::Strong => self.out.push_str("</strong>"),
            TagEnd::List(true) => self.close("</ol>\n"),
            TagEnd::List(false) => self.close("</ul>\n"),
            TagEnd::Item => self.close("</li>\n"),
            TagEnd::BlockQuote(_) => self.close("</blockquote>\n"),
            TagEnd::Link | TagEnd::Image => {
                let Some((address, start)) = self.destinations.pop() else { return };
                if self.out.get(start..) != Some(&escape(&address)) {
                    let _ = write!(self.out, " ({})", inline_code(&address));
                }
            }
            _ => {}
        }
    }

    /// Opens an element that may hold others of its kind.
    fn open(&mut self, tag: &str) {
        self.depth += 1;
        if self.depth <= DEEPEST {
            self.out.push_str(tag);
        }
    }

    fn close(&mut self, tag: &str) {
        if self.depth <= DEEPEST {
            self.out.push_str(tag);
        }
        self.depth = self.depth.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_structures_a_text_stays() {
        insta::assert_snapshot!(
            render("# Why\n\nIt *is* **bad**: `a < b`\nand so.\n\n- one\n- two\n\n3. three\n\n> said\n\n```rust\nlet x = \"<b>\";\n```\n"),
            @r#"
        <p><strong>Why</strong></p>
        <p>It <em>is</em> <strong>bad</strong>: <code>a &lt; b</code>
        and so.</p>
        <ul><li>one</li>
        <li>two</li>
        </ul>
        <ol start="3"><li>three</li>
        </ol>
        <blockquote><p>said</p>
        </blockquote>
        <pre class="code" tabindex="0">let x = &quot;&lt;b&gt;&quot;;
        </pre>
        "#
        );
    }

    #[test]
    fn nothing_is_a_link_an_image_or_markup() {
        let text = render(
            "[a](javascript:alert(1)) ![b](http://e.example/i.png) <https://e.example> <img src=x onerror=y>\n\n<script>z</script>",
        );
        for tag in ["<a", "<img", "<script", "href", "src=\""] {
            assert!(!text.contains(tag), "{text}");
        }
        assert!(text.contains("a (<code>javascript:alert(1)</code>)"), "{text}");
        assert!(text.contains("&lt;script&gt;"), "{text}");
    }

    #[test]
    fn deep_lists_end() {
        let deep: Vec<String> = (0..200).map(|depth| format!("{}- x\n", "  ".repeat(depth))).collect();
        let text = render(&deep.concat());
        assert_eq!(text.matches("<ul>").count(), text.matches("</ul>").count());
        assert!(text.matches("<ul>").count() <= DEEPEST);
    }
}
