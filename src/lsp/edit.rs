//! Suggestions as edits of the client's current text. Main function: [`suggested_edit`].

use std::collections::HashMap;

use gen_lsp_types::{
    DocumentChange, Edit, OptionalVersionedTextDocumentIdentifier, TextDocumentEdit, TextDocumentIdentifier, TextEdit,
    Uri, WorkspaceEdit,
};

use super::client::RequestFault;
use super::position::LineTable;
use super::session::EditorSession;
use crate::domain::finding::Finding;

/// Builds the edit that applies the suggestion of a finding; the error says why it does not fit the text any more.
pub(super) fn suggested_edit(
    session: &EditorSession,
    at: usize,
    finding: &Finding,
) -> Result<WorkspaceEdit, RequestFault> {
    let features = session.client.features;
    let folder = &session.folders[at];
    let (Some(current), Some(suggestion)) = (&folder.review, &finding.suggestion) else {
        return Err(RequestFault::failed("the finding has no suggestion that was proven"));
    };
    let text = folder.text(&suggestion.path, &session.documents);
    let text = text.ok_or_else(|| RequestFault::failed("the file of the suggestion cannot be read"))?;
    let (uri, version) = folder
        .address(&suggestion.path, &session.documents)
        .ok_or_else(|| RequestFault::failed("the file of the suggestion is outside of the workspace folder"))?;
    let edit = current.suggested_edit(&session.env, finding, &text).map_err(RequestFault::failed)?;
    let range = LineTable::new(&text, features.unit).range(edit.bytes);
    let edit = TextEdit { range, new_text: edit.text };
    let uri = Uri(uri);
    if !features.versioned_edits {
        return Ok(WorkspaceEdit { changes: Some(HashMap::from([(uri, vec![edit])])), ..WorkspaceEdit::default() });
    }
    let text_document =
        OptionalVersionedTextDocumentIdentifier { version, text_document_identifier: TextDocumentIdentifier { uri } };
    let change =
        DocumentChange::TextDocumentEdit(TextDocumentEdit { text_document, edits: vec![Edit::TextEdit(edit)] });
    Ok(WorkspaceEdit { document_changes: Some(vec![change]), ..WorkspaceEdit::default() })
}
