//! Saved runs as folders of this machine, named by their ids. There is no index: the folders are the store. Main type: [`FolderRuns`].
//!
//! A run whose process is alive holds its `run.lock`. Folders have mode 0700, files 0600; writes are atomic.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::error::StoreError;
use super::record;
use super::run_store::{LineAppender, ListedRecord, ListedRun, RunJournal, RunLock, RunStore, StoreLocation};
use crate::domain::limits::LIMITS;
use crate::domain::run::RunId;
use crate::sys::files::{self, AppendFile, OpenedFolder};

/// The file that the process of a run keeps locked.
const LOCK: &str = "run.lock";
/// Upper bound on the wait for the lock, which a list holds for a moment while it checks a run.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// The runs in the folders of one folder.
#[derive(Debug)]
pub(super) struct FolderRuns {
    root: PathBuf,
    runs: PathBuf,
}

impl FolderRuns {
    /// Returns the runs under `root`; nothing is created until something is saved.
    pub(super) fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), runs: root.join("runs") }
    }

    /// Returns the pages in `folder` that were made of runs, wherever the runs themselves are.
    pub(super) fn of_pages(folder: PathBuf) -> Self {
        Self { root: folder.clone(), runs: folder }
    }

    fn folder(&self, id: RunId) -> PathBuf {
        self.runs.join(id.to_string())
    }

    /// Returns the path of a file of a run.
    pub(super) fn file(&self, id: RunId, name: &str) -> PathBuf {
        self.folder(id).join(name)
    }

    fn open(&self, id: RunId, name: &str) -> Result<AppendFile, StoreError> {
        files::private_folder(&self.folder(id))?;
        AppendFile::open_exclusive(&self.file(id, name))?.ok_or(StoreError::Busy(id))
    }

    fn folders(&self) -> Result<impl Iterator<Item = (RunId, OpenedFolder)>, StoreError> {
        let folders = files::folders(&self.runs)?.into_iter();
        Ok(folders.filter_map(|folder| Some((folder.name.parse().ok()?, folder))))
    }
}

impl RunStore for FolderRuns {
    fn put(&self, id: RunId, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        files::private_folder(&self.folder(id))?;
        Ok(files::write_private(&self.file(id, name), bytes)?)
    }

    fn get(&self, id: RunId, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(files::read_plain(&self.file(id, name), LIMITS.kept_file_bytes)?)
    }

    fn has(&self, id: RunId, name: &str) -> Result<bool, StoreError> {
        Ok(self.file(id, name).is_file())
    }

    fn ids(&self) -> Result<Vec<(RunId, SystemTime)>, StoreError> {
        Ok(self.folders()?.map(|(id, folder)| (id, folder.modified)).collect())
    }

    fn records(&self, limit: u64) -> Result<Vec<ListedRun>, StoreError> {
        let listed = |(id, folder): (RunId, OpenedFolder)| ListedRun {
            id,
            changed_at: folder.modified,
            record: read(&folder.path, limit),
        };
        Ok(self.folders()?.map(listed).collect())
    }

    fn remove(&self, id: RunId) -> Result<(), StoreError> {
        Ok(files::remove_folder(&self.folder(id))?)
    }

    fn lock(&self, id: RunId) -> Result<RunLock, StoreError> {
        let held = files::lock(&self.file(id, LOCK), LOCK_WAIT);
        held.map(RunLock::of).map_err(|error| match error.source.kind() {
            std::io::ErrorKind::Other => StoreError::Busy(id),
            _ => error.into(),
        })
    }

    fn is_locked(&self, id: RunId) -> Result<bool, StoreError> {
        Ok(is_held(&self.folder(id)))
    }

    fn append_exclusive(&self, id: RunId, name: &str) -> Result<RunJournal, StoreError> {
        self.open(id, name).map(RunJournal::of)
    }

    fn reopen(&self, id: RunId, name: &str) -> Result<(Vec<u8>, RunJournal), StoreError> {
        if files::modified(&self.file(id, name)).is_none() {
            return Err(StoreError::Missing { id, name: name.to_owned() });
        }
        let mut file = self.open(id, name)?;
        Ok((file.truncate_to_whole_lines(LIMITS.kept_file_bytes)?, RunJournal::of(file)))
    }

    fn check(&self) -> Result<(), StoreError> {
        Ok(files::private_folder(&self.root)?)
    }

    fn location(&self) -> StoreLocation {
        StoreLocation::Folder(self.root.clone())
    }
}

impl LineAppender for AppendFile {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        Ok(Self::append(self, bytes)?)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(Self::sync(self)?)
    }

    fn begin_sync(&mut self) -> Result<(), StoreError> {
        Ok(Self::begin_sync(self)?)
    }
}

/// Reads the record of the run in a folder.
fn read(folder: &Path, limit: u64) -> Result<ListedRecord, String> {
    let read = |name: &str| files::read_plain(&folder.join(name), limit).map_err(|fault| fault.source.to_string());
    if let Some(bytes) = read(record::NAME)? {
        return Ok(ListedRecord::Ended(bytes));
    }
    let begun = read(record::BEGUN)?;
    Ok(begun.map_or(ListedRecord::Missing, |bytes| ListedRecord::Begun { bytes, is_running: is_held(folder) }))
}

/// Checks whether a process holds the run of a folder; `false` if that cannot be determined.
fn is_held(folder: &Path) -> bool {
    let path = folder.join(LOCK);
    path.exists() && matches!(files::try_lock(&path), Ok(None))
}
