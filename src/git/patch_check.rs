//! Consistency of a file diff's header with its hunks. Main function: [`find_contradiction`].
//!
//! Git refuses what contradicts itself (`parse_single_patch` in its apply.c). Other programs apply the hunks whatever the header says, so a header
//! must not be what keeps hunks from review.

use crate::domain::change::FileMode;

use super::parsed_file::ParsedFile;

/// The prefix of a submodule's contents in a diff.
const SUBPROJECT: &[u8] = b"Subproject commit ";

/// Returns the reason why a diff cannot be believed; `None` if header and hunks agree.
pub(super) fn find_contradiction(file: &ParsedFile<'_>) -> Option<&'static str> {
    let (old, new) = (SideCheck::of(file, b'+'), SideCheck::of(file, b'-'));
    if file.new_path.is_none() && !new.lines.is_empty() {
        return Some("its header says that the file is deleted, but its hunks leave lines in it");
    }
    if file.old_path.is_none() && !old.lines.is_empty() {
        return Some("its header says that the file is new, but its hunks have lines of an old one");
    }
    if let (Some(one), Some(other)) = (file.old_mode, file.new_mode)
        && kind(one) != kind(other)
    {
        return Some("its header makes a file a link or a submodule, which git writes as a deletion and an addition");
    }
    [old, new].iter().find_map(SideCheck::contradiction)
}

/// Checks whether a `---` or `+++` line names the file that the header says was moved or copied: by the same name, or with a folder before it.
pub(super) fn is_name(line: Option<&[u8]>, name: &[u8]) -> bool {
    line.is_some_and(|line| line == name || line.strip_suffix(name).is_some_and(|before| before.ends_with(b"/")))
}

/// The format of a diff that begins with these two lines and that is not read here. GNU patch applies it, so it is no text between diffs.
pub(super) fn detect_other_format(line: &[u8], next: &[u8]) -> Option<&'static str> {
    let (inner, after) = (line.trim_ascii_start(), next.trim_ascii_start());
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b',');
    let command = line.trim_ascii_end();
    // The letter of a command behind the lines that it is for, and what follows it.
    let letter = command.iter().position(u8::is_ascii_alphabetic).filter(|at| digits(&command[..*at]));
    let letter = letter.map(|at| (command[at], &command[at + 1..]));
    let is_change = matches!(letter, Some((b'a' | b'c' | b'd', lines)) if digits(lines));
    if inner.len() < line.len() && inner.starts_with(b"--- ") && after.starts_with(b"+++ ") {
        Some("an indented diff, which `patch` would apply; take the blanks before its lines away, or the diff out")
    } else if inner.starts_with(b"*** ") && after.starts_with(b"--- ") {
        Some("a diff with `***` lines, which `patch` would apply; make it with `diff -u`, or take it out")
    } else if is_change && (next.starts_with(b"< ") || next.starts_with(b"> ")) {
        Some("a diff without context, which `patch` would apply; make it with `diff -u`, or take it out")
    } else if matches!(letter, Some((b'a' | b'c' | b'd' | b'i', []))) {
        Some("a script for ed, which `patch` would apply; make a diff with `diff -u`, or take it out")
    } else if is_encoded_mail(line) {
        Some("an encoded mail, which `git am` would decode; save it decoded, or review the commits with --range")
    } else {
        None
    }
}

/// Checks for the header of a mail whose text does not mean itself (RFC 2045, 6).
fn is_encoded_mail(line: &[u8]) -> bool {
    const NAME: &[u8] = b"content-transfer-encoding:";
    let Some((name, value)) = line.split_at_checked(NAME.len()) else { return false };
    let value = value.trim_ascii().to_ascii_lowercase();
    name.eq_ignore_ascii_case(NAME) && matches!(value.as_slice(), b"quoted-printable" | b"base64")
}

/// A file as far as the two modes of plain files are one.
fn kind(mode: FileMode) -> FileMode {
    if mode == FileMode::Executable { FileMode::File } else { mode }
}

/// One side of a file.
struct SideCheck<'p> {
    mode: Option<FileMode>,
    lines: Vec<&'p [u8]>,
    /// `true` if no line feed follows the last line.
    is_open: bool,
}

impl<'p> SideCheck<'p> {
    /// The side whose lines are those without one sign.
    fn of(file: &'p ParsedFile<'_>, left_out: u8) -> Self {
        let lines = file.body.iter().filter(|(sign, _)| *sign != left_out).map(|(_, line)| *line).collect();
        let (mode, is_open) =
            if left_out == b'+' { (file.old_mode, file.open.old) } else { (file.new_mode, file.open.new) };
        Self { mode, lines, is_open }
    }

    fn contradiction(&self) -> Option<&'static str> {
        let is_commit = |line: &[u8]| {
            let id = line.strip_prefix(SUBPROJECT).map(<[u8]>::trim_ascii_end);
            let id = id.map(|id| id.strip_suffix(b"-dirty").unwrap_or(id));
            id.is_some_and(|id| matches!(id.len(), 40 | 64) && id.iter().all(u8::is_ascii_hexdigit))
        };
        match (self.mode?, self.lines.as_slice()) {
            (FileMode::File | FileMode::Executable, _) | (_, []) => None,
            (FileMode::Submodule, [line]) if is_commit(line) => None,
            (FileMode::Submodule, _) => {
                Some("its header says that it is a submodule, but its hunks have other lines than the commit of one")
            }
            (FileMode::Link, [_]) if self.is_open => None,
            (FileMode::Link, _) => Some(
                "its header says that it is a link, but its hunks have more than the one place that a link leads to",
            ),
        }
    }
}
