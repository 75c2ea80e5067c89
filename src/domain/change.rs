//! The change under review. Main types: [`ChangeSet`], [`FileChange`], [`Hunk`].
//!
//! Everything here is what `git` collected; nothing here knows how it was collected.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::forge::ReviewedPull;
use super::id::{BlobId, CommitId};
use super::language::{self, LanguageName};
use super::path::RepoPath;
use super::place::{DiffSide, LineRange, WorkspaceAt};
use super::text::lines_with_ends;

/// A change: the commits and the files between a merge base and a head.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeSet {
    /// The repository's display name: the name of its folder, or `(patch)` where there is none.
    pub repository: String,
    /// The requested base of the comparison (`main`, `origin/main`, `HEAD`).
    pub target: String,
    /// The name of the head (`feature`, `HEAD`, `index`, `worktree`, a patch's file name).
    pub head_name: String,
    /// The tip of the target.
    pub base: Option<CommitId>,
    /// The head; `None` if it is not a commit (index, disk, patch).
    pub head: Option<CommitId>,
    /// The merge base; `None` without a repository or before the first commit.
    pub merge_base: Option<CommitId>,
    /// The tree that holds the old file contents.
    pub old_at: WorkspaceAt,
    /// The tree that holds the new file contents.
    pub new_at: WorkspaceAt,
    /// The pull request that it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull: Option<ReviewedPull>,
    /// `target..head`, newest first.
    pub commits: Vec<Commit>,
    /// The number of commits left out beyond the limit.
    pub commits_omitted: usize,
    /// The changed files: by path, generated ones last.
    pub files: Vec<FileChange>,
    /// Notes on what collection skipped or did differently, with reasons.
    pub omissions: Vec<Omission>,
}

/// One commit of the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    /// Its id.
    pub id: CommitId,
    /// The first line of its message.
    pub subject: String,
    /// The rest of its message, without the blank line between.
    pub body: String,
    /// The author's name.
    pub author: String,
    /// The author's date, RFC 3339 with offset.
    pub date: String,
}

/// How a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// Its contents or its mode changed.
    Modified,
    /// It moved, perhaps with edits.
    Renamed,
    /// It became another kind of thing (a file became a link, say).
    TypeChanged,
}

impl FileStatus {
    /// The words for it that people read.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Deleted => "deleted",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
            Self::TypeChanged => "type changed",
        }
    }
}

/// The kind of a tree entry, as git stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileMode {
    /// A plain file.
    #[serde(rename = "100644")]
    File,
    /// An executable file.
    #[serde(rename = "100755")]
    Executable,
    /// A symbolic link; its contents are the place it points to.
    #[serde(rename = "120000")]
    Link,
    /// A submodule; its contents are a commit of another repository.
    #[serde(rename = "160000")]
    Submodule,
}

/// The reason why a file is listed but its changes are not shown or reviewed line by line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generated {
    /// The target's attributes say `linguist-generated`.
    Attribute,
    /// The target's attributes say `linguist-vendored`.
    Vendored,
    /// A lock file by its name.
    LockFile,
    /// A generated file by its name (`*.min.js`, `*.pb.go`, …).
    Name,
    /// A generated file by a comment in its first lines, which was there before the change.
    Header,
}

/// An id of a file's change that is independent of line numbers and of the path: a hash of its removed and added lines, in order.
///
/// Like `git patch-id --verbatim`, but without the context and the path: white space counts, because indentation is code in some languages.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct PatchId(pub String);

/// One changed file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileChange {
    /// Its path at the head; for a deletion, its path at the merge base.
    pub path: RepoPath,
    /// Its path at the merge base, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<RepoPath>,
    /// The kind of change.
    pub status: FileStatus,
    /// The old path; `None` if the file is new.
    pub old_mode: Option<FileMode>,
    /// The new path; `None` if the file was deleted.
    pub new_mode: Option<FileMode>,
    /// The old blob, where it has one.
    pub old_blob: Option<BlobId>,
    /// The new blob, where it is known (not for files on the disk).
    pub new_blob: Option<BlobId>,
    /// Lines added, as `git diff --numstat` counts them; 0 for binary files.
    pub additions: u32,
    /// Lines deleted, likewise.
    pub deletions: u32,
    /// `true` if git would call either side binary (a NUL in its first 8 000 bytes).
    pub binary: bool,
    /// The language, by the name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "language::deserialize")]
    pub language: Option<LanguageName>,
    /// Set when the file is listed and collapsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<Generated>,
    /// All hunks, in order; none for binary files, submodules and pure renames.
    pub hunks: Vec<Hunk>,
    /// The unified diff, cut at the limit.
    #[serde(flatten)]
    pub patch: PatchText,
    /// The id of its change, independent of position; `None` if no lines were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch_id: Option<PatchId>,
}

/// Lines on one side of a hunk, as a hunk header writes them: where `count` is 0, `start` is the line *before* the place. Kept as a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(into = "[u32; 2]", from = "[u32; 2]")]
pub struct HunkSpan {
    /// First line, 1-indexed (see the type for empty spans).
    pub start: u32,
    /// The number of lines.
    pub count: u32,
}

/// A hunk of the diff, with three lines of context. Kept as `[[old, new], runs]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "(ChangeRun, Vec<ChangeRun>)", from = "(ChangeRun, Vec<ChangeRun>)")]
pub struct Hunk {
    /// Its lines at the merge base, context included.
    pub old: HunkSpan,
    /// Its lines at the head, context included.
    pub new: HunkSpan,
    /// The changed lines inside it: each a maximal run of removed and added lines.
    pub runs: Vec<ChangeRun>,
}

/// Removed lines together with the added lines that stand in their place. Kept as `[old, new]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "[HunkSpan; 2]", from = "[HunkSpan; 2]")]
pub struct ChangeRun {
    /// The removed lines.
    pub old: HunkSpan,
    /// The added lines.
    pub new: HunkSpan,
}

impl ChangeRun {
    /// Its lines on a side.
    pub fn on(self, side: DiffSide) -> HunkSpan {
        match side {
            DiffSide::Old => self.old,
            DiffSide::New => self.new,
        }
    }
}

/// The patch text of a file, at most 10 000 characters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchText {
    /// Hunk headers and lines, secrets masked, ending on a line boundary.
    #[serde(rename = "patch")]
    pub text: Arc<str>,
    /// The part that was cut; `None` if the text is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<PatchCut>,
}

/// The parts that a [`PatchText`] does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatchCut {
    /// The index of the first hunk that is not shown whole.
    pub first_unseen_hunk: usize,
    /// The number of lines of the diff that are not shown.
    pub lines: u32,
    /// The number of over-long lines that were shortened.
    pub shortened_lines: u32,
}

/// Something collection left out or did in another way, for the coverage receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Omission {
    /// The path, where it is about one.
    pub path: Option<String>,
    /// The omission and its reason, in one sentence.
    pub reason: String,
    /// `true` if a hunk that could have been reviewed was never seen: makes the review incomplete.
    pub unseen: bool,
}

/// Name of the repository, the target and the head of a patch, which has none of them.
pub const PATCH_NAME: &str = "(patch)";

impl ChangeSet {
    /// Checks whether a path, as a model spells it, is of a changed file, before or after the change.
    pub fn has_path(&self, spelled: &str) -> bool {
        let Ok(path) = RepoPath::parse(spelled.trim()) else { return false };
        self.files.iter().any(|file| file.path == path || file.old_path.as_ref() == Some(&path))
    }

    /// A change of which nothing is known but its files, as of a patch without a repository.
    pub fn of(files: Vec<FileChange>) -> Self {
        let unnamed = || PATCH_NAME.to_owned();
        Self {
            repository: unnamed(),
            target: unnamed(),
            head_name: unnamed(),
            base: None,
            head: None,
            merge_base: None,
            old_at: WorkspaceAt::PatchOnly,
            new_at: WorkspaceAt::PatchOnly,
            pull: None,
            commits: Vec::new(),
            commits_omitted: 0,
            files,
            omissions: Vec::new(),
        }
    }
}

/// The marker in a diff for the omitted rest of an over-long line.
pub const LINE_SHORTENED: &str = " … [line shortened";

/// The lines of a diff's text that were shortened: the hunk, counted from 0 at the text's first header, and the line within it, from 0.
///
/// `begun` is where the text begins when that is not a header: so many lines of its first hunk stand before it. A line of the code that ends
/// like a shortened one is taken for one: that asks for one reading too many, never for one too few.
pub fn shortened_lines(text: &str, begun: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let (mut hunk, mut line) = (None, begun);
    for row in text.lines() {
        match row.as_bytes().first() {
            Some(b'@') => {
                // The header of a hunk that is continued is repeated; its lines are counted on.
                line = if hunk.is_none() { begun } else { 0 };
                hunk = Some(hunk.map_or(0, |hunk| hunk + 1));
            }
            Some(b'+' | b'-' | b' ') => {
                if row.ends_with(']') && row.contains(LINE_SHORTENED) {
                    found.push((hunk.unwrap_or(0), line));
                }
                line += 1;
            }
            _ => {}
        }
    }
    found
}

impl From<HunkSpan> for [u32; 2] {
    fn from(span: HunkSpan) -> Self {
        [span.start, span.count]
    }
}

impl From<[u32; 2]> for HunkSpan {
    fn from([start, count]: [u32; 2]) -> Self {
        Self { start, count }
    }
}

impl From<ChangeRun> for [HunkSpan; 2] {
    fn from(run: ChangeRun) -> Self {
        [run.old, run.new]
    }
}

impl From<[HunkSpan; 2]> for ChangeRun {
    fn from([old, new]: [HunkSpan; 2]) -> Self {
        Self { old, new }
    }
}

impl From<Hunk> for (ChangeRun, Vec<ChangeRun>) {
    fn from(Hunk { old, new, runs }: Hunk) -> Self {
        (ChangeRun { old, new }, runs)
    }
}

impl From<(ChangeRun, Vec<ChangeRun>)> for Hunk {
    fn from((ChangeRun { old, new }, runs): (ChangeRun, Vec<ChangeRun>)) -> Self {
        Self { old, new, runs }
    }
}

/// Returns the text of a diff with the number of each line of the new side before its mark: `12 +text`, `13  text`. Removed lines have no
/// number. `begun` is the number of the first line of the new side if the text does not begin with the header of a hunk.
pub fn number_lines(text: &str, begun: Option<u32>) -> String {
    let mut numbered = String::with_capacity(text.len() + text.len() / 8);
    for (number, row) in numbered_rows(text, begun) {
        if let Some(number) = number {
            numbered.push_str(&number.to_string());
            numbered.push(' ');
        }
        numbered.push_str(row);
    }
    numbered
}

/// Returns the lines of a diff, each with its number on the new side, as [`number_lines`] writes them; `begun` is as there.
pub fn numbered_rows(text: &str, begun: Option<u32>) -> impl Iterator<Item = (Option<u32>, &str)> {
    let mut next = begun;
    lines_with_ends(text).map(move |row| match (row.as_bytes().first(), next) {
        (Some(b'@'), _) => {
            next = new_start(row).or(next);
            (None, row)
        }
        (Some(b'+' | b' '), Some(at)) => {
            next = at.checked_add(1);
            (Some(at), row)
        }
        _ => (None, row),
    })
}

/// Reads the first line of the new side from the header of a hunk.
fn new_start(header: &str) -> Option<u32> {
    let digits = header.split_once(" +")?.1;
    digits.split([',', ' ']).next()?.parse().ok()
}

impl Hunk {
    /// Returns the line of the new side that follows the first `skip` lines of the hunk's text.
    pub fn new_line_after(&self, skip: usize) -> u32 {
        let mut left = u32::try_from(skip).unwrap_or(u32::MAX);
        let mut at = self.new.before();
        let mut take = |lines: u32| {
            let taken = lines.min(left);
            left -= taken;
            taken
        };
        for run in &self.runs {
            at += take(run.new.before().saturating_sub(at));
            take(run.old.count);
            at += take(run.new.count);
        }
        at + take(u32::MAX) + 1
    }
}

impl HunkSpan {
    /// The line before its first one: the number of lines before it.
    pub fn before(self) -> u32 {
        if self.count == 0 { self.start } else { self.start.saturating_sub(1) }
    }

    /// Its last line, or that before it if it has none: the number of lines up to its end.
    pub fn end(self) -> u32 {
        self.before().saturating_add(self.count)
    }

    /// The lines as a range; `None` when there are none.
    pub fn range(self) -> Option<LineRange> {
        self.count.checked_sub(1).and_then(|more| LineRange::new(self.start, self.start.saturating_add(more)).ok())
    }
}

impl FileChange {
    /// A plain file that was modified, nothing of its change known yet.
    pub fn modified(path: RepoPath) -> Self {
        Self {
            path,
            old_path: None,
            status: FileStatus::Modified,
            old_mode: Some(FileMode::File),
            new_mode: Some(FileMode::File),
            old_blob: None,
            new_blob: None,
            additions: 0,
            deletions: 0,
            binary: false,
            language: None,
            generated: None,
            hunks: Vec::new(),
            patch: PatchText::default(),
            patch_id: None,
        }
    }

    /// The path on the given side.
    pub fn path_at(&self, side: DiffSide) -> &RepoPath {
        match side {
            DiffSide::Old => self.old_path.as_ref().unwrap_or(&self.path),
            DiffSide::New => &self.path,
        }
    }

    /// Every run of changed lines, over all hunks.
    pub fn runs(&self) -> impl Iterator<Item = &ChangeRun> {
        self.hunks.iter().flat_map(|hunk| &hunk.runs)
    }

    /// Checks whether lines of one side lie in a hunk that is part of the change: its changed lines, or the point of a deletion.
    pub fn touches(&self, side: DiffSide, lines: LineRange) -> bool {
        self.runs().any(|run| {
            let span = match side {
                DiffSide::Old => run.old,
                DiffSide::New => run.new,
            };
            match span.range() {
                Some(changed) => changed.overlaps(lines),
                // Nothing stands on this side: the lines around the point are the nearest there are.
                None => lines.contains(span.start.max(1)) || lines.contains(span.start + 1),
            }
        })
    }

    /// Returns the reason why there are no lines in it that anybody looks at; `None` if there may be.
    pub fn without_text(&self) -> Option<&'static str> {
        if self.old_mode == Some(FileMode::Submodule) || self.new_mode == Some(FileMode::Submodule) {
            return Some("submodule: its commits are in another repository");
        }
        if self.binary {
            return Some("binary");
        }
        Some(match self.generated? {
            Generated::Attribute => "generated (linguist-generated)",
            Generated::Vendored => "vendored (linguist-vendored)",
            Generated::LockFile => "lock file",
            Generated::Name => "generated (by its name)",
            Generated::Header => "generated (by its first lines, before and after the change)",
        })
    }

    /// Checks whether there are lines in it that an engine is expected to look at.
    pub fn reviewable(&self) -> bool {
        !self.binary && self.generated.is_none() && !self.hunks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(runs: Vec<ChangeRun>) -> FileChange {
        FileChange {
            hunks: vec![Hunk { runs, ..Hunk::default() }],
            ..FileChange::modified(RepoPath::parse("a").unwrap())
        }
    }

    #[test]
    fn the_point_of_a_deletion_is_touched_by_the_lines_around_it() {
        let deleted =
            file(vec![ChangeRun { old: HunkSpan { start: 5, count: 2 }, new: HunkSpan { start: 4, count: 0 } }]);
        assert!(deleted.touches(DiffSide::New, LineRange::line(4)));
        assert!(deleted.touches(DiffSide::New, LineRange::line(5)));
        assert!(!deleted.touches(DiffSide::New, LineRange::line(6)));
        assert!(deleted.touches(DiffSide::Old, LineRange::line(6)));
        assert!(!deleted.touches(DiffSide::Old, LineRange::line(7)));
    }
}
