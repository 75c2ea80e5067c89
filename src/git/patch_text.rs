//! The text of a diff, from hunks and the lines of both sides. Main types: [`PatchSide`], [`PatchTextLimits`], [`RenderedLines`].
//!
//! Secrets are masked and lines over [`MAX_LINE`] characters shortened here. A carriage return before a line feed is dropped where all
//! lines of both sides end in one; where they do not, it is kept: it may be what changed.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::domain::change::{Hunk, HunkSpan, LINE_SHORTENED, PatchCut, PatchText};
use crate::domain::text::{mask, may_span_lines};
use crate::sys::charset;

use super::compare::line_count;
use super::known_lines::KnownLines;

/// Longer lines are shortened to as many characters. A paragraph of prose fits: what is shortened must be read once more.
pub(super) const MAX_LINE: usize = 2_000;
/// Number of bytes of a line that are searched for secrets.
const SEARCHED: usize = 8192;
/// A secret that begins in them and does not end there has fewer bytes in them, or the text was masked as a whole.
const LONGEST_SECRET: usize = 4096;

/// The limits of the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatchTextLimits {
    pub(super) chars: usize,
    pub(super) bytes: usize,
    pub(super) lines: usize,
}

/// A line of a diff: a hunk, and a line within it, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiffPosition {
    /// The hunk.
    pub hunk: usize,
    /// The line of the hunk, its header not counted.
    pub line: usize,
}

/// Some lines of a diff.
#[derive(Debug, Default)]
pub(super) struct RenderedLines {
    pub(super) text: String,
    /// The position where it stopped; `None` at the end.
    pub(super) next: Option<DiffPosition>,
    /// The number of remaining lines of the diff.
    pub(super) left: u32,
    pub(super) shortened: u32,
}

impl RenderedLines {
    pub(super) fn into_patch(self, hunks: usize) -> PatchText {
        let cut = (self.next.is_some() || self.shortened > 0).then(|| PatchCut {
            first_unseen_hunk: self.next.map_or(hunks, |position| position.hunk),
            lines: self.left,
            shortened_lines: self.shortened,
        });
        PatchText { text: self.text.into(), cut }
    }
}

/// The lines of one side. They are asked for in ascending order.
pub(super) struct PatchSide<'a> {
    source: SideSource<'a>,
    lines: u32,
    open_end: bool,
    pub(super) drop_returns: bool,
}

enum SideSource<'a> {
    Text { text: Cow<'a, str>, masked: bool, line: u32, byte: usize },
    Known(&'a KnownLines),
}

/// Consecutive lines of a side, masked.
#[derive(Default)]
struct MaskedBlock<'a> {
    text: Cow<'a, str>,
    /// The number of characters a line had before it was shortened, by its place in the block.
    original: HashMap<usize, usize>,
}

impl<'a> PatchSide<'a> {
    /// The lines of a file.
    pub(super) fn of_bytes(bytes: &'a [u8]) -> Self {
        let text = charset::text(bytes);
        // All other secrets are found in the shown lines alone.
        let masked = may_span_lines(&text);
        let text = if masked { Cow::Owned(mask(&text).text) } else { text };
        Self {
            lines: line_count(bytes),
            open_end: bytes.last().is_some_and(|last| *last != b'\n'),
            drop_returns: only_returns(bytes),
            source: SideSource::Text { text, masked, line: 0, byte: 0 },
        }
    }

    /// Takes the lines of a file that a patch shows.
    pub(super) fn of_known(known: &'a KnownLines) -> Self {
        Self {
            lines: known.last(),
            open_end: known.has_open_end(),
            drop_returns: false,
            source: SideSource::Known(known),
        }
    }

    /// The lines of a span as far as `budget` bytes go.
    fn block(&mut self, span: HunkSpan, budget: usize) -> MaskedBlock<'_> {
        let first = span.before();
        match &mut self.source {
            SideSource::Known(known) => {
                let lines = (first + 1..=first.saturating_add(span.count)).map_while(|number| known.line(number));
                let mut size = 0;
                let within = lines.take_while(|line| {
                    let fits = size <= budget;
                    size += (line.len() + 1).min(SEARCHED);
                    fits
                });
                shortened(within.flat_map(|line| [line, "\n"]).collect::<String>().into())
            }
            SideSource::Text { text, masked, line, byte } => {
                let text: &str = text;
                if first < *line {
                    (*line, *byte) = (0, 0);
                }
                let end_of =
                    |at: usize| memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |feed| at + feed + 1);
                while *line < first && *byte < text.len() {
                    *byte = end_of(*byte);
                    *line += 1;
                }
                let start = *byte;
                let (mut size, mut end) = (0, start);
                for _ in 0..span.count {
                    if size > budget || end >= text.len() {
                        break;
                    }
                    let next = end_of(end);
                    size += (next - end).min(SEARCHED);
                    end = next;
                }
                let block = shortened(Cow::Borrowed(&text[start..end]));
                if *masked { block } else { block.masked() }
            }
        }
    }

    /// The last line, where no line feed follows it.
    fn open_line(&self) -> Option<u32> {
        self.open_end.then_some(self.lines)
    }
}

/// Checks whether every line ends in `\r\n`.
fn only_returns(bytes: &[u8]) -> bool {
    let Some(first) = memchr::memchr(b'\n', bytes) else { return false };
    // The first line decides for nearly all files without reading the rest.
    first > 0
        && bytes[first - 1] == b'\r'
        && memchr::memchr_iter(b'\n', bytes).all(|feed| feed > 0 && bytes[feed - 1] == b'\r')
}

fn shortened(text: Cow<'_, str>) -> MaskedBlock<'_> {
    let mut original = HashMap::new();
    let long = text.len() > MAX_LINE && text.split('\n').any(|line| line.len() > MAX_LINE);
    let mut text = text;
    if long {
        let mut out = String::with_capacity(text.len().min(1 << 16));
        for (place, line) in text.split('\n').enumerate() {
            if place > 0 {
                out.push('\n');
            }
            if line.len() > MAX_LINE {
                let count = line.chars().count();
                if count > MAX_LINE {
                    original.insert(place, count);
                }
            }
            out.push_str(&line[..line.floor_char_boundary(SEARCHED)]);
        }
        text = Cow::Owned(out);
    }
    MaskedBlock { text, original }
}

impl MaskedBlock<'_> {
    /// Masks its lines. Masks are short, so the end of a line that was cut may come into sight, with half a secret: it is left out.
    fn masked(self) -> Self {
        let mut text = mask(&self.text).text;
        // It was cut between characters.
        let is_cut = |line: &str| line.len() + 4 > SEARCHED;
        if text.len() < self.text.len() && self.text.split('\n').any(is_cut) {
            let seen = |(line, before): (&'_ str, &str)| {
                let is_less = is_cut(before) && line.len() < before.len();
                let hidden = if is_less { LONGEST_SECRET } else { 0 };
                line[..line.floor_char_boundary(line.len().saturating_sub(hidden))].to_owned()
            };
            text = text.split('\n').zip(self.text.split('\n')).map(seen).collect::<Vec<_>>().join("\n");
        }
        Self { text: Cow::Owned(text), ..self }
    }
}

/// The reason why no more lines are taken.
struct PatchLimitReached;

struct Sink {
    out: RenderedLines,
    chars: usize,
    lines: usize,
    limits: PatchTextLimits,
}

impl Sink {
    fn room(&self, chars: usize, bytes: usize, lines: usize) -> bool {
        self.chars + chars <= self.limits.chars
            && self.out.text.len() + bytes <= self.limits.bytes
            && self.lines + lines <= self.limits.lines
    }

    /// Takes a line, with `head` before it when that is not empty, or neither.
    fn line(&mut self, head: &str, prefix: char, line: &str, note: &str, open: bool) -> Result<(), PatchLimitReached> {
        const OPEN: &str = "\\ No newline at end of file\n";
        let tail = if open { OPEN } else { "" };
        let count = |text: &str| if text.is_ascii() { text.len() } else { text.chars().count() };
        let chars = head.len() + 2 + count(line) + count(note) + tail.len();
        let bytes = head.len() + 2 + line.len() + note.len() + tail.len();
        if !self.room(chars, bytes, 1 + usize::from(!head.is_empty()) + usize::from(open)) {
            return Err(PatchLimitReached);
        }
        let text = &mut self.out.text;
        text.push_str(head);
        text.push(prefix);
        text.push_str(line);
        text.push_str(note);
        text.push('\n');
        text.push_str(tail);
        self.chars += chars;
        self.lines += 1 + usize::from(!head.is_empty()) + usize::from(open);
        Ok(())
    }
}

/// The header line of a hunk.
pub(super) fn header(hunk: &Hunk) -> String {
    let span = |span: HunkSpan| {
        if span.count == 1 { span.start.to_string() } else { format!("{},{}", span.start, span.count) }
    };
    format!("@@ -{} +{} @@\n", span(hunk.old), span(hunk.new))
}

/// Returns the number of lines a hunk has in a diff.
pub(super) fn body_lines(hunk: &Hunk) -> u32 {
    hunk.runs.iter().fold(hunk.old.count, |sum, run| sum.saturating_add(run.new.count))
}

/// Writes hunks from a position on, as far as the limits go.
pub(super) fn render(
    old: &mut PatchSide<'_>,
    new: &mut PatchSide<'_>,
    hunks: &[Hunk],
    from: DiffPosition,
    limits: PatchTextLimits,
) -> RenderedLines {
    let mut sink = Sink { out: RenderedLines::default(), chars: 0, lines: 0, limits };
    let drop_returns = match (old.lines, new.lines) {
        (0, _) => new.drop_returns,
        (_, 0) => old.drop_returns,
        _ => old.drop_returns && new.drop_returns,
    };
    let (mut total, mut shown) = (0u32, 0u32);
    for (at, hunk) in hunks.iter().enumerate().skip(from.hunk) {
        let skip = if at == from.hunk { from.line } else { 0 };
        let lines = body_lines(hunk);
        total = total.saturating_add(lines.saturating_sub(u32::try_from(skip).unwrap_or(u32::MAX)));
        if sink.out.next.is_some() {
            continue;
        }
        let done = one_hunk(&mut sink, old, new, hunk, skip, drop_returns);
        shown = shown.saturating_add(u32::try_from(done).unwrap_or(u32::MAX));
        if skip + done < lines as usize {
            sink.out.next = Some(DiffPosition { hunk: at, line: skip + done });
        }
    }
    sink.out.left = total.saturating_sub(shown);
    sink.out
}

/// Writes one hunk without its first `skip` lines; returns how many lines were written.
fn one_hunk(
    sink: &mut Sink,
    old: &mut PatchSide<'_>,
    new: &mut PatchSide<'_>,
    hunk: &Hunk,
    skip: usize,
    drop: bool,
) -> usize {
    // Masking makes lines shorter, so a little more than what is left is asked for.
    let left = sink.limits.bytes.min(sink.limits.chars.saturating_mul(4)).saturating_sub(sink.out.text.len());
    let budget = if skip > 0 { usize::MAX } else { left.saturating_mul(2) };
    let most = u32::try_from(sink.limits.lines.saturating_add(skip)).unwrap_or(u32::MAX);
    let within = |span: HunkSpan| HunkSpan { start: span.start, count: span.count.min(most) };
    let (old_from, new_from) = (hunk.old.before(), hunk.new.before());
    let (old_open, new_open) = (old.open_line(), new.open_line());
    let removed = hunk.runs.iter().any(|run| run.old.count > 0);
    let old_block = if removed { old.block(within(hunk.old), budget) } else { MaskedBlock::default() };
    let new_block = new.block(within(hunk.new), budget);
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) = (split(&old_block.text), split(&new_block.text));
    let (mut place, mut done) = (0usize, 0usize);
    let mut head = if skip == 0 { header(hunk) } else { format!("@@ hunk continued from its line {} @@\n", skip + 1) };
    let mut take = |prefix: char, from_old: bool, number: u32| -> Result<(), PatchLimitReached> {
        place += 1;
        if place <= skip {
            return Ok(());
        }
        let (lines, block, base, open) = if from_old {
            (&old_lines, &old_block, old_from, old_open)
        } else {
            (&new_lines, &new_block, new_from, new_open)
        };
        let index = (number - base - 1) as usize;
        let line = lines.get(index).copied().ok_or(PatchLimitReached)?;
        let line = if drop { line.strip_suffix('\r').unwrap_or(line) } else { line };
        let is_long = line.len() > MAX_LINE;
        let cut = is_long.then(|| line.char_indices().nth(MAX_LINE)).flatten().map(|(byte, _)| byte);
        let note = match (cut, block.original.get(&index)) {
            (None, None) => String::new(),
            (_, Some(count)) => format!("{LINE_SHORTENED}: it has {count} characters]"),
            (Some(_), None) => format!("{LINE_SHORTENED}]"),
        };
        sink.line(&head, prefix, &line[..cut.unwrap_or(line.len())], &note, open == Some(number))?;
        sink.out.shortened += u32::from(!note.is_empty());
        head.clear();
        done += 1;
        Ok(())
    };
    let mut at = new_from;
    let mut all = || -> Result<(), PatchLimitReached> {
        for run in &hunk.runs {
            for number in at + 1..=run.new.before() {
                take(' ', false, number)?;
            }
            for number in 1..=run.old.count {
                take('-', true, run.old.before() + number)?;
            }
            for number in 1..=run.new.count {
                take('+', false, run.new.before() + number)?;
            }
            at = run.new.end();
        }
        for number in at + 1..=new_from + hunk.new.count {
            take(' ', false, number)?;
        }
        Ok(())
    };
    let _ = all();
    done
}

fn split(text: &str) -> Vec<&str> {
    if text.is_empty() { Vec::new() } else { text.strip_suffix('\n').unwrap_or(text).split('\n').collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use crate::domain::change::ChangeRun;
    use crate::domain::text::FileText;

    fn added(text: &str, limits: PatchTextLimits) -> RenderedLines {
        let span = HunkSpan { start: 1, count: line_count(text.as_bytes()) };
        let hunk = Hunk { new: span, runs: vec![ChangeRun { old: HunkSpan::default(), new: span }], ..Hunk::default() };
        let (mut old, mut new) = (PatchSide::of_bytes(b""), PatchSide::of_bytes(text.as_bytes()));
        render(&mut old, &mut new, &[hunk], DiffPosition::default(), limits)
    }

    const ALL: PatchTextLimits = PatchTextLimits { chars: usize::MAX, bytes: usize::MAX, lines: usize::MAX };

    #[test]
    fn a_diff_masks_what_a_file_masks() {
        // Put together here, so that nobody takes them for real ones.
        let key = ["AKIA", "QWERTYUIOPASDFGH"].concat();
        let (begin, end) = (["-----BEGIN ", "PRIVATE KEY-----"].concat(), ["-----END ", "PRIVATE KEY-----"].concat());
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n".repeat(20);
        for text in [format!("a\nkey = \"{key}\"\nb\n"), format!("a\n{begin}\n{body}{end}\nb\n")] {
            let file = FileText::new(&text, "UTF-8");
            let whole = added(&text, ALL).text;
            let lines: Vec<_> = whole.lines().skip(1).map(|line| &line[1..]).collect();
            assert_eq!(lines, file.all_lines().map(|(_, line)| line).collect::<Vec<_>>());
            let cut = added(&text, PatchTextLimits { chars: 200, ..ALL }).text;
            assert!(whole.starts_with(&cut), "{cut}");
        }
    }

    #[test]
    fn the_cut_end_of_a_long_line_stays_out_of_sight() {
        let token = ["ghp_", "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zAb"].concat();
        let encoded = |text: &str| STANDARD.encode(text);
        let long = encoded(&format!("{token} {}", "\0".repeat(1_000)));
        for (last, at) in [encoded(&token), token.clone()].iter().flat_map(|last| (0..60).map(move |at| (last, at))) {
            let before = format!("\"{long}\",").repeat(5);
            let filler = ".".repeat(SEARCHED - before.len() - last.len() + at);
            let shown = added(&format!("a\n{before}{filler}\"{last}\"\n"), ALL).text;
            assert!(!shown.contains(&last[..30]) && shown.contains("[line shortened: it has"), "{at} {shown}");
        }
    }

    fn secret_lines() -> impl Strategy<Value = String> {
        let value = ["wJalrXUtnFEMI/K7MDENG/", "bPxRfiCYzq3tKd0aLs"].concat();
        let token = ["ghp_", "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zAb"].concat();
        let wrapped = STANDARD.encode(format!("{token} {}", "x".repeat(100)));
        proptest::sample::select(vec![
            "[aws]\n".to_owned(),
            "\u{e4}\n".to_owned(),
            "let a = b;\r\n".to_owned(),
            format!("{}\n", "a long line of prose ".repeat(3)),
            format!("secret_key = {value}\n"),
            format!("t = {token}\n"),
            format!("{}\n", ["AKIA", "Q4X7WLMN2PVR6TZY"].concat()),
            format!("{}\n", STANDARD.encode(&token)),
            format!("{}\n{}\n{}\n", &wrapped[..48], &wrapped[48..96], &wrapped[96..]),
            [
                "-----BEGIN ",
                "PRIVATE KEY-----\n",
                "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
                "-----END ",
                "PRIVATE KEY-----\n",
            ]
            .concat(),
        ])
    }

    proptest! {
        #[test]
        fn some_lines_of_a_text_are_masked_as_in_all_of_it(pieces in proptest::collection::vec(secret_lines(), 1..7), first in 0_u32..9, count in 1_u32..9) {
            let text = pieces.concat();
            let whole = mask(&text).text;
            let shown: String = whole.split_inclusive('\n').skip(first as usize).take(count as usize).collect();
            let block = PatchSide::of_bytes(text.as_bytes()).block(HunkSpan { start: first + 1, count }, usize::MAX).text.into_owned();
            prop_assert_eq!(block, shown, "{}", text);
        }
    }

    #[test]
    fn each_limit_cuts_on_a_line() {
        let text = "äöü\n".repeat(100);
        let rendered = added(&text, PatchTextLimits { chars: 30, ..ALL });
        assert_eq!(rendered.text, "@@ -0,0 +1,100 @@\n+äöü\n+äöü\n");
        assert_eq!((rendered.next, rendered.left), (Some(DiffPosition { hunk: 0, line: 2 }), 98));
        assert_eq!(added(&text, PatchTextLimits { bytes: 30, ..ALL }).left, 99);
        assert_eq!(added(&text, PatchTextLimits { lines: 11, ..ALL }).left, 90);
        assert_eq!(added(&text, PatchTextLimits { chars: 5, ..ALL }).text, "");
    }

    #[test]
    fn a_patch_says_from_which_hunk_on_it_is_cut() {
        let patch = added(&"a\n".repeat(9), PatchTextLimits { lines: 4, ..ALL }).into_patch(1);
        assert_eq!(patch.cut, Some(PatchCut { first_unseen_hunk: 0, lines: 6, shortened_lines: 0 }));
        assert_eq!(added("a\n", ALL).into_patch(1).cut, None);
    }
}
