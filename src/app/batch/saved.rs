//! The saved runs of a batch by their identity: reviews to serve, and runs to resume. Main type: [`SavedIdentities`].

use std::collections::HashMap;
use std::sync::Arc;

use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::saved_runs;
use crate::domain::review::ReviewOutcome;
use crate::domain::run::{Engine, RunId};
use crate::domain::run_record::SavedRun;

/// The newest runs of each identity.
#[derive(Debug)]
pub(super) struct SavedIdentities {
    /// All saved runs, newest first.
    pub(super) list: Arc<[SavedRun]>,
    complete: HashMap<String, RunId>,
    unfinished: HashMap<String, RunId>,
    running: HashMap<String, RunId>,
}

impl SavedIdentities {
    /// Reads the list of saved runs. None of them is served or resumed with `force`.
    pub(super) fn load(around: &ProcessEnv, force: bool) -> Result<Self, AppError> {
        let list: Arc<[SavedRun]> = saved_runs::list(around)?.into();
        let mut known = Self {
            list: Arc::clone(&list),
            complete: HashMap::new(),
            unfinished: HashMap::new(),
            running: HashMap::new(),
        };
        for run in list.iter().filter(|_| !force) {
            let (id, identity, runs) = match run {
                SavedRun::Whole(record) if record.outcome == ReviewOutcome::Complete => {
                    (record.id, &record.identity, &mut known.complete)
                }
                SavedRun::Whole(record) if record.engine == Engine::Model => {
                    (record.id, &record.identity, &mut known.unfinished)
                }
                SavedRun::Unfinished { run, is_running: false } if run.engine == Engine::Model => {
                    (run.id, &run.identity, &mut known.unfinished)
                }
                SavedRun::Unfinished { run, is_running: true } => (run.id, &run.identity, &mut known.running),
                SavedRun::Whole(_) | SavedRun::Unfinished { .. } | SavedRun::Damaged { .. } => continue,
            };
            if let Some(identity) = identity {
                runs.entry(identity.clone()).or_insert(id);
            }
        }
        Ok(known)
    }

    /// Returns the run whose complete review has this identity.
    pub(super) fn complete(&self, identity: &str) -> Option<RunId> {
        self.complete.get(identity).copied()
    }

    /// Checks whether a process is making the review of this identity.
    pub(super) fn is_running(&self, identity: &str) -> bool {
        self.running.contains_key(identity)
    }

    /// Returns the run of this identity that may be resumed.
    pub(super) fn unfinished(&self, identity: &str) -> Option<RunId> {
        self.unfinished.get(identity).copied()
    }
}
