//! Documents that an assistant presents: Markdown written part by part, with references to files. Main types: [`PresentReview`], [`Presented`].
//!
//! Editing and parsing Markdown belongs in `document`; verifying references, in `evidence`.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::path::{RepoPath, display_bytes};
use super::place::LineRange;

/// The id of a presented document: a random UUID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DocumentId(uuid::Uuid);

/// Text that is not the id of a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the id of a presented document: {0:?} (a UUID such as present_review returns as reviewId)")]
pub struct InvalidDocumentId(pub String);

impl DocumentId {
    /// A new random id.
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4())
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for DocumentId {
    type Err = InvalidDocumentId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        uuid::Uuid::try_parse(text).map(Self).map_err(|_| InvalidDocumentId(text.to_owned()))
    }
}

/// The way in which content is combined with the existing document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PresentMode {
    /// It becomes the document.
    Replace,
    /// It follows the document, after a blank line.
    Append,
    /// It takes the place of the first section with this heading.
    UpdateSection {
        /// The heading's plain text; case does not matter.
        section: String,
    },
}

/// Something to be presented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentReview {
    /// Markdown.
    pub content: String,
    /// The target document.
    pub mode: PresentMode,
    /// The folder that relative references start from; the document's, or the server's, where `None`.
    pub base: Option<PathBuf>,
    /// The document.
    pub document: DocumentSelector,
}

/// The selection of the document to present in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentSelector {
    /// The connection's own; it is made where there is none yet.
    Own,
    /// One that is made for this.
    New,
    /// One that was made before.
    Known(DocumentId),
}

/// A document as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presented {
    /// Its id.
    pub id: DocumentId,
    /// The Markdown, as it was written.
    pub markdown: String,
    /// The folder that relative references start from.
    pub base: PathBuf,
    /// The references in it, in order, checked.
    pub references: Vec<CheckedRef>,
}

/// The entry of a document in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRecord {
    /// Its id.
    pub id: DocumentId,
    /// Its title, one line; empty where it has no text.
    pub title: String,
    /// The folder that relative references start from.
    pub base: PathBuf,
    /// When it was last changed: RFC 3339, UTC.
    pub changed_at: String,
    /// Bytes of Markdown.
    pub bytes: u64,
    /// The number of references to files it has.
    pub references: usize,
    /// The number of broken ones among them.
    pub broken: usize,
}

/// A longer title is cut, in characters.
const TITLE: usize = 80;

impl Presented {
    /// The references that point nowhere.
    pub fn broken_references(&self) -> impl Iterator<Item = (&CheckedRef, &BrokenRef)> {
        self.references.iter().filter_map(|reference| Some((reference, reference.found.as_ref().err()?)))
    }

    /// Returns its entry for a list.
    pub fn record(&self, changed_at: &str) -> DocumentRecord {
        DocumentRecord {
            id: self.id,
            title: self.title(),
            base: self.base.clone(),
            changed_at: changed_at.to_owned(),
            bytes: self.markdown.len() as u64,
            references: self.references.len(),
            broken: self.broken_references().count(),
        }
    }

    /// The first line with words on it, without the marks of a heading.
    fn title(&self) -> String {
        let words = |line: &str| line.trim().trim_matches('#').trim().to_owned();
        let first = self.markdown.lines().map(words).find(|line| line.chars().any(char::is_alphanumeric));
        first.unwrap_or_default().chars().take(TITLE).collect()
    }
}

/// The target of a reference, in whatever form it was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileRef {
    /// The path as it was written, decoded and spelled as paths of the tree are (see [`RepoPath`]); relative to the document's base.
    pub path: String,
    /// The lines.
    pub lines: Option<LineRange>,
    /// Columns from 1: of the first line, and of the last one.
    pub columns: (Option<u32>, Option<u32>),
    /// A regular expression to find the place with (within `lines`, where both are given).
    pub pattern: Option<String>,
}

impl FileRef {
    /// The bytes of the path.
    pub fn path_bytes(&self) -> Cow<'_, [u8]> {
        display_bytes(&self.path)
    }
}

/// The form in which a reference was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefForm {
    /// `[text](path)`, `[text](path#L42)`, `[text](path#L42-L50)`, `[text](path?pattern)`.
    Link,
    /// `` [`path:42`][] ``, as rustdoc has it.
    Rustdoc,
    /// `path:42` or `path:42-50` in plain text or in a code span.
    Plain,
    /// `[text](dialectic:path?line=…&regex=…)`.
    Dialectic,
}

/// A reference and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedRef {
    /// The byte range in the document's Markdown.
    #[serde(flatten)]
    pub at: std::ops::Range<usize>,
    /// Its form.
    pub form: RefForm,
    /// The displayed text: the link's text (Markdown), or the reference itself.
    pub text: String,
    /// Its target.
    #[serde(flatten)]
    pub to: FileRef,
    /// The place, or what is wrong.
    #[serde(with = "RefOutcome")]
    pub found: Result<RefPlace, BrokenRef>,
}

/// The names under which the outcome of a check is kept.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Result<RefPlace, BrokenRef>")]
enum RefOutcome {
    #[serde(rename = "place")]
    Ok(RefPlace),
    #[serde(rename = "broken")]
    Err(BrokenRef),
}

/// A place that a reference was found to point to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefPlace {
    /// The file, from the root of the tree.
    pub path: RepoPath,
    /// The lines; where a pattern was given, those it matches.
    pub lines: Option<LineRange>,
    /// The first of these lines, as far as it fits a preview; masked.
    pub preview: Option<String>,
}

/// The reason why a reference points nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenRef {
    /// The problem, one line.
    pub why: String,
    /// Suggestions: references that would be valid, in the form of `path`, `path:42`.
    pub near: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_is_the_first_line_with_words() {
        let title = |markdown: &str| {
            let markdown = markdown.to_owned();
            Presented { id: DocumentId::random(), markdown, base: PathBuf::new(), references: Vec::new() }.title()
        };
        assert_eq!(title("\n---\n\n## A review ##\n\ntext"), "A review");
        assert_eq!(title("plain\n===="), "plain");
        assert_eq!(title(" \n"), "");
        assert_eq!(title(&"\u{e4}".repeat(200)).chars().count(), TITLE);
    }
}
