//! The documents that the client has open, with its edits. Main type: [`OpenDocuments`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gen_lsp_types::TextDocumentContentChangeEvent as Change;

use super::position::{LineTable, PositionUnit};
use crate::app;

/// Upper bound on the bytes of a document; of a larger one nothing is shown.
const MAX_DOCUMENT: usize = 32 << 20;

/// A document that is open in the client.
#[derive(Debug, Clone)]
pub(super) struct OpenDocument {
    /// Its URI as the client spells it.
    pub(super) uri: String,
    pub(super) version: i32,
    /// Its text; `None` if it is too large.
    pub(super) text: Option<Arc<str>>,
    /// The number of changes so far: a client may repeat a version.
    pub(super) edits: u64,
}

/// The open documents, by their paths. Documents without a path on this machine are none.
#[derive(Debug, Default)]
pub(super) struct OpenDocuments {
    files: HashMap<PathBuf, OpenDocument>,
    edits: u64,
}

impl OpenDocuments {
    pub(super) fn get(&self, path: &Path) -> Option<&OpenDocument> {
        self.files.get(path)
    }

    /// Opens a document; an open one is replaced.
    pub(super) fn open(&mut self, uri: String, version: i32, text: &str) {
        let Some(path) = app::file_uri_path(&uri) else { return };
        self.edits += 1;
        let document = OpenDocument { uri, version, text: bounded(text), edits: self.edits };
        self.files.insert(path, document);
    }

    /// Applies changes in order; each relates to the text after the one before it. Returns `false` if the document is not open.
    pub(super) fn change(&mut self, uri: &str, version: i32, changes: &[Change], unit: PositionUnit) -> bool {
        let document = app::file_uri_path(uri).and_then(|path| self.files.get_mut(&path));
        let Some(document) = document else { return false };
        self.edits += 1;
        (document.version, document.edits) = (version, self.edits);
        for change in changes {
            match change {
                Change::TextDocumentContentChangeWholeDocument(whole) => document.text = bounded(&whole.text),
                Change::TextDocumentContentChangePartial(part) => {
                    let Some(text) = &document.text else { continue };
                    let lines = LineTable::new(text, unit);
                    let (start, end) = (lines.offset(part.range.start), lines.offset(part.range.end));
                    let (start, end) = (start.min(end), start.max(end));
                    let mut edited = String::with_capacity(text.len() + part.text.len());
                    edited.extend([&text[..start], &part.text, &text[end..]]);
                    document.text = bounded(&edited);
                }
            }
        }
        true
    }

    /// Closes a document.
    pub(super) fn close(&mut self, uri: &str) {
        if let Some(path) = app::file_uri_path(uri) {
            self.files.remove(&path);
        }
    }
}

fn bounded(text: &str) -> Option<Arc<str>> {
    (text.len() <= MAX_DOCUMENT).then(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn text(documents: &OpenDocuments) -> Option<String> {
        documents.get(Path::new("/w/a.rs")).and_then(|document| document.text.as_deref().map(str::to_owned))
    }

    fn changes(value: serde_json::Value) -> Vec<Change> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn changes_apply_one_after_the_other() {
        let mut documents = OpenDocuments::default();
        documents.open("file:///w/%61.rs".to_owned(), 1, "😀 one\ntwo\n");
        let range = |line, from, to| json!({ "start": { "line": line, "character": from }, "end": { "line": line, "character": to } });
        let edits = json!([
            { "range": range(0, 3, 6), "text": "1\nnew" },
            { "range": range(1, 0, 3), "text": "NEW" },
            { "range": range(9, 0, 0), "text": "end" },
        ]);
        assert!(documents.change("file:///w/a.rs", 2, &changes(edits), PositionUnit::Utf16));
        assert_eq!(text(&documents).unwrap(), "😀 1\nNEW\ntwo\nend");
        assert!(documents.change("file:///w/a.rs", 3, &changes(json!([{ "text": "all" }])), PositionUnit::Utf16));
        assert_eq!(text(&documents).unwrap(), "all");
        documents.close("file:///w/a.rs");
        assert!(!documents.change("file:///w/a.rs", 4, &[], PositionUnit::Utf16));
    }

    #[test]
    fn a_huge_document_has_no_text_until_it_is_replaced() {
        let mut documents = OpenDocuments::default();
        documents.open("file:///w/a.rs".to_owned(), 1, &"x".repeat(MAX_DOCUMENT + 1));
        assert_eq!(text(&documents), None);
        let start = json!({ "line": 0, "character": 0 });
        let insert = json!([{ "range": { "start": start, "end": start }, "text": "y" }]);
        documents.change("file:///w/a.rs", 2, &changes(insert), PositionUnit::Utf16);
        assert_eq!(text(&documents), None);
        documents.change("file:///w/a.rs", 3, &changes(json!([{ "text": "small" }])), PositionUnit::Utf16);
        assert_eq!(text(&documents).unwrap(), "small");
    }

    #[test]
    fn documents_of_no_file_are_not_taken() {
        let mut documents = OpenDocuments::default();
        for uri in ["untitled:Untitled-1", "https://host/a.rs", "file://host/a.rs", "file:///a%zz", ""] {
            documents.open(uri.to_owned(), 1, "x");
            assert!(!documents.change(uri, 2, &[], PositionUnit::Utf16), "{uri}");
        }
    }

    proptest! {
        #[test]
        fn no_edit_fails(before in any::<String>(), new in any::<String>(), a in any::<(u32, u32)>(), b in (0u32..4, 0u32..9)) {
            let mut documents = OpenDocuments::default();
            documents.open("file:///w/a.rs".to_owned(), 1, &before);
            let point = |(line, character)| json!({ "line": line, "character": character });
            for (from, to) in [(a, b), (b, a)] {
                let edit = json!([{ "range": { "start": point(from), "end": point(to) }, "text": new }]);
                documents.change("file:///w/a.rs", 2, &changes(edit), PositionUnit::Utf16);
            }
        }
    }
}
