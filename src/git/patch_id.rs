//! Ids of file changes that are independent of line numbers. Main function: [`of_runs`].
//!
//! The idea of `git patch-id --verbatim`, without context and path: a rebase, a squash and a moved file keep it. White space counts, unlike in
//! git's default, because whoever relies on equal ids skips a review, and indentation is code in some languages.

use sha2::{Digest as _, Sha256};

use crate::domain::change::{ChangeRun, Hunk, HunkSpan, PatchId};
use crate::domain::id::hex;

/// The number of bytes kept of the hash.
const KEPT: usize = 16;

/// The id of what lies between two contents; `None` if nothing does.
pub(super) fn of_runs(old: &[u8], new: &[u8], runs: &[ChangeRun]) -> Option<PatchId> {
    let (mut old, mut new) = (ForwardLines::of(old), ForwardLines::of(new));
    let mut hash = Sha256::new();
    for run in runs {
        hash.update(b"@");
        old.each(run.old, |line| add(&mut hash, b'-', line));
        new.each(run.new, |line| add(&mut hash, b'+', line));
    }
    finished(hash, runs.is_empty())
}

/// Computes the id of a patch: its hunks, and their lines with what stands before each.
pub(super) fn of_marked(hunks: &[Hunk], body: &[(u8, &[u8])]) -> Option<PatchId> {
    let marked = |sign: u8| body.iter().filter(move |(found, _)| *found == sign).map(|(_, line)| *line);
    let (mut removed, mut added) = (marked(b'-'), marked(b'+'));
    let mut hash = Sha256::new();
    let mut is_empty = true;
    for run in hunks.iter().flat_map(|hunk| &hunk.runs) {
        is_empty = false;
        hash.update(b"@");
        removed.by_ref().take(run.old.count as usize).for_each(|line| add(&mut hash, b'-', line));
        added.by_ref().take(run.new.count as usize).for_each(|line| add(&mut hash, b'+', line));
    }
    finished(hash, is_empty)
}

/// A carriage return belongs to the line's end, and so does the line feed that the last line may lack.
fn add(hash: &mut Sha256, sign: u8, line: &[u8]) {
    hash.update([sign]);
    hash.update(line.strip_suffix(b"\r").unwrap_or(line));
    hash.update(b"\n");
}

fn finished(hash: Sha256, is_empty: bool) -> Option<PatchId> {
    (!is_empty).then(|| PatchId(hex(&hash.finalize()[..KEPT])))
}

/// The lines of some bytes, read once from the top.
struct ForwardLines<'a> {
    rest: &'a [u8],
    /// The number of those read.
    read: u32,
}

impl<'a> ForwardLines<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, read: 0 }
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.rest).unwrap_or(self.rest.len());
        let line = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        self.read += 1;
        Some(line)
    }

    /// Shows the lines of a span that lies below what was read.
    fn each(&mut self, span: HunkSpan, mut show: impl FnMut(&[u8])) {
        if span.count == 0 {
            return;
        }
        while self.read + 1 < span.start && self.next().is_some() {}
        for _ in 0..span.count {
            let Some(line) = self.next() else { return };
            show(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::change_runs;
    use super::super::entries::SideContent;
    use super::*;

    fn id(old: &str, new: &str) -> Option<PatchId> {
        let content = |text: &str| SideContent::Bytes(text.as_bytes().to_vec());
        of_runs(old.as_bytes(), new.as_bytes(), &change_runs(&content(old), &content(new)).unwrap())
    }

    #[test]
    fn numbers_and_context_do_not_count_and_words_and_indentation_do() {
        let base = id("a\nb\nc\n", "a\nx\nc\n");
        assert!(base.is_some());
        assert_eq!(base, id("1\n2\n3\nb\nz\n", "1\n2\n3\nx\nz\n"));
        assert_eq!(base, id("a\r\nb\r\nc\r\n", "a\r\nx\r\nc\r\n"));
        assert_eq!(base, id("a\nb", "a\nx"), "the end of the file");
        for other in [id("a\nb\nc\n", "a\n x\nc\n"), id("a\nb\nc\n", "a\ny\nc\n"), id("a\nb\nc\n", "a\nx\nb\nc\n")] {
            assert_ne!(base, other);
        }
        assert_eq!(id("same\n", "same\n"), None);
    }

    #[test]
    fn a_patch_has_the_id_of_what_it_was_made_from() {
        let (old, new) = ("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\ntwo\nand\n3\n4\n5\n6\n7\n9\nten\n");
        let body: Vec<(u8, &[u8])> = [" 1", "-2", "+two", "+and", " 3", " 7", "-8", " 9", "+ten"]
            .iter()
            .map(|line| (line.as_bytes()[0], &line.as_bytes()[1..]))
            .collect();
        let content = |text: &str| SideContent::Bytes(text.as_bytes().to_vec());
        let runs = change_runs(&content(old), &content(new)).unwrap();
        let hunks = [Hunk { runs, ..Hunk::default() }];
        assert_eq!(of_marked(&hunks, &body), id(old, new));
    }
}
