//! A presented document for a terminal: wrapped like other output, its links intact. Main function: [`terminal()`].
//!
//! Finding references and rewriting them for a surface belongs in `document`; this lays out text whose references are already written for a
//! terminal. The layout knows no escapes, so each link becomes two private-use characters meanwhile.

use super::terminal::prose;
use super::{LinkStyle, RenderOptions};

/// Characters of the last private-use area (Unicode 16, §23.5) mark the beginnings of links, the very last one each end.
const FIRST: u32 = 0x0010_0000;
const MOST: usize = 0xfff0;
const END: char = '\u{10fffd}';

const OPEN: &str = "\x1b]8;;";
const CLOSE: &str = "\x1b]8;;\x1b\\";

/// Lays out a document. Links to files (OSC-8, `file:`) stay if the options allow links; every other escape in `text` is removed.
pub fn terminal(text: &str, options: &RenderOptions) -> Vec<u8> {
    let (marked, addresses) = mark_links(text);
    let mut laid_out = restore_links(&prose(&marked, options), &addresses, options.links != LinkStyle::None);
    laid_out.truncate(laid_out.trim_end_matches('\n').len());
    laid_out.push('\n');
    laid_out.into_bytes()
}

/// Returns the text with a marker for each beginning and end of a link, and the links' destinations.
fn mark_links(text: &str) -> (String, Vec<&str>) {
    // Markers in the input are removed.
    let foreign = |c: char| u32::from(c) >= FIRST;
    let mut out = String::with_capacity(text.len());
    let mut addresses = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(OPEN) {
        let (before, link) = rest.split_at(at);
        out.push_str(&before.replace(foreign, "\u{fffd}"));
        let (address, after) = link[OPEN.len()..].split_once("\x1b\\").unwrap_or_default();
        let is_ours = address.starts_with("file://") && address.bytes().all(|byte| byte.is_ascii_graphic());
        let mark = u32::try_from(addresses.len()).ok().and_then(|number| char::from_u32(FIRST + number));
        rest = match mark {
            Some(mark) if is_ours && addresses.len() < MOST => {
                addresses.push(address);
                out.push(mark);
                after
            }
            _ if link.starts_with(CLOSE) => {
                out.push(END);
                after
            }
            // Without its introducer it is text.
            _ => &link[1..],
        };
    }
    out.push_str(&rest.replace(foreign, "\u{fffd}"));
    (out, addresses)
}

/// Returns the text with links for the markers. A wrapped link becomes one link on each of its lines; none continues beyond its paragraph.
fn restore_links(laid_out: &str, addresses: &[&str], links: bool) -> String {
    let mut out = String::with_capacity(laid_out.len() + addresses.len() * 64);
    let mut open: Option<&str> = None;
    for line in laid_out.lines() {
        let text = line.trim_start();
        if text.is_empty() {
            open = None;
        }
        out.push_str(&line[..line.len() - text.len()]);
        begin_link(&mut out, open);
        for c in text.chars() {
            let mark = u32::from(c).checked_sub(FIRST).and_then(|number| usize::try_from(number).ok());
            if let Some(number) = mark {
                end(&mut out, open);
                open = addresses.get(number).copied().filter(|_| links && c != END);
                begin_link(&mut out, open);
            } else {
                out.push(c);
            }
        }
        end(&mut out, open);
        out.push('\n');
    }
    out
}

fn begin_link(out: &mut String, open: Option<&str>) {
    if let Some(address) = open {
        out.push_str(OPEN);
        out.push_str(address);
        out.push_str("\x1b\\");
    }
}

fn end(out: &mut String, open: Option<&str>) {
    if open.is_some() {
        out.push_str(CLOSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    use proptest::prelude::*;

    fn page(text: &str, links: bool) -> String {
        let links = if links { LinkStyle::Osc8 { root: PathBuf::from("/w") } } else { LinkStyle::None };
        String::from_utf8(terminal(text, &RenderOptions { width: 40, links, ..RenderOptions::default() })).unwrap()
    }

    fn link(address: &str, text: &str) -> String {
        format!("{OPEN}{address}\x1b\\{text}{CLOSE}")
    }

    #[test]
    fn a_link_stays_where_it_is_and_is_one_on_each_line() {
        let text = format!(
            "# Title\n\nSome words that fill the line with {} and then {}.\n\n\n- end",
            link("file:///w/a", "two words"),
            link("file:///w/b", "more")
        );
        let expected = format!(
            "Title\n\nSome words that fill the line with {}\n{} and then {}.\n\n- end\n",
            link("file:///w/a", "two"),
            link("file:///w/a", "words"),
            link("file:///w/b", "more")
        );
        assert_eq!(page(&text, true).replacen(" Title", "Title", 1), expected);
        assert_eq!(page(&link("file:///w/a", "x"), false), "x\n");
    }

    #[test]
    fn no_other_escape_passes() {
        assert_eq!(page(&link("https://e.example", "x"), true), "]8;;https://e.examplex\n");
        assert_eq!(page("\u{100000}x\u{10fffd} \x1b[31mred", true), "\u{fffd}x\u{fffd} red\n");
        assert_eq!(page("\x1b]8;;file:///a b\x1b\\x", true), "]8;;file:///a bx\n");
    }

    fn pieces() -> impl Strategy<Value = String> {
        let odd = proptest::sample::select(vec![
            "\x1b]8;;file:///a\x1b\\",
            CLOSE,
            OPEN,
            "\x1b\\",
            "\x1b",
            "word ",
            "\n",
            "\n\n",
            "```\n",
            "- ",
            "\u{100001}",
            "\u{10fffd}",
            "long_long_long_long_long_long_long",
            "\u{9d}8;;x\u{9c}",
            "\x07",
            "漢字",
        ]);
        proptest::collection::vec(odd, 0..30).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn links_are_opened_and_closed_within_a_line(text in prop_oneof![pieces(), any::<String>()]) {
            for line in page(&text, true).lines() {
                let mut rest = line;
                let mut open = false;
                while let Some(at) = rest.find('\x1b') {
                    let link = rest[at..].strip_prefix(OPEN).and_then(|link| link.split_once("\x1b\\"));
                    prop_assert!(link.is_some_and(|(address, _)| address.is_empty() == open && (open || address.starts_with("file://"))), "{line:?}");
                    open = !open;
                    rest = link.map_or("", |(_, rest)| rest);
                }
                prop_assert!(!open, "{line:?}");
            }
            prop_assert!(!page(&text, false).contains('\x1b'));
        }
    }
}
