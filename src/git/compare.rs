//! The lines that differ between two contents. Main functions: [`change_runs`], [`hunks`].
//!
//! The comparison itself is git's own (xdiff, as the library carries it), asked for changed lines only; hunks are made here, so that
//! no line but the shown ones is ever copied.

use std::path::Path;

use git2::{DiffOptions, Patch};

use crate::domain::change::{ChangeRun, Hunk, HunkSpan};

use super::entries::SideContent;

/// Lines around a change, as `git diff` shows them.
pub(super) const CONTEXT: u32 = 3;

/// Returns the number of lines some bytes have; what follows the last line feed is one.
pub(super) fn line_count(bytes: &[u8]) -> u32 {
    let feeds = memchr::memchr_iter(b'\n', bytes).count();
    let open = usize::from(bytes.last().is_some_and(|last| *last != b'\n'));
    u32::try_from(feeds + open).unwrap_or(u32::MAX)
}

/// More lines on both sides together are not compared: each costs the library about ninety bytes.
const MAX_LINES: u64 = 3_000_000;
/// The limit for the product of the lines between the common prefix and suffix of both sides. Where few of them match, the time grows with it
/// and the library cannot be stopped: this much takes some seconds.
const MAX_PAIRS: u64 = 250_000_000_000;

/// Returns the reason why two texts are not compared line by line; `None` for all that people write.
pub(super) fn has_too_many_lines(old: &[u8], new: &[u8]) -> Option<String> {
    let (old_size, new_size) = (old.len() as u64, new.len() as u64);
    // A line has a byte at least.
    if old_size + new_size <= MAX_LINES && old_size.saturating_mul(new_size) <= MAX_PAIRS {
        return None;
    }
    let lines = u64::from(line_count(old)) + u64::from(line_count(new));
    let shared = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[shared..], &new[shared..]);
    let shared = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let between = |side: &[u8]| u64::from(line_count(&side[..side.len() - shared]));
    (lines > MAX_LINES || between(old).saturating_mul(between(new)) > MAX_PAIRS).then(|| {
        format!("not compared line by line: both sides have {lines} lines together, and too many of them differ")
    })
}

/// The runs of changed lines between two texts, in order.
pub(super) fn change_runs(old: &SideContent<'_>, new: &SideContent<'_>) -> Result<Vec<ChangeRun>, git2::Error> {
    let whole = |bytes: &[u8]| match line_count(bytes) {
        0 => HunkSpan { start: 0, count: 0 },
        count => HunkSpan { start: 1, count },
    };
    if old.bytes().is_empty() || new.bytes().is_empty() {
        let run = ChangeRun { old: whole(old.bytes()), new: whole(new.bytes()) };
        return Ok(if run.old.count + run.new.count == 0 { Vec::new() } else { vec![run] });
    }
    let mut options = DiffOptions::new();
    options.context_lines(0).interhunk_lines(0).indent_heuristic(true).force_text(true);
    let patch = match (old, new) {
        // Two blobs are not hashed again, which is a fifth of the time of comparing buffers.
        (SideContent::Blob(one), SideContent::Blob(other)) => {
            // Without a name the library makes one up, and reads the attributes of the checkout to learn what they say of it.
            let nameless = Some(Path::new(""));
            Patch::from_blobs(one, nameless, other, nameless, Some(&mut options))?
        }
        _ => Patch::from_buffers(old.bytes(), None, new.bytes(), None, Some(&mut options))?,
    };
    let mut runs = Vec::with_capacity(patch.num_hunks());
    for at in 0..patch.num_hunks() {
        let (hunk, _) = patch.hunk(at)?;
        runs.push(ChangeRun {
            old: HunkSpan { start: hunk.old_start(), count: hunk.old_lines() },
            new: HunkSpan { start: hunk.new_start(), count: hunk.new_lines() },
        });
    }
    Ok(runs)
}

fn span(before: u32, end: u32) -> HunkSpan {
    let count = end.saturating_sub(before);
    HunkSpan { start: if count == 0 { before } else { before + 1 }, count }
}

/// Groups runs with their context as `git diff` does: runs whose contexts touch share a hunk.
pub(super) fn hunks(runs: Vec<ChangeRun>, old_lines: u32, new_lines: u32) -> Vec<Hunk> {
    let mut groups: Vec<Vec<ChangeRun>> = Vec::new();
    for run in runs {
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|last| run.old.before() - last.old.end() <= 2 * CONTEXT) => {
                group.push(run);
            }
            _ => groups.push(vec![run]),
        }
    }
    let hunk = |runs: Vec<ChangeRun>| {
        let (first, last) = (runs.first().copied().unwrap_or_default(), runs.last().copied().unwrap_or_default());
        let lead = CONTEXT.min(first.old.before()).min(first.new.before());
        let (old_end, new_end) = (last.old.end(), last.new.end());
        let tail = CONTEXT.min(old_lines.saturating_sub(old_end)).min(new_lines.saturating_sub(new_end));
        Hunk {
            old: span(first.old.before() - lead, old_end + tail),
            new: span(first.new.before() - lead, new_end + tail),
            runs,
        }
    };
    groups.into_iter().map(hunk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(old: (u32, u32), new: (u32, u32)) -> ChangeRun {
        ChangeRun { old: HunkSpan { start: old.0, count: old.1 }, new: HunkSpan { start: new.0, count: new.1 } }
    }

    #[test]
    fn runs_with_six_lines_between_share_a_hunk() {
        let near = hunks(vec![run((10, 1), (10, 1)), run((17, 1), (17, 1))], 30, 30);
        assert_eq!(near.len(), 1);
        assert_eq!((near[0].old, near[0].new), (HunkSpan { start: 7, count: 14 }, HunkSpan { start: 7, count: 14 }));
        assert_eq!(hunks(vec![run((10, 1), (10, 1)), run((18, 1), (18, 1))], 30, 30).len(), 2);
    }

    #[test]
    fn an_empty_side_starts_at_the_line_before() {
        let added = hunks(vec![run((0, 0), (1, 2))], 0, 2);
        assert_eq!((added[0].old, added[0].new), (HunkSpan { start: 0, count: 0 }, HunkSpan { start: 1, count: 2 }));
        let inserted = hunks(vec![run((5, 0), (6, 1))], 5, 6);
        assert_eq!(
            (inserted[0].old, inserted[0].new),
            (HunkSpan { start: 3, count: 3 }, HunkSpan { start: 3, count: 4 })
        );
    }

    #[test]
    fn an_open_last_line_counts() {
        assert_eq!(line_count(b""), 0);
        assert_eq!(line_count(b"a"), 1);
        assert_eq!(line_count(b"a\nb"), 2);
        assert_eq!(line_count(b"a\nb\n"), 2);
    }
}
