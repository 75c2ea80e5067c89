//! A file's text, decoded and masked once, with its lines found.

use std::sync::Arc;

use crate::domain::place::LineRange;

/// The text of a file as everybody sees it: decoded, secrets masked, split into lines.
///
/// Lines end at `\n`; a `\r` before it belongs to the line ending, not to the line. A file that ends in `\n` has no empty last line.
#[derive(Debug, Clone)]
pub struct FileText {
    text: Arc<str>,
    /// The byte at which each line starts.
    starts: Arc<[u32]>,
    charset: &'static str,
    masked_lines: Arc<[u32]>,
    /// The hashes that distinguish the secrets of the lines from others, if this text was masked here; ascending by line.
    prints: Arc<[(u32, u64)]>,
}

impl FileText {
    /// Masks `decoded` and finds its lines. `charset` is the name the bytes were decoded from.
    ///
    /// Text of 4 GiB and more is cut there; no caller reads files that large.
    pub fn new(decoded: &str, charset: &'static str) -> Self {
        let masked = super::mask(decoded);
        let prints = masked.prints.into();
        Self { masked_lines: masked.lines.into(), prints, ..Self::of_masked(masked.text.into(), charset) }
    }

    fn of_masked(text: Arc<str>, charset: &'static str) -> Self {
        // A text of nothing but line ends would need twice as much while the list grows.
        let mut starts = Vec::with_capacity(memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1);
        let after_feeds = memchr::memchr_iter(b'\n', text.as_bytes()).map(|feed| feed + 1);
        for start in std::iter::once(0).chain(after_feeds).filter(|start| *start < text.len()) {
            let Ok(start) = u32::try_from(start) else { break };
            starts.push(start);
        }
        Self { text, starts: starts.into(), charset, masked_lines: Arc::default(), prints: Arc::default() }
    }

    /// A text that was masked before, on these lines (1-indexed), as it was then.
    pub fn masked_before(text: &str, charset: &'static str, lines: &[u32]) -> Self {
        Self { masked_lines: lines.into(), ..Self::of_masked(text.into(), charset) }
    }

    /// Marks these lines (1-indexed) as masked before the text was loaded.
    #[must_use]
    pub fn with_masked(mut self, lines: &[u32]) -> Self {
        let mut all: Vec<u32> = self.masked_lines.iter().chain(lines).copied().collect();
        all.sort_unstable();
        all.dedup();
        self.masked_lines = all.into();
        self
    }

    /// All of it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The charset it was decoded from (`UTF-8`, `Shift_JIS`, …).
    pub fn charset(&self) -> &'static str {
        self.charset
    }

    /// Returns the number of lines there are.
    pub fn line_count(&self) -> u32 {
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    /// Line `number` (1-indexed) without its line ending.
    pub fn line(&self, number: u32) -> Option<&str> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let start = *self.starts.get(index)? as usize;
        let end = self.starts.get(index + 1).map_or(self.text.len(), |next| *next as usize);
        let line = &self.text[start..end];
        let line = line.strip_suffix('\n').unwrap_or(line);
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    /// The lines with their numbers, from `range` as far as it exists.
    pub fn lines(&self, range: LineRange) -> impl Iterator<Item = (u32, &str)> {
        (range.start()..=range.end().min(self.line_count())).filter_map(|number| Some((number, self.line(number)?)))
    }

    /// All lines with their numbers.
    pub fn all_lines(&self) -> impl Iterator<Item = (u32, &str)> {
        (1..=self.line_count()).filter_map(|number| Some((number, self.line(number)?)))
    }

    /// The line that holds the byte at `offset` (1-indexed); the last one beyond the end.
    pub fn line_at(&self, offset: usize) -> u32 {
        let after = self.starts.partition_point(|start| (*start as usize) <= offset);
        u32::try_from(after).unwrap_or(u32::MAX).max(1)
    }

    /// The bytes of `range` in [`text`](Self::text), line endings included; `None` when it does not exist whole.
    pub fn byte_range(&self, range: LineRange) -> Option<std::ops::Range<usize>> {
        let start = *self.starts.get(usize::try_from(range.start() - 1).ok()?)? as usize;
        let last = usize::try_from(range.end()).ok()?;
        if last > self.starts.len() {
            return None;
        }
        Some(start..self.starts.get(last).map_or(self.text.len(), |next| *next as usize))
    }

    /// Checks whether masking left it as it was.
    pub fn has_no_secret(&self) -> bool {
        self.masked_lines.is_empty() && self.prints.is_empty()
    }

    /// The lines on which something is masked, 1-indexed.
    pub fn masked_lines(&self) -> &[u32] {
        &self.masked_lines
    }

    /// A number that tells the secrets on the lines of `range` from others, so that one that took the place of another is seen. It holds within
    /// this process alone, is for comparing, and must stand in no output. 0 where there are none, or other code masked them.
    pub fn secrets_print(&self, range: LineRange) -> u64 {
        self.secret_prints(range).fold(0, |all, print| all.rotate_left(1) ^ print)
    }

    /// The hashes of the secrets on the lines of `range`, one for each; as with [`secrets_print`](Self::secrets_print) they are for comparing alone.
    pub fn secret_prints(&self, range: LineRange) -> impl Iterator<Item = u64> {
        let from = self.prints.partition_point(|(line, _)| *line < range.start());
        self.prints[from..].iter().take_while(move |(line, _)| *line <= range.end()).map(|(_, print)| *print)
    }

    /// The hashes of all words on the lines of `range` that may be secrets: those that were masked, and those that were not.
    pub fn word_prints(&self, range: LineRange) -> impl Iterator<Item = u64> {
        self.secret_prints(range).chain(self.lines(range).flat_map(|(_, line)| super::mask::word_prints(line)))
    }

    /// Checks whether a secret was masked on a line of `range`.
    pub fn is_masked(&self, range: LineRange) -> bool {
        self.masked_lines.iter().any(|line| range.contains(*line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_people_count_them() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\n", 2), ("a\r\nb\r\n", 2)] {
            assert_eq!(FileText::new(text, "UTF-8").line_count(), lines, "{text:?}");
        }
    }

    #[test]
    fn a_line_has_no_ending() {
        let text = FileText::new("a\r\nb\n\nc", "UTF-8");
        assert_eq!(text.all_lines().collect::<Vec<_>>(), [(1, "a"), (2, "b"), (3, ""), (4, "c")]);
        assert_eq!(text.line(0), None);
        assert_eq!(text.line(5), None);
    }

    #[test]
    fn offsets_and_ranges_agree() {
        let text = FileText::new("ab\ncd\n", "UTF-8");
        assert_eq!((text.line_at(0), text.line_at(2), text.line_at(3), text.line_at(99)), (1, 1, 2, 2));
        assert_eq!(text.byte_range(LineRange::line(2)), Some(3..6));
        assert_eq!(text.byte_range(LineRange::new(2, 3).unwrap()), None);
    }

    #[test]
    fn secrets_that_read_the_same_have_other_prints() {
        let token = |at: usize| {
            format!(
                "ghp_{}",
                "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zAb".chars().cycle().skip(at).take(36).collect::<String>()
            )
        };
        let of = |at: usize| FileText::new(&format!("a\nb = {}\n", token(at)), "UTF-8");
        let line = LineRange::line(2);
        assert_eq!(of(0).text(), of(7).text());
        assert_eq!(of(0).secrets_print(line), of(0).secrets_print(line));
        assert_ne!(of(0).secrets_print(line), of(7).secrets_print(line));
        assert_eq!(of(0).secrets_print(LineRange::line(1)), 0);
    }
}
