//! The running text of a document, without code, HTML and the targets of links. Main function: [`prose_ranges`].

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

use super::markdown::events;

/// Returns the byte ranges of running text, in order. Code, HTML and comments are excluded.
pub fn prose_ranges(markdown: &str) -> Vec<Range<usize>> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut in_code = false;
    for (event, range) in events(markdown) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(_) if !in_code => match pieces.last_mut() {
                // The parser splits at every character that could have begun something.
                Some(last) if last.end == range.start => last.end = range.end,
                _ => pieces.push(range),
            },
            _ => {}
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(markdown: &str) -> Vec<&str> {
        prose_ranges(markdown).into_iter().map(|range| &markdown[range]).collect()
    }

    #[test]
    fn code_and_comments_are_no_text() {
        let text = "See @a.md and `@b.md`.\n\n```\n@c.md\n```\n\n<!-- @d.md -->\n\n- @e_f_g.md\n";
        assert_eq!(said(text), ["See @a.md and ", ".", "@e_f_g.md"]);
    }

    #[test]
    fn a_fence_that_never_ends_hides_the_rest() {
        assert_eq!(said("@a\n\n~~~\n@b\n\n@c"), ["@a"]);
    }
}
