//! One file of the checkout: read, changed, written whole or not at all. Main function: [`apply_suggestions`].
//!
//! Its line endings, its charset, its byte order mark and its permissions stay as they are. No link is followed.

use std::io;
use std::sync::Arc;

use super::place::{PlaceFault, locate};
use super::{AppliedFile, AppliedFinding};
use crate::domain::change::FileMode;
use crate::domain::finding::{Finding, FindingId, Suggestion};
use crate::domain::id::CommitId;
use crate::domain::path::RepoPath;
use crate::domain::text::{FileText, is_invisible};
use crate::evidence::{self, GrammarLanguages, SuggestionFault};
use crate::syntax::{ParserProbe, TreeCache};
use crate::sys::cancel::{Cancel, CancelReason};
use crate::sys::charset;
use crate::sys::contained_folder::{ContainedFolder, ReadFile};
use crate::sys::repo::Repo;
use crate::sys::tree;

/// Maximum file size in bytes; a larger file is skipped.
const MAX_FILE: u64 = 32 << 20;
/// The UTF-8 byte order mark, which some editors write.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The reason why a file was left unchanged.
#[derive(Debug, Clone, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum FileFault {
    /// It no longer exists.
    #[error("there is no such file here")]
    Missing,
    /// It is a link, a folder, or lies behind a link.
    #[error("it is not a plain file, or a link leads to it")]
    NotPlain,
    /// It is larger than any file that is reviewed.
    #[error("it has more than {} MiB", MAX_FILE >> 20)]
    TooLarge,
    #[error("it is not text")]
    Binary,
    /// It, or the replacement, cannot be written in its charset.
    #[error("it cannot be written in its charset, {0}, without losing something")]
    Charset(&'static str),
    #[error("it cannot be read: {0}")]
    Unreadable(Arc<io::Error>),
    /// A suggestion has no place in it.
    #[error("{finding}: {why}")]
    Place { finding: FindingId, why: PlaceFault },
    /// A suggestion does not fit the current text.
    #[error("{finding}: {why}; the file changed since the review, review again")]
    Suggestion { finding: FindingId, why: SuggestionFault },
    /// It would write characters invisible to the reader.
    #[error("{0} would bring characters that nobody sees, and no output showed them; change the lines by hand")]
    Hidden(FindingId),
    /// Two of the suggestions replace the same lines.
    #[error("{0} and {1} replace the same lines: apply one of them and review again")]
    Overlap(FindingId, FindingId),
    /// Applied together, they break its syntax.
    #[error("it would no longer parse")]
    BreaksSyntax,
    /// It was changed meanwhile.
    #[error("somebody changed it just now; nothing was written to it, try again")]
    Changed,
    #[error("it cannot be written: {0}")]
    Write(Arc<io::Error>),
    /// It was interrupted.
    #[error("{0}; nothing was written to it")]
    Stopped(CancelReason),
}

/// A file and the suggestions to apply to it.
pub(super) struct FileSuggestions<'a> {
    pub(super) path: &'a RepoPath,
    /// Findings with a suggestion for it.
    pub(super) findings: &'a [&'a Finding],
    /// Its text at the reviewed head; `None` if the commit is missing here, or the review was of no commit.
    pub(super) reviewed: Option<FileText>,
    pub(super) beneath: &'a ContainedFolder,
    /// `true` for a dry run: nothing is written.
    pub(super) check: bool,
    /// The process for trial parses of its text.
    pub(super) parser: Option<Arc<ParserProbe>>,
    pub(super) cancel: &'a Cancel,
}

/// Reads a file at the reviewed head, if both exist here.
pub(in crate::app::findings) fn at_head(repo: &Repo, head: Option<CommitId>, path: &RepoPath) -> Option<FileText> {
    decoded_at_head(repo, head, path).map(|decoded| FileText::new(&decoded.text, decoded.charset))
}

/// Reads a file at the reviewed head as text whose secrets are not masked.
pub(in crate::app::findings) fn decoded_at_head(
    repo: &Repo,
    head: Option<CommitId>,
    path: &RepoPath,
) -> Option<charset::Decoded> {
    let tree = repo.tree_of(head?).ok()?;
    let Some(tree::TreeLookup::File(FileMode::File | FileMode::Executable, blob)) =
        tree::find(repo, tree, path.stored()).ok()?
    else {
        return None;
    };
    repo.blob_size(blob).ok().filter(|size| *size <= MAX_FILE)?;
    Some(charset::decode(&repo.blob(blob).ok()?))
}

/// Applies the suggestions to the file: all of them, or none.
pub(super) fn apply_suggestions(asked: &FileSuggestions<'_>) -> Result<AppliedFile, FileFault> {
    asked.cancel.check().map_err(FileFault::Stopped)?;
    let bytes = read(asked.beneath, asked.path)?;
    let mark = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK } else { b"" };
    let charset::Decoded { text: before, charset } = charset::decode(&bytes);
    // Text that does not round-trip through the charset would be lost by writing the file.
    let encode = |text: &str| charset::encode(text, charset).map(|encoded| [mark, &encoded].concat());
    if encode(&before).as_deref() != Some(bytes.as_slice()) {
        return Err(FileFault::Charset(charset));
    }
    let check = || asked.cancel.check().map_err(FileFault::Stopped);
    let rewritten =
        rewrite(asked.path, asked.findings, &before, charset, asked.reviewed.as_ref(), asked.parser.clone(), check)?;
    let RewrittenText { edits, after } = rewritten;
    let written = encode(&after).ok_or(FileFault::Charset(charset))?;
    if !asked.check {
        let replaced = asked.beneath.replace(asked.path.stored(), Some(&bytes), &written);
        if !replaced.map_err(|error| FileFault::Write(Arc::new(error)))? {
            return Err(FileFault::Changed);
        }
    }
    let findings = edits.iter().map(|(edit, finding)| AppliedFinding {
        id: finding.id.clone(),
        title: finding.title.clone(),
        lines: edit.lines,
    });
    Ok(AppliedFile { path: asked.path.clone(), findings: findings.collect(), texts: [before, after] })
}

/// A text with applied suggestions.
pub(in crate::app::findings) struct RewrittenText<'a> {
    /// The suggestions at their current lines, in the order of the lines.
    pub(in crate::app::findings) edits: Vec<(Suggestion, &'a Finding)>,
    pub(in crate::app::findings) after: String,
}

/// Applies the suggestions to a text of the file: all of them, or none. `check` runs before each.
pub(in crate::app::findings) fn rewrite<'a>(
    path: &RepoPath,
    findings: &[&'a Finding],
    before: &str,
    charset: &'static str,
    reviewed: Option<&FileText>,
    parser: Option<Arc<ParserProbe>>,
    check: impl Fn() -> Result<(), FileFault>,
) -> Result<RewrittenText<'a>, FileFault> {
    let masked = FileText::new(before, charset);
    let is_as_reviewed = reviewed.is_some_and(|reviewed| same_lines(reviewed, &masked));
    let mut edits = Vec::new();
    for finding in findings {
        check()?;
        edits.push((edit(finding, path, &masked, is_as_reviewed)?, *finding));
    }
    edits.sort_by_key(|(edit, _)| (edit.lines.start(), edit.lines.end()));
    let overlap = edits.iter().zip(edits.iter().skip(1)).find(|((a, _), (b, _))| a.lines.overlaps(b.lines));
    if let Some(((_, first), (_, second))) = overlap {
        return Err(FileFault::Overlap(first.id.clone(), second.id.clone()));
    }
    // From the end, so that no line is renumbered before its turn.
    let after = edits.iter().rev().fold(before.to_owned(), |text, (edit, _)| evidence::apply(&text, edit));
    let languages = GrammarLanguages::with(Arc::new(TreeCache::with_probe(parser)));
    let errors = |text: &str| languages.error_nodes(path, text);
    if errors(before).zip(errors(&after)).is_some_and(|(before, after)| after > before) {
        return Err(FileFault::BreaksSyntax);
    }
    Ok(RewrittenText { edits, after })
}

/// The error for a finding that replaces nothing.
pub(in crate::app::findings) fn without_suggestion(finding: &Finding) -> FileFault {
    FileFault::Place { finding: finding.id.clone(), why: PlaceFault::Unknown }
}

/// Reads a plain file of the checkout that is text.
pub(in crate::app::findings) fn read(beneath: &ContainedFolder, path: &RepoPath) -> Result<Vec<u8>, FileFault> {
    let mut buffer = Vec::new();
    let bytes = match beneath.read(path.stored(), MAX_FILE, &mut buffer) {
        Ok(ReadFile::Bytes(bytes)) => bytes.to_vec(),
        Ok(ReadFile::TooLarge(_)) => return Err(FileFault::TooLarge),
        Ok(ReadFile::NotPlain(_)) => return Err(FileFault::NotPlain),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(FileFault::Missing),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(FileFault::NotPlain),
        Err(error) => return Err(FileFault::Unreadable(Arc::new(error))),
    };
    if charset::is_binary(&bytes) { Err(FileFault::Binary) } else { Ok(bytes) }
}

/// Checks whether two texts have the same lines. The line endings of a checkout may differ from the commit's.
fn same_lines(a: &FileText, b: &FileText) -> bool {
    a.line_count() == b.line_count() && a.all_lines().eq(b.all_lines())
}

/// Checks whether outputs omit a character: a reader of the suggestion would not see it.
fn is_hidden(c: char) -> bool {
    is_invisible(c) || (c.is_control() && !matches!(c, '\t' | '\n'))
}

/// Builds the edit of a finding for the current place of its lines.
fn edit(finding: &Finding, path: &RepoPath, text: &FileText, is_as_reviewed: bool) -> Result<Suggestion, FileFault> {
    let place_fault = |why| FileFault::Place { finding: finding.id.clone(), why };
    let lines = locate(finding, text, is_as_reviewed).map_err(place_fault)?;
    let suggestion = finding.suggestion.as_ref().ok_or_else(|| place_fault(PlaceFault::Unknown))?;
    let fault = |why| FileFault::Suggestion { finding: finding.id.clone(), why };
    if text.is_masked(lines) {
        return Err(fault(SuggestionFault::OverwritesSecret));
    }
    let mut hidden = suggestion.replacement.chars().filter(|c| is_hidden(*c));
    let replaced: Vec<&str> = text.lines(lines).map(|(_, line)| line).collect();
    if hidden.any(|c| !replaced.iter().any(|line| line.contains(c))) {
        return Err(FileFault::Hidden(finding.id.clone()));
    }
    if !is_as_reviewed {
        // The adjacent line may already be what it would insert.
        evidence::prove(text, path, lines, &suggestion.replacement, |_| None).map_err(fault)?;
    }
    Ok(Suggestion { lines, ..suggestion.clone() })
}
