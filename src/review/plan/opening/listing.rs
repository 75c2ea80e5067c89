//! The list of changed files, bounded: named one by one as far as there is room, the rest counted by folder. Main types: [`ListedFiles`],
//! [`FileListing`].

use std::collections::HashMap;

use super::diffs::DiffSelection;
use super::folders::FolderIndex;
use super::one_line;
use super::scope::MessageScope;
use crate::domain::change::{ChangeSet, FileChange, FileMode, FileStatus, Generated};
use crate::domain::text::reveal;
use crate::prompt::UntrustedText;
use crate::review::tokens::{Weight, weight};

/// The longest state of a diff, as it is put before a path.
const STATE: &str = "[not below] ";
/// Maximum number of reported omissions that are about no file.
const MOST_OMISSIONS: usize = 10;
/// Reasons are cut.
const MOST_REASON: usize = 160;

/// Texts of the list, which are the same in the messages about all parts of a change.
#[derive(Debug)]
pub(super) struct ListedFiles {
    /// By their places in the change.
    files: Vec<ListedFile>,
    folders: FolderIndex,
    /// Omissions that are about the change as a whole.
    tail: String,
}

/// Texts of a file: its kind and change, and its path, which comes last, so that no name can be mistaken for a remark.
#[derive(Debug)]
struct ListedFile {
    before: String,
    path: String,
    weight: Weight,
}

/// The list as it will be.
pub(super) struct FileListing<'a> {
    lines: Vec<ListingLine<'a>>,
    folders: &'a FolderIndex,
    tail: &'a str,
    /// Summary of the rest; empty if all are named.
    rest: String,
    unlisted: usize,
}

/// Line of a file. The state of its diff, or why the message is not about it, stands before its path.
struct ListingLine<'a> {
    file: &'a ListedFile,
    elsewhere: Option<&'static str>,
    weight: Weight,
    listed: bool,
}

impl ListedFiles {
    /// Writes the texts of all files.
    pub(super) fn of(change: &ChangeSet) -> Self {
        let unseen = change.omissions.iter().filter(|omission| omission.unseen);
        let unseen: HashMap<&str, &str> =
            unseen.filter_map(|omission| Some((omission.path.as_deref()?, omission.reason.as_str()))).collect();
        let general = change.omissions.iter().filter(|omission| omission.path.is_none());
        let mut tail = String::new();
        for omission in general.take(MOST_OMISSIONS) {
            tail.push_str(&format!("note: {}\n", reveal(&one_line(&omission.reason, MOST_REASON))));
        }
        let files = change.files.iter().map(|file| ListedFile::of(file, &unseen)).collect();
        Self { files, folders: FolderIndex::of(change), tail }
    }
}

impl<'a> FileListing<'a> {
    /// Creates the list in which all files are named.
    pub(super) fn of(all: &'a ListedFiles, change: &ChangeSet, scope: &MessageScope) -> Self {
        let files = all.files.iter().zip(&change.files).enumerate();
        let lines = files.map(|(at, (texts, file))| ListingLine::of(texts, file, scope.mark(at))).collect();
        Self { lines, folders: &all.folders, tail: &all.tail, rest: String::new(), unlisted: 0 }
    }

    pub(super) fn weight(&self) -> Weight {
        let listed = self.lines.iter().filter(|line| line.listed).map(|line| line.weight);
        listed.sum::<Weight>() + weight(&self.rest) + weight(self.tail)
    }

    /// Selects what fits into `room`, in the order of `ranks`, but first files without a diff in the message: the others are named there. The rest is
    /// counted by folder.
    pub(super) fn choose(&mut self, change: &ChangeSet, ranks: &[usize], diffs: &DiffSelection, room: Weight) {
        if self.weight() <= room {
            return;
        }
        for line in &mut self.lines {
            line.listed = false;
        }
        // A quarter is for what is counted.
        let mut left = (room - room / 4).saturating_sub(weight(self.tail));
        let (named, nameless): (Vec<usize>, Vec<usize>) = ranks.iter().partition(|at| diffs.has(**at));
        for at in nameless.into_iter().chain(named) {
            let Some(line) = self.lines.get_mut(at) else { continue };
            let Some(rest) = left.checked_sub(line.weight) else { break };
            left = rest;
            line.listed = true;
        }
        let lines = self.lines.iter().enumerate();
        let unnamed = lines.filter(|(at, line)| !line.listed && !diffs.has(*at)).map(|(at, _)| at);
        self.unlisted = unnamed.clone().count();
        if self.unlisted > 0 {
            self.rest = self.folders.count(change, unnamed, room / 4);
        }
    }

    /// Checks whether a file is named.
    pub(super) fn lists(&self, at: usize) -> bool {
        self.lines.get(at).is_some_and(|line| line.listed)
    }

    /// Returns the number of files that are not named.
    pub(super) fn unlisted(&self) -> usize {
        self.unlisted
    }

    pub(super) fn text(&self, change: &ChangeSet, diffs: &DiffSelection) -> UntrustedText {
        let mut text = String::new();
        for (at, (line, file)) in self.lines.iter().zip(&change.files).enumerate().filter(|(_, (line, _))| line.listed)
        {
            text.push_str(&line.file.before);
            if let Some(remark) = line.elsewhere.or_else(|| diffs.state(at, file)) {
                text.push_str(&bracketed(remark));
            }
            text.push_str(&line.file.path);
            text.push('\n');
        }
        text.push_str(&self.rest);
        text.push_str(self.tail);
        UntrustedText::new(text)
    }
}

impl<'a> ListingLine<'a> {
    /// Creates a line; `elsewhere` says why the message is not about the file.
    fn of(texts: &'a ListedFile, file: &FileChange, elsewhere: Option<&'static str>) -> Self {
        let remark = match elsewhere {
            Some(elsewhere) => weight("[] ") + weight(elsewhere),
            None if file.reviewable() => weight(STATE),
            None => 0,
        };
        Self { file: texts, elsewhere, weight: texts.weight + remark, listed: true }
    }
}

/// Returns a remark as it stands before a path.
fn bracketed(remark: &str) -> String {
    format!("[{remark}] ")
}

impl ListedFile {
    fn of(file: &FileChange, unseen: &HashMap<&str, &str>) -> Self {
        let mut before = format!("{} ", file.status.label());
        if !file.binary {
            before.push_str(&format!("+{} -{} ", file.additions, file.deletions));
        }
        let spelled = file.path.display_name();
        let reason = if unseen.is_empty() { None } else { unseen.get(&*spelled) };
        let reason = reason.map(|reason| format!("not compared: {}", one_line(reason, MOST_REASON)));
        for mark in marks(file).chain(reason) {
            before.push_str(&bracketed(&mark));
        }
        let path = match &file.old_path {
            Some(old) => format!("{} => {spelled}", old.display_name()),
            None => spelled.into_owned(),
        };
        let (before, path) = (reveal(&before).into_owned(), reveal(&path).into_owned());
        let weight = weight(&before) + weight(&path) + weight("\n");
        Self { before, path, weight }
    }
}

/// Returns the remarks on a file besides its lines.
fn marks(file: &FileChange) -> impl Iterator<Item = String> {
    let generated = file.generated.map(|generated| match generated {
        Generated::Attribute => "generated, by the attributes of the repository: no diff",
        Generated::Vendored => "vendored, by the attributes of the repository: no diff",
        Generated::LockFile => "lock file: no diff",
        Generated::Name => "generated or vendored, by its name: no diff",
        Generated::Header => "generated, by its first lines: no diff",
    });
    let mode = match (file.old_mode, file.new_mode) {
        (Some(old), Some(new)) if old != new => Some(format!("{} -> {}", mode_word(old), mode_word(new))),
        (None, Some(mode)) | (Some(mode), None | Some(_)) if mode != FileMode::File => Some(mode_word(mode).to_owned()),
        _ => None,
    };
    let same = file.status == FileStatus::Renamed && file.hunks.is_empty() && !file.binary && file.generated.is_none();
    [file.binary.then_some("binary"), generated, same.then_some("same contents")]
        .into_iter()
        .flatten()
        .map(str::to_owned)
        .chain(mode)
}

fn mode_word(mode: FileMode) -> &'static str {
    match mode {
        FileMode::File => "file",
        FileMode::Executable => "executable",
        FileMode::Link => "symbolic link",
        FileMode::Submodule => "submodule",
    }
}
