//! The active parts of a Markdown text when it is rendered, for tests of text that must stay inert. Main function: [`live_parts`].

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

/// Lists everything beyond paragraphs, lists, emphasis and code; fences by their info string; text that a forge links.
pub(crate) fn live_parts(markdown: &str) -> Vec<String> {
    let more = Options::ENABLE_MATH | Options::ENABLE_GFM | Options::ENABLE_DEFINITION_LIST;
    let mut found = Vec::new();
    let mut text = String::new();
    let mut in_code = false;
    for event in Parser::new_ext(markdown, super::markdown::options() | more) {
        match &event {
            Event::Text(part) if !in_code => {
                text.push_str(part);
                continue;
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                in_code = true;
                if let CodeBlockKind::Fenced(info) = kind
                    && !info.is_empty()
                {
                    found.push(format!("fence {info}"));
                }
            }
            Event::End(pulldown_cmark::TagEnd::CodeBlock) => in_code = false,
            Event::Start(
                Tag::Paragraph | Tag::List(_) | Tag::Item | Tag::Emphasis | Tag::Strong | Tag::Strikethrough,
            )
            | Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::SoftBreak
            | Event::HardBreak => {}
            other => found.push(format!("{other:?}")),
        }
        found.extend(find_linked(&text));
        text.clear();
    }
    found.extend(find_linked(&text));
    found
}

fn find_linked(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let number = lower.match_indices('#').any(|(at, _)| lower[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    let live =
        number || lower.contains('@') || lower.contains("://") || lower.contains("www.") || lower.contains("gh-1");
    live.then(|| format!("text {text}"))
}
