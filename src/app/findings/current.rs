//! The newest saved review of a checkout, on the text of its files as it is now. Main type: [`CurrentReview`].
//!
//! An editor's buffer may differ from the file on disk, and both from the reviewed text: a place is found again by the mapping that a later
//! review uses ([`find_again`]), and a finding whose lines are gone has no place.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::apply::file::{self, FileFault};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::{project, saved_runs};
use crate::domain::finding::{Anchor, Finding};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::review::Review;
use crate::domain::text::FileText;
use crate::evidence::history::{LineMap, QuoteMatch, find_again};
use crate::git;
use crate::syntax::ProbeScope;
use crate::sys::charset;
use crate::sys::contained_folder::ContainedFolder;
use crate::sys::repo::Repo;

/// The newest saved review of a checkout.
pub struct CurrentReview {
    /// The review.
    pub review: Review,
    repo: Repo,
    beneath: ContainedFolder,
}

/// The place of a finding in the current text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentPlace {
    /// The file.
    pub path: RepoPath,
    /// The lines; `None` for the whole file, and for lines that the change removed.
    pub lines: Option<LineRange>,
    /// `true` if it quotes lines that the change removed.
    pub is_removed: bool,
}

/// The edit that applies a suggestion to a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentEdit {
    /// The bytes of the text that it replaces.
    pub bytes: std::ops::Range<usize>,
    /// The text in their place.
    pub text: String,
}

/// Reads the current text of a file; `None` if it has none.
type TextReader<'a> = dyn Fn(&RepoPath) -> Option<Arc<str>> + 'a;

/// The texts of one state of the files, read and mapped at most once each.
pub struct CurrentTexts<'a> {
    review: &'a CurrentReview,
    read: Box<TextReader<'a>>,
    files: HashMap<RepoPath, Option<MappedText>>,
    /// Two findings of one fingerprint cannot be on the same lines.
    taken: HashSet<(String, RepoPath, LineRange)>,
}

struct MappedText {
    text: FileText,
    map: Option<LineMap>,
}

impl CurrentReview {
    /// Loads the newest saved review of the repository of a folder; `None` if there is none, or no checkout.
    pub fn open(around: &ProcessEnv, folder: &Path) -> Result<Option<Self>, AppError> {
        let repo = Repo::open(folder)?;
        let (Some(root), true) = (project::folder_of(&repo), repo.workdir().is_some()) else { return Ok(None) };
        let Some(record) = saved_runs::latest_of(around, &root)? else { return Ok(None) };
        let review = saved_runs::read(around, record.id)?;
        let beneath = ContainedFolder::new(&root).map_err(|error| unreadable(&root, &error))?;
        Ok(Some(Self { review, repo, beneath }))
    }

    /// Finds the root of the checkout around a folder; `None` if there is none.
    pub fn checkout_of(folder: &Path) -> Option<PathBuf> {
        let repo = Repo::open(folder).ok()?;
        repo.workdir()?;
        project::folder_of(&repo)
    }

    /// Reads a file of the checkout as text; `None` if it is missing, no plain file, too large, or not text.
    pub fn read(&self, path: &RepoPath) -> Option<String> {
        file::read(&self.beneath, path).ok().map(|bytes| charset::decode(&bytes).text)
    }

    /// Returns the time of the last change and the size of a file of the checkout; `None` if there is no such file.
    pub fn stamp(&self, path: &RepoPath) -> Option<(Option<SystemTime>, u64)> {
        let file = self.beneath.open_file(path.stored()).and_then(|file| file.metadata()).ok()?;
        Some((file.modified().ok(), file.len()))
    }

    /// Begins to map findings to the texts that `read` returns.
    pub fn texts<'a>(&'a self, read: impl Fn(&RepoPath) -> Option<Arc<str>> + 'a) -> CurrentTexts<'a> {
        CurrentTexts { review: self, read: Box::new(read), files: HashMap::new(), taken: HashSet::new() }
    }

    /// Builds the edit that applies the suggestion of a finding to a text of its file. It fits only if the replaced lines are unchanged
    /// since the review, and stand at one place.
    pub fn suggested_edit(&self, around: &ProcessEnv, finding: &Finding, text: &str) -> Result<CurrentEdit, FileFault> {
        let Some(suggestion) = &finding.suggestion else { return Err(file::without_suggestion(finding)) };
        let reviewed = file::at_head(&self.repo, self.review.change.head, &suggestion.path);
        let parser = around.parser(ProbeScope::Everything);
        let rewritten =
            file::rewrite(&suggestion.path, &[finding], text, "UTF-8", reviewed.as_ref(), parser, || Ok(()))?;
        let (before, after) = (text.as_bytes(), rewritten.after.as_bytes());
        let lines = rewritten.edits.first().map(|(edit, _)| edit.lines);
        let start = lines.map_or(0, |lines| line_start(text, lines.start()));
        let end = lines.map_or(before.len(), |lines| line_start(text, lines.end().saturating_add(1)));
        let kept = before.len() - end;
        let new = after.len().checked_sub(kept).and_then(|end| rewritten.after.get(start..end));
        let text = new.ok_or_else(|| file::without_suggestion(finding))?.to_owned();
        Ok(CurrentEdit { bytes: start..end, text })
    }
}

/// The byte at which a line begins; the end of the text beyond its last line.
fn line_start(text: &str, line: u32) -> usize {
    let before = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
    text.split_inclusive('\n').take(before).map(str::len).sum()
}

fn unreadable(root: &Path, error: &io::Error) -> AppError {
    AppError::Unusable(format!("cannot open {}: {error}", root.display()))
}

impl CurrentTexts<'_> {
    /// Maps the places of a finding, the shown one first; empty if its quoted text is gone.
    pub fn places(&mut self, finding: &Finding) -> Vec<CurrentPlace> {
        let mut places = Vec::with_capacity(finding.anchors.len());
        for (at, anchor) in finding.anchors.iter().enumerate() {
            match self.place(anchor, &finding.fingerprint.0) {
                Some(place) => places.push(place),
                // The first place is what the finding is about.
                None if at == 0 => return Vec::new(),
                None => {}
            }
        }
        // Removed lines are in no buffer: a place that is comes before them.
        places.sort_by_key(|place| place.is_removed);
        if let Some(CurrentPlace { path, lines: Some(lines), .. }) = places.first() {
            self.taken.insert((finding.fingerprint.0.clone(), path.clone(), *lines));
        }
        places
    }

    fn place(&mut self, anchor: &Anchor, print: &str) -> Option<CurrentPlace> {
        self.load(&anchor.path);
        let file = self.files.get(&anchor.path)?.as_ref()?;
        let (path, is_removed) = (anchor.path.clone(), anchor.side == DiffSide::Old);
        let Some(lines) = anchor.lines.filter(|_| !is_removed) else {
            return Some(CurrentPlace { path, lines: None, is_removed });
        };
        let is_free = |there: LineRange| !self.taken.contains(&(print.to_owned(), path.clone(), there));
        match find_again(&anchor.quote, lines, &file.text, file.map.as_ref(), is_free) {
            QuoteMatch::At(there) => Some(CurrentPlace { path, lines: Some(there), is_removed }),
            QuoteMatch::Gone(_) | QuoteMatch::Unknown => None,
        }
    }

    fn load(&mut self, path: &RepoPath) {
        if self.files.contains_key(path) {
            return;
        }
        let mapped = (self.read)(path).map(|now| {
            let text = FileText::new(&now, "UTF-8");
            let reviewed = file::decoded_at_head(&self.review.repo, self.review.review.change.head, path);
            let runs = match reviewed {
                // Nearly always: masking it once more would take half of the time.
                Some(reviewed) if reviewed.text == *now => Some(Vec::new()),
                Some(reviewed) => {
                    let reviewed = FileText::new(&reviewed.text, reviewed.charset);
                    git::changed_lines(reviewed.text(), text.text()).ok().flatten()
                }
                None => None,
            };
            MappedText { text, map: runs.map(LineMap::new) }
        });
        self.files.insert(path.clone(), mapped);
    }
}
