//! The window of an editor. Main type: [`EditorWindow`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::document::{self, ReferenceStyle};
use crate::domain::editor::{EditorLookup, EditorProbe, EditorSelection, ProbedEditor};
use crate::domain::path::RepoPath;
use crate::domain::presented::{CheckedRef, RefPlace};
use crate::editor::{
    DisplayedReview, EditorAddress, EditorClient, EditorDialer, EditorError, EditorSearch, EditorTimer, FOLDER,
    MOST_ANCESTORS, ReferenceForm, VARIABLE,
};
use crate::sys::ancestors::ancestors;

/// The advice where there is no editor.
pub const NO_EDITOR: &str = "no editor was found: run this in a terminal of VS Code whose Dialectic extension sets DIALECTIC_IPC_PATH, name \
    its socket with --socket, or search for it with --discover (review editor probe shows where)";

/// The options of searching for an editor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditorOptions {
    /// The socket that a person named.
    pub socket: Option<PathBuf>,
    /// `true` to use the variable that the extension sets.
    pub variable: bool,
    /// `true` to search for sockets named after the processes that this one descends from.
    pub discover: bool,
}

impl EditorOptions {
    fn search(&self) -> (Vec<EditorLookup>, Option<EditorAddress>) {
        let value = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
        let variable = if self.variable { value().map(PathBuf::from) } else { None };
        let search = EditorSearch { socket: self.socket.clone(), variable, discover: self.discover };
        // No other process is looked at where nothing is searched for.
        let is_idle = search == EditorSearch::default();
        let parents = if is_idle { Vec::new() } else { ancestors(MOST_ANCESTORS) };
        search.run(&parents, Path::new(FOLDER))
    }

    /// Finds an editor. Nothing is connected yet.
    pub fn find(&self) -> Option<EditorWindow> {
        let address = self.search().1?;
        let shell = address.shell;
        Some(EditorWindow::new(address, EditorTimer::default(), shell))
    }
}

/// Searches for an editor, and asks the one that was found for its selection to see whether it answers.
pub async fn probe_editor(options: &EditorOptions) -> EditorProbe {
    let (lookups, found) = options.search();
    let Some(address) = found else { return EditorProbe { lookups, editor: None } };
    let (path, shell) = (address.path.clone(), address.shell);
    let window = EditorWindow::new(address, EditorTimer::default(), shell);
    let fault = match window.selection().await {
        // The first generation has no such request.
        Ok(_) | Err(EditorError::NoSelection(_)) => None,
        Err(error) => Some(error.to_string()),
    };
    let generation = window.client.generation();
    window.close().await;
    EditorProbe { lookups, editor: Some(ProbedEditor { path, shell, generation, fault }) }
}

/// A window that shows one document at a time. Cloning it shares the connection.
#[derive(Clone)]
pub struct EditorWindow {
    client: EditorClient,
}

impl EditorWindow {
    /// Creates a window; `shell` is the process of the terminal's shell, 0 if unknown.
    pub fn new(dialer: impl EditorDialer + 'static, timer: EditorTimer, shell: u32) -> Self {
        Self { client: EditorClient::new(dialer, timer, shell) }
    }

    /// Shows a document with its references, which start from `base`, as links of the editor.
    pub async fn show(
        &self,
        base: &Path,
        markdown: &str,
        references: &[CheckedRef],
    ) -> Result<DisplayedReview, EditorError> {
        let base = base.display().to_string();
        let written = |form: ReferenceForm| {
            let style = match form {
                ReferenceForm::Rustdoc => ReferenceStyle::Rustdoc,
                ReferenceForm::Fragment => ReferenceStyle::Fragment,
            };
            document::rewrite(markdown, references, &style)
        };
        self.client.present(&base, written).await
    }

    /// Returns the selection in the active editor.
    pub async fn selection(&self) -> Result<EditorSelection, EditorError> {
        self.client.selection().await
    }

    /// Writes a line to the log of the extension, if it has one.
    pub async fn log(&self, message: &str) -> Result<(), EditorError> {
        self.client.log(message).await
    }

    /// Takes leave of the editor.
    pub async fn close(&self) {
        self.client.close().await;
    }
}

/// Finds the references to files that are known to exist, in a text of this program.
pub(super) fn known_references(markdown: &str, known: &BTreeSet<RepoPath>) -> Vec<CheckedRef> {
    let found = document::references(markdown).into_iter().filter_map(|reference| {
        let to = reference.to.ok()?;
        let path = RepoPath::from_bytes(&to.path_bytes()).ok().filter(|path| known.contains(path))?;
        let place = RefPlace { path, lines: to.lines, preview: None };
        Some(CheckedRef { at: reference.at, form: reference.form, text: reference.text, to, found: Ok(place) })
    });
    found.collect()
}
