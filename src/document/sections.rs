//! The headings of a document. Main types: [`Heading`], [`Outline`].
//!
//! Only headings at the top level count: one inside a block quote, a list item or a footnote belongs to that block, and a section could not
//! end there without splitting it. Text that looks like a heading in code or HTML is not one, according to the parser.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};

use super::markdown::events;

/// A heading at the top level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading {
    /// 1 to 6.
    pub(super) level: u8,
    /// Its byte range, including the underline of a setext heading and the last line ending.
    pub(super) at: Range<usize>,
    /// Its text, normalized for comparison (see [`normalize_heading`]).
    pub(super) text: String,
    /// `true` if it is underlined.
    pub(super) setext: bool,
}

/// The structure of a document, as far as editing needs it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Outline {
    /// The headings, in order.
    pub(super) headings: Vec<Heading>,
    /// The start of the first block of the document, of any kind.
    first: Option<usize>,
    /// The last block, if it is one that may never have been closed.
    last_raw: Option<RawBlock>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct RawBlock {
    at: Range<usize>,
    is_fence: bool,
}

impl Outline {
    /// Parses the document.
    pub(super) fn of(markdown: &str) -> Self {
        let mut outline = Self::default();
        // A byte order mark is not part of the first line.
        let skipped = if markdown.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let body = &markdown[skipped..];
        let mut depth = 0usize;
        let mut heading: Option<(u8, Range<usize>, String)> = None;
        for (event, at) in events(body) {
            match event {
                Event::Start(tag) => {
                    if depth == 0 {
                        outline.first.get_or_insert(at.start + skipped);
                        outline.last_raw = raw(&tag, &at, skipped);
                        if let Tag::Heading { level, .. } = tag {
                            heading = Some((level as u8, at, String::new()));
                        }
                    }
                    depth += 1;
                }
                Event::End(end) => {
                    depth = depth.saturating_sub(1);
                    if let (TagEnd::Heading(_), 0, Some((level, at, text))) =
                        (end, depth, heading.take_if(|_| depth == 0))
                    {
                        outline.headings.push(self::heading(body, skipped, level, at, &text));
                    }
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some((_, _, said)) = &mut heading {
                        said.push_str(&text);
                    }
                }
                Event::SoftBreak | Event::HardBreak => {
                    if let Some((_, _, said)) = &mut heading {
                        said.push(' ');
                    }
                }
                Event::Rule if depth == 0 => {
                    outline.first.get_or_insert(at.start + skipped);
                    outline.last_raw = None;
                }
                _ => {}
            }
        }
        outline
    }

    /// Returns the heading that the document begins with.
    pub(super) fn leading(&self) -> Option<&Heading> {
        self.headings.first().filter(|heading| self.first.is_some_and(|first| heading.at.contains(&first)))
    }

    /// Finds the first heading with that text, and the end of its section: the next heading of the same or a higher level.
    pub(super) fn section(&self, wanted: &str, length: usize) -> Option<(&Heading, usize)> {
        let index = self.headings.iter().position(|heading| heading.text == wanted)?;
        let (heading, later) = (&self.headings[index], &self.headings[index + 1..]);
        let end = later.iter().find(|next| next.level <= heading.level).map_or(length, |next| next.at.start);
        Some((heading, end))
    }
}

fn raw(tag: &Tag<'_>, at: &Range<usize>, skipped: usize) -> Option<RawBlock> {
    let is_fence = match tag {
        Tag::CodeBlock(CodeBlockKind::Fenced(_)) => true,
        Tag::HtmlBlock => false,
        _ => return None,
    };
    Some(RawBlock { at: at.start + skipped..at.end + skipped, is_fence })
}

fn heading(body: &str, skipped: usize, level: u8, at: Range<usize>, text: &str) -> Heading {
    let bytes = body.as_bytes();
    let start = bytes[..at.start].iter().rposition(|byte| is_newline(*byte)).map_or(0, |end| end + 1);
    let last = body[..at.end].trim_end_matches(['\n', '\r']).len();
    let mut end = bytes[last..].iter().position(|byte| is_newline(*byte)).map_or(body.len(), |newline| last + newline);
    if bytes[end..].starts_with(b"\r\n") {
        end += 2;
    } else if end < bytes.len() {
        end += 1;
    }
    let setext = !body[at.start..].trim_start_matches(' ').starts_with('#');
    Heading { level, at: start + skipped..end + skipped, text: normalize_heading(text), setext }
}

fn is_newline(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Normalizes text for comparing headings: trimmed, white space collapsed, case-insensitive. Characters that share one capital (`σ` and
/// `ς`, `ß` and `ss`) are equal, so this converts through capitals.
pub(super) fn normalize_heading(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase));
    }
    out
}

/// Returns the text that must follow the document so that its last block does not swallow what is appended: the end of an open fence or HTML.
pub(super) fn missing_closing(markdown: &str) -> Option<String> {
    const PROBE: &str = "\n\n# probe\n";
    let survives = |text: &str| {
        let probed = format!("{text}{PROBE}");
        Outline::of(&probed).headings.last().is_some_and(|last| last.at.start == text.len() + 2)
    };
    let raw = Outline::of(markdown).last_raw?;
    if survives(markdown) {
        return None;
    }
    let opening = markdown.get(raw.at)?.trim_start();
    let candidates: Vec<String> = if raw.is_fence {
        let mark = opening.chars().next()?;
        vec![opening.chars().take_while(|c| *c == mark).collect()]
    } else {
        ["-->", "?>", "]]>", ">", "</script>", "</pre>", "</style>", "</textarea>"].map(str::to_owned).into()
    };
    candidates.into_iter().find(|end| survives(&format!("{markdown}\n{end}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(markdown: &str) -> Vec<(u8, String, String)> {
        let headings = Outline::of(markdown).headings;
        headings.into_iter().map(|heading| (heading.level, heading.text, markdown[heading.at].to_owned())).collect()
    }

    fn heading(level: u8, text: &str, lines: &str) -> (u8, String, String) {
        (level, text.to_owned(), lines.to_owned())
    }

    #[test]
    fn headings_are_found_in_both_styles_with_their_whole_lines() {
        assert_eq!(
            texts("  # A *b* `c`  #\r\ntext\r\n\r\nTwo\r\nlines\r\n---\r\n### [l](x) &amp; ![i](y)"),
            [
                heading(1, "a b c", "  # A *b* `c`  #\r\n"),
                heading(2, "two lines", "Two\r\nlines\r\n---\r\n"),
                heading(3, "l & i", "### [l](x) &amp; ![i](y)"),
            ]
        );
    }

    #[test]
    fn what_looks_like_a_heading_is_none_in_code_html_quotes_and_items() {
        let odd = "```\n# a\n```\n\n    # b\n\n<!--\n# c\n-->\n\n> # d\n\n- # e\n\n<pre>\n# f\n</pre>\n\n#g\n\n\\# h\n";
        assert_eq!(texts(odd), []);
        assert_eq!(texts("~~~\n# a\n```\n# b\n"), []);
    }

    #[test]
    fn a_byte_order_mark_hides_no_heading() {
        assert_eq!(texts("\u{feff}# A\n"), [heading(1, "a", "# A\n")]);
        assert!(Outline::of("\u{feff}# A\n").leading().is_some());
    }

    #[test]
    fn only_a_heading_that_comes_first_leads() {
        for (markdown, leads) in
            [("\n\n# a\n", true), ("A\n=\n", true), ("x\n\n# a", false), ("---\n# a", false), ("> x\n\n# a", false)]
        {
            assert_eq!(Outline::of(markdown).leading().is_some(), leads, "{markdown:?}");
        }
    }

    #[test]
    fn blocks_that_were_never_closed_are_known() {
        for (markdown, end) in [
            ("a\n```rust\nx", Some("```")),
            ("~~~~\nx\n~~~", Some("~~~~")),
            ("```\nx\n```", None),
            ("<!-- a\nb", Some("-->")),
            ("<script>\nx", Some("</script>")),
            ("<div>\nx", None),
            ("- ```\n  x", None),
            ("plain", None),
            ("", None),
        ] {
            assert_eq!(missing_closing(markdown).as_deref(), end, "{markdown:?}");
        }
    }
}
