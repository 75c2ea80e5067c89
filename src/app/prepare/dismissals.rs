//! The project's dismissals: reads them and reports entries whose files were removed. Main type: [`DismissedFile`].
//!
//! Parsing belongs in `config`, matching findings in `review`, adding an entry in `dismiss`.

use crate::app::context::error::UseCaseError;
use crate::domain::day::Day;
use crate::domain::filter::FilterError;
use crate::domain::finding::FindingStatus;
use std::io;
use std::path::Path;

use crate::app::context::error::AppError;
use crate::app::context::on_disk::read_plain_file;
use crate::config::ConfigError;
use crate::config::dismissals::{self as file, MAX_DISMISSED};
use crate::domain::change::FileMode;
use crate::domain::dismissal::{DISMISSED_FILE, Dismissal};
use crate::domain::id::CommitId;
use crate::domain::path::RepoPath;
use crate::domain::place::WorkspaceAt;
use crate::domain::run::RunId;
use crate::git::ResolvedRange;
use crate::store::{Store, StoreError};
use crate::sys::cancel::Cancel;
use crate::sys::files::FileError;
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;
use crate::sys::tree;

/// An error that stops a finding from being dismissed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum DismissError {
    /// The project's file is something else.
    #[error("{file} is not a plain file; dismissals are read from a plain file, not through a link")]
    NotPlain { file: String },
    /// The repository has no working tree to write to.
    #[error("there is no checkout to write {DISMISSED_FILE} in: this repository is bare; run it in a clone")]
    Bare,
    /// The last day is in the past.
    #[error("--until {until} has passed already; today is {today} (UTC)")]
    Past { until: Day, today: Day },
    /// The glob does not match the finding's own file.
    #[error("--path {glob:?} does not match {path}, where the finding is: it would dismiss others, and not this one")]
    Elsewhere { glob: String, path: RepoPath },
    /// The finding is over already.
    #[error("the finding {0} is {1}: there is nothing to dismiss")]
    Over(String, FindingStatus),
    /// It is not a pattern.
    #[error("--path: {0}")]
    Glob(FilterError),
    /// The file cannot be changed.
    #[error("{DISMISSED_FILE}: {0}")]
    Edit(#[from] file::EditFault),
    /// Another process changed the file meanwhile.
    #[error("{DISMISSED_FILE} was changed by somebody else meanwhile; nothing was written, try again")]
    Changed,
    /// It cannot be written.
    #[error("cannot write {DISMISSED_FILE}: {0}")]
    Write(io::Error),
}

impl UseCaseError for DismissError {
    /// Returns 5 if the file could not be written, else 2.
    fn exit_code(&self) -> u8 {
        match self {
            Self::Write(_) | Self::Changed => 5,
            Self::NotPlain { .. }
            | Self::Bare
            | Self::Past { .. }
            | Self::Elsewhere { .. }
            | Self::Over(..)
            | Self::Glob(_)
            | Self::Edit(_) => 2,
        }
    }
}

/// Limit on the entries named whose file was removed.
const NAMED: usize = 5;

/// The dismissals file as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::app) struct DismissedFile {
    /// The name in messages: its path, and the commit from which it was read.
    pub(in crate::app) name: String,
    pub(in crate::app) bytes: Vec<u8>,
}

/// The file name in a run folder.
const KEPT: &str = "dismissed.toml";

impl DismissedFile {
    /// Saves it with a run that applied it.
    pub(in crate::app) fn save(&self, store: &Store, run: RunId) -> Result<(), StoreError> {
        store.save(run, KEPT, &self.bytes)
    }

    /// Loads it from a saved run, if that run applied one.
    pub(in crate::app) fn load(store: &Store, run: RunId) -> Result<Option<Self>, StoreError> {
        if !store.has_files(run, &[KEPT])? {
            return Ok(None);
        }
        Ok(Some(Self { name: format!("{KEPT} of the run {run}"), bytes: store.read(run, KEPT)? }))
    }

    /// Parses the entries.
    pub(in crate::app) fn parse(&self) -> Result<Vec<Dismissal>, ConfigError> {
        file::parse(&self.name, &self.bytes)
    }
}

/// Reads the project's dismissals from where its settings are read: the target commit or the working tree.
pub(in crate::app) fn read(
    repo: &Repo,
    at: Option<CommitId>,
    from_worktree: bool,
) -> Result<Option<DismissedFile>, AppError> {
    let name = DISMISSED_FILE.to_owned();
    if from_worktree {
        let Some(root) = repo.workdir() else { return Ok(None) };
        return Ok(read_from_disk(root)?.map(|bytes| DismissedFile { name, bytes }));
    }
    let Some(commit) = at else { return Ok(None) };
    let name = format!("{name} at {}", commit.short());
    match tree::find(repo, repo.tree_of(commit)?, DISMISSED_FILE.as_bytes())? {
        None | Some(tree::TreeLookup::Folder(_)) => Ok(None),
        Some(tree::TreeLookup::File(FileMode::Link | FileMode::Submodule, _)) => {
            Err(DismissError::NotPlain { file: name }.into())
        }
        Some(tree::TreeLookup::File(FileMode::File | FileMode::Executable, blob)) => {
            let size = usize::try_from(repo.blob_size(blob)?).unwrap_or(usize::MAX);
            if size > MAX_DISMISSED {
                return Err(ConfigError::TooLarge { file: name, size, limit: MAX_DISMISSED }.into());
            }
            Ok(Some(DismissedFile { name, bytes: repo.blob(blob)? }))
        }
    }
}

/// Reads the file from the working tree. As for the settings, no link is followed.
pub(in crate::app) fn read_from_disk(root: &Path) -> Result<Option<Vec<u8>>, AppError> {
    let fault = |source| AppError::Input(FileError { verb: "read", path: root.join(DISMISSED_FILE), source });
    read_plain_file(root, DISMISSED_FILE, MAX_DISMISSED as u64).map_err(fault)
}

/// Reports the entries about a file that exists neither in the target nor in the head.
pub(in crate::app) fn report_removed(
    dismissals: &[Dismissal],
    repo: &Repo,
    range: &ResolvedRange,
    cancel: &Cancel,
) -> Result<Option<String>, AppError> {
    let WorkspaceAt::Revision(head) = range.new_at else { return Ok(None) };
    let trees: Vec<_> = [Some(head), range.settings_at].into_iter().flatten().collect();
    let trees = trees.into_iter().map(|commit| repo.tree_of(commit)).collect::<Result<Vec<_>, _>>()?;
    let (mut paths, mut count) = (Vec::new(), 0);
    let mut last: Option<(&RepoPath, bool)> = None;
    for one in dismissals.iter().filter(|one| one.glob.is_none()) {
        cancel.check()?;
        let is_there = match last {
            Some((path, known)) if *path == one.path => known,
            _ => {
                let found = |tree| tree::find(repo, tree, one.path.stored());
                let mut found = trees.iter().map(|tree| found(*tree));
                found.try_fold(false, |known, next| Ok::<_, RepoError>(known || next?.is_some()))?
            }
        };
        last = Some((&one.path, is_there));
        if !is_there {
            count += 1;
            if paths.len() < NAMED {
                paths.push(format!("{} ({})", one.id, one.path));
            }
        }
    }
    let more = if count > paths.len() { format!(" and {} more", count - paths.len()) } else { String::new() };
    let entries = if count == 1 { "1 entry is".to_owned() } else { format!("{count} entries are") };
    Ok((count > 0).then(|| {
        format!("{entries} in {DISMISSED_FILE} for files that are gone: {}{more}; remove them.", paths.join(", "))
    }))
}
