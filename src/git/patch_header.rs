//! Parsing of single header lines of a diff: hunks and names. Used by `patch_parse`.

use crate::domain::change::HunkSpan;
use crate::domain::path::unquote;

/// `@@ -1,2 +3,4 @@`, a count of 1 left out. Numbers that cannot be lines are refused.
pub(super) fn hunk_header(line: &[u8]) -> Option<(HunkSpan, HunkSpan)> {
    let text = std::str::from_utf8(line.get(..line.len().min(64))?.split(|byte| !byte.is_ascii()).next()?).ok()?;
    let mut parts = text.strip_prefix("@@ ")?.split(' ');
    let span = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        let number =
            |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse::<u32>().ok())?;
        let span = HunkSpan { start: number(start)?, count: number(count)? };
        let sensible = (span.count == 0 || span.start > 0) && span.start.checked_add(span.count)? < u32::MAX;
        sensible.then_some(span)
    };
    let old = span(parts.next()?.strip_prefix('-')?)?;
    let new = span(parts.next()?.strip_prefix('+')?)?;
    parts.next()?.starts_with("@@").then_some((old, new))
}

/// A path without its first component.
pub(super) fn strip_first_component(name: &[u8]) -> Option<Vec<u8>> {
    let slash = name.iter().position(|byte| *byte == b'/')?;
    (slash > 0 && slash + 1 < name.len()).then(|| name[slash + 1..].to_vec())
}

/// Drops prefixes (`a/` and `b/`, or the folders that were compared) where only they differ.
pub(super) fn same_file(old: Vec<u8>, new: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    if old != new
        && let (Some(one), Some(other)) = (strip_first_component(&old), strip_first_component(&new))
        && (one == other || (old.starts_with(b"a/") && new.starts_with(b"b/")))
    {
        return (one, other);
    }
    (old, new)
}

/// The one name in `diff --git a/NAME b/NAME`, and whether there were prefixes; `None` if the two differ (a rename says them again).
pub(super) fn git_names(names: &[u8]) -> Option<(Vec<u8>, bool)> {
    let (old, new) = if names.starts_with(b"\"") || names.ends_with(b"\"") {
        let text = std::str::from_utf8(names).ok()?;
        let cut = if text.starts_with('"') { text.find("\" ")? + 1 } else { text.find(" \"")? };
        let name = |text: &str| if text.starts_with('"') { unquote(text).ok() } else { Some(text.as_bytes().to_vec()) };
        (name(&text[..cut])?, name(&text[cut + 1..])?)
    } else {
        // Both have one length, so the blank between them is in the middle, however many blanks the name has.
        let middle = names.len() / 2;
        (names.get(middle) == Some(&b' ')).then(|| (names[..middle].to_vec(), names[middle + 1..].to_vec()))?
    };
    if old == new {
        return Some((old, false));
    }
    let (one, other) = (strip_first_component(&old)?, strip_first_component(&new)?);
    (one == other).then_some((one, true))
}
