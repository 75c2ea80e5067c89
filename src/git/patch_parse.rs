//! Reading unified diffs: git's and those of `diff -u`. Main function: [`parse`].
//!
//! The format is that of git's `apply.c` and of POSIX `diff -u`. Text between diffs (a mail, a commit message) is passed over.

use crate::domain::change::{ChangeRun, FileMode, Hunk, HunkSpan};
use crate::domain::limits::{LIMITS, RemainingLimit};
use crate::domain::path::{RepoPath, unquote};
use crate::sys::cancel::Cancel;

use super::GitError;
use super::parsed_file::ParsedFile;
use super::patch_check::{detect_other_format, find_contradiction, is_name};
use super::patch_header::{git_names, hunk_header, same_file, strip_first_component};
use super::patch_lines::AscendingLines;

/// An error in a patch, and its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the patch: {what}")]
pub struct PatchError {
    /// Its line, 1-indexed.
    pub line: usize,
    /// The problem and, if that helps, the remedy.
    pub what: String,
}

/// Reads all files of a patch.
pub(super) fn parse<'a>(bytes: &'a [u8], cancel: &Cancel) -> Result<Vec<ParsedFile<'a>>, GitError> {
    let mut reader =
        PatchReader { lines: AscendingLines::of(bytes), at: 0, room: RemainingLimit::of(LIMITS.patch_lines) };
    let mut files = Vec::new();
    while let Some(line) = reader.header() {
        cancel.check()?;
        if line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined ") || line.starts_with(b"@@@ ") {
            return Err(reader.fault("a combined diff of a merge cannot be reviewed; make one against a single parent, such as `git diff TARGET...HEAD` or `git show -m --first-parent`").into());
        }
        if files.len() >= LIMITS.patch_files {
            let what = format!(
                "it changes more than {} files; give fewer files at once, or review the commits with --range",
                LIMITS.patch_files
            );
            return Err(reader.fault(what).into());
        }
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            files.push(reader.git_file(names, cancel)?);
        } else if reader.at_plain_file() {
            files.push(reader.plain_file(cancel)?);
        } else if line.starts_with(b"@@ -") {
            return Err(reader.fault("a hunk without the `---` and `+++` lines that name its file").into());
        } else if let Some(what) = detect_other_format(line, reader.lines.get(reader.at + 1).unwrap_or_default()) {
            return Err(reader.fault(what).into());
        } else {
            reader.at += 1;
        }
    }
    if files.is_empty() && bytes.iter().any(|byte| !byte.is_ascii_whitespace()) {
        let what = if memchr::memmem::find(bytes, b"\x1b[").is_some() {
            "no diff found; it has terminal colours, make it without them (`git diff --no-color`)"
        } else {
            "no diff found; give what `git diff` or `diff -u` prints"
        };
        return Err(PatchError { line: 1, what: what.to_owned() }.into());
    }
    Ok(files)
}

struct PatchReader<'a> {
    lines: AscendingLines<'a>,
    at: usize,
    /// For lines of hunks, which are held.
    room: RemainingLimit,
}

/// A name in a header: the bytes, or `None` for `/dev/null`.
type PatchFileName = Option<Vec<u8>>;

impl<'a> PatchReader<'a> {
    fn fault(&self, what: impl Into<String>) -> PatchError {
        PatchError { line: self.at + 1, what: what.into() }
    }

    fn raw(&self) -> Option<&'a [u8]> {
        self.lines.get(self.at)
    }

    /// The line as a header: a carriage return at its end is none of it.
    fn header(&self) -> Option<&'a [u8]> {
        self.raw().map(|line| line.strip_suffix(b"\r").unwrap_or(line))
    }

    fn at_plain_file(&self) -> bool {
        let starts =
            |offset: usize, with: &[u8]| self.lines.get(self.at + offset).is_some_and(|line| line.starts_with(with));
        starts(0, b"--- ") && starts(1, b"+++ ")
    }

    fn git_file(&mut self, names: &[u8], cancel: &Cancel) -> Result<ParsedFile<'a>, GitError> {
        let mut file = ParsedFile { line: self.at + 1, ..ParsedFile::default() };
        let fallback = git_names(names);
        let (mut from, mut to): (Option<Vec<u8>>, Option<Vec<u8>>) = (None, None);
        let (mut added, mut deleted, mut copied) = (false, false, false);
        let mut lines: Option<(PatchFileName, PatchFileName)> = None;
        self.at += 1;
        while let Some(line) = self.header() {
            if let Some(mode) = line.strip_prefix(b"old mode ") {
                file.old_mode = Some(self.mode(mode)?);
            } else if let Some(mode) = line.strip_prefix(b"new mode ") {
                file.new_mode = Some(self.mode(mode)?);
            } else if let Some(mode) = line.strip_prefix(b"new file mode ") {
                (added, file.new_mode) = (true, Some(self.mode(mode)?));
            } else if let Some(mode) = line.strip_prefix(b"deleted file mode ") {
                (deleted, file.old_mode) = (true, Some(self.mode(mode)?));
            } else if let Some(name) = line.strip_prefix(b"rename from ") {
                (file.renamed, from) = (true, Some(self.plain_name(name)?));
            } else if let Some(name) = line.strip_prefix(b"rename to ") {
                to = Some(self.plain_name(name)?);
            } else if let Some(name) = line.strip_prefix(b"copy from ") {
                (copied, from) = (true, Some(self.plain_name(name)?));
            } else if let Some(name) = line.strip_prefix(b"copy to ") {
                to = Some(self.plain_name(name)?);
            } else if let Some(index) = line.strip_prefix(b"index ") {
                if let Some(space) = index.iter().rposition(|byte| *byte == b' ') {
                    let mode = self.mode(&index[space + 1..])?;
                    (file.old_mode, file.new_mode) = (file.old_mode.or(Some(mode)), file.new_mode.or(Some(mode)));
                }
            } else if self.at_plain_file() {
                lines = Some(self.names()?);
                self.hunks(&mut file, cancel)?;
                break;
            } else if line.starts_with(b"GIT binary patch") || line.starts_with(b"Binary files ") {
                file.binary = true;
                self.at += 1;
                break;
            } else if !(line.starts_with(b"similarity index ") || line.starts_with(b"dissimilarity index ")) {
                break;
            }
            self.at += 1;
        }
        let prefixed = fallback.as_ref().is_none_or(|(_, prefixed)| *prefixed);
        let strip = |name: Vec<u8>| if prefixed { strip_first_component(&name).unwrap_or(name) } else { name };
        let (mut old, mut new) = match (from, to, lines) {
            (Some(from), Some(to), lines) => {
                if lines.is_some_and(|(old, new)| !is_name(old.as_deref(), &from) || !is_name(new.as_deref(), &to)) {
                    let what =
                        "the diff contradicts itself: its header moves another file than its hunks change".to_owned();
                    return Err(PatchError { line: file.line, what }.into());
                }
                (Some(from), Some(to))
            }
            (_, _, Some((Some(old), Some(new)))) => {
                let (old, new) = same_file(old, new);
                (Some(old), Some(new))
            }
            (_, _, Some((old, new))) => (old.map(strip), new.map(strip)),
            (_, _, None) => match fallback {
                Some((name, _)) => (Some(name.clone()), Some(name)),
                None => {
                    return Err(PatchError {
                        line: file.line,
                        what: "the file's name cannot be told from its header".to_owned(),
                    }
                    .into());
                }
            },
        };
        if added || copied {
            // A copy is a new file; where it came from is still there.
            old = old.filter(|_| copied);
        }
        if deleted {
            new = None;
        }
        file.settle(old, new)?;
        if copied {
            file.old_mode = None;
        }
        Ok(file)
    }

    fn plain_file(&mut self, cancel: &Cancel) -> Result<ParsedFile<'a>, GitError> {
        let mut file = ParsedFile { line: self.at + 1, ..ParsedFile::default() };
        self.refuse_open_names()?;
        let (old, new) = self.names()?;
        self.hunks(&mut file, cancel)?;
        let single = |name: Vec<u8>| match strip_first_component(&name) {
            Some(rest) if name.get(1) == Some(&b'/') && b"abciow".contains(&name[0]) => rest,
            _ => name,
        };
        let (mut old, mut new) = match (old, new) {
            (Some(old), Some(new)) => {
                let (_, new) = same_file(old, new);
                // `diff -u file.orig file`: one file, whatever the copy was called.
                (Some(new.clone()), Some(new))
            }
            (old, new) => (old.map(single), new.map(single)),
        };
        // `diff -N` names both sides and gives a missing one the lines `0,0`.
        if let [hunk] = file.hunks.as_slice() {
            if hunk.old == HunkSpan::default() && new.is_some() {
                old = None;
            } else if hunk.new == HunkSpan::default() && old.is_some() {
                new = None;
            }
        }
        file.settle(old, new)?;
        Ok(file)
    }

    /// Refuses a name with a blank that nothing ends: git and `patch` end it at the blank, and write another file than the one that would be
    /// reviewed.
    fn refuse_open_names(&self) -> Result<(), PatchError> {
        let is_open = |offset: usize| {
            let name = self.lines.get(self.at + offset).and_then(|line| line.get(4..)).unwrap_or_default();
            !name.starts_with(b"\"") && !name.contains(&b'\t') && name.trim_ascii_end().contains(&b' ')
        };
        if is_open(0) || is_open(1) {
            return Err(self.fault("the name of a file has a blank, and no tab ends it; make the diff with `git diff`"));
        }
        Ok(())
    }

    /// Reads the `---` and `+++` lines.
    fn names(&mut self) -> Result<(PatchFileName, PatchFileName), PatchError> {
        let mut name = |prefix: &[u8]| {
            let line = self.header().and_then(|line| line.strip_prefix(prefix)).unwrap_or_default();
            // Others end the line there, and write another file than the one that would be reviewed.
            if line.contains(&b'\r') {
                return Err(self.fault("a carriage return in the name of a file"));
            }
            let bytes = if line.starts_with(b"\"") {
                let end = line.iter().rposition(|byte| *byte == b'"').map_or(line.len(), |at| at + 1);
                self.quoted(&line[..end])?
            } else {
                // A time may follow a tab; git writes the tab alone where the name has spaces.
                line.split(|byte| *byte == b'\t').next().unwrap_or(line).to_vec()
            };
            self.at += 1;
            Ok((bytes != b"/dev/null").then_some(bytes))
        };
        Ok((name(b"--- ")?, name(b"+++ ")?))
    }

    fn plain_name(&self, name: &[u8]) -> Result<Vec<u8>, PatchError> {
        if name.starts_with(b"\"") { self.quoted(name) } else { Ok(name.to_vec()) }
    }

    fn quoted(&self, name: &[u8]) -> Result<Vec<u8>, PatchError> {
        let text = std::str::from_utf8(name).map_err(|_| self.fault("a quoted name with bytes that are not text"))?;
        unquote(text).map_err(|error| self.fault(error.to_string()))
    }

    fn mode(&self, digits: &[u8]) -> Result<FileMode, PatchError> {
        let text = std::str::from_utf8(digits).unwrap_or_default().trim();
        let mode = u32::from_str_radix(text, 8).map_err(|_| self.fault(format!("{text:?} is not a file mode")))?;
        Ok(match mode & 0o170_000 {
            0o120_000 => FileMode::Link,
            0o160_000 => FileMode::Submodule,
            _ if mode & 0o100 != 0 => FileMode::Executable,
            _ => FileMode::File,
        })
    }

    fn hunks(&mut self, file: &mut ParsedFile<'a>, cancel: &Cancel) -> Result<(), GitError> {
        while let Some(line) = self.header() {
            cancel.check()?;
            if !line.starts_with(b"@@ ") {
                break;
            }
            let (old, new) =
                hunk_header(line).ok_or_else(|| self.fault("this is not a hunk header (`@@ -1,2 +3,4 @@`)"))?;
            let ends = |hunk: &Hunk| (hunk.old.end(), hunk.new.end());
            let (old_end, new_end) = file.hunks.last().map_or((0, 0), ends);
            if old.before() < old_end || new.before() < new_end {
                return Err(self.fault("the hunks are not in order").into());
            }
            let returns = self.raw().is_some_and(|line| line.ends_with(b"\r"));
            self.at += 1;
            let runs = self.hunk_body(file, old, new, returns)?;
            file.hunks.push(Hunk { old, new, runs });
            // `git apply` passes over it, so it would be neither applied nor looked at; a line removed may be the end of a mail.
            if self.raw().is_some_and(|line| line.starts_with(b"+")) {
                return Err(self.fault("the hunk has more lines than were announced").into());
            }
        }
        Ok(())
    }

    fn hunk_body(
        &mut self,
        file: &mut ParsedFile<'a>,
        old: HunkSpan,
        new: HunkSpan,
        returns: bool,
    ) -> Result<Vec<ChangeRun>, PatchError> {
        let (mut old_at, mut new_at) = (old.before(), new.before());
        let (old_end, new_end) = (old_at + old.count, new_at + new.count);
        let mut runs = Vec::new();
        // Where the run that is being read began.
        let mut open: Option<(u32, u32)> = None;
        while old_at < old_end || new_at < new_end {
            let missing = || {
                let (old, new) = (old_end - old_at, new_end - new_at);
                format!("the hunk ends early: {old} more old and {new} more new lines were announced")
            };
            let line = self.raw().ok_or_else(|| self.fault(missing()))?;
            let line = if returns { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
            let (sign, content) = match line.split_first() {
                Some((sign @ (b' ' | b'-' | b'+' | b'\\'), content)) => (*sign, content),
                // Mail programs drop the blank of an empty context line.
                None => (b' ', &[][..]),
                Some(_) if line == b"\r" => (b' ', line),
                Some(_) => return Err(self.fault(missing())),
            };
            if sign == b'\\' {
                self.no_line_feed(file);
                continue;
            }
            if (sign != b'+' && old_at == old_end) || (sign != b'-' && new_at == new_end) {
                return Err(self.fault("the hunk has more lines than were announced"));
            }
            if sign == b' ' {
                runs.extend(open.take().map(|from| run(from, (old_at, new_at))));
            } else if open.is_none() {
                open = Some((old_at, new_at));
            }
            old_at += u32::from(sign != b'+');
            new_at += u32::from(sign != b'-');
            if !self.room.charge(1) {
                let limit = LIMITS.patch_lines;
                return Err(self.fault(format!(
                    "its hunks have more than {limit} lines; give fewer files at once, or review the commits with --range"
                )));
            }
            file.body.push((sign, content));
            self.at += 1;
        }
        runs.extend(open.map(|from| run(from, (old_at, new_at))));
        if self.raw().is_some_and(|line| line.starts_with(b"\\ ")) {
            self.no_line_feed(file);
        }
        Ok(runs)
    }

    /// `\ No newline at end of file` speaks of the line before it.
    fn no_line_feed(&mut self, file: &mut ParsedFile<'a>) {
        if let Some((sign, _)) = file.body.last() {
            file.open.old |= *sign != b'+';
            file.open.new |= *sign != b'-';
        }
        self.at += 1;
    }
}

impl ParsedFile<'_> {
    fn settle(&mut self, old: PatchFileName, new: PatchFileName) -> Result<(), PatchError> {
        let path = |name: PatchFileName| {
            let Some(name) = name else { return Ok(None) };
            RepoPath::from_bytes(&name).map(Some).map_err(|error| PatchError {
                line: self.line,
                what: format!("the path {:?} cannot be used: {error}", String::from_utf8_lossy(&name)),
            })
        };
        let (old, new) = (path(old)?, path(new)?);
        if old.is_none() && new.is_none() {
            return Err(PatchError { line: self.line, what: "both sides are /dev/null".to_owned() });
        }
        let plain = Some(FileMode::File);
        self.old_mode = if old.is_some() { self.old_mode.or(plain) } else { None };
        self.new_mode = if new.is_some() { self.new_mode.or(plain) } else { None };
        (self.old_path, self.new_path) = (old, new);
        match find_contradiction(self) {
            Some(what) => {
                let name =
                    self.new_path.as_ref().or(self.old_path.as_ref()).map(RepoPath::to_string).unwrap_or_default();
                Err(PatchError { line: self.line, what: format!("the diff of {name} contradicts itself: {what}") })
            }
            None => Ok(()),
        }
    }
}

fn run(from: (u32, u32), to: (u32, u32)) -> ChangeRun {
    let span = |from: u32, to: u32| HunkSpan { start: if to == from { from } else { from + 1 }, count: to - from };
    ChangeRun { old: span(from.0, to.0), new: span(from.1, to.1) }
}
