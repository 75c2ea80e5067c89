//! A run while it is in progress. Main type: [`BuildRunWriter`].

use std::path::PathBuf;
use std::time::Duration;

use uuid::Uuid;

use super::index::LogIndexBuilder;
use super::{BuildMeta, BuildRunsError, INDEX, LOCK, LOG, META};
use crate::sys::clock;
use crate::sys::files::{self, AppendFile, FileLock};
use crate::sys::process::StreamedOutput;

/// Upper bound on the wait for the lock, which a reader holds for a moment.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// The log of a run, and what is written when it ends. Until then the run can be read; what was appended survives this process.
#[derive(Debug)]
pub struct BuildRunWriter {
    folder: PathBuf,
    meta: BuildMeta,
    log: AppendFile,
    index: LogIndexBuilder,
    /// Says that the run is in progress.
    _held: FileLock,
}

impl BuildRunWriter {
    pub(super) fn start(folder: PathBuf, meta: BuildMeta) -> Result<Self, BuildRunsError> {
        files::private_folder(&folder)?;
        let held = files::lock(&folder.join(LOCK), LOCK_WAIT)?;
        let log = AppendFile::open(&folder.join(LOG))?;
        files::write_private(&folder.join(META), &serde_json::to_vec(&meta)?)?;
        Ok(Self { folder, meta, log, index: LogIndexBuilder::new(), _held: held })
    }

    /// Returns the id of the run.
    pub fn id(&self) -> Uuid {
        self.meta.run_id
    }

    /// Appends bytes of one line.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), BuildRunsError> {
        self.log.append(bytes)?;
        self.index.add(bytes);
        Ok(())
    }

    /// Ends the run; `output` is `None` if the program could not be run.
    pub fn finish(mut self, output: Option<&StreamedOutput>) -> Result<BuildMeta, BuildRunsError> {
        self.meta.exit_code = output.and_then(|output| output.exit_code);
        self.meta.signal = output.and_then(|output| output.signal);
        self.meta.stopped = output.and_then(|output| output.stopped);
        self.meta.completed_at = Some(clock::now());
        files::write_private(&self.folder.join(INDEX), &serde_json::to_vec(self.index.finish())?)?;
        files::write_private(&self.folder.join(META), &serde_json::to_vec(&self.meta)?)?;
        Ok(self.meta)
    }
}
