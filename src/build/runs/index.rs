//! The index of a log: the first bytes of its lines. Main types: [`LogIndex`], [`LogIndexBuilder`].
//!
//! A log of up to 10 000 lines has all of them in its index. One with more has every second, every fourth, …: what is between two of them is
//! counted when it is read.

use serde::{Deserialize, Serialize};

/// Upper bound on the entries of an index.
const MOST_ENTRIES: usize = 10_000;

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogIndexEntry {
    /// Its number, from 1.
    pub(super) line: u64,
    /// Its first byte.
    pub(super) byte_offset: u64,
    /// Its length, its end included.
    pub(super) byte_length: u64,
}

/// The index of a log that is complete.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogIndex {
    pub(super) lines: Vec<LogIndexEntry>,
    pub(super) total_lines: u64,
    pub(super) total_bytes: u64,
}

impl LogIndex {
    /// Returns the number and the offset of the last known line that is not behind `line`, in a log of `bytes` bytes.
    pub(super) fn before(&self, line: u64, bytes: u64) -> (u64, u64) {
        let known = self.lines.iter().rev().find(|entry| entry.line <= line && entry.byte_offset <= bytes);
        known.filter(|entry| entry.line >= 1).map_or((1, 0), |entry| (entry.line, entry.byte_offset))
    }
}

/// An index that is made while its log is written.
#[derive(Debug)]
pub(super) struct LogIndexBuilder {
    index: LogIndex,
    /// Every how many lines are in the index.
    stride: u64,
    /// The line that has no end yet.
    open: Option<LogIndexEntry>,
}

impl LogIndexBuilder {
    pub(super) fn new() -> Self {
        Self { index: LogIndex::default(), stride: 1, open: None }
    }

    /// Adds bytes of one line.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let index = &mut self.index;
        let open = self.open.get_or_insert_with(|| {
            index.total_lines += 1;
            LogIndexEntry { line: index.total_lines, byte_offset: index.total_bytes, byte_length: 0 }
        });
        open.byte_length += bytes.len() as u64;
        index.total_bytes += bytes.len() as u64;
        if bytes.ends_with(b"\n") {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(entry) = self.open.take() else { return };
        if (entry.line - 1) % self.stride != 0 {
            return;
        }
        if self.index.lines.len() == MOST_ENTRIES {
            self.stride *= 2;
            let stride = self.stride;
            self.index.lines.retain(|entry| (entry.line - 1) % stride == 0);
        }
        if (entry.line - 1) % self.stride == 0 {
            self.index.lines.push(entry);
        }
    }

    /// Ends the index with the last line.
    pub(super) fn finish(&mut self) -> &LogIndex {
        self.close();
        &self.index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_stays_small_and_finds_the_line_before() {
        let mut builder = LogIndexBuilder::new();
        for _ in 0..100_000 {
            builder.add(b"ab");
            builder.add(b"c\n");
        }
        builder.add(b"end");
        let index = builder.finish();
        assert_eq!((index.total_lines, index.total_bytes), (100_001, 400_003));
        assert!((5_000..=MOST_ENTRIES).contains(&index.lines.len()), "{}", index.lines.len());
        for line in [1, 2, 17, 99_999, 100_001, 200_000] {
            let (known, offset) = index.before(line, index.total_bytes);
            assert!(known <= line && offset == (known - 1) * 4, "{line}: {known} {offset}");
            assert!(line - known < 32 || line > index.total_lines);
        }
        assert_eq!(index.before(5_000, 3), (1, 0), "the log is shorter than the index says");
        assert_eq!(LogIndex::default().before(7, 100), (1, 0));
    }
}
