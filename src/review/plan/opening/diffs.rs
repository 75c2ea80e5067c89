//! Selection of the diffs in the first message. Main type: [`DiffSelection`].
//!
//! Diffs are selected by risk and shown in the order of the change. A diff is cut between hunks only, unless collection cut it already.

use serde_json::json;

use super::scope::MessageScope;
use crate::domain::change::{ChangeSet, FileChange, number_lines, numbered_rows};
use crate::domain::text::{find_special, reveal};
use crate::prompt::UntrustedText;
use crate::review::outcome::{OmittedDiff, ShownDiff};
use crate::review::tokens::{Weight, ascii_weight, weight};

/// For every file of the change, what of its diff is shown.
pub(super) struct DiffSelection {
    pieces: Vec<Option<DiffExcerpt>>,
}

/// The beginning of a file's diff.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DiffExcerpt {
    /// The bytes of the patch text that are shown.
    bytes: usize,
    /// Hunks that are shown whole.
    hunks: usize,
    /// Lines of the next one.
    lines: usize,
}

impl DiffExcerpt {
    /// Selects the whole patch text.
    fn all(file: &FileChange) -> Self {
        let text = &*file.patch.text;
        let Some(cut) = file.patch.cut else { return Self { bytes: text.len(), hunks: file.hunks.len(), lines: 0 } };
        // The last hunk whose header is there was cut within, if it is not among the whole ones.
        let begun = heads(text).count();
        let lines = match heads(text).last() {
            Some(last) if begun > cut.first_unseen_hunk => {
                text[last..].lines().skip(1).filter(|line| !line.starts_with('\\')).count()
            }
            _ => 0,
        };
        Self { bytes: text.len(), hunks: cut.first_unseen_hunk, lines }
    }

    /// Returns the call that continues reading, if something follows.
    fn continuation_call(&self, file: &FileChange) -> String {
        let total = file.hunks.len();
        let mut note = String::new();
        if self.hunks < total {
            let mut input = json!({ "file_path": file.path.display_name(), "start": self.hunks });
            let mut seen = format!("{} of {total} hunks", self.hunks);
            if self.lines > 0 {
                input["skip_lines"] = self.lines.into();
                let lines = if self.lines == 1 { "1 line".to_owned() } else { format!("{} lines", self.lines) };
                seen.push_str(&format!(" and {lines} of hunk {}", self.hunks));
            }
            note.push_str(&format!("[cut: {seen} are above; read on with read_diff {input}]\n"));
        }
        if let Some(cut) = file.patch.cut.filter(|cut| cut.shortened_lines > 0) {
            let count = cut.shortened_lines;
            note.push_str(&format!("[over-long lines that are shortened: {count}; read_file_part shows one whole when asked for it alone]\n"));
        }
        note
    }

    fn weight(&self, file: &FileChange) -> Weight {
        around(file) + numbered_weight(&file.patch.text[..self.bytes]) + weight(&self.continuation_call(file))
    }
}

/// Returns the positions of hunk headers in a patch text: no line of contents begins with `@`.
fn heads(text: &str) -> impl Iterator<Item = usize> {
    let first = text.starts_with("@@ ").then_some(0);
    first.into_iter().chain(memchr::memmem::find_iter(text.as_bytes(), b"\n@@ ").map(|at| at + 1))
}

/// No line of a diff begins with `=` or `[`.
fn heading(file: &FileChange) -> String {
    let renamed = file.old_path.as_ref().map(|old| format!("[renamed from {}]\n", old.display_name()));
    format!("=== {}\n{}", file.path.display_name(), renamed.unwrap_or_default())
}

/// Checks whether a file has a diff that can be shown.
fn has_text(file: &FileChange) -> bool {
    !file.binary && file.generated.is_none() && !file.patch.text.is_empty()
}

/// Returns the weight of each file's diff, as far as it was collected; zero without a diff to show.
pub(super) fn weights(change: &ChangeSet) -> Vec<Weight> {
    change.files.iter().map(|file| if has_text(file) { DiffExcerpt::all(file).weight(file) } else { 0 }).collect()
}

/// Checks whether the diffs of all files fit into `room`, as far as they were collected. Stops at the first that does not.
pub(super) fn all_fit(change: &ChangeSet, scope: &MessageScope, room: Weight) -> bool {
    let mut room = Some(room);
    for (_, file) in change.files.iter().enumerate().filter(|(at, file)| scope.has(*at) && has_text(file)) {
        room = room.and_then(|room| room.checked_sub(DiffExcerpt::all(file).weight(file)));
        if room.is_none() {
            return false;
        }
    }
    true
}

impl DiffSelection {
    /// Selects diffs in the order of `ranks` (by default, of the change) as far as they fit into `room`.
    pub(super) fn choose(change: &ChangeSet, scope: &MessageScope, ranks: &[usize], mut room: Weight) -> Self {
        let mut pieces = vec![None; change.files.len()];
        let all: Vec<usize> = (0..change.files.len()).collect();
        for at in if ranks.is_empty() { &all } else { ranks } {
            let (Some(file), Some(slot)) = (change.files.get(*at), pieces.get_mut(*at)) else { continue };
            if !scope.has(*at) || !has_text(file) {
                continue;
            }
            let whole = DiffExcerpt::all(file);
            let weight = if least(whole.bytes) > room { Weight::MAX } else { whole.weight(file) };
            if weight <= room {
                room -= weight;
                *slot = Some(whole);
            } else if let Some((piece, weight)) = part(file, &whole, room) {
                room -= weight;
                *slot = Some(piece);
            }
        }
        Self { pieces }
    }

    fn with_files<'s>(
        &'s self,
        change: &'s ChangeSet,
    ) -> impl Iterator<Item = (&'s FileChange, Option<&'s DiffExcerpt>)> {
        change.files.iter().zip(self.pieces.iter().map(Option::as_ref))
    }

    /// Checks whether the diff of a file, or the beginning of it, is in the message.
    pub(super) fn has(&self, at: usize) -> bool {
        self.pieces.get(at).is_some_and(Option::is_some)
    }

    /// Returns the state of the file at a place of the change: whether its diff is there, and whether all of it is.
    pub(super) fn state(&self, at: usize, file: &FileChange) -> Option<&'static str> {
        match self.pieces.get(at).and_then(Option::as_ref) {
            Some(piece) if piece.hunks < file.hunks.len() => Some("cut"),
            None if file.reviewable() => Some("not below"),
            _ => None,
        }
    }

    pub(super) fn shown(&self, change: &ChangeSet) -> Vec<ShownDiff> {
        let of = |(file, piece): (&FileChange, Option<&DiffExcerpt>)| {
            let DiffExcerpt { hunks, lines, .. } = piece.filter(|_| file.reviewable())?;
            Some(ShownDiff { path: file.path.clone(), hunks: *hunks, lines: *lines })
        };
        self.with_files(change).filter_map(of).collect()
    }

    fn missing<'s>(
        &'s self,
        change: &'s ChangeSet,
        scope: &'s MessageScope,
    ) -> impl Iterator<Item = (usize, &'s FileChange)> {
        let missing = |(at, (file, piece)): &(usize, (&FileChange, Option<&DiffExcerpt>))| {
            scope.has(*at) && file.reviewable() && piece.is_none()
        };
        self.with_files(change).enumerate().filter(missing).map(|(at, (file, _))| (at, file))
    }

    pub(super) fn left_out_count(&self, change: &ChangeSet, scope: &MessageScope) -> usize {
        self.missing(change, scope).count()
    }

    pub(super) fn left_out(
        &self,
        change: &ChangeSet,
        scope: &MessageScope,
        is_listed: impl Fn(usize) -> bool,
    ) -> Vec<OmittedDiff> {
        let reason = |at: usize| {
            if is_listed(at) {
                "its diff does not fit into the first message beside those of riskier files"
            } else {
                "neither its diff nor its name fits into the first message beside riskier files"
            }
        };
        let of =
            |(at, file): (usize, &FileChange)| OmittedDiff { path: file.path.clone(), reason: reason(at).to_owned() };
        self.missing(change, scope).map(of).collect()
    }

    pub(super) fn text(&self, change: &ChangeSet) -> UntrustedText {
        let mut text = String::new();
        for (file, piece) in self.with_files(change) {
            let Some(piece) = piece else { continue };
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&heading(file));
            text.push_str(&number_lines(&file.patch.text[..piece.bytes], None));
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&piece.continuation_call(file));
        }
        UntrustedText::new(text)
    }
}

/// Returns the first whole hunks of a diff that fit, if one does.
fn part(file: &FileChange, whole: &DiffExcerpt, room: Weight) -> Option<(DiffExcerpt, Weight)> {
    let text = &*file.patch.text;
    let mut best = None;
    let (mut from, mut sum) = (0, around(file));
    // It can be cut at the beginning of a hunk after the first.
    for (hunks, bytes) in heads(text).enumerate().skip(1).take(whole.hunks) {
        if sum + least(bytes - from) > room {
            break;
        }
        sum += numbered_weight(&text[from..bytes]);
        from = bytes;
        let piece = DiffExcerpt { bytes, hunks, lines: 0 };
        let with_note = sum + weight(&piece.continuation_call(file));
        if with_note <= room {
            best = Some((piece, with_note));
        }
    }
    best
}

/// Returns the minimum weight of this many bytes, so that a diff which is far too large need not be weighed.
fn least(bytes: usize) -> Weight {
    // The lightest are characters of four bytes: a token each.
    u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(7) / 4
}

/// Returns the weight of a patch text whose lines are numbered and revealed, without writing it.
fn numbered_weight(text: &str) -> Weight {
    let (mut end, mut special) = (0, find_special(text, 0));
    let of_row = |(number, row): (Option<u32>, &str)| {
        end += row.len();
        if special.is_some_and(|at| at < end) {
            special = find_special(text, end);
            let number = number.map(|number| format!("{number} ")).unwrap_or_default();
            return weight(&reveal(&format!("{number}{row}")));
        }
        let digits = number.map_or(0, |number| number.checked_ilog10().unwrap_or(0) as usize + 2);
        ascii_weight(row.len() + digits)
    };
    numbered_rows(text, None).map(of_row).sum()
}

/// Returns the lines around a patch text.
fn around(file: &FileChange) -> Weight {
    weight(&reveal(&heading(file))) + weight("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_weight_is_that_of_the_text_as_it_is_written(
            rows in proptest::collection::vec(prop_oneof![
                "@@ -1 [+][0-9]{1,2} @@", "@@ -1 [+]42949672(9[0-9]|[0-9]),7 @@", "[+ -][a-z\t\u{feff}\u{e4}\u{202e}\u{1f600}\r]{0,12}", "[+ -][a-z]{0,80}",
            ], 0..12),
            has_end in any::<bool>(),
        ) {
            let text = format!("{}{}", rows.join("\n"), if has_end { "\n" } else { "" });
            prop_assert_eq!(numbered_weight(&text), weight(&reveal(&number_lines(&text, None))), "{}", text);
        }
    }
}
