//! The state of a session: the open documents, the workspace folders, the running reviews. Main type: [`EditorSession`].

use gen_lsp_types::{MessageType, PublishDiagnosticsParams, Uri};
use serde_json::Value;

use super::client::{AwaitedReply, Client, RequestFault};
use super::documents::OpenDocuments;
use super::folder::EditorFolder;
use super::running::{EditorRun, RunPhase, idle_status};
use crate::app::{self, Overrides, ProcessEnv};
use crate::domain::finding::FindingId;
use crate::domain::path::RepoPath;

/// Upper bound on the workspace folders.
const MOST_FOLDERS: usize = 64;

/// The state of a session.
pub(super) struct EditorSession {
    pub(super) env: ProcessEnv,
    flags: Overrides,
    pub(super) client: Client,
    pub(super) documents: OpenDocuments,
    pub(super) folders: Vec<EditorFolder>,
    pub(super) runs: Vec<EditorRun>,
    /// The state of the saved runs when they were loaded.
    saved: Option<u64>,
    /// `true` while the client is asked to ask for diagnostics again.
    is_refreshing: bool,
}

impl EditorSession {
    pub(super) fn new(env: ProcessEnv, flags: Overrides, client: Client) -> Self {
        let (documents, folders, runs) = (OpenDocuments::default(), Vec::new(), Vec::new());
        Self { env, flags, client, documents, folders, runs, saved: None, is_refreshing: false }
    }

    /// Adds a workspace folder. One that cannot be opened is named in the client's log.
    pub(super) fn add_folder(&mut self, uri: &str) {
        if self.folders.iter().any(|folder| folder.uri == uri.trim_end_matches('/')) {
            return;
        }
        if self.folders.len() >= MOST_FOLDERS {
            return self.client.log(MessageType::Warning, &format!("{uri}: there are {MOST_FOLDERS} folders already"));
        }
        match EditorFolder::open(uri, &self.env, &self.flags) {
            Ok(folder) => self.folders.push(folder),
            Err(error) => return self.client.log(MessageType::Warning, &error.to_string()),
        }
        let last = self.folders.len() - 1;
        self.load(last);
        self.client.notify("review/status", idle_status(&self.folders[last]));
    }

    /// Removes a workspace folder: its diagnostics go, and its reviews are stopped.
    pub(super) fn remove_folder(&mut self, uri: &str) {
        let uri = uri.trim_end_matches('/');
        self.runs.iter().filter(|run| run.folder == uri).for_each(EditorRun::cancel);
        if let Some(folder) = self.folders.iter_mut().find(|folder| folder.uri == uri) {
            folder.clear();
            self.show_changes();
            self.folders.retain(|folder| folder.uri != uri);
            // An outer folder may have shown the same files.
            self.folders.iter_mut().for_each(EditorFolder::publish_again);
            self.show_changes();
        }
    }

    /// Finds the folder with this URI; the first one if it is `None`.
    pub(super) fn folder(&self, uri: Option<&str>) -> Result<usize, RequestFault> {
        let at = match uri.map(|uri| uri.trim_end_matches('/')) {
            None => (!self.folders.is_empty()).then_some(0),
            Some(uri) => self.folders.iter().position(|folder| folder.uri == uri),
        };
        at.ok_or_else(|| {
            RequestFault::failed("there is no such workspace folder, or none that can be reviewed: open one")
        })
    }

    /// Finds the innermost folder with a file, and the path of the file in its repository.
    pub(super) fn locate(&self, uri: &str) -> Option<(usize, RepoPath)> {
        let file = app::file_uri_path(uri)?;
        let places = self.folders.iter().enumerate().filter_map(|(at, folder)| Some((at, folder.repo_path(&file)?)));
        places.max_by_key(|(at, _)| self.folders[*at].depth())
    }

    /// Checks whether no folder inside of this one has a file: of two that do, only the inner one shows it.
    pub(super) fn is_innermost(&self, at: usize, uri: &str) -> bool {
        self.locate(uri).is_none_or(|(innermost, _)| innermost == at)
    }

    /// Finds the folder whose review has a finding; that with this URI, or any.
    pub(super) fn folder_with(&self, uri: Option<&str>, finding: &FindingId) -> Result<usize, RequestFault> {
        let at = match uri {
            Some(_) => Some(self.folder(uri)?).filter(|at| self.folders[*at].finding(finding).is_some()),
            None => self.folders.iter().position(|folder| folder.finding(finding).is_some()),
        };
        at.ok_or_else(|| {
            RequestFault::failed(format!("the newest review has no finding {finding}: the editor shows an older one"))
        })
    }

    fn load(&mut self, at: usize) -> bool {
        let Some(folder) = self.folders.get_mut(at) else { return false };
        folder.load().unwrap_or_else(|error| {
            let text = format!("{}: {error}", folder.uri);
            self.client.log(MessageType::Warning, &text);
            false
        })
    }

    /// Loads the newest reviews if runs were saved since, by whichever process, and shows what changed.
    pub(super) fn reload(&mut self) {
        // A store that cannot be read has saved nothing new.
        let saved = self.env.store.stamp().ok();
        if self.saved.is_some() && saved == self.saved {
            return;
        }
        self.saved = saved;
        for at in 0..self.folders.len() {
            let uri = self.folders[at].uri.clone();
            if self.load(at) && !self.runs.iter().any(|run| run.folder == uri) {
                self.client.notify("review/status", idle_status(&self.folders[at]));
            }
        }
    }

    /// Maps all findings to the current texts. Returns `true` if a diagnostic changed.
    pub(super) fn refresh(&mut self) -> bool {
        let features = self.client.features;
        self.folders.iter_mut().fold(false, |changed, folder| folder.refresh(&self.documents, features) | changed)
    }

    /// Shows what changed: published, or by making the client ask again.
    pub(super) fn show_changes(&mut self) {
        let changed = self.refresh();
        if self.client.features.pulls {
            if changed && self.client.features.refreshes && !self.is_refreshing {
                self.is_refreshing = true;
                self.client.request("workspace/diagnostic/refresh", Value::Null, AwaitedReply::Refreshed);
            }
            return;
        }
        for at in 0..self.folders.len() {
            for (uri, version, diagnostics) in self.folders[at].unpublished() {
                if !self.is_innermost(at, &uri) {
                    continue;
                }
                let params = PublishDiagnosticsParams { uri: Uri(uri), version, diagnostics };
                self.client.notify("textDocument/publishDiagnostics", params);
            }
        }
    }

    /// Notes that the client asks again.
    pub(super) fn refreshed(&mut self) {
        self.is_refreshing = false;
    }

    /// Updates the running reviews. What those that ended found is shown.
    pub(super) fn update_runs(&mut self) {
        let mut runs = std::mem::take(&mut self.runs);
        let phases: Vec<RunPhase> = runs.iter_mut().map(|run| run.update(&self.client)).collect();
        self.runs = runs;
        if phases.iter().all(|phase| *phase == RunPhase::Running) {
            return;
        }
        self.saved = None;
        self.reload();
        let mut phases = phases.into_iter();
        let mut ended = Vec::new();
        self.runs.retain(|run| match phases.next() {
            None | Some(RunPhase::Running) => true,
            Some(RunPhase::Ended) => {
                ended.push(run.folder.clone());
                false
            }
            Some(RunPhase::Failed) => false,
        });
        for folder in self.folders.iter().filter(|folder| ended.contains(&folder.uri)) {
            self.client.notify("review/status", idle_status(folder));
        }
        self.show_changes();
    }
}
