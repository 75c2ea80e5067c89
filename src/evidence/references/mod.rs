//! Checks the references of a presented document against a tree. Main function: [`check()`].
//!
//! A reference is valid if its file exists, has its lines, and its pattern is found; else it is broken, with suggestions. Nothing outside
//! the tree is read, whatever a path says. The syntax of references belongs in `document`.

mod path;
mod pattern;
mod similar;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::document::DocumentReference;
use crate::domain::path::RepoPath;
use crate::domain::place::LineRange;
use crate::domain::presented::{BrokenRef, CheckedRef, FileRef, RefPlace};
use crate::domain::text::{FileText, first_characters, strip_line};
use crate::sys::cancel::{Cancel, CancelReason};
use crate::workspace::{TreeEntry, Workspace, WorkspaceError, nearest_paths};
use pattern::SearchPattern;
use similar::{NameLikeness, compare_names};

/// Maximum number of checked references of a document.
pub const MOST_REFERENCES: usize = 2_000;

/// Maximum bytes of text read for one document.
const MOST_BYTES: usize = 64 << 20;

/// Maximum number of paths of the tree compared for one document, for all broken references together.
const MOST_COMPARED: usize = 2_000_000;

/// Maximum bytes searched for lines similar to a pattern for one document.
const MOST_LOOKED_THROUGH: usize = 16 * similar::LOOKED_AT;

/// Maximum length of a preview, in characters.
const PREVIEW: usize = 100;

/// The base of the references of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferenceBase<'b> {
    /// The folder, relative to the root of the tree, as git stores it; empty at the root.
    pub folder: &'b [u8],
    /// The local folder that contains the tree. Absolute paths below it are taken as paths of the tree; with `None`, none are.
    pub root: Option<&'b Path>,
}

impl<'b> From<&'b [u8]> for ReferenceBase<'b> {
    fn from(folder: &'b [u8]) -> Self {
        Self { folder, root: None }
    }
}

/// Checks references in order.
///
/// A path is resolved from the base, then from the root of the tree. [`CheckedRef::to`] holds it as it was written, or as it has to be
/// written from the base if it was absolute or valid from the root only. References after the first [`MOST_REFERENCES`] are returned as
/// broken, with the reason that they were not checked.
pub fn check<'b>(
    found: Vec<DocumentReference>,
    base: impl Into<ReferenceBase<'b>>,
    tree: &dyn Workspace,
    cancel: &Cancel,
) -> Result<Vec<CheckedRef>, CancelReason> {
    let mut checker = ReferenceChecker::new(base.into(), tree, cancel);
    found.into_iter().enumerate().map(|(index, found)| checker.one(index, found)).collect()
}

/// The checked properties of a file.
#[derive(Clone)]
enum ReferencedFile {
    Text(Arc<FileText>),
    /// It exists; why it has no lines.
    NoText(String),
}

struct ReferenceChecker<'c> {
    base: ReferenceBase<'c>,
    tree: &'c dyn Workspace,
    cancel: &'c Cancel,
    files: HashMap<RepoPath, Result<ReferencedFile, MissingFile>>,
    near: HashMap<RepoPath, Vec<RepoPath>>,
    entries: Option<Arc<[TreeEntry]>>,
    bytes_left: usize,
    compared: usize,
    looked_through: usize,
}

/// Why a file was not found.
#[derive(Clone)]
enum MissingFile {
    NotFound,
    Other(String),
}

impl<'c> ReferenceChecker<'c> {
    fn new(base: ReferenceBase<'c>, tree: &'c dyn Workspace, cancel: &'c Cancel) -> Self {
        Self {
            base,
            tree,
            cancel,
            files: HashMap::new(),
            near: HashMap::new(),
            entries: None,
            bytes_left: MOST_BYTES,
            compared: 0,
            looked_through: 0,
        }
    }

    fn one(&mut self, index: usize, found: DocumentReference) -> Result<CheckedRef, CancelReason> {
        self.cancel.check()?;
        let DocumentReference { at, form, text, written, to } = found;
        let (to, found) = match to {
            Err(why) => {
                let to = FileRef { path: strip_line(&written), lines: None, columns: (None, None), pattern: None };
                (to, Err(broken_reference(why)))
            }
            Ok(to) if index >= MOST_REFERENCES => {
                let why = format!("not checked: {MOST_REFERENCES} references of a document are, and this is one more");
                (to, Err(broken_reference(why)))
            }
            Ok(mut to) => {
                let found = self.place(&mut to)?;
                (to, found)
            }
        };
        Ok(CheckedRef { at, form, text, to, found })
    }

    fn place(&mut self, to: &mut FileRef) -> Result<Result<RefPlace, BrokenRef>, CancelReason> {
        let (path, file) = match self.file_of(to)? {
            Ok(found) => found,
            Err(broken) => return Ok(Err(broken)),
        };
        let text = match file {
            ReferencedFile::Text(text) => text,
            // A file behind a symlink has no text either, but is not part of the tree.
            ReferencedFile::NoText(what) if !self.is_listed(&path)? => return Ok(Err(broken_reference(what))),
            ReferencedFile::NoText(_) if to.lines.is_none() && to.pattern.is_none() => {
                return Ok(Ok(RefPlace { path, lines: None, preview: None }));
            }
            ReferencedFile::NoText(what) => return Ok(Err(BrokenRef { why: what, near: vec![self.spelled(&path)] })),
        };
        let lines = match self.lines_of(to, &path, &text) {
            Ok(lines) => lines,
            Err(broken) => return Ok(Err(broken)),
        };
        let preview = lines.and_then(|lines| text.line(lines.start())).and_then(preview);
        Ok(Ok(RefPlace { path, lines, preview }))
    }

    /// Returns the referenced file, from the base or else from the root; corrects `to` if it was not written from the base.
    fn file_of(&mut self, to: &mut FileRef) -> Result<Result<(RepoPath, ReferencedFile), BrokenRef>, CancelReason> {
        let candidates = match path::candidates(&to.path_bytes(), &self.base) {
            Ok(candidates) => candidates,
            Err(why) => {
                let near = self.near_outside(to)?;
                return Ok(Err(BrokenRef { why, near }));
            }
        };
        let mut first: Option<(RepoPath, String)> = None;
        for candidate in &candidates {
            let why = match self.file(&candidate.path)? {
                Ok(file) => {
                    if !candidate.as_written {
                        to.path = self.spelled(&candidate.path);
                    }
                    return Ok(Ok((candidate.path.clone(), file)));
                }
                Err(MissingFile::NotFound) => format!("there is no file {}", candidate.path),
                Err(MissingFile::Other(why)) => why,
            };
            first.get_or_insert((candidate.path.clone(), why));
        }
        let Some((wanted, why)) = first else { return Ok(Err(broken_reference("the path names no file"))) };
        let near = self.near(&wanted, to.lines)?;
        Ok(Err(BrokenRef { why, near }))
    }

    fn lines_of(&mut self, to: &FileRef, path: &RepoPath, text: &FileText) -> Result<Option<LineRange>, BrokenRef> {
        let count = text.line_count();
        if let Some(lines) = to.lines
            && lines.end() > count
        {
            let why = match (count, lines.count()) {
                (0, _) => format!("{path} is empty"),
                (1, _) => format!("{path} has 1 line"),
                (_, 1) => format!("{path} has {count} lines, so there is no line {}", lines.end()),
                _ => format!("{path} has {count} lines, so there are no lines {}-{}", lines.start(), lines.end()),
            };
            let spelled = self.spelled(path);
            let kept = LineRange::new(lines.start(), count).ok();
            return Err(BrokenRef { why, near: vec![kept.map_or(spelled.clone(), |kept| with_lines(&spelled, kept))] });
        }
        let Some(pattern) = &to.pattern else { return Ok(to.lines) };
        let needle = SearchPattern::new(pattern).map_err(broken_reference)?;
        match needle.locate(text, to.lines) {
            Ok(lines) => Ok(Some(lines)),
            Err(why) => {
                let near = self.lines_near(pattern, text).into_iter();
                let near = near.map(|line| with_lines(&self.spelled(path), LineRange::line(line))).collect();
                Err(BrokenRef { why: format!("{path}: {why}"), near })
            }
        }
    }

    fn lines_near(&mut self, pattern: &str, text: &FileText) -> Vec<u32> {
        if self.looked_through >= MOST_LOOKED_THROUGH {
            return Vec::new();
        }
        self.looked_through += text.text().len().min(similar::LOOKED_AT);
        similar::similar_lines(pattern, text)
    }

    /// Reads a file once.
    fn file(&mut self, path: &RepoPath) -> Result<Result<ReferencedFile, MissingFile>, CancelReason> {
        if let Some(file) = self.files.get(path) {
            return Ok(file.clone());
        }
        let file = if self.bytes_left == 0 {
            Err(MissingFile::Other(format!("not checked: the files before it have {} MiB already", MOST_BYTES >> 20)))
        } else {
            self.read(path)?
        };
        self.files.insert(path.clone(), file.clone());
        Ok(file)
    }

    fn read(&mut self, path: &RepoPath) -> Result<Result<ReferencedFile, MissingFile>, CancelReason> {
        self.cancel.check()?;
        Ok(match self.tree.read(path) {
            Ok(text) => {
                self.bytes_left = self.bytes_left.saturating_sub(text.text().len().max(1));
                Ok(ReferencedFile::Text(text))
            }
            Err(error @ (WorkspaceError::NotText { .. } | WorkspaceError::TooLarge { .. })) => {
                Ok(ReferencedFile::NoText(error.to_string()))
            }
            Err(WorkspaceError::NotFound(_)) => Err(MissingFile::NotFound),
            Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
            Err(
                error @ (WorkspaceError::Excluded(_)
                | WorkspaceError::Ignored(_)
                | WorkspaceError::Path(_)
                | WorkspaceError::Repo(_)
                | WorkspaceError::Told(_)
                | WorkspaceError::Disk { .. }),
            ) => Err(MissingFile::Other(error.to_string())),
        })
    }

    /// Suggests valid references to files whose names are similar to that of `wanted`.
    fn near(&mut self, wanted: &RepoPath, lines: Option<LineRange>) -> Result<Vec<String>, CancelReason> {
        let mut told = Vec::new();
        for path in self.names_near(wanted)? {
            let mut spelled = self.spelled(&path);
            if let Some(lines) = lines
                && let Ok(ReferencedFile::Text(text)) = self.file(&path)?
                && lines.end() <= text.line_count()
            {
                spelled = with_lines(&spelled, lines);
            }
            told.push(spelled);
        }
        Ok(told)
    }

    /// The same for a path outside of the tree, by its last parts.
    fn near_outside(&mut self, to: &FileRef) -> Result<Vec<String>, CancelReason> {
        match path::parse_relative(&to.path_bytes()) {
            Some(wanted) => self.near(&wanted, to.lines),
            None => Ok(Vec::new()),
        }
    }

    fn names_near(&mut self, wanted: &RepoPath) -> Result<Vec<RepoPath>, CancelReason> {
        if let Some(known) = self.near.get(wanted) {
            return Ok(known.clone());
        }
        let entries = self.entries()?;
        let names = if self.compared < MOST_COMPARED {
            self.compared += entries.len();
            suggest_files(wanted, nearest_paths(wanted, entries.iter()))
        } else {
            Vec::new()
        };
        self.near.insert(wanted.clone(), names.clone());
        Ok(names)
    }

    /// Returns the files of the tree; none if they cannot be listed: then there are no suggestions.
    fn entries(&mut self) -> Result<Arc<[TreeEntry]>, CancelReason> {
        if let Some(entries) = &self.entries {
            return Ok(Arc::clone(entries));
        }
        let entries = match self.tree.files(self.cancel) {
            Ok(entries) => entries,
            Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
            Err(_) => Arc::new([]),
        };
        self.entries = Some(Arc::clone(&entries));
        Ok(entries)
    }

    /// Checks whether the path is a file of the tree, or a folder of files.
    fn is_listed(&mut self, path: &RepoPath) -> Result<bool, CancelReason> {
        let entries = self.entries()?;
        let is_file = entries.binary_search_by(|entry| entry.path.cmp(path)).is_ok();
        let folder = [path.as_bytes(), b"/"].concat();
        let inside = entries.partition_point(|entry| entry.path.as_bytes() < folder.as_slice());
        Ok(is_file || entries.get(inside).is_some_and(|entry| entry.path.as_bytes().starts_with(&folder)))
    }

    /// Returns the path relative to the base.
    fn spelled(&self, path: &RepoPath) -> String {
        path::relative_to_base(path, self.base.folder)
    }
}

/// Returns those of the same name, in any folder; else those with similar names.
fn suggest_files(wanted: &RepoPath, names: Vec<RepoPath>) -> Vec<RepoPath> {
    let mut names: Vec<(NameLikeness, RepoPath)> =
        names.into_iter().filter_map(|name| Some((compare_names(wanted, &name)?, name))).collect();
    let best = names.iter().map(|(likeness, _)| *likeness).min();
    names.retain(|(likeness, _)| Some(*likeness) == best);
    names.into_iter().map(|(_, name)| name).collect()
}

fn broken_reference(why: impl Into<String>) -> BrokenRef {
    BrokenRef { why: why.into(), near: Vec::new() }
}

fn with_lines(path: &str, lines: LineRange) -> String {
    if lines.count() == 1 {
        format!("{path}:{}", lines.start())
    } else {
        format!("{path}:{}-{}", lines.start(), lines.end())
    }
}

/// Shortens a line, without its indentation; `None` if it is blank.
fn preview(line: &str) -> Option<String> {
    // What is cut away need not be sanitized first, but an escape that is cut in two must not become active: sanitizing is last.
    let line = line.trim();
    let head = first_characters(line, PREVIEW * 4);
    let clean = strip_line(head);
    let shown = first_characters(&clean, PREVIEW);
    let mark = if shown.len() < clean.len() || head.len() < line.len() { "…" } else { "" };
    (!clean.is_empty()).then(|| format!("{shown}{mark}"))
}

#[cfg(test)]
mod tests;
