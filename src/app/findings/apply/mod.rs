//! Writes verified suggestions into the working tree. Main function: [`apply`].
//!
//! A suggestion was verified against the reviewed head; the working tree may have changed since. It is written only if the lines that it
//! replaces are unchanged since the review and occur at exactly one place. Locating that place belongs in `place`; reading, changing and
//! writing one file, in `file`.

use crate::app::context::error::UseCaseError;
use crate::app::context::saved_runs;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::runs::{self, finding_like};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::domain::finding::{Finding, FindingId};
use crate::domain::path::RepoPath;
use crate::domain::place::LineRange;
use crate::domain::text::strip_line;
use crate::syntax::ProbeScope;
use crate::sys::cancel::{Cancel, CancelReason};
use crate::sys::contained_folder::ContainedFolder;
use crate::sys::repo::Repo;

pub(super) mod file;
mod place;

pub use file::FileFault;
pub use place::PlaceFault;

/// The suggestions to apply.
#[derive(Debug, Clone)]
pub struct ApplyAsk {
    /// A folder of the checkout.
    pub directory: PathBuf,
    /// The run: its id, a prefix of it or `last`; `None` for the newest of this repository.
    pub run: Option<String>,
    /// The ids of the findings, or prefixes of them.
    pub findings: Vec<String>,
    /// `true` for a dry run: nothing is written.
    pub check: bool,
}

/// The result of [`apply`].
#[derive(Debug, Clone)]
pub struct ApplyResult {
    /// The files that were changed, or would be, by path.
    pub files: Vec<AppliedFile>,
    /// The files that were left unchanged, by path.
    pub refused: Vec<RefusedFile>,
}

/// A file with applied suggestions.
#[derive(Debug, Clone)]
pub struct AppliedFile {
    /// The file.
    pub path: RepoPath,
    /// The applied suggestions, by line.
    pub findings: Vec<AppliedFinding>,
    /// Its text before and after; secrets are not masked.
    pub texts: [String; 2],
}

/// An applied suggestion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedFinding {
    /// The id of the finding.
    pub id: FindingId,
    /// The title of the finding.
    pub title: String,
    /// The lines that were replaced, as they were numbered before.
    pub lines: LineRange,
}

/// A file that was left unchanged: of several suggestions for one file, all are applied or none.
#[derive(Debug, Clone)]
pub struct RefusedFile {
    /// The file.
    pub path: RepoPath,
    /// The reason.
    pub why: FileFault,
}

/// An error that stops [`apply`] before any suggestion is examined.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ApplyError {
    /// The repository has no working tree to write to.
    #[error("there is no checkout to change: this repository is bare; run it in a clone")]
    Bare,
    /// The checkout cannot be opened.
    #[error("cannot open {}: {source}", folder.display())]
    Unreadable { folder: PathBuf, source: io::Error },
    /// The finding has no verified suggestion.
    #[error(
        "the finding {finding} has no suggestion that was proven{}",
        if others.is_empty() { "; nor has any other of this review".to_owned() } else { format!("; these have one: {}", others.join(", ")) }
    )]
    NoSuggestion { finding: String, others: Vec<String> },
}

impl UseCaseError for ApplyError {}

/// Limit on the findings with a suggestion that a message names.
const NAMED: usize = 20;

/// Lists the open findings of a saved review that have a suggestion, in the order of the review.
pub fn applicable(around: &ProcessEnv, directory: &Path, run: Option<&str>) -> Result<Vec<AppliedFinding>, AppError> {
    let repo = Repo::open(directory)?;
    let review = saved_runs::read(around, saved_runs::find_in_repository(around, &repo, run)?)?;
    let with_suggestion = review.unresolved().filter_map(|one| {
        let lines = one.suggestion.as_ref()?.lines;
        Some(AppliedFinding { id: one.id.clone(), title: one.title.clone(), lines })
    });
    Ok(with_suggestion.collect())
}

/// Applies the suggestions of findings of a saved review to the working tree, each file completely or not at all.
pub fn apply(around: &ProcessEnv, ask: &ApplyAsk, cancel: &Cancel) -> Result<ApplyResult, AppError> {
    let repo = Repo::open(&ask.directory)?;
    let root = repo.workdir().ok_or(ApplyError::Bare)?.to_owned();
    let run = saved_runs::find_in_repository(around, &repo, ask.run.as_deref())?;
    let review = saved_runs::read(around, run)?;
    let mut by_file: BTreeMap<&RepoPath, Vec<&Finding>> = BTreeMap::new();
    for wanted in &ask.findings {
        let finding = finding_like(&review.findings, wanted.trim()).ok_or_else(|| runs::no_finding(&review, wanted))?;
        let Some(suggestion) = &finding.suggestion else {
            let others = review.findings.iter().filter(|one| one.suggestion.is_some());
            let others = others.take(NAMED).map(|one| format!("{} ({})", one.id, strip_line(&one.title))).collect();
            return Err(ApplyError::NoSuggestion { finding: finding.id.to_string(), others }.into());
        };
        let wanted = by_file.entry(&suggestion.path).or_default();
        // A finding named twice is applied once.
        if !wanted.iter().any(|one| one.id == finding.id) {
            wanted.push(finding);
        }
    }
    let beneath =
        ContainedFolder::new(&root).map_err(|source| ApplyError::Unreadable { folder: root.clone(), source })?;
    let mut applied = ApplyResult { files: Vec::new(), refused: Vec::new() };
    for (path, findings) in by_file {
        let ended = file::apply_suggestions(&file::FileSuggestions {
            path,
            findings: &findings,
            reviewed: file::at_head(&repo, review.change.head, path),
            beneath: &beneath,
            check: ask.check,
            parser: around.parser(ProbeScope::Everything),
            cancel,
        });
        match ended {
            Ok(file) => applied.files.push(file),
            // Files already written stay written and are reported.
            Err(FileFault::Stopped(stopped)) if applied.files.is_empty() => return Err(stopped.into()),
            Err(why) => applied.refused.push(RefusedFile { path: path.clone(), why }),
        }
    }
    Ok(applied)
}

impl ApplyResult {
    /// The exit code: 0 if all was applied, 5 if a file could not be written, 130 if interrupted, else 2.
    pub fn exit_code(&self) -> u8 {
        let code = |refused: &RefusedFile| match refused.why {
            FileFault::Stopped(CancelReason::Interrupted) => 130,
            FileFault::Write(_) | FileFault::Changed | FileFault::Stopped(CancelReason::DeadlinePassed) => 5,
            FileFault::Missing
            | FileFault::NotPlain
            | FileFault::TooLarge
            | FileFault::Binary
            | FileFault::Charset(_)
            | FileFault::Unreadable(_)
            | FileFault::Place { .. }
            | FileFault::Suggestion { .. }
            | FileFault::Hidden(_)
            | FileFault::Overlap(..)
            | FileFault::BreaksSyntax => 2,
        };
        self.refused.iter().map(code).max().unwrap_or(0)
    }
}
