//! A change from a patch text, with no repository. Main type: [`PatchChange`].

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::domain::change::{
    ChangeRun, ChangeSet, FileChange, FileMode, FileStatus, Hunk, HunkSpan, Omission, PatchText,
};
use crate::domain::generated::generated_by_name;
use crate::domain::known_file::KnownFile;
use crate::domain::language;
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide as Which;
use crate::domain::text::mask;
use crate::sys::cancel::Cancel;
use crate::sys::charset;

use super::collect::{CollectOptions, binary_source_reason};
use super::file_patch::FilePatch;
use super::known_lines::{KnownLines, PatchFile};
use super::parsed_file::ParsedFile;
use super::patch_parse::{PatchError, parse};
use super::patch_text::{DiffPosition, PatchSide, PatchTextLimits, render};
use super::{GitError, patch_id};

/// A change that is known from its patch alone.
#[derive(Debug, Clone)]
pub struct PatchChange {
    /// The change.
    pub change: ChangeSet,
    /// The lines of each file that the patch shows, sorted by path.
    files: Vec<PatchFile>,
}

/// Reads a patch text; `name` is what people call it (`-`, a file's name).
pub fn from_patch(
    name: &str,
    bytes: &[u8],
    options: &CollectOptions,
    cancel: &Cancel,
) -> Result<PatchChange, GitError> {
    let filter = &options.filter;
    let bytes = as_utf8(bytes);
    let mut known = Vec::new();
    let mut files = Vec::new();
    let mut omissions = Vec::new();
    let mut seen: HashSet<RepoPath> = HashSet::new();
    for parsed in join_type_changes(parse(&bytes, cancel)?) {
        cancel.check()?;
        let Some(path) = parsed.new_path.clone().or_else(|| parsed.old_path.clone()) else { continue };
        if !seen.insert(path.clone()) {
            let what = format!(
                "{path} is changed a second time; give one diff of all, such as `git diff TARGET...HEAD` prints"
            );
            return Err(PatchError { line: parsed.line, what }.into());
        }
        if !filter.allows(&path) {
            omissions.push(Omission {
                path: Some(path.to_string()),
                reason: "excluded by --include/--exclude or the project's settings".to_owned(),
                unseen: false,
            });
            continue;
        }
        let lines = known_lines(&parsed, path);
        let file = file_change(&parsed, &lines, options.patch_chars);
        if let Some(reason) = binary_source_reason(&file) {
            omissions.push(Omission { path: Some(file.path.to_string()), reason, unseen: true });
        }
        files.push(file);
        known.push(lines);
    }
    files.sort_by(|a, b| (a.generated.is_some(), &a.path).cmp(&(b.generated.is_some(), &b.path)));
    known.sort_by(|a, b| a.path.cmp(&b.path));
    let change = ChangeSet { head_name: mask(name).text, omissions, ..ChangeSet::of(files) };
    Ok(PatchChange { change, files: known })
}

impl PatchChange {
    /// The lines that are known, both sides of all files: what a workspace without a repository is made of.
    pub fn known_files(&self) -> Vec<KnownFile> {
        let by_path: HashMap<&RepoPath, FileStatus> =
            self.change.files.iter().map(|file| (&file.path, file.status)).collect();
        let of = |file: &PatchFile| {
            let status = by_path.get(&file.path).copied();
            file.known_files(|side| match side {
                Which::Old => status == Some(FileStatus::Deleted),
                Which::New => status == Some(FileStatus::Added),
            })
        };
        self.files.iter().flat_map(of).collect()
    }

    fn lines(&self, path: &RepoPath) -> Option<&PatchFile> {
        self.files.binary_search_by(|file| file.path.cmp(path)).ok().and_then(|at| self.files.get(at))
    }

    /// As [`file_patch()`](super::file_patch()), from the patch.
    pub fn file_patch(&self, file: &FileChange, from: DiffPosition, max_lines: usize, max_bytes: usize) -> FilePatch {
        let limits = PatchTextLimits { chars: usize::MAX, bytes: max_bytes, lines: max_lines };
        let hunks = file.hunks.len();
        match self.lines(&file.path) {
            Some(known) => {
                let (mut old, mut new) = (PatchSide::of_known(&known.old), PatchSide::of_known(&known.new));
                FilePatch::new(render(&mut old, &mut new, &file.hunks, from, limits), hunks)
            }
            None => FilePatch { text: String::new(), next: None, lines_left: 0, shortened_lines: 0, hunks },
        }
    }
}

/// Windows PowerShell writes what is redirected to a file in UTF-16.
fn as_utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    let label: &[u8] = match bytes {
        [0xff, 0xfe, ..] => b"utf-16le",
        [0xfe, 0xff, ..] => b"utf-16be",
        _ => return Cow::Borrowed(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)),
    };
    Cow::Owned(charset::decode_as(Some(label), &bytes[2..]).into_bytes())
}

/// Git writes a file that became a link as a deletion and an addition of the same path, one behind the other.
fn join_type_changes(files: Vec<ParsedFile<'_>>) -> Vec<ParsedFile<'_>> {
    let mut joined: Vec<ParsedFile<'_>> = Vec::with_capacity(files.len());
    for file in files {
        match joined.last_mut() {
            Some(last)
                if last.new_path.is_none()
                    && file.old_path.is_none()
                    && last.old_path == file.new_path
                    && last.old_mode != file.new_mode =>
            {
                let span = |hunk: Option<&Hunk>, side: fn(&Hunk) -> HunkSpan| hunk.map_or_else(HunkSpan::default, side);
                let old = span(last.hunks.first(), |hunk| hunk.old);
                let new = span(file.hunks.first(), |hunk| hunk.new);
                last.hunks = if old.count + new.count > 0 {
                    vec![Hunk { old, new, runs: vec![ChangeRun { old, new }] }]
                } else {
                    Vec::new()
                };
                last.body.extend(file.body);
                last.open.new = file.open.new;
                last.binary |= file.binary;
                (last.new_path, last.new_mode) = (file.new_path, file.new_mode);
            }
            _ => joined.push(file),
        }
    }
    joined
}

fn known_lines(parsed: &ParsedFile<'_>, path: RepoPath) -> PatchFile {
    let old_path = parsed.old_path.clone().filter(|old| *old != path);
    let returns = !parsed.body.is_empty() && parsed.body.iter().all(|(_, line)| line.ends_with(b"\r"));
    let side = |left_out: u8, open: bool| {
        let lines: Vec<&[u8]> = parsed
            .body
            .iter()
            .filter(|(sign, _)| *sign != left_out)
            .map(|(_, line)| if returns { line.strip_suffix(b"\r").unwrap_or(line) } else { line })
            .collect();
        let joined = lines.join(&b'\n');
        // One guess for all lines of a side: a single line is too short to tell a charset from.
        let masked = mask(&charset::text(&joined));
        let mut texts = masked.text.split('\n').map(str::to_owned);
        let mut known = KnownLines::default();
        let mut taken = 0u32;
        for hunk in &parsed.hunks {
            let span = if left_out == b'+' { hunk.old } else { hunk.new };
            let lines = texts.by_ref().take(span.count as usize).collect();
            let (first, here) = (span.before() + 1, taken..taken.saturating_add(span.count));
            let among = masked.lines.iter().map(|line| line.saturating_sub(1)).filter(|line| here.contains(line));
            known.push(first, lines, among.map(|line| first.saturating_add(line - here.start)));
            taken = here.end;
        }
        if open {
            known.set_open_end();
        }
        known
    };
    PatchFile { path, old_path, old: side(b'+', parsed.open.old), new: side(b'-', parsed.open.new) }
}

fn file_change(parsed: &ParsedFile<'_>, known: &PatchFile, patch_chars: usize) -> FileChange {
    let count = |sign: u8| {
        let lines = parsed.body.iter().filter(|(found, _)| *found == sign).count();
        u32::try_from(lines).unwrap_or(u32::MAX)
    };
    let kind = |mode: FileMode| if mode == FileMode::Executable { FileMode::File } else { mode };
    let status = match (parsed.old_mode, parsed.new_mode) {
        (None, _) => FileStatus::Added,
        (_, None) => FileStatus::Deleted,
        _ if parsed.renamed => FileStatus::Renamed,
        (Some(old), Some(new)) if kind(old) != kind(new) => FileStatus::TypeChanged,
        _ => FileStatus::Modified,
    };
    let generated = generated_by_name(&known.path, known.old_path.as_ref());
    let limits = PatchTextLimits { chars: patch_chars, bytes: usize::MAX, lines: usize::MAX };
    let (mut old, mut new) = (PatchSide::of_known(&known.old), PatchSide::of_known(&known.new));
    let patch = match generated {
        None => {
            render(&mut old, &mut new, &parsed.hunks, DiffPosition::default(), limits).into_patch(parsed.hunks.len())
        }
        Some(_) => PatchText::default(),
    };
    let submodule = [parsed.old_mode, parsed.new_mode].iter().flatten().all(|mode| *mode == FileMode::Submodule);
    FileChange {
        path: known.path.clone(),
        old_path: known.old_path.clone(),
        status,
        old_mode: parsed.old_mode,
        new_mode: parsed.new_mode,
        old_blob: None,
        new_blob: None,
        additions: count(b'+'),
        deletions: count(b'-'),
        binary: parsed.binary,
        language: language::from_path(&known.path),
        generated,
        hunks: if submodule { Vec::new() } else { parsed.hunks.clone() },
        patch,
        patch_id: patch_id::of_marked(&parsed.hunks, &parsed.body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<PatchChange, GitError> {
        from_patch("p", text.as_bytes(), &CollectOptions::default(), &Cancel::never())
    }

    #[test]
    fn lines_beyond_what_a_hunk_announces_are_refused() {
        let error = read("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+hidden\n").unwrap_err().to_string();
        assert!(error.contains("line 6 of the patch: the hunk has more lines than were announced"), "{error}");
        assert!(read("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n-- \n2.40.0\n").is_ok(), "the end of a mail");
    }

    fn only(text: &str) -> FileChange {
        let mut files = read(text).unwrap().change.files;
        assert_eq!(files.len(), 1);
        files.remove(0)
    }

    #[test]
    fn a_plain_diff_names_its_file_without_prefixes() {
        for (old, new) in [
            ("a/src/x.c", "b/src/x.c"),
            ("src/x.c", "src/x.c"),
            ("i/src/x.c", "w/src/x.c"),
            ("before/src/x.c\t2024-01-01", "after/src/x.c\t2024-01-02"),
            ("src/x.c.orig", "src/x.c"),
        ] {
            let file = only(&format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n"));
            assert_eq!(file.path.display_name(), "src/x.c", "{old} {new}");
            assert_eq!((file.additions, file.deletions, file.status), (1, 1, FileStatus::Modified));
            assert_eq!(file.old_path, None);
        }
    }

    #[test]
    fn the_text_and_the_lines_are_kept() {
        let text = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n\\ No newline at end of file\n";
        let patch = read(text).unwrap();
        assert!(text.ends_with(&*patch.change.files[0].patch.text));
        let known = patch.known_files();
        assert_eq!(known.iter().map(|file| file.side).collect::<Vec<_>>(), [Which::Old, Which::New]);
        assert_eq!(known[0].segments, [(1, vec!["one".to_owned(), "two".to_owned(), "three".to_owned()])]);
        assert_eq!(known[1].segments[0].1[1], "zwei");
        assert!(!known[1].whole);
    }

    #[test]
    fn a_name_with_blanks_is_found_where_nothing_repeats_it() {
        let file = only("diff --git a/b c/d e b/b c/d e\nold mode 100644\nnew mode 100755\n");
        assert_eq!(file.path.display_name(), "b c/d e");
        assert_eq!((file.old_mode, file.new_mode), (Some(FileMode::File), Some(FileMode::Executable)));
        let bare = only("diff --git x/y x/y\nold mode 100644\nnew mode 100755\n");
        assert_eq!(bare.path.display_name(), "x/y");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let fault = |text: &str| match read(text) {
            Err(GitError::Patch(error)) => (error.line, error.what),
            other => panic!("{other:?}"),
        };
        assert_eq!(fault("hello\n").0, 1);
        assert!(fault("\x1b[1mdiff --git a/x b/x\x1b[m\n").1.contains("--no-color"));
        assert_eq!(fault("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n").0, 5);
        assert_eq!(fault("--- a/x\n+++ b/x\n@@ -1 +1 @@\n+a\n+b\n").0, 5);
        assert_eq!(fault("--- a/x\n+++ b/x\n@@ -x +1 @@\n").0, 3);
        assert_eq!(fault("--- a/x\n+++ b/x\n@@ -0,1 +1 @@\n").0, 3);
        assert_eq!(fault("@@ -1 +1 @@\n-a\n+b\n").0, 1);
        assert!(fault("\ndiff --cc x\nindex 1,2..3\n").1.contains("combined"));
        assert!(fault("--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n").1.contains("absolute"));
        let twice = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n".repeat(2);
        assert_eq!(fault(&twice).0, 6);
    }

    #[test]
    fn nothing_is_no_change() {
        assert!(read("\n").unwrap().change.files.is_empty());
    }

    #[test]
    fn a_patch_with_carriage_returns_is_read() {
        let text = "--- a/x\r\n+++ b/x\r\n@@ -1,2 +1,2 @@\r\n one\r\n-two\r\n+zwei\r\n";
        let file = only(text);
        assert_eq!(&*file.patch.text, "@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n");
        let wide: Vec<u8> = std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let patch = from_patch("p", &wide, &CollectOptions::default(), &Cancel::never()).unwrap();
        assert_eq!(patch.change.files[0].patch, file.patch);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = from_patch("p", &bytes, &CollectOptions::default(), &Cancel::never());
        }

        #[test]
        fn any_lines_of_patches_are_read_or_refused(lines in proptest::collection::vec(
            prop_oneof![
                Just("diff --git a/x b/x"), Just("diff --git \"a/\\303\" \"b/\\303\""), Just("--- a/x"), Just("+++ b/y"),
                Just("@@ -1 +1 @@"), Just("@@ -0,0 +1,2 @@"), Just("@@ -4294967295 +1 @@"), Just("@@ -3,0 +4294967290,9 @@"),
                Just("-a"), Just("+b"), Just(" c"), Just(""), Just("\\ No newline at end of file"), Just("rename from q"),
                Just("rename to r"), Just("Binary files differ"), Just("new file mode 100644"), Just("index 1..2 100644"), Just("--- /dev/null"), Just("+++ \"b"),
            ], 0..30))
        {
            let _ = read(&lines.join("\n"));
        }
    }

    #[test]
    fn runs_are_counted_from_the_hunk() {
        let file = only("--- a/x\n+++ b/x\n@@ -5,3 +5,4 @@\n a\n+b\n c\n-d\n+e\n");
        let spans: Vec<ChangeRun> = file.runs().copied().collect();
        assert_eq!(spans.len(), 2);
        assert_eq!((spans[0].old.start, spans[0].old.count, spans[0].new.start), (5, 0, 6));
        assert_eq!((spans[1].old.start, spans[1].new.start), (7, 8));
    }
}
