//! Presented documents in the window of an editor. Main function: [`Service::display`].

use std::sync::Arc;
use std::time::Duration;

use super::Service;
use crate::app::editor::EditorWindow;
use crate::domain::presented::DocumentId;

/// Time limit of waiting for documents that are being displayed before.
const TURN: Duration = Duration::from_secs(30);

/// The reason for a service without an editor; each call of an assistant pays for it.
const NO_WINDOW: &str = "No editor is connected: `review editor probe` says why";

/// The editor of a service.
pub(super) struct ServiceEditor {
    window: EditorWindow,
    /// Held while a document is loaded and shown, so that a window never ends with an older text than the store.
    turn: tokio::sync::Mutex<()>,
}

/// The outcome of displaying a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentDisplay {
    /// The editor confirmed it; a note about it, one sentence.
    Shown(Option<String>),
    /// It is not displayed: the reason, and what to do.
    NotShown(String),
}

impl Service {
    /// Sets the editor that displays documents.
    #[must_use]
    pub fn with_editor(mut self, window: EditorWindow) -> Self {
        self.editor = Some(ServiceEditor { window, turn: tokio::sync::Mutex::default() });
        self
    }

    /// The window of the editor, if the service has one.
    pub fn editor(&self) -> Option<&EditorWindow> {
        self.editor.as_ref().map(|editor| &editor.window)
    }

    /// Displays a document as it is now.
    pub async fn display(self: &Arc<Self>, id: DocumentId) -> DocumentDisplay {
        let Some(editor) = &self.editor else { return DocumentDisplay::NotShown(NO_WINDOW.to_owned()) };
        let Ok(_turn) = tokio::time::timeout(TURN, editor.turn.lock()).await else {
            return DocumentDisplay::NotShown("the editor is busy with earlier reviews; present again".to_owned());
        };
        let current = match self.spawn_blocking("loading the document", move |service| service.document(id)).await {
            Ok(Ok(current)) => current,
            Ok(Err(fault)) => return DocumentDisplay::NotShown(fault.to_string()),
            Err(error) => return DocumentDisplay::NotShown(error.to_string()),
        };
        match editor.window.show(&current.base, &current.markdown, &current.references).await {
            Ok(shown) => DocumentDisplay::Shown(shown.note),
            Err(error) => DocumentDisplay::NotShown(error.to_string()),
        }
    }
}
