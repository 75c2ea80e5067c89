//! Saved runs: in folders under `$XDG_STATE_HOME/review/runs/`, or in a SQL database that several machines share (`REVIEW_STORE`).
//!
//! Main type: [`Store`], over a `RunStore` for each place; [`PresentedStore`] stores presented documents, always on this machine. Only the
//! files that a list shows (`begun.json`, `run.json`: see `record`) and the change of a run ([`change`]) are parsed here; the contents of the
//! other files belong to the modules that write them.

pub mod change;
mod database;
mod error;
mod folders;
mod presented;
mod record;
mod run_store;
mod version;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use etcetera::BaseStrategy as _;

use crate::domain::run::RunId;
use crate::domain::run_record::{RunRecord, SavedRun, StartedRun};
use crate::sys::clock;
use crate::sys::database::DatabaseAddress;
use database::DatabaseRuns;
use folders::FolderRuns;
use run_store::{ListedRecord, ListedRun, RunStore};

pub use error::StoreError;
pub use presented::{DocumentFault, PresentedStore, SavedDocument};
pub use record::RecordFault;
pub use run_store::{RunJournal, RunLock, StoreLocation};
pub use version::version_of;

/// Default time for which runs are saved: 30 days.
pub const KEPT_FOR: Duration = Duration::from_hours(30 * 24);

/// The name of the file of a page.
const PAGE: &str = "review.html";

/// Time between two removals of old runs by one process.
const PRUNE_AGAIN: Duration = Duration::from_mins(1);

/// Upper bound on the size of a record that a list reads, in bytes.
const MOST_RECORD: u64 = 1 << 20;

/// The saved runs of one place. Cloning it shares the place.
#[derive(Debug, Clone)]
pub struct Store {
    runs: Arc<dyn RunStore>,
    documents: PresentedStore,
    /// The time of the last [`prune_often`](Self::prune_often).
    pruned: Arc<Mutex<Option<Instant>>>,
}

impl Store {
    /// Returns the store in folders under `root`; nothing is created until something is saved.
    pub fn at(root: &Path) -> Self {
        Self::of(root, FolderRuns::at(root))
    }

    fn of(root: &Path, runs: impl RunStore + 'static) -> Self {
        Self { runs: Arc::new(runs), documents: PresentedStore::at(root), pruned: Arc::default() }
    }

    /// Returns the store that `REVIEW_STORE` names: the folders under `root` if it is empty, or else a database, which is opened at the first
    /// use.
    pub fn configured(root: &Path, setting: Option<&str>) -> Result<Self, StoreError> {
        let Some(setting) = setting.map(str::trim).filter(|setting| !setting.is_empty()) else {
            return Ok(Self::at(root));
        };
        let address = DatabaseAddress::parse(setting)?;
        Ok(Self::of(root, DatabaseRuns::at(address)))
    }

    /// Returns `$XDG_STATE_HOME/review`, or `~/.local/state/review`, on every system.
    pub fn default_root() -> Result<PathBuf, StoreError> {
        let base = etcetera::base_strategy::Xdg::new().map_err(|_| StoreError::NoHome)?;
        base.state_dir().map(|folder| folder.join("review")).ok_or(StoreError::NoHome)
    }

    /// Returns the store of presented documents.
    pub fn documents(&self) -> &PresentedStore {
        &self.documents
    }

    /// Returns where the runs are.
    pub fn location(&self) -> StoreLocation {
        self.runs.location()
    }

    /// Tries whether the place of the runs can be used.
    pub fn check(&self) -> Result<(), StoreError> {
        self.runs.check()
    }

    /// Saves one file of a run.
    pub fn save(&self, id: RunId, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.runs.put(id, plain(name)?, bytes)
    }

    /// Saves the page of a run for a browser on this machine, readable by the owner only; returns its file.
    pub fn save_page(&self, id: RunId, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let pages = self.pages();
        pages.put(id, PAGE, bytes)?;
        Ok(pages.file(id, PAGE))
    }

    /// Returns the pages for a browser. Like documents they are always on this machine.
    fn pages(&self) -> FolderRuns {
        FolderRuns::of_pages(self.documents.folder().with_file_name("pages"))
    }

    /// Opens a file of a run that grows while the run is in progress, with an exclusive lock: only one process may write while it is open.
    pub fn append_exclusive(&self, id: RunId, name: &str) -> Result<RunJournal, StoreError> {
        self.runs.append_exclusive(id, plain(name)?)
    }

    /// Reopens such a file, cut after its last whole line: returns its contents so far, and the file positioned at its end.
    pub fn reopen(&self, id: RunId, name: &str) -> Result<(Vec<u8>, RunJournal), StoreError> {
        self.runs.reopen(id, plain(name)?)
    }

    /// Records that a run begins, and locks it (see [`lock`](Self::lock)).
    pub fn start(&self, run: &StartedRun) -> Result<RunLock, StoreError> {
        let bytes = record::write(run).map_err(StoreError::Record)?;
        self.save(run.id, record::BEGUN, &bytes)?;
        self.lock(run.id)
    }

    /// Reads what was recorded of a run when its engine began.
    pub fn read_start(&self, id: RunId) -> Result<StartedRun, StoreError> {
        Ok(record::read(record::BEGUN, id, &self.read(id, record::BEGUN)?)?)
    }

    /// Locks a run against other processes until the returned guard is dropped or the process ends.
    pub fn lock(&self, id: RunId) -> Result<RunLock, StoreError> {
        self.runs.lock(id)
    }

    /// Saves the record that a list shows of a run.
    pub fn save_record(&self, record: &RunRecord) -> Result<(), StoreError> {
        let bytes = record::write(record).map_err(StoreError::Record)?;
        self.save(record.id, record::NAME, &bytes)
    }

    /// Reads the record that a list shows of a run.
    pub fn read_record(&self, id: RunId) -> Result<RunRecord, StoreError> {
        Ok(record::read(record::NAME, id, &self.read(id, record::NAME)?)?)
    }

    /// Checks whether a run has all of these files.
    pub fn has_files(&self, id: RunId, names: &[&str]) -> Result<bool, StoreError> {
        for name in names {
            if !self.runs.has(id, plain(name)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads one file of a run.
    pub fn read(&self, id: RunId, name: &str) -> Result<Vec<u8>, StoreError> {
        self.runs.get(id, plain(name)?)?.ok_or_else(|| StoreError::Missing { id, name: name.to_owned() })
    }

    /// Lists all saved runs, newest first. A run whose record cannot be read is listed as damaged.
    pub fn list(&self) -> Result<Vec<SavedRun>, StoreError> {
        let mut runs: Vec<SavedRun> = self.runs.records(MOST_RECORD)?.into_iter().map(entry).collect();
        runs.sort_by(|a, b| b.last_activity().cmp(a.last_activity()).then_with(|| a.id().cmp(&b.id())));
        Ok(runs)
    }

    /// Returns a run that began and has no review yet; `None` if it has one, or its record cannot be read.
    pub fn unfinished(&self, id: RunId) -> Result<Option<SavedRun>, StoreError> {
        if self.has_files(id, &[record::NAME])? {
            return Ok(None);
        }
        let is_running = self.runs.is_locked(id)?;
        Ok(self.read_start(id).ok().map(|run| SavedRun::Unfinished { run, is_running }))
    }

    /// Returns a number that changes when a run is added, removed or written to, except for its journal. Cheap: no file of a run is read.
    pub fn stamp(&self) -> Result<u64, StoreError> {
        let mut runs = self.runs.ids()?;
        runs.sort();
        let mut hasher = DefaultHasher::new();
        runs.hash(&mut hasher);
        Ok(hasher.finish())
    }

    /// Finds the one run whose id begins with `given` (`last`: the newest whose record can be read).
    pub fn find(&self, given: &str) -> Result<RunId, StoreError> {
        if given == "last" {
            let newest = self.list()?.into_iter().find(|run| matches!(run, SavedRun::Whole(_)));
            return newest.map(|run| run.id()).ok_or(StoreError::Empty);
        }
        let wanted = given.to_ascii_lowercase();
        let mut ids: Vec<RunId> = self.runs.ids()?.into_iter().map(|(id, _)| id).collect();
        ids.retain(|id| !wanted.is_empty() && id.to_string().starts_with(&wanted));
        ids.sort();
        match ids.as_slice() {
            [] => Err(StoreError::Unknown(given.to_owned())),
            [one] => Ok(*one),
            _ => Err(StoreError::Ambiguous { given: given.to_owned(), ids }),
        }
    }

    /// Finds a run that may be unfinished, like [`find`](Self::find); `last` is the newest of all that can be read.
    pub fn find_started(&self, given: &str) -> Result<RunId, StoreError> {
        if given != "last" {
            return self.find(given);
        }
        let newest = self.list()?.into_iter().find(|run| !matches!(run, SavedRun::Damaged { .. }));
        newest.map(|run| run.id()).ok_or(StoreError::Empty)
    }

    /// Removes a run that turned out to be none.
    pub fn discard(&self, id: RunId) -> Result<(), StoreError> {
        self.runs.remove(id)
    }

    /// Removes old runs like [`prune`](Self::prune), unless this process did so within the last minute: it looks at every run.
    pub fn prune_often(&self, age: Duration) -> Result<(), StoreError> {
        let mut pruned = self.pruned.lock().unwrap_or_else(PoisonError::into_inner);
        if pruned.is_some_and(|at| at.elapsed() < PRUNE_AGAIN) {
            return Ok(());
        }
        *pruned = Some(Instant::now());
        drop(pruned);
        self.prune(age).map(drop)
    }

    /// Removes the runs that were not written to for `age` (see [`KEPT_FOR`]) and that no process holds; returns their number. Presented
    /// documents and pages of that age are removed too and not counted.
    pub fn prune(&self, age: Duration) -> Result<usize, StoreError> {
        let now = SystemTime::now();
        // A time in the future means that the clock was set back: such a run is young.
        let is_old = |changed_at| now.duration_since(changed_at).is_ok_and(|since| since >= age);
        let mut removed = BTreeSet::new();
        for (id, changed_at) in self.runs.ids()? {
            if is_old(changed_at) && !self.runs.is_locked(id)? {
                self.runs.remove(id)?;
                removed.insert(id);
            }
        }
        let pages = self.pages();
        // A page goes with its run, however often it was opened.
        for (id, _) in pages.ids()?.into_iter().filter(|(id, changed_at)| removed.contains(id) || is_old(*changed_at)) {
            pages.remove(id)?;
        }
        self.documents.prune(age)?;
        Ok(removed.len())
    }
}

fn entry(run: ListedRun) -> SavedRun {
    let id = run.id;
    let reason = match run.record {
        Ok(ListedRecord::Ended(bytes)) => match record::read(record::NAME, id, &bytes) {
            Ok(record) => return SavedRun::Whole(record),
            Err(fault) => fault.to_string(),
        },
        Ok(ListedRecord::Begun { bytes, is_running }) => match record::read(record::BEGUN, id, &bytes) {
            Ok(run) => return SavedRun::Unfinished { run, is_running },
            Err(fault) => fault.to_string(),
        },
        Ok(ListedRecord::Missing) => "there is no run.json (the run did not finish)".to_owned(),
        Err(reason) => reason,
    };
    SavedRun::Damaged { id, changed_at: clock::file_time(run.changed_at), reason }
}

/// Checks that a name is one of a plain file.
fn plain(name: &str) -> Result<&str, StoreError> {
    let is_plain = !name.is_empty()
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    if is_plain { Ok(name) } else { Err(StoreError::Name(name.to_owned())) }
}

#[cfg(test)]
mod tests;
