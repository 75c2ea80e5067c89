//! The one comment that says it all: how the review ended, what it found, where that stands, and what was not looked at.
//!
//! Main types: [`SummaryParts`], [`SummaryText`]. The same input gives the same bytes, so that bringing it up to date changes nothing where nothing
//! changed. It is never longer than a forge takes; what it has no room for is named in [`SummaryText::in_artefact`].

mod page;
mod untrusted;

use std::collections::HashSet;

use super::draft::{PostLimits, SummaryOnly, SummaryOnlyReason};
use super::guard::SecretGuard;
use super::markdown::length;
use super::source_links::SourceLinks;
use crate::domain::finding::{Finding, FindingId, Prominence, Severity};
use crate::domain::forge::{DeliveryVerdict, MarkTrust, RunMark, SummaryMark, SummaryOnlyMark};
use crate::domain::id::CommitId;
use crate::domain::review::{Review, ReviewOutcome};
use crate::present::digest;

use page::SummaryPage;

/// A finding of an earlier review, or of this one, by what is known of its thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryFinding {
    /// Its name.
    pub finding: FindingId,
    /// The severity.
    pub severity: Severity,
    /// Its title; untrusted text, not Markdown.
    pub title: String,
    /// The place: `src/a.rs:12`; untrusted text.
    pub place: String,
}

/// The content of the summary besides the review itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryParts {
    /// The trust in the review. For an untrusted one only the findings are listed, and nothing else is claimed.
    pub trust: MarkTrust,
    /// The verdict of the review.
    pub verdict: DeliveryVerdict,
    /// Findings of this review that stand on their lines, new or from before.
    pub on_lines: Vec<FindingId>,
    /// Findings of this review that do not, and why.
    pub beside: Vec<SummaryOnly>,
    /// Found earlier, not found this time, and nothing shows that they are gone.
    pub still_open: Vec<SummaryFinding>,
    /// Found earlier and gone, the newest first; their threads are resolved.
    pub fixed: Vec<SummaryFinding>,
    /// Found earlier and gone; their threads could not be resolved.
    pub not_resolved: Vec<SummaryFinding>,
    /// Were fixed and are back; they count among those on lines or beside too.
    pub reopened: Vec<SummaryFinding>,
    /// Found again, but another user resolved their threads: not raised again.
    pub by_others: Vec<SummaryFinding>,
    /// Found now on code that an earlier, complete review saw as it is: not raised.
    pub late: Vec<SummaryFinding>,
    /// The head that an earlier review was about.
    pub since: Option<CommitId>,
    /// The head now, where that is not the commit that was reviewed.
    pub moved: Option<CommitId>,
    /// The deviations from the plan, or could not be done: one sentence each; untrusted text.
    pub notes: Vec<String>,
    /// `true` if the review was of every file that the pull request changes.
    pub is_of_all: bool,
    /// The findings that only the summary keeps, the most important first.
    pub kept: Vec<SummaryOnlyMark>,
    /// Addresses of places in the files; `None` for places without a link.
    pub links: Option<SourceLinks>,
}

impl Default for SummaryParts {
    fn default() -> Self {
        Self {
            trust: MarkTrust::Own,
            verdict: DeliveryVerdict::Comment,
            on_lines: Vec::new(),
            beside: Vec::new(),
            still_open: Vec::new(),
            fixed: Vec::new(),
            not_resolved: Vec::new(),
            reopened: Vec::new(),
            by_others: Vec::new(),
            late: Vec::new(),
            since: None,
            moved: None,
            notes: Vec::new(),
            is_of_all: true,
            kept: Vec::new(),
            links: None,
        }
    }
}

/// The summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryText {
    /// Markdown; its mark is the last line.
    pub body: String,
    /// Findings of this review that stand neither on lines nor here: only the kept review has them.
    pub in_artefact: Vec<FindingId>,
}

/// Characters of each part that says something beside the findings.
const ABOUT: usize = 5000;
const EARLIER: usize = 9000;
const COVERAGE: usize = 4000;
/// Findings without a comment that are listed for no other reason than that there are worse ones.
const MOST_BEYOND: usize = 100;
/// The length of the headings of the parts.
const HEADINGS: usize = 600;
/// A finding in full takes no more.
const FULL: usize = 12_000;

/// Writes the summary.
///
/// Where there is no room for all, the verdict stays first of all, then each finding that is not on lines stays as one line, then the main ones of
/// them in full, then the table of main findings, then the list of what is on lines.
pub fn render_summary(review: &Review, parts: &SummaryParts, limits: &PostLimits, guard: &SecretGuard) -> SummaryText {
    let page = SummaryPage::new(review, parts, guard);
    let (kept, marked) = page.kept_marks(limits.characters / 5 * 2);
    let longest = page.mark(usize::MAX);
    let room = limits.characters.saturating_sub(length(&kept) + length(&longest) + 2);
    // Masks found only in the whole text may be longer than what they hide; then less is written.
    for tenths in [10, 8, 5] {
        let (text, in_artefact) = layout(&page, room * tenths / 10);
        let (text, _) = page.writer.recheck(&text);
        let mark = page.mark(untold(parts, &in_artefact, marked));
        let body = format!("{text}{kept}{mark}").trim_end().to_owned();
        if length(&text) <= room && (mark.is_empty() || SummaryMark::read_as(&body, parts.trust).is_some()) {
            return SummaryText { body, in_artefact };
        }
    }
    let in_artefact: Vec<FindingId> = page.beside.iter().map(|(finding, _)| finding.id.clone()).collect();
    let mark = page.mark(untold(parts, &in_artefact, 0));
    SummaryText { body: format!("{}{mark}", page.verdict_heading()), in_artefact }
}

/// Returns the number of findings the next review will not know of, of which the first `marked` of those to keep have marks.
fn untold(parts: &SummaryParts, in_artefact: &[FindingId], marked: usize) -> usize {
    let (with, without) = parts.kept.split_at(marked.min(parts.kept.len()));
    let with: HashSet<&FindingId> = with.iter().map(|mark| &mark.finding.id).collect();
    let without = without.iter().filter(|mark| !mark.is_fixed).map(|mark| &mark.finding.id);
    let all: HashSet<&FindingId> = in_artefact.iter().filter(|id| !with.contains(id)).chain(without).collect();
    all.len()
}

/// The text of the review of a pull request, whose comments are the findings on lines, without what the summary says; `head` is the commit that it is posted on.
pub fn render_review_body(review: &Review, parts: &SummaryParts, head: CommitId, guard: &SecretGuard) -> String {
    let page = SummaryPage::new(review, parts, guard);
    let mut text = match (parts.trust, review.outcome) {
        (MarkTrust::Own, ReviewOutcome::Incomplete) => "**This review is incomplete.**\n\n".to_owned(),
        (MarkTrust::Own, ReviewOutcome::Failed) => format!("**{}.**\n\n", digest::nothing(review)),
        _ => String::new(),
    };
    if let Some(line) = page.moved_head_note() {
        text.push_str(&format!("{line}\n\n"));
    }
    text.push_str(match parts.trust {
        MarkTrust::Own => "The summary comment says what was looked at, and lists all findings.",
        MarkTrust::Untrusted => untrusted::INTRODUCTION,
    });
    let (text, _) = page.writer.recheck(&text);
    format!("{text}\n\n{}", RunMark { run: review.id, head }.write_as(parts.trust))
}

/// The section of a summary for a finding that is not on lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SummarySection {
    /// It should be on lines and has none: in full.
    NotOnLines,
    /// There are enough worse ones on lines: one line.
    BeyondLimit,
    /// It is less important: one line.
    AlsoNoticed,
}

impl SummarySection {
    fn of(finding: &Finding, why: SummaryOnlyReason) -> Self {
        match why {
            SummaryOnlyReason::BelowThreshold => Self::AlsoNoticed,
            _ if finding.prominence == Prominence::Also => Self::AlsoNoticed,
            SummaryOnlyReason::BeyondLimit => Self::BeyondLimit,
            _ => Self::NotOnLines,
        }
    }
}

/// The whole text without its mark, and the findings that found no room.
fn layout(page: &SummaryPage<'_>, room: usize) -> (String, Vec<FindingId>) {
    let (head, foot) = (page.render_head(room / 3), page.render_footer());
    let mut left = room.saturating_sub(length(&head) + length(&foot) + HEADINGS.min(room / 4));
    let mut take = |most: usize, write: &dyn Fn(usize) -> String| {
        let text = write(most.min(left / 4));
        left = left.saturating_sub(length(&text) + 2);
        text
    };
    let earlier = take(EARLIER, &|most| page.render_earlier(most));
    let coverage = take(COVERAGE, &|most| page.render_coverage(most));
    let about = take(ABOUT, &|most| page.render_about(most));

    let mut in_artefact = Vec::new();
    let mut shown: Vec<(usize, String, bool)> = Vec::new();
    let (mut is_full, mut beyond) = (false, 0);
    for (at, (finding, why)) in page.beside.iter().enumerate() {
        let is_beyond = SummarySection::of(finding, *why) != SummarySection::NotOnLines;
        let line = page.finding_line(finding, Some(*why));
        // A worse one is never left out for a shorter one.
        is_full |= length(&line) >= left;
        if is_full || (is_beyond && beyond >= MOST_BEYOND) {
            in_artefact.push(finding.id.clone());
        } else {
            beyond += usize::from(is_beyond);
            left -= length(&line) + 1;
            shown.push((at, line, false));
        }
    }
    for (at, text, is_full) in &mut shown {
        let is_main = |(finding, why): &&(&Finding, SummaryOnlyReason)| {
            SummarySection::of(finding, *why) == SummarySection::NotOnLines
        };
        let Some((finding, why)) = page.beside.get(*at).filter(is_main) else { continue };
        let full = page.finding_block(finding, *why, FULL.min(left));
        if length(&full) <= left + length(text) {
            left = (left + length(text)).saturating_sub(length(&full) + 2);
            (*text, *is_full) = (full, true);
        }
    }
    let table = page.render_table(left);
    let on_lines = page.render_inline_findings(left.saturating_sub(length(&table)), !table.is_empty());

    let pick = |wanted: &dyn Fn(usize, bool) -> bool| -> Vec<&str> {
        shown.iter().filter(|(at, _, is_full)| wanted(*at, *is_full)).map(|(_, text, _)| text.as_str()).collect()
    };
    let is_in = |at: usize, section: SummarySection| {
        page.beside.get(at).is_some_and(|(finding, why)| SummarySection::of(finding, *why) == section)
    };
    let mut out = head;
    let mut part = |heading: &str, text: &str| {
        if !text.is_empty() {
            out.push_str(&format!("{heading}{}{text}\n\n", if heading.is_empty() { "" } else { "\n\n" }));
        }
    };
    part("### Main findings", &table);
    part("### On their lines", &on_lines);
    let full = pick(&|_, is_full| is_full);
    part("### Not on lines", &full.join("\n\n"));
    let short = pick(&|at, is_full| !is_full && is_in(at, SummarySection::NotOnLines));
    part(if full.is_empty() { "### Not on lines" } else { "" }, &short.join("\n"));
    let beyond = pick(&|at, _| is_in(at, SummarySection::BeyondLimit));
    part("### Beyond the limit of comments", &beyond.join("\n"));
    part(&format!("### {}", digest::ALSO_NOTICED), &pick(&|at, _| is_in(at, SummarySection::AlsoNoticed)).join("\n"));
    part("", &page.not_posted_note(in_artefact.len()));
    part("### Found by earlier reviews", &earlier);
    part("### About the change", &about);
    part("### What was looked at", &coverage);
    part("", &foot);
    (out, in_artefact)
}

#[cfg(test)]
mod tests;
