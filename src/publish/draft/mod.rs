//! The draft: which finding stands on which lines of a pull request, and with what words. Main types: [`PostDraft`], [`DraftComment`].
//!
//! Worked out from the hunks alone, so that a forge has no reason to refuse a comment: nothing is asked. What stands on the pull request already
//! is the business of the plan.

mod body;
mod inline_position;
mod suggestion;

use std::fmt;

use super::guard::SecretGuard;
use super::markdown::CommentWriter;
use super::source_links::SourceLinks;
use crate::domain::change::ChangeSet;
use crate::domain::finding::{Finding, FindingFingerprint, FindingId, Severity};
use crate::domain::forge::{FindingMark, MarkTrust, quote_hash};
use crate::domain::review::Review;
use crate::forge::NewComment;

use inline_position::{ChangedFiles, InlinePosition};

pub(super) use body::render_full;

/// The limits of a forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostLimits {
    /// Comments on lines in one review.
    pub comments: usize,
    /// The length of one text, in characters and in UTF-16 units, whichever are more.
    pub characters: usize,
}

impl Default for PostLimits {
    /// 50 comments (more of them in one request end in a time-out), and the 65 536 characters of a GitHub comment.
    fn default() -> Self {
        Self { comments: 50, characters: 65_536 }
    }
}

/// The content that a review could post on a pull request: each unresolved finding is in one of the two lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostDraft {
    /// Comments on lines, worst first.
    pub comments: Vec<DraftComment>,
    /// Findings that cannot stand on lines, worst first.
    pub beside: Vec<SummaryOnly>,
}

/// A comment on the lines of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftComment {
    /// The finding.
    pub finding: FindingId,
    /// Its subject.
    pub fingerprint: FindingFingerprint,
    /// The severity.
    pub severity: Severity,
    /// Its title: one line of plain text without secrets, not Markdown.
    pub title: String,
    /// The hash of the lines that it is about ([`quote_hash`]), as in its mark.
    pub quote: (String, u32),
    /// The comment: position and text; its mark is the last line.
    pub comment: NewComment,
}

/// A finding that does not stand on lines, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryOnly {
    /// The finding.
    pub finding: FindingId,
    /// Why.
    pub why: SummaryOnlyReason,
}

/// The reason why a finding does not stand on lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryOnlyReason {
    /// Its lines are not in the diff.
    NotInDiff,
    /// It is about lines of several hunks, and what it quotes is in none of them alone.
    AcrossHunks,
    /// It is about a file as a whole.
    WholeFile,
    /// The diff shows no lines of its file: binary, generated, or only renamed.
    NoLines,
    /// Its file is a submodule.
    Submodule,
    /// The path of its file cannot be sent.
    OddPath,
    /// There were enough worse ones.
    BeyondLimit,
    /// It is less bad than what comments are for.
    BelowThreshold,
    /// The forge refused the comment.
    Refused,
    /// The comments could not be posted.
    NotPosted,
    /// They changed after the review.
    Changed,
    /// It has no position.
    Unplaced,
}

impl fmt::Display for SummaryOnlyReason {
    /// In a few words that go on from "not on its lines: ".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotInDiff => "they are not part of the diff",
            Self::AcrossHunks => "they lie in several parts of the diff",
            Self::WholeFile => "it is about the whole file",
            Self::NoLines => "the diff shows no lines of this file",
            Self::Submodule => "it is about a submodule",
            Self::OddPath => "the forge takes no comments on such a path",
            Self::BeyondLimit => "there are too many comments",
            Self::BelowThreshold => "comments are for worse findings",
            Self::Refused => "the forge refused the comment",
            Self::NotPosted => "the comments could not be posted",
            Self::Changed => "they changed after the review",
            Self::Unplaced => "it was not placed",
        })
    }
}

/// Finds a place for each unresolved finding of the review, worst first, and writes its comment. Findings below `comment_on` get none; without
/// it, no finding does.
///
/// `change` is the change with its hunks: what the review was made of, or the same files against another head. No finding is left out. The marks are of
/// `trust`; `links` are the addresses of places that a comment names.
pub fn draft_comments(
    review: &Review,
    change: &ChangeSet,
    comment_on: Option<Severity>,
    limits: &PostLimits,
    guard: &SecretGuard,
    trust: MarkTrust,
    links: Option<&SourceLinks>,
) -> PostDraft {
    let ground = ChangedFiles::from_change(change);
    let mut findings: Vec<&Finding> = review.unresolved().collect();
    // The order within a severity is that of the review.
    findings.sort_by_key(|finding| finding.severity);
    let mut draft = PostDraft::default();
    for finding in findings {
        let beside = |why| SummaryOnly { finding: finding.id.clone(), why };
        if comment_on.is_none_or(|least| finding.severity > least) {
            draft.beside.push(beside(SummaryOnlyReason::BelowThreshold));
            continue;
        }
        match ground.find_place(finding) {
            Err(why) => draft.beside.push(beside(why)),
            Ok(_) if draft.comments.len() >= limits.comments => {
                draft.beside.push(beside(SummaryOnlyReason::BeyondLimit));
            }
            Ok(spot) => draft.comments.push(comment(review, finding, &spot, limits, guard, (trust, links))),
        }
    }
    draft
}

fn comment(
    review: &Review,
    finding: &Finding,
    spot: &InlinePosition<'_>,
    limits: &PostLimits,
    guard: &SecretGuard,
    (trust, links): (MarkTrust, Option<&SourceLinks>),
) -> DraftComment {
    let writer = CommentWriter::new(guard);
    let quote = quote_hash(spot.decisive_anchor(finding).map_or("", |anchor| &anchor.quote));
    let mark = FindingMark { quote: quote.clone(), ..FindingMark::of(finding) };
    let offer = suggestion::render_suggestion(finding, spot, guard);
    let (room, written) = (limits.characters, mark.write_as(trust));
    let offered = offer.and_then(|offer| {
        let body = body::render_comment(&writer, review.id, finding, (spot, links), Some(&offer), &written, room)?;
        Some((offer.lines, body))
    });
    let (lines, body) = offered.unwrap_or_else(|| {
        let body = body::render_comment(&writer, review.id, finding, (spot, links), None, &written, room);
        (spot.lines, body.unwrap_or_else(|| written.clone()))
    });
    DraftComment {
        finding: finding.id.clone(),
        fingerprint: finding.fingerprint.clone(),
        severity: finding.severity,
        title: writer.plain_line(&finding.title),
        quote,
        comment: NewComment { path: spot.file.path.clone(), side: spot.side, lines, body },
    }
}

#[cfg(test)]
pub(super) mod tests;
