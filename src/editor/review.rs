//! The requests that an extension knows. Main type: [`DisplayedReview`].

use serde_json::{Value, json};

use super::client::{EditorClient, PeerFraming, PeerTraits};
use super::error::EditorError;
use crate::domain::editor::{EditorGeneration, EditorSelection};
use crate::domain::text::{mask, shorten, strip_block, strip_line};

/// The size in bytes up to which extensions that read a message in one piece are known to read it whole.
const PIECE: usize = 64 << 10;
/// Maximum length in characters of a selection.
const LONGEST_SELECTION: usize = 64 << 10;
/// Maximum length in characters of the other texts of a selection.
const LONGEST_FIELD: usize = 1_000;
/// The most messages for one review: the form of references and the name of the request may each turn out to be another.
const MOST_TRIES: usize = 3;

/// The form of references that an extension turns into links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceForm {
    /// ``[`path:42`][]`` (generations A and B).
    Rustdoc,
    /// `[text](path#L42)` (C and later).
    Fragment,
}

/// The display of a review, as its editor confirmed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayedReview {
    /// A note about it, one sentence.
    pub note: Option<String>,
}

impl EditorClient {
    /// Replaces the shown review. `markdown` writes it with its references in a form; `base` is the folder that they start from.
    pub async fn present(
        &self,
        base: &str,
        markdown: impl Fn(ReferenceForm) -> String,
    ) -> Result<DisplayedReview, EditorError> {
        let mut sent: Option<(PeerTraits, String)> = None;
        let mut refused = None;
        for _ in 0..MOST_TRIES {
            let traits = self.traits();
            let content = markdown(form(traits));
            let is_again = |(before, text): &(PeerTraits, String)| {
                before.is_hyphenated == traits.is_hyphenated && *text == content
            };
            if sent.as_ref().is_some_and(is_again) {
                break;
            }
            let kind = if traits.is_hyphenated { "present-review" } else { "present_review" };
            let payload = json!({ "content": content, "mode": "replace", "section": null, "baseUri": base });
            sent = Some((traits, content));
            let reply = self.request(kind, payload).await?;
            refused = (!reply.success).then(|| explain(reply.error));
            match &refused {
                Some(error) if error == "Unknown message type: present_review" && !traits.is_hyphenated => {
                    self.use_hyphen();
                }
                Some(_) => break,
                None => {}
            }
        }
        if let Some(error) = refused {
            return Err(EditorError::Refused(error));
        }
        let size = sent.map_or(0, |(_, text)| text.len());
        let note = (size > PIECE && self.traits().framing != PeerFraming::Lines).then(|| {
            format!(
                "The review has {size} bytes, and extensions of before August 2025 may read only {PIECE} at once: see whether it is shown \
                 whole."
            )
        });
        Ok(DisplayedReview { note })
    }

    /// Returns the selection in the active editor.
    pub async fn selection(&self) -> Result<EditorSelection, EditorError> {
        let reply = self.request("get_selection", json!({})).await?;
        if reply.success {
            return Ok(selection(&reply.data));
        }
        Err(EditorError::NoSelection(explain(reply.error)))
    }

    /// Writes a line to the extension's log. An extension without one is no failure.
    pub async fn log(&self, message: &str) -> Result<(), EditorError> {
        let payload = json!({ "level": "info", "message": strip_line(message) });
        if self.traits().is_bus {
            self.announce("log", payload).await;
            return Ok(());
        }
        self.request("log", payload).await.map(drop)
    }

    /// Returns the generation of the extension, as far as it is known.
    pub fn generation(&self) -> EditorGeneration {
        match self.traits() {
            PeerTraits { is_bus: true, .. } => EditorGeneration::E,
            PeerTraits { is_hyphenated: true, .. } => EditorGeneration::A,
            PeerTraits { framing: PeerFraming::Lines, .. } => EditorGeneration::CorD,
            PeerTraits { framing: PeerFraming::Pieces, .. } => EditorGeneration::B,
            PeerTraits { framing: PeerFraming::Unknown, .. } => EditorGeneration::Unknown,
        }
    }
}

fn explain(error: Option<String>) -> String {
    error.unwrap_or_else(|| "Unknown error from VSCode extension".to_owned())
}

fn form(traits: PeerTraits) -> ReferenceForm {
    if traits.framing == PeerFraming::Pieces { ReferenceForm::Rustdoc } else { ReferenceForm::Fragment }
}

fn selection(data: &Value) -> EditorSelection {
    let text = |name: &str| {
        let text = data.get(name)?.as_str()?;
        Some(shorten(&strip_line(text), LONGEST_FIELD))
    };
    let number = |name: &str| data.get(name).and_then(Value::as_u64);
    let selected = data.get("selectedText").and_then(Value::as_str);
    EditorSelection {
        selected_text: selected.map(|text| shorten(&strip_block(&mask(text).text), LONGEST_SELECTION)),
        file_path: text("filePath"),
        start_line: number("startLine"),
        start_column: number("startColumn"),
        end_line: number("endLine"),
        end_column: number("endColumn"),
        line_number: number("lineNumber"),
        document_language: text("documentLanguage"),
        is_untitled: data.get("isUntitled").and_then(Value::as_bool),
        message: text("message"),
    }
}
