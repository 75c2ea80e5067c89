//! The output of a tool, line by line. Main type: [`Log`].
//!
//! Terminal sequences are gone and each line knows its place in the log file. What the lines mean belongs in `parsers`.

use std::ops::RangeInclusive;

use crate::domain::diagnostic::{ByteRange, LogRange};

/// The stream of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogStream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

/// Maximum number of characters of a line that a text parser looks at.
const LONGEST_LINE: usize = 4096;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The stream that it was written to.
    pub stream: LogStream,
    /// Its text without terminal sequences and without its end.
    pub text: String,
    /// Its bytes in the log, its end included.
    pub bytes: ByteRange,
}

impl LogLine {
    /// Returns the part that a text parser looks at: at most 4096 characters.
    pub fn head(&self) -> &str {
        self.text.char_indices().nth(LONGEST_LINE).map_or(self.text.as_str(), |(end, _)| &self.text[..end])
    }
}

/// All lines, in the order in which they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// The lines; the first has the number 1.
    pub lines: Vec<LogLine>,
}

impl Log {
    /// Reads bytes as standard output.
    pub fn of_output(bytes: &[u8]) -> Self {
        let mut log = Self::default();
        let mut start = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            start = log.push(LogStream::Output, line, start);
        }
        log
    }

    /// Adds one line that begins at byte `start` of the log; returns where the next one begins.
    pub fn push(&mut self, stream: LogStream, line: &[u8], start: u64) -> u64 {
        let end = start.saturating_add(line.len() as u64);
        // Stripping takes tabs away too, but they separate words and indent stack frames.
        let parts = line.split(|byte| *byte == b'\t').map(strip_ansi_escapes::strip).collect::<Vec<_>>();
        let text = String::from_utf8_lossy(&parts.join(&b'\t')).into_owned();
        let text = text.trim_end_matches(['\n', '\r']).to_owned();
        self.lines.push(LogLine { stream, text, bytes: ByteRange { start, end } });
        end
    }

    /// Returns the range of the log and the bytes of some lines, by index from 0.
    pub fn place(&self, lines: RangeInclusive<usize>) -> (Option<LogRange>, Option<ByteRange>) {
        let (Some(first), Some(last)) = (self.lines.get(*lines.start()), self.lines.get(*lines.end())) else {
            return (None, None);
        };
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1);
        let range = LogRange { start_line: number(*lines.start()), end_line: number(*lines.end()) };
        (Some(range), Some(ByteRange { start: first.bytes.start, end: last.bytes.end }))
    }

    /// Joins the lines of standard output: for formats that are one document.
    pub fn output(&self) -> String {
        let lines = self.lines.iter().filter(|line| line.stream == LogStream::Output);
        lines.flat_map(|line| [line.text.as_str(), "\n"]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_survive_the_loss_of_terminal_sequences() {
        let log = Log::of_output(b"\x1b[31mFAIL\x1b[0m\tpackage\r\n\tat f\n");
        let texts: Vec<_> = log.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["FAIL\tpackage", "\tat f"]);
    }
}
