//! Trees that remember what was read of them. Main type: [`RecordedTrees`].
//!
//! Tree content that is read to check a claim is recorded once for each side and path, and read from the recording ever after: so a run can be
//! replayed without its repository, and a resumed one sees the same content. Content that tools show is recorded with their results and does not pass
//! through here.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::JournalReplay;
use super::error::{DivergedInput, ReplayDivergence};
use super::output::ReplayOutput;
use crate::domain::change::Omission;
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::domain::text::FileText;
use crate::review::journal::Journal;
use crate::review::journal::record::{ConversationId, JournalRecord, RecordedRead};
use crate::sys::cancel::Cancel;
use crate::sys::charset;
use crate::workspace::{TreeEntry, Workspace, WorkspaceError};

/// Both sides of a change.
#[derive(Clone)]
pub(in crate::review) struct RecordedTrees {
    pub(in crate::review) new: Arc<dyn Workspace>,
    pub(in crate::review) old: Arc<dyn Workspace>,
}

/// Recordings shared by both sides.
struct RecordingStore {
    /// Actual trees, new and old; `None` if they must not be read.
    real: Option<[Arc<dyn Workspace>; 2]>,
    past: HashMap<(DiffSide, RepoPath), RecordedRead>,
    journal: Mutex<Journal>,
    written: Arc<ReplayOutput>,
    /// Files recorded in this session.
    known: Mutex<HashSet<(DiffSide, RepoPath)>>,
    /// Omissions of earlier sessions.
    omitted: Vec<Omission>,
    /// Omissions recorded last.
    recorded: Mutex<Vec<Omission>>,
}

/// One side.
struct RecordedTree {
    side: DiffSide,
    kept: Arc<RecordingStore>,
}

impl RecordedTrees {
    pub(in crate::review) fn new([new, old]: [Arc<dyn Workspace>; 2], past: &JournalReplay, journal: Journal) -> Self {
        let kept = Arc::new(RecordingStore {
            real: (!past.is_replay() || past.rules_anew).then_some([new, old]),
            past: past.index.reads.clone(),
            journal: Mutex::new(journal),
            written: Arc::clone(&past.written),
            known: Mutex::default(),
            omitted: past.index.omissions.clone(),
            recorded: Mutex::new(past.index.omissions.clone()),
        });
        let tree = |side| Arc::new(RecordedTree { side, kept: Arc::clone(&kept) }) as Arc<dyn Workspace>;
        Self { new: tree(DiffSide::New), old: tree(DiffSide::Old) }
    }
}

impl RecordingStore {
    fn real(&self, side: DiffSide) -> Result<&dyn Workspace, WorkspaceError> {
        let [new, old] = self.real.as_ref().ok_or_else(|| WorkspaceError::Told("the tree is not there".to_owned()))?;
        Ok(match side {
            DiffSide::New => new.as_ref(),
            DiffSide::Old => old.as_ref(),
        })
    }

    fn record(&self, record: JournalRecord) {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).record(None, record);
    }

    /// Returns everything that could not be read so far; new omissions are recorded.
    fn omissions(&self) -> Vec<Omission> {
        let Some([new, old]) = &self.real else { return self.omitted.clone() };
        let now = [new.omissions(), old.omissions()].concat();
        let before = self.omitted.iter().filter(|omission| !now.contains(omission)).cloned();
        let all: Vec<Omission> = before.chain(now.iter().cloned()).collect();
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        if *recorded != all {
            recorded.clone_from(&all);
            self.record(JournalRecord::Omitted { omissions: all.clone() });
        }
        all
    }
}

impl Workspace for RecordedTree {
    fn files(&self, cancel: &Cancel) -> Result<Arc<[TreeEntry]>, WorkspaceError> {
        self.kept.real(self.side)?.files(cancel)
    }

    fn read(&self, path: &RepoPath) -> Result<Arc<FileText>, WorkspaceError> {
        let key = (self.side, path.clone());
        if let Some(then) = self.kept.past.get(&key) {
            return restore_content(then, path);
        }
        if self.kept.real.is_none() {
            let what = DivergedInput::Read(path.to_string());
            self.kept.written.record(ReplayDivergence { unit: ConversationId::WHOLE, turn: 0, what });
        }
        let read = self.kept.real(self.side)?.read(path);
        let record = match &read {
            Ok(text) => RecordedRead::Text {
                text: text.text().to_owned(),
                charset: text.charset().to_owned(),
                masked: text.masked_lines().to_vec(),
            },
            Err(WorkspaceError::NotFound(_)) => RecordedRead::NotFound,
            // It says nothing about the tree.
            Err(WorkspaceError::Stopped(_)) => return read,
            Err(error) => RecordedRead::Fault { message: error.to_string() },
        };
        if self.kept.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key) {
            self.kept.record(JournalRecord::Read { side: self.side, path: path.clone(), read: record });
        }
        read
    }

    /// Returns the omissions of both sides for the new one.
    fn omissions(&self) -> Vec<Omission> {
        match self.side {
            DiffSide::New => self.kept.omissions(),
            DiffSide::Old => Vec::new(),
        }
    }
}

/// Returns the recorded content.
fn restore_content(then: &RecordedRead, path: &RepoPath) -> Result<Arc<FileText>, WorkspaceError> {
    match then {
        RecordedRead::Text { text, charset, masked } => {
            Ok(Arc::new(FileText::masked_before(text, charset::charset_by_name(charset), masked)))
        }
        RecordedRead::NotFound => Err(WorkspaceError::NotFound(path.clone())),
        RecordedRead::Fault { message } => Err(WorkspaceError::Told(message.clone())),
    }
}
