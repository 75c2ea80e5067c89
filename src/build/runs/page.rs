//! Parts of a log, read without the rest. Main functions: [`lines`], [`raw`].

use std::io::{self, BufReader, Read, SeekFrom};

use super::index::LogIndex;
use crate::domain::build::{LogPage, RawPage};

/// Upper bound on the bytes of a line in a page; the rest of it is in the raw bytes.
const MOST_OF_A_LINE: usize = 16 << 10;

/// Reads `count` lines from the number `start`.
pub(super) fn lines(log: &mut (impl Read + io::Seek), index: &LogIndex, start: u64, count: u64) -> io::Result<LogPage> {
    let bytes = log.seek(SeekFrom::End(0))?;
    let known_total = (index.total_bytes == bytes).then_some(index.total_lines);
    let (mut number, offset) = index.before(start, bytes);
    log.seek(SeekFrom::Start(offset))?;
    // A log that still grows is read to the end that it had.
    let mut log = BufReader::with_capacity(64 << 10, log.take(bytes - offset));
    let mut lines = Vec::new();
    let end = start.saturating_add(count);
    while number < end || known_total.is_none() {
        let kept = if (start..end).contains(&number) { MOST_OF_A_LINE } else { 0 };
        let Some(line) = line(&mut log, kept)? else { break };
        if kept > 0 {
            lines.push(line);
        }
        number += 1;
    }
    let total_lines = known_total.unwrap_or(number - 1);
    let end_line = start - 1 + lines.len() as u64;
    Ok(LogPage {
        has_more: !lines.is_empty() && end_line < total_lines,
        lines,
        start_line: start,
        end_line,
        total_lines,
    })
}

/// Reads a line, of which `kept` bytes are returned as text; `None` at the end.
fn line(log: &mut impl io::BufRead, kept: usize) -> io::Result<Option<String>> {
    let (mut text, mut length) = (Vec::new(), 0usize);
    loop {
        let found = log.fill_buf()?;
        let end = memchr::memchr(b'\n', found);
        let part = &found[..end.unwrap_or(found.len())];
        text.extend_from_slice(&part[..part.len().min(kept.saturating_sub(text.len()))]);
        length += part.len();
        let (is_end, used) = (end.is_some() || found.is_empty(), part.len() + usize::from(end.is_some()));
        if found.is_empty() && length == 0 {
            return Ok(None);
        }
        log.consume(used);
        if is_end {
            break;
        }
    }
    let is_cut = length > text.len();
    let text = String::from_utf8_lossy(&strip_ansi_escapes::strip(&text)).into_owned();
    let text = text.trim_end_matches('\r');
    Ok(Some(if is_cut && kept > 0 { format!("{text}… [{length} bytes]") } else { text.to_owned() }))
}

/// Reads `length` bytes from `offset`.
pub(super) fn raw(log: &mut (impl Read + io::Seek), offset: u64, length: u64) -> io::Result<RawPage> {
    let total_bytes = log.seek(SeekFrom::End(0))?;
    let start = offset.min(total_bytes);
    log.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    log.take(length.min(total_bytes - start)).read_to_end(&mut bytes)?;
    let cut = std::str::from_utf8(&bytes).err().filter(|fault| fault.error_len().is_none() && fault.valid_up_to() > 0);
    if let Some(fault) = cut.filter(|_| start + (bytes.len() as u64) < total_bytes) {
        // The character is in the next page.
        bytes.truncate(fault.valid_up_to());
    }
    let length = bytes.len() as u64;
    let data = String::from_utf8_lossy(&bytes).into_owned();
    Ok(RawPage { data, offset, length, total_bytes, has_more: start + length < total_bytes })
}
