//! Saved runs: one folder for each under `$XDG_STATE_HOME/review/runs/`, named by the run's id. There is no index: the folders are the
//! store.
//!
//! Main type: [`Store`]; [`PresentedStore`] stores presented documents next to them. Only the files that a list shows (`begun.json`, `run.json`:
//! see `record`) and the change of a run ([`change`]) are parsed here; the contents of the other files belong to the modules that write
//! them. A run whose process is alive holds its `run.lock`. Folders have mode 0700, files 0600; writes are atomic.

pub mod change;
mod presented;
mod record;
mod symbols;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use etcetera::BaseStrategy as _;

pub use record::RecordFault;

use crate::domain::limits::LIMITS;
use crate::domain::run::RunId;
use crate::domain::run_record::{RunRecord, SavedRun, StartedRun};
use crate::sys::clock;
use crate::sys::files::{self, AppendFile, FileError, FileLock};

pub use symbols::SymbolCache;

pub use presented::{DocumentFault, PresentedStore, SavedDocument};

/// Default time for which runs are saved: 30 days.
pub const KEPT_FOR: Duration = Duration::from_hours(30 * 24);

/// Upper bound on the size of a record that a list reads, in bytes.
const MOST_RECORD: u64 = 1 << 20;

/// The file that the process of a run keeps locked.
const LOCK: &str = "run.lock";
/// Upper bound on the wait for the lock, which a list holds for a moment while it checks a run.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// The saved runs under one folder.
#[derive(Debug, Clone)]
pub struct Store {
    runs: PathBuf,
    documents: PresentedStore,
}

/// Reasons why a run could not be saved, found or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no home folder to save anything in.
    #[error("there is no home folder to keep runs in: set HOME or XDG_STATE_HOME")]
    NoHome,
    /// Reading or writing a file failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// A name that is not a plain file name.
    #[error("{0:?} cannot be the name of a file in a run: a plain name such as review.json is needed")]
    Name(String),
    /// The record could not be serialized; an internal error.
    #[error("cannot write the record of the run: {0}")]
    Record(#[source] serde_json::Error),
    /// The record cannot be read.
    #[error(transparent)]
    BadRecord(#[from] RecordFault),
    /// No run has the id.
    #[error("no kept run begins with {0:?}: `review list` shows what there is")]
    Unknown(String),
    /// No run is saved at all.
    #[error("no runs are kept yet: `review` keeps each one it makes")]
    Empty,
    /// Several runs match.
    #[error("{} runs begin with {given:?} ({}): give more of the id", ids.len(), format_ids(ids))]
    Ambiguous {
        /// The prefix that was given.
        given: String,
        /// The matching runs.
        ids: Vec<RunId>,
    },
    /// Another process holds the run.
    #[error("the run {0} is going on in another process: wait for its end, or stop that process first")]
    Busy(RunId),
    /// The run has no such file.
    #[error("the run {id} has no {name}: it did not get that far, or was kept by another version")]
    Missing {
        /// The run.
        id: RunId,
        /// The file.
        name: String,
    },
    /// A presented document could not be saved, found or read.
    #[error(transparent)]
    Document(#[from] DocumentFault),
}

fn format_ids(ids: &[RunId]) -> String {
    let first: Vec<String> = ids.iter().take(3).map(ToString::to_string).collect();
    let more = if ids.len() > 3 { ", …" } else { "" };
    format!("{}{more}", first.join(", "))
}

impl Store {
    /// Returns the store under `root`; nothing is created until something is saved.
    pub fn at(root: &Path) -> Self {
        Self { runs: root.join("runs"), documents: PresentedStore::at(root) }
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

    /// Returns the folder of a run, whether it exists or not.
    pub fn folder(&self, id: RunId) -> PathBuf {
        self.runs.join(id.to_string())
    }

    /// Saves one file of a run and returns its path.
    pub fn save(&self, id: RunId, name: &str, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let path = self.file(id, name)?;
        files::private_folder(&self.folder(id))?;
        files::write_private(&path, bytes)?;
        Ok(path)
    }

    /// Opens a file of a run that grows while the run is in progress.
    pub fn append(&self, id: RunId, name: &str) -> Result<AppendFile, StoreError> {
        let path = self.file(id, name)?;
        files::private_folder(&self.folder(id))?;
        Ok(AppendFile::open(&path)?)
    }

    /// Like [`append`](Self::append), with an exclusive lock: only one process may write while the file is open.
    pub fn append_exclusive(&self, id: RunId, name: &str) -> Result<AppendFile, StoreError> {
        let path = self.file(id, name)?;
        files::private_folder(&self.folder(id))?;
        AppendFile::open_exclusive(&path)?.ok_or(StoreError::Busy(id))
    }

    /// Reopens such a file, cut after its last whole line: returns its contents so far, and the file positioned at its end.
    pub fn reopen(&self, id: RunId, name: &str) -> Result<(Vec<u8>, AppendFile), StoreError> {
        if files::modified(&self.file(id, name)?).is_none() {
            return Err(StoreError::Missing { id, name: name.to_owned() });
        }
        let mut file = self.append_exclusive(id, name)?;
        Ok((file.truncate_to_whole_lines(LIMITS.kept_file_bytes)?, file))
    }

    /// Records that a run begins, and locks it (see [`hold`](Self::lock)).
    pub fn start(&self, run: &StartedRun) -> Result<FileLock, StoreError> {
        let bytes = record::write_start(run).map_err(StoreError::Record)?;
        self.save(run.id, record::BEGUN, &bytes)?;
        self.lock(run.id)
    }

    /// Reads what was recorded of a run when its engine began.
    pub fn read_start(&self, id: RunId) -> Result<StartedRun, StoreError> {
        Ok(record::read_start(id, &self.read(id, record::BEGUN)?)?)
    }

    /// Locks a run against other processes until the returned guard is dropped or the process ends.
    pub fn lock(&self, id: RunId) -> Result<FileLock, StoreError> {
        let path = self.file(id, LOCK)?;
        files::lock(&path, LOCK_WAIT).map_err(|error| match error.source.kind() {
            std::io::ErrorKind::Other => StoreError::Busy(id),
            _ => error.into(),
        })
    }

    /// Saves the record that a list shows of a run.
    pub fn save_record(&self, record: &RunRecord) -> Result<PathBuf, StoreError> {
        let bytes = record::write(record).map_err(StoreError::Record)?;
        self.save(record.id, record::NAME, &bytes)
    }

    /// Reads the record that a list shows of a run.
    pub fn read_record(&self, id: RunId) -> Result<RunRecord, StoreError> {
        Ok(record::read(id, &self.read(id, record::NAME)?)?)
    }

    /// Checks whether a run has all of these files.
    pub fn has_files(&self, id: RunId, names: &[&str]) -> bool {
        let folder = self.folder(id);
        names.iter().all(|name| folder.join(name).is_file())
    }

    /// Reads one file of a run.
    pub fn read(&self, id: RunId, name: &str) -> Result<Vec<u8>, StoreError> {
        let found = files::read_plain(&self.file(id, name)?, LIMITS.kept_file_bytes)?;
        found.ok_or_else(|| StoreError::Missing { id, name: name.to_owned() })
    }

    fn file(&self, id: RunId, name: &str) -> Result<PathBuf, StoreError> {
        let plain = !name.is_empty()
            && !name.starts_with('.')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
        if plain { Ok(self.folder(id).join(name)) } else { Err(StoreError::Name(name.to_owned())) }
    }

    /// Lists all saved runs, newest first. A folder whose record cannot be read is listed as damaged; other folders are skipped.
    pub fn list(&self) -> Result<Vec<SavedRun>, StoreError> {
        let mut runs: Vec<SavedRun> = self.folders()?.into_iter().map(|(id, folder)| entry(id, &folder)).collect();
        runs.sort_by(|a, b| b.last_activity().cmp(a.last_activity()).then_with(|| a.id().cmp(&b.id())));
        Ok(runs)
    }

    /// Finds the one run whose id begins with `given` (`last`: the newest whose record can be read).
    pub fn find(&self, given: &str) -> Result<RunId, StoreError> {
        if given == "last" {
            let newest = self.list()?.into_iter().find(|run| matches!(run, SavedRun::Whole(_)));
            return newest.map(|run| run.id()).ok_or(StoreError::Empty);
        }
        let wanted = given.to_ascii_lowercase();
        let mut ids: Vec<RunId> = self.folders()?.into_iter().map(|(id, _)| id).collect();
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

    /// Removes the runs that were not written to for `age` (see [`KEPT_FOR`]) and that no process holds; returns their number. Presented
    /// documents of that age are removed too and not counted.
    pub fn prune(&self, age: Duration) -> Result<usize, StoreError> {
        let now = SystemTime::now();
        let mut removed = 0;
        for (_, folder) in self.folders()? {
            // A time in the future means that the clock was set back: such a run is young.
            let is_old = now.duration_since(folder.modified).is_ok_and(|since| since >= age);
            if is_old && !is_held(&folder.path) {
                files::remove_folder(&folder.path)?;
                removed += 1;
            }
        }
        self.documents.prune(age)?;
        Ok(removed)
    }

    fn folders(&self) -> Result<Vec<(RunId, files::OpenedFolder)>, StoreError> {
        let folders = files::folders(&self.runs)?.into_iter();
        Ok(folders.filter_map(|folder| Some((folder.name.parse().ok()?, folder))).collect())
    }
}

fn entry(id: RunId, folder: &files::OpenedFolder) -> SavedRun {
    let reason = match files::read_plain(&folder.path.join(record::NAME), MOST_RECORD) {
        Ok(Some(bytes)) => match record::read(id, &bytes) {
            Ok(record) => return SavedRun::Whole(record),
            Err(fault) => fault.to_string(),
        },
        Ok(None) => match unfinished(id, &folder.path) {
            Ok(Some(run)) => return SavedRun::Unfinished { run, is_running: is_held(&folder.path) },
            Ok(None) => "there is no run.json (the run did not finish)".to_owned(),
            Err(fault) => fault,
        },
        Err(fault) => fault.source.to_string(),
    };
    SavedRun::Damaged { id, changed_at: clock::file_time(folder.modified), reason }
}

fn unfinished(id: RunId, folder: &Path) -> Result<Option<StartedRun>, String> {
    let bytes =
        files::read_plain(&folder.join(record::BEGUN), MOST_RECORD).map_err(|fault| fault.source.to_string())?;
    bytes.map(|bytes| record::read_start(id, &bytes).map_err(|fault| fault.to_string())).transpose()
}

/// Checks whether a process holds the run of a folder; `false` if that cannot be determined.
fn is_held(folder: &Path) -> bool {
    let path = folder.join(LOCK);
    path.exists() && matches!(files::try_lock(&path), Ok(None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::finding::Severity;
    use crate::domain::review::ReviewOutcome;
    use crate::domain::run::Engine;

    const A: &str = "a0000000-0000-4000-8000-000000000001";
    const B: &str = "a0000000-0000-4000-8000-000000000002";
    const C: &str = "c0000000-0000-4000-8000-000000000003";

    fn id(text: &str) -> RunId {
        text.parse().unwrap()
    }

    fn record(run: &str, started_at: &str) -> RunRecord {
        RunRecord {
            pull: None,
            id: id(run),
            started_at: started_at.to_owned(),
            took_ms: 1200,
            repository: "demo".to_owned(),
            folder: Some(PathBuf::from("/home/ada/demo")),
            target: "main".to_owned(),
            head_name: "feature".to_owned(),
            outcome: ReviewOutcome::Incomplete,
            engine: Engine::Rules,
            cost: Some("0.25".parse().unwrap()),
            findings: [(Severity::High, 2)].into_iter().collect(),
        }
    }

    fn store() -> (tempfile::TempDir, Store) {
        let root = tempfile::tempdir().unwrap();
        let store = Store::at(&root.path().join("state/review"));
        (root, store)
    }

    #[test]
    fn a_store_that_was_never_written_to_is_empty() {
        let (_root, store) = store();
        assert_eq!(store.list().unwrap(), []);
        assert_eq!(store.prune(Duration::ZERO).unwrap(), 0);
        assert!(matches!(store.find("last"), Err(StoreError::Empty)));
    }

    #[test]
    fn runs_are_listed_newest_first_and_damage_is_no_fault() {
        let (_root, store) = store();
        store.save_record(&record(A, "2020-01-01T00:00:00.000Z")).unwrap();
        store.save_record(&record(C, "2020-01-02T00:00:00.000Z")).unwrap();
        store.save(id(B), "run.json", b"{\"version\":1,").unwrap();
        std::fs::create_dir(store.runs.join("not-a-run")).unwrap();
        let list = store.list().unwrap();
        assert_eq!(list.iter().map(SavedRun::id).collect::<Vec<_>>(), [id(B), id(C), id(A)]);
        assert!(
            matches!(&list[0], SavedRun::Damaged { reason, .. } if reason.contains("run.json cannot be read")),
            "{list:?}"
        );
        assert_eq!(list[2], SavedRun::Whole(record(A, "2020-01-01T00:00:00.000Z")));
        assert_eq!(store.find("last").unwrap(), id(C));
    }

    #[test]
    fn a_run_without_an_end_is_listed_as_one_that_goes_on_or_was_broken_off() {
        let (_root, store) = store();
        store.save_record(&record(A, "2020-01-01T00:00:00.000Z")).unwrap();
        let begun = StartedRun {
            id: id(B),
            started_at: "2020-01-02T00:00:00.000Z".to_owned(),
            repository: "demo".to_owned(),
            target: "main".to_owned(),
            head_name: "feature".to_owned(),
            pull: None,
            engine: Engine::Model,
        };
        let held = store.start(&begun).unwrap();
        let listed = |is_running| SavedRun::Unfinished { run: begun.clone(), is_running };
        assert_eq!(store.list().unwrap()[0], listed(true));
        assert_eq!(store.prune(Duration::ZERO).unwrap(), 1, "no run is removed while a process is at it");
        drop(held);
        // Another test that is just starting a child process has the file open for a moment.
        drop(store.lock(id(B)).unwrap());
        assert_eq!(store.list().unwrap(), [listed(false)]);
        assert_eq!(store.read_start(id(B)).unwrap(), begun);
        assert!(matches!(store.find("last"), Err(StoreError::Empty)), "there is no review of it to show");
        assert_eq!(store.find_started("last").unwrap(), id(B));
    }

    #[test]
    fn a_prefix_finds_the_one_run_it_names() {
        let (_root, store) = store();
        for run in [A, B, C] {
            store.save(id(run), "review.md", b"x").unwrap();
        }
        assert_eq!(store.find("C0").unwrap(), id(C));
        assert_eq!(store.find(B).unwrap(), id(B));
        assert!(matches!(store.find("d"), Err(StoreError::Unknown(_))));
        assert!(matches!(store.find(""), Err(StoreError::Unknown(_))));
        let fault = store.find("a").unwrap_err();
        assert_eq!(fault.to_string(), format!("2 runs begin with \"a\" ({A}, {B}): give more of the id"));
    }

    #[test]
    fn files_read_back_and_no_name_leaves_the_folder() {
        let (_root, store) = store();
        let path = store.save(id(A), "review.json", b"{}").unwrap();
        assert!(path.starts_with(store.folder(id(A))));
        assert_eq!(store.read(id(A), "review.json").unwrap(), b"{}");
        let fault = store.read(id(A), "review.md").unwrap_err();
        assert!(fault.to_string().starts_with(&format!("the run {A} has no review.md")), "{fault}");
        for name in ["", "..", ".hidden", "a/b", "../x", "a\0b"] {
            assert!(matches!(store.save(id(A), name, b""), Err(StoreError::Name(_))), "{name:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_look() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_root, store) = store();
        let path = store.save(id(A), "review.json", b"{}").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&store.folder(id(A))), mode(&store.runs)), (0o600, 0o700, 0o700));
    }

    #[cfg(unix)]
    #[test]
    fn old_runs_go_and_young_ones_stay() {
        let (root, store) = store();
        for run in [A, B] {
            store.save(id(run), "review.json", b"{}").unwrap();
        }
        // A link is not a run, and its target must not be removed.
        let outside = root.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, store.folder(id(C))).unwrap();
        let old = SystemTime::now() - KEPT_FOR - Duration::from_mins(1);
        std::fs::File::open(store.folder(id(A))).unwrap().set_modified(old).unwrap();
        assert_eq!(store.prune(KEPT_FOR).unwrap(), 1);
        assert_eq!(store.list().unwrap().iter().map(SavedRun::id).collect::<Vec<_>>(), [id(B)]);
        assert_eq!(store.prune(Duration::ZERO).unwrap(), 1);
        assert!(outside.exists());
    }
}
