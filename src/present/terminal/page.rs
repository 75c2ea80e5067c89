//! A page of text: wrapping, cutting and colouring. Main type: [`TerminalPage`].
//!
//! It knows columns and styles; the contents of a review do not belong here.

use std::borrow::Cow;

use anstyle::Style;
use textwrap::core::display_width;
use textwrap::{WordSeparator, WordSplitter};
use unicode_width::UnicodeWidthChar as _;

use crate::domain::path::RepoPath;
use crate::domain::percent::encode_file_uri;
use crate::domain::text::{strip_block, strip_line};
use crate::present::{LinkStyle, MIN_WIDTH, PageKind, RenderOptions};

/// Prose wider than this is hard to read.
const MAX_PROSE: usize = 100;
const TAB: usize = 4;
/// Number of rows that a line of code is wrapped to.
const WRAPPED_ROWS: usize = 6;
/// The columns that a title needs beside its place.
const MIN_TITLE: usize = 24;

/// A page under construction.
pub(super) struct TerminalPage<'a> {
    out: String,
    width: usize,
    colour: bool,
    kind: PageKind,
    links: &'a LinkStyle,
}

impl<'a> TerminalPage<'a> {
    pub(super) fn new(options: &'a RenderOptions) -> Self {
        let width = options.width.max(MIN_WIDTH);
        Self { out: String::new(), width, colour: options.colour, kind: options.kind, links: &options.links }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.out.into_bytes()
    }

    /// Returns the columns for text of our own and for code.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Returns whether lines are laid out for the columns of a screen. In a file or a pipe no code, path or title is cut or broken.
    pub(super) fn is_screen(&self) -> bool {
        self.kind != PageKind::File
    }

    fn prose_width(&self) -> usize {
        self.width.min(MAX_PROSE)
    }

    /// Appends a line that is already laid out.
    pub(super) fn line(&mut self, line: &str) {
        self.line_end(line.trim_end());
    }

    fn line_end(&mut self, end: &str) {
        self.out.push_str(end);
        self.out.push('\n');
    }

    /// Appends a line of code: a gutter and a text, each in its style.
    pub(super) fn code_line(&mut self, gutter: &str, text: &str, style: Style) {
        let gutter = if text.is_empty() { gutter.trim_end() } else { gutter };
        let line = format!("{}{}", self.paint(super::DIM, gutter), self.paint(style, text));
        self.line(&line);
    }

    /// Appends an empty line, unless there is one.
    pub(super) fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Appends a text that is one line, however long it is. The text is stripped here.
    pub(super) fn statement(&mut self, text: &str, style: Style) {
        let line = self.paint(style, &inert(plain(text).trim()));
        self.line(&line);
    }

    /// Appends a heading after an empty line.
    pub(super) fn heading(&mut self, title: &str, style: Style) {
        self.blank();
        self.wrapped("", "  ", title, style);
    }

    /// Applies a style to text, if the page has colors.
    pub(super) fn paint(&self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() && style != Style::new() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// Appends one line of text, wrapped: `first` precedes its first line, `rest` the others. The text is stripped here.
    pub(super) fn wrapped(&mut self, first: &str, rest: &str, text: &str, style: Style) {
        let text = plain(text);
        let room = self.prose_width().saturating_sub(display_width(first).max(display_width(rest))).max(8);
        let options = wrap_options(room, &text, self.is_screen());
        for (index, piece) in textwrap::wrap(text.trim(), options).iter().enumerate() {
            let margin = if index == 0 { first } else { rest };
            let line = format!("{margin}{}", self.paint(style, &inert(piece.trim_end())));
            self.line(&line);
        }
    }

    /// Appends a severity, a place and a title on one line; on a screen the title is wrapped. The place is a link to `path`, if it is
    /// given and the page has links.
    pub(super) fn headline(
        &mut self,
        severity: (Style, &str),
        path: Option<&RepoPath>,
        label: &str,
        note: &str,
        title: &str,
    ) {
        let (style, word) = severity;
        let label = plain(label);
        let mut lead = format!("{}  {}", self.paint(style.bold(), word), self.linked(path, &label));
        let mut columns = word.len() + 2 + display_width(&label);
        if !note.is_empty() {
            lead.push_str(&self.paint(super::DIM, &format!(" ({note})")));
            columns += note.len() + 3;
        }
        let title = inert(plain(title).trim()).into_owned();
        let margin = " ".repeat(super::INDENT);
        if !self.is_screen() {
            let line = format!("{lead}  {}", self.paint(super::BOLD, &title));
            return self.line(&line);
        }
        // A title that has hardly any room beside its place stands below it.
        if columns + 2 + display_width(&title).min(MIN_TITLE) > self.width {
            self.line(&lead);
            return self.wrapped(&margin, &margin, &title, super::BOLD);
        }
        let first = " ".repeat(columns + 2);
        let options = wrap_options(self.width, &title, true).initial_indent(&first).subsequent_indent(&margin);
        for (index, piece) in textwrap::wrap(&title, options).iter().enumerate() {
            let shown = self.paint(super::BOLD, &inert(piece.trim()));
            let line = if index == 0 { format!("{lead}  {shown}") } else { format!("{margin}{shown}") };
            self.line(&line);
        }
    }

    /// Appends a place in the tree with a note; as a link to `path`, if it is given and the page has links.
    pub(super) fn place(&mut self, indent: usize, lead: &str, path: Option<&RepoPath>, label: &str, note: &str) {
        let margin = " ".repeat(indent);
        let label = plain(label);
        let first = format!("{margin}{}{}", self.paint(super::DIM, lead), self.linked(path, &label));
        let columns = indent + display_width(lead) + display_width(&label) + 2;
        if note.is_empty() {
            self.line(&first);
        } else if !self.is_screen() || columns + display_width(note) <= self.width {
            let line = format!("{first}  {}", self.paint(super::DIM, &inert(&plain(note))));
            self.line(&line);
        } else {
            self.line(&first);
            let hanging = " ".repeat(indent + display_width(lead) + 2);
            self.wrapped(&hanging, &hanging, note, super::DIM);
        }
    }

    fn linked(&self, path: Option<&RepoPath>, label: &str) -> String {
        let painted = self.paint(super::PLACE, label);
        match path.and_then(|path| self.url(path)) {
            Some(url) => format!("\x1b]8;;{url}\x1b\\{painted}\x1b]8;;\x1b\\"),
            None => painted,
        }
    }

    /// Appends short texts separated by dots, each on one line if it fits; `lead` precedes the first one.
    pub(super) fn parts(&mut self, indent: usize, lead: &str, parts: &[String], style: Style) {
        if parts.is_empty() {
            return;
        }
        let mut margin = format!("{}{lead}", " ".repeat(indent));
        let hanging = " ".repeat(display_width(&margin));
        let room = self.prose_width() - display_width(&margin);
        let mut line = String::new();
        for part in parts.iter().map(|part| plain(part)) {
            if !line.is_empty() && display_width(&line) + display_width(&part) + 3 > room {
                self.wrapped(&margin, &hanging, &line, style);
                margin.clone_from(&hanging);
                line.clear();
            }
            if !line.is_empty() {
                line.push_str(" · ");
            }
            line.push_str(&part);
        }
        self.wrapped(&margin, &hanging, &line, style);
    }

    /// Appends Markdown as written: paragraphs and list items wrapped, fenced code as it is, no more than one empty line in a row.
    pub(super) fn prose(&mut self, indent: usize, markdown: &str) {
        let margin = " ".repeat(indent);
        let stripped = strip_block(markdown);
        let mut fence: Option<char> = None;
        for line in stripped.trim().lines() {
            let trimmed = line.trim();
            let mark = ['`', '~'].into_iter().find(|mark| trimmed.starts_with(&mark.to_string().repeat(3)));
            if mark.is_some() && (fence.is_none() || fence == mark) {
                fence = if fence.is_none() { mark } else { None };
                continue;
            }
            if fence.is_some() {
                let code = plain(&expand_tabs(line));
                let room = self.width.saturating_sub(indent + 4);
                let pieces = if self.is_screen() { wrap_code(&code, room) } else { vec![(0, code)] };
                for (_, piece) in pieces {
                    self.code_line(&format!("{margin}    "), &inert(piece.trim_end()), super::DIM);
                }
            } else if trimmed.is_empty() {
                self.blank();
            } else {
                let depth = line.chars().take_while(|c| c.is_whitespace()).count();
                let bullet = bullet_length(trimmed);
                let nested = if bullet > 0 { depth.min(8) } else { 0 };
                let (mark, text) = trimmed.split_at(bullet);
                let first = format!("{margin}{}{mark}", " ".repeat(nested));
                let rest = " ".repeat(indent + nested + bullet);
                let heading = bullet == 0 && trimmed.starts_with('#');
                let text = if heading { text.trim_start_matches('#') } else { text };
                self.wrapped(&first, &rest, text, if heading { super::BOLD } else { Style::new() });
            }
        }
    }

    fn url(&self, path: &RepoPath) -> Option<String> {
        let LinkStyle::Osc8 { root } = self.links else { return None };
        Some(encode_file_uri(root, path.as_bytes()))
    }
}

/// Counts the rows of a screen that a page takes.
pub(in crate::present) fn count_rows(page: &[u8], width: usize) -> usize {
    String::from_utf8_lossy(page).lines().map(|line| display_width(line).div_ceil(width.max(1)).max(1)).sum()
}

/// Returns the options that wrap text. Words are broken only on a screen, where they would leave the page.
fn wrap_options<'o>(room: usize, text: &str, is_screen: bool) -> textwrap::Options<'o> {
    // Paths and names stay whole if possible; scripts without spaces are broken by Unicode's rules.
    let separator = if text.chars().any(|c| c.width() == Some(2)) {
        WordSeparator::UnicodeBreakProperties
    } else {
        WordSeparator::AsciiSpace
    };
    let options = textwrap::Options::new(room).word_separator(separator).word_splitter(WordSplitter::NoHyphenation);
    options.break_words(is_screen)
}

/// Strips one line of untrusted text for display, before it is laid out.
pub(in crate::present) fn plain(text: &str) -> String {
    // Runners of continuous integration obey these anywhere in a log line.
    strip_line(text).replace("##[", "# #[").replace("##vso[", "# #vso[")
}

/// Returns a laid-out piece that no runner takes for a command: those begin a line with two colons, after any white space.
fn inert(piece: &str) -> Cow<'_, str> {
    match piece.trim_start().strip_prefix("::") {
        Some(rest) => {
            let margin = &piece[..piece.len() - rest.len() - 2];
            // U+2236 looks the same and is as wide.
            Cow::Owned(format!("{margin}\u{2236}\u{2236}{rest}"))
        }
        None => Cow::Borrowed(piece),
    }
}

/// Returns the length in bytes of a list marker (`- `, `* `, `12. `); 0 if there is none.
fn bullet_length(line: &str) -> usize {
    if line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ") {
        return 2;
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let after = &line[digits..];
    if (1..=3).contains(&digits) && (after.starts_with(". ") || after.starts_with(") ")) { digits + 2 } else { 0 }
}

/// Expands tabs to the next tab stop.
pub(super) fn expand_tabs(line: &str) -> String {
    if !line.contains('\t') {
        return line.to_owned();
    }
    let mut out = String::with_capacity(line.len() + 16);
    let mut column = 0;
    for c in line.chars() {
        if c == '\t' {
            let spaces = TAB - column % TAB;
            out.extend(std::iter::repeat_n(' ', spaces));
            column += spaces;
        } else {
            out.push(c);
            column += c.width().unwrap_or(0);
        }
    }
    out
}

/// Cuts the text to `room` columns, with `…` if something is missing.
fn fit(text: &str, room: usize) -> String {
    let mut columns = 0;
    let mut cut = 0;
    for (at, c) in text.char_indices() {
        let width = c.width().unwrap_or(0);
        if columns + width > room {
            return format!("{}…", &text[..cut]);
        }
        columns += width;
        // The last position where the marker still fits.
        if columns < room {
            cut = at + c.len_utf8();
        }
    }
    text.to_owned()
}

/// Wraps code at exactly `room` columns; each piece with its first column. The last one ends with `…` if the rest was left out.
pub(super) fn wrap_code(text: &str, room: usize) -> Vec<(usize, String)> {
    let mut pieces = vec![(0, String::new())];
    let mut column = 0;
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        let start = pieces.last().map_or(0, |(start, _)| *start);
        if column + width > start + room {
            if pieces.len() == WRAPPED_ROWS {
                if let Some((_, last)) = pieces.last_mut() {
                    *last = fit(&format!("{last}{c}"), room);
                }
                return pieces;
            }
            pieces.push((column, String::new()));
        }
        if let Some((_, last)) = pieces.last_mut() {
            last.push(c);
        }
        column += width;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_wrapped_at_the_edge_and_ends_somewhere() {
        assert_eq!(wrap_code("abcdef", 4), [(0, "abcd".to_owned()), (4, "ef".to_owned())]);
        assert_eq!(wrap_code("日本語", 4), [(0, "日本".to_owned()), (4, "語".to_owned())]);
        let long = wrap_code(&"x".repeat(1000), 10);
        assert_eq!((long.len(), long[WRAPPED_ROWS - 1].1.as_str()), (WRAPPED_ROWS, "xxxxxxxxx…"));
    }

    #[test]
    fn a_cut_line_fills_its_room_and_no_more() {
        assert_eq!(fit("abcdef", 6), "abcdef");
        assert_eq!(fit("abcdefg", 6), "abcde…");
        assert_eq!(fit("日本語日本語", 6), "日本…");
        assert_eq!(fit("日本語", 6), "日本語");
        assert_eq!(fit("x", 0), "…");
    }

    #[test]
    fn commands_of_a_runner_are_text() {
        assert_eq!(inert("  ::error::x"), "  \u{2236}\u{2236}error::x");
        assert_eq!(inert("a ::error::x"), "a ::error::x");
        assert_eq!(plain("x ##[add-mask]y"), "x # #[add-mask]y");
    }

    #[test]
    fn tabs_reach_the_next_stop() {
        assert_eq!(expand_tabs("\ta\tb"), "    a   b");
        assert_eq!(expand_tabs("日\tb"), "日  b");
    }

    #[test]
    fn list_marks_are_known() {
        assert_eq!(["- a", "12. a", "1) a", "1.5 a", "-a", "2026. a", "é"].map(bullet_length), [2, 4, 3, 0, 0, 0, 0]);
    }
}
